"""The op table: one record for each op type. Importing this package fills it."""

from fluidio.ops import (
    activation,
    control_flow,
    elementwise,
    fill,
    gru,
    loss,
    lstm,
    matmul,
    metric,
    optimize,
    optimize_adaptive,
    rank_table,
    recurrent,
    reduce,
    save_load,
    sequence_conv,
    sequence_pad,
    sequence_pool,
    sequence_rows,
    split_merge,
    tensor_array,
)
from fluidio.program.op_def import OP_TABLE

__all__ = ["OP_TABLE"]

_MODULES = (
    activation,
    control_flow,
    elementwise,
    fill,
    gru,
    loss,
    lstm,
    matmul,
    metric,
    optimize,
    optimize_adaptive,
    rank_table,
    recurrent,
    reduce,
    save_load,
    sequence_conv,
    sequence_pad,
    sequence_pool,
    sequence_rows,
    split_merge,
    tensor_array,
)
