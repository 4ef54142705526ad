"""Training on many machines: Fluid's interfaces on top of an existing engine that moves the bytes.

`Communicator` is the interface to the engines MPI and torch.distributed; a `Group` holds the trainers that are still
part of a job. A single process imports neither engine.
"""

from fluidio.distributed.communicator import Communicator, Member, Work
from fluidio.distributed.environment import describe_launch, export_paddle_variables, find_launch, trainer_count
from fluidio.distributed.group import Group, Intent, signature_of
from fluidio.distributed.membership import Membership, parse_endpoints
from fluidio.distributed.process import declare, declare_launched, fail, group, is_alone, leave, membership, serve

__all__ = [
    "Communicator",
    "Group",
    "Intent",
    "Member",
    "Membership",
    "Work",
    "declare",
    "declare_launched",
    "describe_launch",
    "export_paddle_variables",
    "fail",
    "find_launch",
    "group",
    "is_alone",
    "leave",
    "membership",
    "parse_endpoints",
    "serve",
    "signature_of",
    "trainer_count",
]
