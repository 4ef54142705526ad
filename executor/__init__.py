"""What runs programs: the Executor, its plans, the run-time readers and the devices."""

from fluidio.executor import readers
from fluidio.executor.executor import Executor
from fluidio.tensor import global_scope, scope_guard

__all__ = ["Executor", "global_scope", "readers", "scope_guard"]
