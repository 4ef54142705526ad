"""`fluid.io`: datasets, loaders, python readers, saving and loading."""

from __future__ import annotations

from fluidio.io.checkpoints import Checkpoints
from fluidio.io.collate import default_collate_fn
from fluidio.io.data_loader import DataLoader
from fluidio.io.dataset_types import Dataset
from fluidio.io.feed_fetch_ops import append_fetch_ops, prepend_feed_ops
from fluidio.io.inference_model import get_inference_program, load_inference_model, save_inference_model
from fluidio.io.loading import (
    get_parameter_value,
    get_parameter_value_by_name,
    load_params,
    load_persistables,
    load_vars,
)
from fluidio.io.numbered import (
    clean_checkpoint,
    get_latest_checkpoint_serial,
    load_checkpoint,
    load_persist_vars_without_grad,
    save_checkpoint,
    save_persist_vars_without_grad,
)
from fluidio.io.predicates import (
    _clone_var_in_block_,
    _get_valid_program,
    get_program_parameter,
    get_program_persistable_vars,
    is_belong_to_optimizer,
    is_parameter,
    is_persistable,
)
from fluidio.io.py_reader import PyReader
from fluidio.io.samplers import BatchSampler
from fluidio.io.saving import save_params, save_persistables, save_vars
from fluidio.io.state import load, load_program_state, save, set_program_state
from fluidio.io.workers import get_worker_info
from fluidio.reader import (
    ComposeNotAligned,
    batch,
    buffered,
    cache,
    chain,
    compose,
    firstn,
    map_readers,
    multiprocess_reader,
    shuffle,
    xmap_readers,
)

# Fluid's trainers fetched parameters from servers to save them; here every trainer has them.
_load_distributed_persistables, _save_distributed_persistables = load_persistables, save_persistables

__all__ = [
    "BatchSampler",
    "Checkpoints",
    "ComposeNotAligned",
    "DataLoader",
    "Dataset",
    "PyReader",
    "_clone_var_in_block_",
    "_get_valid_program",
    "_load_distributed_persistables",
    "_save_distributed_persistables",
    "append_fetch_ops",
    "batch",
    "buffered",
    "cache",
    "chain",
    "clean_checkpoint",
    "compose",
    "default_collate_fn",
    "firstn",
    "get_inference_program",
    "get_latest_checkpoint_serial",
    "get_parameter_value",
    "get_parameter_value_by_name",
    "get_program_parameter",
    "get_program_persistable_vars",
    "get_worker_info",
    "is_belong_to_optimizer",
    "is_parameter",
    "is_persistable",
    "load",
    "load_checkpoint",
    "load_inference_model",
    "load_params",
    "load_persist_vars_without_grad",
    "load_persistables",
    "load_program_state",
    "load_vars",
    "map_readers",
    "multiprocess_reader",
    "prepend_feed_ops",
    "save",
    "save_checkpoint",
    "save_inference_model",
    "save_params",
    "save_persist_vars_without_grad",
    "save_persistables",
    "save_vars",
    "set_program_state",
    "shuffle",
    "xmap_readers",
]
