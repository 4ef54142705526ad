"""The op table: one definition for each op type. Importing this package fills it from the modules below."""

import importlib
import pkgutil

from fluidio.program.op_def import OP_TABLE

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_module.name)

__all__ = ["OP_TABLE"]
