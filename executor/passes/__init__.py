"""What makes plans faster: `table.py` lists the passes, each of the others is one."""

from fluidio.executor.passes.table import PASSES, optimised
from fluidio.executor.passes.uses import Facts

__all__ = ["PASSES", "Facts", "optimised"]
