"""Passes that make plans faster: `table.py` lists them, one file each."""

from fluidio.executor.passes.table import PASSES, optimised
from fluidio.executor.passes.uses import Facts

__all__ = ["PASSES", "Facts", "optimised"]
