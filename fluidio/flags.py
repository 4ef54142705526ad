"""`fluid.set_flags` and `fluid.get_flags`: gflags of the C++ core, kept for scripts that ask; none has an effect."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["get_flags", "set_flags"]

_flags: dict[str, Any] = {
    "FLAGS_allocator_strategy": "auto_growth",
    "FLAGS_benchmark": False,
    "FLAGS_check_nan_inf": False,
    "FLAGS_cpu_deterministic": False,
    "FLAGS_cudnn_deterministic": False,
    "FLAGS_cudnn_exhaustive_search": False,
    "FLAGS_eager_delete_tensor_gb": 0.0,
    "FLAGS_enable_parallel_graph": False,
    "FLAGS_fast_eager_deletion_mode": True,
    "FLAGS_fraction_of_gpu_memory_to_use": 0.92,
    "FLAGS_max_inplace_grad_add": 0,
    "FLAGS_memory_fraction_of_eager_deletion": 1.0,
    "FLAGS_paddle_num_threads": 1,
    "FLAGS_reader_queue_speed_test_mode": False,
    "FLAGS_sort_sum_gradient": False,
    "FLAGS_sync_nccl_allreduce": True,
    "FLAGS_use_mkldnn": False,
    "FLAGS_use_pinned_memory": True,
}


def set_flags(flags: Mapping[str, Any]) -> None:
    """Keep the values of flags.

    Fluid: they steered the C++ core's memory and libraries, which are not here.
    """
    if not isinstance(flags, dict):
        raise TypeError("flags in set_flags should be a dict")
    for name, value in flags.items():
        if name not in _flags:
            raise ValueError(f"Flag {name} cannot set its value through this function.")
        _flags[name] = value


def get_flags(flags: str | Sequence[str]) -> dict[str, Any]:
    """Return the values of one flag or several, as a dict; the environment sets them too."""
    if isinstance(flags, str):
        flags = [flags]
    if not isinstance(flags, (list, tuple)):
        raise TypeError("Flags in get_flags should be a list, tuple or string.")
    found = {}
    for name in flags:
        if name not in _flags:
            raise ValueError(f"Flag {name} cannot get its value through this function.")
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
        raise ValueError(f"{name}={text!r} in the environment should be a {type(value).__name__}") from None
