"""`fluid.io`: datasets, loaders, saving and loading."""

from __future__ import annotations

from fluidio.io.collate import default_collate_fn
from fluidio.io.dataset_types import Dataset
from fluidio.io.samplers import BatchSampler
from fluidio.io.workers import get_worker_info

__all__ = ["BatchSampler", "Dataset", "default_collate_fn", "get_worker_info"]
