"""Ops of scripts and saved programs that identify the trainers to NCCL: here they declare the job."""

from __future__ import annotations

from typing import Any

from fluidio.distributed import Membership, declare, membership, parse_endpoints
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.program.consent import check_consent

__all__: list[str] = []


def _declare(k: Call, trainer: int, own: str, others: list[str]) -> None:
    """Declare the trainers at these endpoints, unless the script has declared them in another way."""
    if membership() is None and others:
        check_consent(k.op, f"connect to {', '.join(others)}")
        endpoints = [*others[:trainer], own, *others[trainer:]]
        declare(Membership(trainer, len(endpoints), parse_endpoints(endpoints), own))


@op(
    "gen_nccl_id",
    "",
    "NCCLID?",
    {"endpoint": "", "endpoint_list": [], "trainer_id": 0, "trainers": []},
    infer=None,
    grad=False,
    raw=True,
    side_effect=True,
)
def gen_nccl_id(k: Call, frame: Any) -> None:
    """Record which trainer this is, at `endpoint`, and where the others are; `trainers` lists all of them."""
    a = k.attrs
    others = [end for end in a["trainers"] if end != a["endpoint"]] or list(a["endpoint_list"])
    _declare(k, a["trainer_id"], a["endpoint"], others)


@op(
    "c_gen_nccl_id",
    "",
    "Out?",
    {"endpoint": "", "other_endpoints": [], "rank": 0, "ring_id": 0},
    infer=None,
    grad=False,
    raw=True,
    side_effect=True,
)
def c_gen_nccl_id(k: Call, frame: Any) -> None:
    """Record which trainer this is and where the others are."""
    _declare(k, k.attrs["rank"], k.attrs["endpoint"], list(k.attrs["other_endpoints"]))


@op(
    "c_comm_init",
    "X?",
    "",
    {"nranks": 1, "rank": 0, "device_id": -1, "ring_id": 0},
    infer=None,
    grad=False,
    raw=True,
    side_effect=True,
)
def c_comm_init(k: Call, frame: Any) -> None:
    """Do nothing: trainers meet in their first exchange."""


@op("c_comm_init_all", "", "", {"devices": [], "ring_id": 0}, infer=None, grad=False, raw=True, side_effect=True)
def c_comm_init_all(k: Call, frame: Any) -> None:
    """Do nothing: the places of a process need no communicator."""
