"""Role makers: determine which process of a job this one is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.distributed import Intent, find_launch, group, parse_endpoints, signature_of, trainer_count
from fluidio.distributed.communicator import Reduction
from fluidio.era import era
from fluidio.program import Variable

__all__ = [
    "GeneralRoleMaker",
    "MPISymetricRoleMaker",
    "PaddleCloudRoleMaker",
    "Role",
    "RoleMakerBase",
    "UserDefinedCollectiveRoleMaker",
    "UserDefinedRoleMaker",
]


class Role:
    """The task of a process in a job."""

    WORKER = 1
    SERVER = 2


class RoleMakerBase:
    """The only worker, without servers; subclasses override `generate_role`."""

    def __init__(self) -> None:
        self._role = Role.WORKER
        self._current_id = 0
        self._worker_num = 1
        self._worker_endpoints: list[str] = []
        self._server_endpoints: list[str] = []
        self._role_is_generated = False

    def generate_role(self) -> None:
        """Determine the role; calling it again is harmless."""
        if not self._role_is_generated:
            self._role_is_generated = True
            self._generate()

    def _generate(self) -> None:
        """Set the attributes."""

    def is_worker(self) -> bool:
        self.generate_role()
        return self._role == Role.WORKER

    def is_server(self) -> bool:
        self.generate_role()
        return self._role == Role.SERVER

    def is_first_worker(self) -> bool:
        return self.is_worker() and self._current_id == 0

    def worker_num(self) -> int:
        self.generate_role()
        return self._worker_num

    def server_num(self) -> int:
        return len(self.get_pserver_endpoints())

    def worker_index(self) -> int:
        self.generate_role()
        return self._current_id

    def server_index(self) -> int:
        self.generate_role()
        return self._current_id

    def role_id(self) -> int:
        return self.worker_index()

    def get_trainer_endpoints(self) -> list[str]:
        self.generate_role()
        return self._worker_endpoints

    def get_pserver_endpoints(self) -> list[str]:
        self.generate_role()
        return self._server_endpoints

    def get_local_endpoint(self) -> str:
        endpoints = self.get_pserver_endpoints() if self.is_server() else self.get_trainer_endpoints()
        return endpoints[self._current_id] if self._current_id < len(endpoints) else ""

    # -- exchange between workers ---------------------------------------------------------------------------------

    def barrier_worker(self) -> None:
        """Wait for the other workers."""
        if self.is_worker():
            group().meet(Intent.COLLECTIVE, signature_of(["barrier"]))

    barrier_all = barrier_worker

    def all_gather(self, input: Variable) -> list[Any]:
        """Return the numbers of all workers, in order."""
        trainers = group().meet(Intent.COLLECTIVE, signature_of(["all_gather"]))
        gathered: list[Any] = trainers.all_gather(np.asarray(input)).tolist()
        return gathered

    def all_reduce_worker(self, input: Variable, output: Any, mode: Reduction = "sum") -> None:
        """Set `output` to the sum (max, min) of all workers' `input`."""
        if mode not in ("sum", "max", "min"):
            raise ValueError(f"mode must be 'sum', 'max' or 'min', got {mode!r}")
        values = np.array(input)
        trainers = group().meet(Intent.COLLECTIVE, signature_of(["all_reduce", mode, values.shape, values.dtype.str]))
        trainers.all_reduce(values, mode).wait()
        output[...] = values

    def to_string(self) -> str:
        return (
            f"role: {self._role}, current_id: {self._current_id}, worker_endpoints: {self._worker_endpoints}, "
            f"server_endpoints: {self._server_endpoints}"
        )

    __str__ = to_string


class PaddleCloudRoleMaker(RoleMakerBase):
    """The role given by the environment: Paddle's variables, or those of mpiexec, torchrun or Kubernetes.

    Fluid: missing variables were an error; here a process started on its own is the only worker.
    """

    def __init__(self, is_collective: bool = False) -> None:
        super().__init__()
        self._is_collective = is_collective

    def _generate(self) -> None:
        self._current_id, self._worker_num = trainer_count()
        self._worker_endpoints = list(parse_names(os.environ.get("PADDLE_TRAINER_ENDPOINTS", "")))
        if self._is_collective:
            _check_variables()
            self._worker_num = len(self._worker_endpoints) or self._worker_num
            return
        self._server_endpoints = list(_servers())
        role = os.environ.get("TRAINING_ROLE", "TRAINER")
        if role not in ("TRAINER", "PSERVER"):
            raise ValueError(f"TRAINING_ROLE must be TRAINER or PSERVER, got {role!r}")
        count = os.environ.get("PADDLE_TRAINERS_NUM", "")
        if count.isdigit():
            self._worker_num = int(count)
        if role == "PSERVER":
            self._role = Role.SERVER
            self._current_id = self._server_number()
        else:
            _check_variables()

    def _server_number(self) -> int:
        own = f"{os.environ.get('POD_IP', '127.0.0.1')}:{os.environ.get('PADDLE_PORT', '')}"
        if own not in self._server_endpoints:
            raise ValueError(
                f"this process says that its endpoint is {own} (POD_IP, PADDLE_PORT), but the parameter "
                f"servers are {', '.join(self._server_endpoints) or 'none'} (PADDLE_PSERVERS_IP_PORT_LIST)"
            )
        return self._server_endpoints.index(own)


