"""What runs programs: the Executor, its plans, the run-time readers and the devices."""

from fluidio.executor import readers
from fluidio.executor.compiled import CompiledProgram, ParallelExecutor
from fluidio.executor.executor import Executor
from fluidio.executor.fetch_handler import FetchHandler
from fluidio.executor.fetch_var import _fetch_var, as_numpy, fetch_var
from fluidio.executor.strategies import BuildStrategy, ExecutionStrategy
from fluidio.tensor import global_scope, scope_guard

__all__ = [
    "BuildStrategy",
    "CompiledProgram",
    "ExecutionStrategy",
    "Executor",
    "FetchHandler",
    "ParallelExecutor",
    "_fetch_var",
    "as_numpy",
    "fetch_var",
    "global_scope",
    "readers",
    "scope_guard",
]
