"""The mappings by theme, as the ops are; importing this fills the table."""

import importlib

THEMES = (
    "activation",
    "elementwise",
    "products",
    "reduce",
    "search",
    "dims",
    "cutting",
    "joining",
    "indexing",
    "create",
    "conv",
    "pool",
    "norm",
    "resize",
    "pictures",
    "loss",
)

for _name in THEMES:
    importlib.import_module(f"{__name__}.{_name}")
