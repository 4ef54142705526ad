"""The op table: one record for each op type. Importing this package fills it."""

from fluidio.ops import (
    activation,
    elementwise,
    fill,
    gru,
    loss,
    lstm,
    matmul,
    metric,
    optimize,
    optimize_adaptive,
    reduce,
    save_load,
    sequence_conv,
    sequence_pad,
    sequence_pool,
    sequence_rows,
)
from fluidio.program.op_def import OP_TABLE

__all__ = ["OP_TABLE"]

_MODULES = (
    activation,
    elementwise,
    fill,
    gru,
    loss,
    lstm,
    matmul,
    metric,
    optimize,
    optimize_adaptive,
    reduce,
    save_load,
    sequence_conv,
    sequence_pad,
    sequence_pool,
    sequence_rows,
)
