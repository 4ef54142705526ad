"""The launcher's variables as scripts read them: `fluid.dygraph.ParallelEnv`."""

from __future__ import annotations

import os

__all__ = ["Env", "ParallelEnv"]

_VARIABLES = {
    "PADDLE_TRAINERS_NUM": "1",
    "PADDLE_TRAINER_ID": "0",
    "FLAGS_selected_gpus": "0",
    "PADDLE_CURRENT_ENDPOINT": "",
    "PADDLE_TRAINER_ENDPOINTS": "",
}


class ParallelEnv:
    """This process's place among the trainers, taken from the environment when the object is created."""

    def __init__(self) -> None:
        self._said = {name: os.environ.get(name, default) for name, default in _VARIABLES.items()}

    @property
    def nranks(self) -> int:
        """How many trainers there are."""
        return int(self._said["PADDLE_TRAINERS_NUM"])

    @property
    def local_rank(self) -> int:
        """The number of this trainer."""
        return int(self._said["PADDLE_TRAINER_ID"])

    @property
    def dev_id(self) -> int:
        """The number of this trainer's GPU."""
        return int(self._said["FLAGS_selected_gpus"])

    @property
    def current_endpoint(self) -> str:
        """The address of this trainer."""
        return self._said["PADDLE_CURRENT_ENDPOINT"]

    @property
    def trainer_endpoints(self) -> list[str]:
        """The addresses of all trainers."""
        return self._said["PADDLE_TRAINER_ENDPOINTS"].split(",")


Env = ParallelEnv
