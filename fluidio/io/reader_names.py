"""The face of `paddle.fluid.reader`: loaders and what their users import beside them."""

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
    """Accept; batches keep their order over several places whatever is said.

    Fluid: False let places take batches as they came.
    """
    if not isinstance(keep_order, bool):
        raise TypeError(f"keep_data_loader_order takes True or False, got {keep_order!r}")
