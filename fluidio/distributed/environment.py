"""Detect how this process was started: mpiexec, torchrun, a Kubernetes indexed job, Paddle's launcher, or alone."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["Launch", "describe_launch", "export_paddle_variables", "find_launch", "is_switched_off", "trainer_count"]

Engine = Literal["mpi", "torch"]

# The variables for (rank, size) that MPI implementations set.
_MPI = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
)
_MEETING_PORT = 29500  # torchrun's


@dataclass(frozen=True, slots=True)
class Launch:
    """The settings from a launcher.

    Attributes:
        engine: the engine that moves the bytes.
        by: a readable name of the launcher.
        rank, size: this process among those started together.
        meeting: "host:port" where they meet; "" if the engine knows it.
        hosted: whether the launcher itself serves the meeting point.
        attempt: how often the launcher has restarted the processes.
    """

    engine: Engine
    by: str
    rank: int
    size: int
    meeting: str = ""
    hosted: bool = False
    attempt: int = 0


def is_switched_off(env: Mapping[str, str] = os.environ) -> bool:
    """Return whether the user wants every process to train alone (FLUIDIO_DISTRIBUTED=off)."""
    return env.get("FLUIDIO_DISTRIBUTED", "").lower() in ("off", "0", "no", "false")


def find_launch(env: Mapping[str, str] = os.environ) -> Launch | None:
    """Return the launcher's settings from the environment; None for a process started by hand."""
    return _torchrun(env) or _kubernetes(env) or _mpi(env) or _paddle(env)


def _torchrun(env: Mapping[str, str]) -> Launch | None:
    if not all(env.get(name) for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")):
        return None
    agent = env.get("TORCHELASTIC_USE_AGENT_STORE", "").lower() in ("true", "1")
    by = "torchrun" if "TORCHELASTIC_RUN_ID" in env else "RANK, WORLD_SIZE and MASTER_ADDR"
    meeting = f"{env['MASTER_ADDR']}:{env['MASTER_PORT']}"
    attempt = _number(env, "TORCHELASTIC_RESTART_COUNT") if "TORCHELASTIC_RESTART_COUNT" in env else 0
    return Launch("torch", by, _number(env, "RANK"), _number(env, "WORLD_SIZE"), meeting, agent, attempt)


def _kubernetes(env: Mapping[str, str]) -> Launch | None:
    if "JOB_COMPLETION_INDEX" not in env or not env.get("MASTER_ADDR") or not env.get("WORLD_SIZE"):
        return None
    meeting = f"{env['MASTER_ADDR']}:{env.get('MASTER_PORT') or _MEETING_PORT}"
    by = "a Kubernetes indexed job"
    return Launch("torch", by, _number(env, "JOB_COMPLETION_INDEX"), _number(env, "WORLD_SIZE"), meeting)


def _mpi(env: Mapping[str, str]) -> Launch | None:
    for rank, size in _MPI:
        if env.get(rank) and env.get(size):
            return Launch("mpi", "mpiexec", _number(env, rank), _number(env, size))
    return None


def _paddle(env: Mapping[str, str]) -> Launch | None:
    endpoints = [word for word in env.get("PADDLE_TRAINER_ENDPOINTS", "").split(",") if word]
    if len(endpoints) < 2 or not env.get("PADDLE_TRAINER_ID"):
        return None
    rank = _number(env, "PADDLE_TRAINER_ID")
    return Launch("torch", "PADDLE_TRAINER_ENDPOINTS", rank, len(endpoints), endpoints[0])


def _number(env: Mapping[str, str], name: str) -> int:
    try:
        number = int(env[name])
    except ValueError:
        number = -1
    if number < 0:
        raise ValueError(f"{name}={env[name]!r} in the environment: expected a number of at least 0")
    return number


def trainer_count(env: Mapping[str, str] = os.environ) -> tuple[int, int]:
    """Return (trainer id, number of trainers) from the environment; (0, 1) if it has neither.

    The RecordIO guide's script reads PADDLE_TRAINERS; Paddle's launcher sets PADDLE_TRAINERS_NUM.
    """
    for name in ("PADDLE_TRAINERS_NUM", "PADDLE_TRAINERS"):
        if env.get(name, "").isdigit() and env.get("PADDLE_TRAINER_ID"):
            return _number(env, "PADDLE_TRAINER_ID"), _number(env, name)
    launch = find_launch(env)
    return (launch.rank, launch.size) if launch is not None else (0, 1)


def export_paddle_variables(env: MutableMapping[str, str] = os.environ) -> None:
    """Set Paddle's variables from another launcher's, for scripts that read them.

    Missing endpoints are made up: they serve only as names, because the engine meets elsewhere.
    """
    launch = find_launch(env)
    if launch is None or launch.by.startswith("PADDLE"):
        return
    endpoints = ",".join(f"trainer-{rank}:0" for rank in range(launch.size))
    defaults = {
        "PADDLE_TRAINER_ID": str(launch.rank),
        "PADDLE_TRAINERS_NUM": str(launch.size),
        "PADDLE_TRAINERS": str(launch.size),
        "PADDLE_TRAINER_ENDPOINTS": endpoints,
        "PADDLE_CURRENT_ENDPOINT": f"trainer-{launch.rank}:0",
    }
    if launch.size > 1:  # a script that finds a role looks for servers, too
        defaults |= {"PADDLE_TRAINING_ROLE": "TRAINER", "TRAINING_ROLE": "TRAINER"}
    for name, value in defaults.items():
        env.setdefault(name, value)


def describe_launch(env: Mapping[str, str] = os.environ) -> str:
    """Return one line that says how this process was started and which engine it would use."""
    if is_switched_off(env):
        return "every process trains alone (FLUIDIO_DISTRIBUTED=off)"
    try:
        launch = find_launch(env)
    except ValueError as error:
        return f"started in an unknown way: {error}"
    if launch is None:
        return "started alone; trainers started by hand meet through torch.distributed at their first endpoint"
    engine = {"mpi": "MPI (mpi4py)", "torch": "torch.distributed (Gloo)"}[launch.engine]
    meeting = f", meeting at {launch.meeting}" if launch.meeting else ""
    return f"process {launch.rank} of {launch.size}, started by {launch.by}: engine {engine}{meeting}"
