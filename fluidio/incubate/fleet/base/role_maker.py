"""Role makers: whatever they are told, the role is that of the one worker."""

from __future__ import annotations

import enum
from typing import Any

__all__ = [
    "PaddleCloudRoleMaker",
    "Role",
    "RoleMakerBase",
    "UserDefinedCollectiveRoleMaker",
    "UserDefinedRoleMaker",
]


class Role(enum.IntEnum):
    """What a process of a cluster does."""

    WORKER = 1
    SERVER = 2


class RoleMakerBase:
    """Say that this process is the first and only worker."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._options = options

    def is_worker(self) -> bool:
        return True

    def is_server(self) -> bool:
        return False

    def is_first_worker(self) -> bool:
        return True

    def worker_num(self) -> int:
        return 1

    def worker_index(self) -> int:
        return 0

    def server_index(self) -> int:
        return 0

    def get_trainer_endpoints(self) -> list[str]:
        return ["127.0.0.1:0"]

    def get_pserver_endpoints(self) -> list[str]:
        return []

    def generate_role(self) -> None:
        """Do nothing: the role is known."""


class PaddleCloudRoleMaker(RoleMakerBase):
    """Roles from the environment of a cloud."""


class UserDefinedRoleMaker(RoleMakerBase):
    """Roles from arguments."""


class UserDefinedCollectiveRoleMaker(RoleMakerBase):
    """Roles from arguments, for collective training."""
