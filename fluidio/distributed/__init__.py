"""Training on many machines: an existing engine moves the bytes, Fluid's interfaces stand on it.

`Communicator` is the interface to the engines MPI and torch.distributed; `Group` are the trainers of a job that are
still there. A single process imports neither engine.
"""

from fluidio.distributed.communicator import Communicator, Member, Work
from fluidio.distributed.environment import describe_launch, export_paddle_variables, find_launch, trainer_count
from fluidio.distributed.group import Group, Intent, signature_of
from fluidio.distributed.membership import Membership, parse_endpoints
from fluidio.distributed.process import declare, fail, group, is_alone, leave, membership, serve

__all__ = [
    "Communicator",
    "Group",
    "Intent",
    "Member",
    "Membership",
    "Work",
    "declare",
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
