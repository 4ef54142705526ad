"""Read the role of the high-level Trainer from a cluster's environment: server, one of many trainers, or alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from fluidio.program import Program
from fluidio.transpiler import DistributeTranspiler

__all__ = ["Cluster", "find_cluster"]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A job of parameter servers and trainers, as described by PADDLE_TRAINING_ROLE and related variables."""

    role: str
    trainer: int
    trainers: int
    servers: str
    endpoint: str

    @property
    def is_server(self) -> bool:
        return self.role == "PSERVER"

    def distribute(self, main: Program, startup: Program) -> tuple[Program, Program]:
        """Return what this process runs instead of its main and startup programs."""
        transpiler = DistributeTranspiler()
        transpiler.transpile(
            self.trainer, program=main, pservers=self.servers, trainers=self.trainers, startup_program=startup
        )
        if self.is_server:
            return transpiler.get_pserver_programs(self.endpoint)
        return transpiler.get_trainer_program(), startup


def find_cluster(env: Mapping[str, str] = os.environ) -> Cluster | None:
    """Return the job described by the environment; None if the process trains alone."""
    role = env.get("PADDLE_TRAINING_ROLE", "")
    ips = [ip for ip in env.get("PADDLE_PSERVER_IPS", "").split(",") if ip]
    if not role or not ips:
        return None
    if role not in ("TRAINER", "PSERVER"):
        raise ValueError(f"PADDLE_TRAINING_ROLE must be TRAINER or PSERVER, got {role!r}")
    port = env.get("PADDLE_PSERVER_PORT", "6174")
    servers = ",".join(ip if ":" in ip else f"{ip}:{port}" for ip in ips)
    own = env.get("PADDLE_CURRENT_IP") or env.get("POD_IP") or ips[0]
    trainers = int(env.get("PADDLE_TRAINERS") or env.get("PADDLE_TRAINERS_NUM") or 1)
    endpoint = own if ":" in own else f"{own}:{port}"
    return Cluster(role, int(env.get("PADDLE_TRAINER_ID") or 0), trainers, servers, endpoint)
