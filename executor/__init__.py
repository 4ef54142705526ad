"""Run programs: the Executor, its plans, the run-time readers and the devices."""

from fluidio.executor import readers
from fluidio.executor.compiled import CompiledProgram, ParallelExecutor
from fluidio.executor.executor import Executor
from fluidio.executor.fetch_handler import FetchHandler, FetchHandlerMonitor
from fluidio.executor.fetch_var import _fetch_var, as_numpy, fetch_var
from fluidio.executor.legacy_names import (
    _as_lodtensor,
    _get_program_cache_key,
    _get_strong_program_cache_key,
    _switch_scope,
    _to_name_str,
    check_feed_shape_type,
    dimension_is_compatible_with,
    dtype_is_compatible_with,
    has_feed_operators,
    has_fetch_operators,
)
from fluidio.executor.strategies import BuildStrategy, ExecutionStrategy
from fluidio.tensor import global_scope, scope_guard

__all__ = [
    "BuildStrategy",
    "CompiledProgram",
    "ExecutionStrategy",
    "Executor",
    "FetchHandler",
    "FetchHandlerMonitor",
    "ParallelExecutor",
    "_as_lodtensor",
    "_fetch_var",
    "_get_program_cache_key",
    "_get_strong_program_cache_key",
    "_switch_scope",
    "_to_name_str",
    "as_numpy",
    "check_feed_shape_type",
    "dimension_is_compatible_with",
    "dtype_is_compatible_with",
    "fetch_var",
    "global_scope",
    "has_feed_operators",
    "has_fetch_operators",
    "readers",
    "scope_guard",
]
