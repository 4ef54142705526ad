"""The names of `paddle.fluid.reader`: loaders and what their users import along with them."""

from __future__ import annotations

from fluidio.io.collate import default_collate_fn
from fluidio.io.data_loader import DataLoader
from fluidio.io.dataset_types import Dataset
from fluidio.io.generator_loader import DataLoaderBase, GeneratorLoader
from fluidio.io.py_reader import PyReader
from fluidio.io.samplers import BatchSampler

__all__ = [
    "BatchSampler",
    "DataLoader",
    "DataLoaderBase",
    "Dataset",
    "GeneratorLoader",
    "PyReader",
    "default_collate_fn",
    "keep_data_loader_order",
]


def keep_data_loader_order(keep_order: bool) -> None:
    """Do nothing: batches always keep their order over several places.

    Fluid: False let places take batches as they arrived.
    """
    if not isinstance(keep_order, bool):
        raise TypeError(f"keep_data_loader_order must be True or False, got {keep_order!r}")
