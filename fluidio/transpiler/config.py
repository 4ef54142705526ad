"""Options of DistributeTranspiler and of parameter servers."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["DistributeTranspilerConfig", "DistributedMode", "ServerRuntimeConfig"]


class DistributedMode:
    """How trainers and parameter servers wait for each other."""

    SYNC = 0
    ASYNC = 1
    HALF_ASYNC = 2
    GEO = 3


class ServerRuntimeConfig:
    """Threads of a parameter server; stored without effect."""

    def __init__(self) -> None:
        self._rpc_send_thread_num = _threads("send")
        self._rpc_get_thread_num = _threads("get")
        self._rpc_prefetch_thread_num = _threads("prefetch")


def _threads(task: str) -> int:
    return int(os.environ.get(f"FLAGS_rpc_{task}_thread_num", "12"))


class DistributeTranspilerConfig:
    """Options of the transpiler.

    `mode`, `sync_mode`, `geo_sgd_mode` and `collective_mode` determine how trainers work together. Options for
    dividing parameters between servers and tuning their network are stored without effect.

    Two are ours: `half_gradients` sends float32 gradients as float16; `clip_mean` lets `set_gradient_clip` clip the
    mean of all trainers in pserver mode too, where trainers of Fluid clip their own gradients before it.
    """

    slice_var_up = True
    split_method: Any = None
    min_block_size = 8192
    enable_dc_asgd = False
    mode = "pserver"
    print_log = False
    wait_port = True
    half_async = False
    completely_not_async = False
    geo_sgd_mode = False
    geo_sgd_need_push_nums = 100
    nccl_comm_num = 1
    use_hierarchical_allreduce = False
    hierarchical_allreduce_inter_nranks = 0
    collective_mode: Any = None
    half_gradients = False
    clip_mean = False

    def __init__(self) -> None:
        self._sync_mode = True
        self._runtime_split_send_recv = False

    @property
    def sync_mode(self) -> bool:
        return self._sync_mode

    @sync_mode.setter
    def sync_mode(self, value: bool) -> None:
        self._check("sync_mode", value, "runtime_split_send_recv", self._runtime_split_send_recv)
        self._sync_mode = value

    @property
    def runtime_split_send_recv(self) -> bool:
        return self._runtime_split_send_recv

    @runtime_split_send_recv.setter
    def runtime_split_send_recv(self, value: bool) -> None:
        self._check("runtime_split_send_recv", value, "sync_mode", self._sync_mode)
        self._runtime_split_send_recv = value

    def _check(self, name: str, value: object, other: str, other_value: bool) -> None:
        if value is None:
            raise ValueError(f"{name} must not be None")
        if value and other_value:
            raise ValueError(f"{name} and {other} exclude each other: set {other} = False first")

    def waits(self) -> bool:
        """Return whether Fluid's trainers would wait for each other in every step."""
        return not self.geo_sgd_mode and (self.sync_mode or self.completely_not_async)