def _check_variables() -> None:
    """Raise if the environment names other trainers but not which one this is, or the reverse."""
    if find_launch() is not None:
        return
    trainer, count = (os.environ.get(name, "") for name in ("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM"))
    endpoints = parse_names(os.environ.get("PADDLE_TRAINER_ENDPOINTS", ""))
    if not trainer and (len(endpoints) > 1 or (count.isdigit() and int(count) > 1)):
        name = "PADDLE_TRAINER_ENDPOINTS" if len(endpoints) > 1 else f"PADDLE_TRAINERS_NUM={count}"
        raise ValueError(
            f"the environment has {name} but no PADDLE_TRAINER_ID, so this trainer does not know its number"
        )
    if trainer.isdigit() and int(trainer) > 0 and trainer_count()[1] < 2:
        raise ValueError(
            f"the environment has PADDLE_TRAINER_ID={trainer}, but neither PADDLE_TRAINERS_NUM nor "
            "PADDLE_TRAINER_ENDPOINTS says how many trainers there are"
        )


GeneralRoleMaker = PaddleCloudRoleMaker


def parse_names(text: str) -> tuple[str, ...]:
    return parse_endpoints(text) if text else ()


def _servers() -> tuple[str, ...]:
    listed = os.environ.get("PADDLE_PSERVERS_IP_PORT_LIST", "")
    if listed:
        return parse_endpoints(listed)
    hosts, port = os.environ.get("PADDLE_PSERVERS", ""), os.environ.get("PADDLE_PORT", "")
    if hosts and port:  # Paddle Cloud until 1.6
        return tuple(host if ":" in host else f"{host}:{port}" for host in hosts.split(","))
    return ()


class MPISymetricRoleMaker(RoleMakerBase):
    """The role of a process of mpiexec.

    Fluid: every second process was a server; here all are workers, because servers hold nothing.
    """

    def _generate(self) -> None:
        launch = find_launch()
        if launch is not None:
            self._current_id, self._worker_num = launch.rank, launch.size

    def get_size(self) -> int:
        return self.worker_num()


MPIRoleMaker = MPISymetricRoleMaker


class UserDefinedRoleMaker(RoleMakerBase):
    """The role given by the script, in a job with parameter servers."""

    def __init__(
        self,
        current_id: int = 0,
        role: int = Role.WORKER,
        worker_num: int = 0,
        server_endpoints: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self._server_endpoints = _checked_endpoints("server_endpoints", server_endpoints)
        if role not in (Role.WORKER, Role.SERVER):
            raise TypeError(f"role must be Role.WORKER or Role.SERVER, got {role!r}")
        _check_id(current_id)
        if era().checks_layer_arguments and role == Role.SERVER and current_id >= len(self._server_endpoints):
            raise ValueError(
                f"current_id must lie in 0 ... {len(self._server_endpoints) - 1}, one for each of "
                f"server_endpoints; got {current_id}"
            )
        if not isinstance(worker_num, int):
            raise TypeError(f"worker_num must be an int, got {type(worker_num).__name__}")
        if worker_num <= 0:
            raise ValueError(f"worker_num must be at least 1, got {worker_num}")
        self._current_id, self._role, self._worker_num = current_id, role, worker_num


class UserDefinedCollectiveRoleMaker(RoleMakerBase):
    """The role given by the script, in a job without servers."""

    def __init__(self, current_id: int = 0, worker_endpoints: Sequence[str] | None = None) -> None:
        super().__init__()
        self._worker_endpoints = _checked_endpoints("worker_endpoints", worker_endpoints)
        _check_id(current_id)
        if era().checks_layer_arguments and current_id >= len(self._worker_endpoints):
            raise ValueError(
                f"current_id must lie in 0 ... {len(self._worker_endpoints) - 1}, one for each of "
                f"worker_endpoints; got {current_id}"
            )
        self._current_id = current_id
        self._worker_num = len(self._worker_endpoints)


def _checked_endpoints(name: str, endpoints: object) -> list[str]:
    """Return a script's endpoints; raise 1.8.5's error if they are not valid."""
    if not isinstance(endpoints, list):
        raise TypeError(f"{name} must be a list of strings 'host:port', got {type(endpoints).__name__}")
    if not all(isinstance(endpoint, str) for endpoint in endpoints):
        raise TypeError(f"{name} must hold only strings 'host:port', got {endpoints!r}")
    if era().checks_layer_arguments:
        if not endpoints:
            raise ValueError(f"{name} is empty: give at least one 'host:port'")
        if len(endpoints) != len(set(endpoints)):
            raise ValueError(f"{name} names an endpoint twice: {endpoints!r}")
    return list(parse_endpoints(endpoints))


def _check_id(current_id: object) -> None:
    if not isinstance(current_id, int):
        raise TypeError(f"current_id must be an int, got {type(current_id).__name__}")
    if current_id < 0:
        raise ValueError(f"current_id must not be negative, got {current_id}")
