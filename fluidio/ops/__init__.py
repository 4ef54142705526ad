"""The op table: one definition per op type. Importing this package fills it from the modules below."""

import importlib
import pkgutil

from fluidio.program.op_def import OP_TABLE
from fluidio.program.op_def import filled as _filled

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
_filled(__name__)

__all__ = ["OP_TABLE"]
