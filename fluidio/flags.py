"""`fluid.set_flags` and `fluid.get_flags`: gflags of the C++ core, kept for scripts that use them.

`FLAGS_check_nan_inf` has an effect: every op's outputs are checked. The others controlled the C++ core.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.flow.observer import OBSERVERS

__all__ = ["GlobalFlags", "get_flags", "set_flags"]

_PUBLIC: dict[str, Any] = {
    "FLAGS_allocator_strategy": "auto_growth",
    "FLAGS_benchmark": False,
    "FLAGS_check_nan_inf": False,
    "FLAGS_cpu_deterministic": False,
    "FLAGS_cudnn_deterministic": False,
    "FLAGS_cudnn_exhaustive_search": False,
    "FLAGS_eager_delete_tensor_gb": 0.0,
    "FLAGS_enable_parallel_graph": False,
    "FLAGS_enable_rpc_profiler": False,
    "FLAGS_fast_eager_deletion_mode": True,
    "FLAGS_fraction_of_cpu_memory_to_use": 1.0,
    "FLAGS_fraction_of_gpu_memory_to_use": 0.92,
    "FLAGS_fuse_parameter_groups_size": 1,
    "FLAGS_fuse_parameter_memory_size": -1.0,
    "FLAGS_init_allocated_mem": False,
    "FLAGS_initial_cpu_memory_in_mb": 500,
    "FLAGS_inner_op_parallelism": 0,
    "FLAGS_max_inplace_grad_add": 0,
    "FLAGS_memory_fraction_of_eager_deletion": 1.0,
    "FLAGS_multiple_of_cupti_buffer_size": 1,
    "FLAGS_paddle_num_threads": 1,
    "FLAGS_pe_profile_fname": "",
    "FLAGS_print_sub_graph_dir": "",
    "FLAGS_reader_queue_speed_test_mode": False,
    "FLAGS_sort_sum_gradient": False,
    "FLAGS_sync_nccl_allreduce": True,
    "FLAGS_tracer_profile_fname": "xxgperf",
    "FLAGS_use_pinned_memory": True,
    "FLAGS_use_system_allocator": False,
}
_READ_ONLY: dict[str, Any] = {
    "FLAGS_free_idle_chunk": False,
    "FLAGS_free_when_no_cache_hit": False,
    "FLAGS_use_mkldnn": False,
}
_flags: dict[str, Any] = {**_PUBLIC, **_READ_ONLY}


class GlobalFlags:
    """`core.globals()`: flags by name; those that `set_flags` does not know can only be read."""

    def __getitem__(self, name: str) -> Any:
        if name not in _flags:
            raise EnforceNotMet(f"there is no flag {name}")
        return _from_environment(name, _flags[name])

    def __setitem__(self, name: str, value: object) -> None:
        if name not in _PUBLIC:
            raise EnforceNotMet(f"the flag {name} does not exist or is read-only")
        kind = type(_PUBLIC[name])
        if isinstance(value, str) is not (kind is str):
            raise RuntimeError(f"{name} must be {kind.__name__}, got {value!r}")
        _keep(name, kind(value))

    def __contains__(self, name: object) -> bool:
        return name in _flags

    def get(self, name: str, default: object = None) -> Any:
        return self[name] if name in _flags else default

    def keys(self) -> set[str]:
        return set(_flags)

    def is_public(self, name: str) -> bool:
        return name in _PUBLIC


def set_flags(flags: Mapping[str, object]) -> None:
    """Set flags. `FLAGS_check_nan_inf` checks every op's outputs for NaN and infinity.

    Fluid: the others controlled the C++ core's memory and libraries, which do not exist here.
    """
    if not isinstance(flags, dict):
        raise TypeError(f"set_flags takes a dict of flags and values, got {type(flags).__name__}")
    for name, value in flags.items():
        if name not in _PUBLIC:
            raise ValueError(f"set_flags cannot set {name}: there is no such flag, or scripts may not change it")
        GlobalFlags()[name] = value


def _keep(name: str, value: object) -> None:
    _flags[name] = value
    if name == "FLAGS_check_nan_inf":
        OBSERVERS.checks_numbers = bool(value)


def get_flags(flags: str | Sequence[str]) -> dict[str, Any]:
    """Return the values of one flag or several, as a dict; the environment sets them too."""
    if isinstance(flags, str):
        flags = [flags]
    if not isinstance(flags, (list, tuple)):
        raise TypeError(f"get_flags takes a name or a list of names, got {type(flags).__name__}")
    found = {}
    for name in flags:
        if name not in _PUBLIC:
            raise ValueError(f"get_flags cannot read {name}: there is no such flag, or scripts may not read it")
        found[name] = _from_environment(name, _flags[name])
    return found


def _from_environment(name: str, value: Any) -> Any:
    text = os.environ.get(name)
    if text is None:
        return value
    if isinstance(value, bool):
        return text.lower() in ("1", "true", "yes")
    try:
        return type(value)(text)
    except ValueError:
        raise ValueError(f"{name}={text!r} in the environment: expected {type(value).__name__}") from None
