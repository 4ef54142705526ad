"""The op table: one record for each op type. Importing this package fills it."""

from fluidio.ops import (
    activation,
    elementwise,
    fill,
    loss,
    matmul,
    metric,
    optimize,
    reduce,
)
from fluidio.program.op_def import OP_TABLE

__all__ = ["OP_TABLE"]

_MODULES = (activation, elementwise, fill, loss, matmul, metric, optimize, reduce)
