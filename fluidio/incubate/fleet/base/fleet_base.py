"""Fleet: one interface for jobs with and without parameter servers; the part they have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fluidio import io
from fluidio.distributed import Membership, declare, leave
from fluidio.executor import Executor
from fluidio.incubate.fleet.base.mode import Mode
from fluidio.incubate.fleet.base.role_maker import PaddleCloudRoleMaker, RoleMakerBase
from fluidio.optimizer.base import Optimizer
from fluidio.places import CPUPlace
from fluidio.program import Operator, Program, Variable, default_main_program, default_startup_program

__all__ = ["DistributedOptimizer", "Fleet", "Mode"]


class DistributedOptimizer:
    """An optimizer whose `minimize` makes the program one of many workers."""

    def __init__(self, optimizer: Any, strategy: Any = None, owner: Any = None) -> None:
        if not isinstance(optimizer, Optimizer) and not hasattr(optimizer, "minimize"):
            raise TypeError(f"fleet.distributed_optimizer takes an optimizer, got {type(optimizer).__name__}")
        self._optimizer: Any = optimizer
        self._strategy = strategy
        self._fleet: Fleet = owner

    def backward(
        self,
        loss: Any,
        startup_program: Program | None = None,
        parameter_list: Sequence[Variable | str] | None = None,
        no_grad_set: Iterable[Variable | str] | None = None,
        callbacks: Any = None,
    ) -> Any:
        return self._optimizer.backward(loss, startup_program, parameter_list, no_grad_set, callbacks)

    def apply_gradients(self, params_grads: Any) -> Any:
        return self._optimizer.apply_gradients(params_grads)

    def _minimize(
        self, loss: Any, startup: Any, parameter_list: Any, no_grad_set: Iterable[Any] | None
    ) -> tuple[list[Operator], list[Any]]:
        one = loss[0] if isinstance(loss, (list, tuple)) else loss
        begin = startup[0] if isinstance(startup, (list, tuple)) else startup
        ops, pairs = self._optimizer.minimize(one, begin, parameter_list, no_grad_set)
        self._fleet._loss_name = one.name
        self._fleet._distribute(one.block.program, begin or default_startup_program(), self._strategy)
        return ops, list(pairs)


class Fleet:
    """This process's role in its job, and the programs it runs."""

    mode = 0
    _refusal: type[Exception] = TypeError

    def __init__(self, mode: int | None = None) -> None:
        self.mode = self._mode = self.mode if mode is None else mode
        self._optimizer: Any = None
        self._role_maker: RoleMakerBase | None = None
        self._executor: Executor | None = None
        self._is_initialized = False
        self._loss_name = ""
        self.main_program: Any = None
        self.startup_program: Any = None

    def init(self, role_maker: object = None) -> None:
        """Take a role from a role maker, or from the environment."""
        if role_maker is None:
            role_maker = PaddleCloudRoleMaker(is_collective=self.mode == Mode.COLLECTIVE)
        if not isinstance(role_maker, RoleMakerBase):
            raise TypeError(f"fleet.init takes a role maker, got {type(role_maker).__name__}")
        role_maker.generate_role()
        self._role_maker = role_maker
        self._executor = Executor(CPUPlace())
        self._is_initialized = True
        self._declare(role_maker)
        self.main_program, self.startup_program = default_main_program(), default_startup_program()

    def _declare(self, role: RoleMakerBase) -> None:
        if role.is_worker() and role.worker_num() > 1:
            endpoints = role.get_pserver_endpoints() or role.get_trainer_endpoints()
            own = "" if role.get_pserver_endpoints() else role.get_local_endpoint()
            declare(Membership(role.worker_index(), role.worker_num(), tuple(endpoints), own))

    def _role(self) -> RoleMakerBase:
        if self._role_maker is None:
            raise RuntimeError("call fleet.init(role_maker) first")
        return self._role_maker

    def _distribute(self, main: Program, startup: Program, strategy: object) -> None:
        raise NotImplementedError(
            f"{type(self).__name__} cannot distribute programs: use fleet from "
            "fluid.incubate.fleet.collective or from .parameter_server"
        )

    # -- who is who -----------------------------------------------------------------------------------------------

    def is_worker(self) -> bool:
        return self._role().is_worker()

    def is_first_worker(self) -> bool:
        return self._role().is_first_worker()

    def is_server(self) -> bool:
        return self._role().is_server()

    def worker_index(self) -> int:
        return self._role().worker_index()

    def worker_num(self) -> int:
        return self._role().worker_num()

    def server_num(self) -> int:
        return self._role().server_num()

    def server_index(self) -> int:
        return self._role().server_index()

    def worker_endpoints(self, to_string: bool = False) -> Any:
        endpoints = self._role().get_trainer_endpoints()
        return ",".join(endpoints) if to_string else endpoints

    def server_endpoints(self, to_string: bool = False) -> Any:
        endpoints = self._role().get_pserver_endpoints()
        return ",".join(endpoints) if to_string else endpoints

    def split_files(self, files: Sequence[str]) -> list[str]:
        """Return this worker's consecutive share of the files; if they do not divide evenly, the first get one more.

        Fluid: 1.8.5 failed here with Python 3; this is its result with Python 2.
        """
        if not isinstance(files, list):
            raise TypeError(f"split_files takes a list of file names, got {type(files).__name__}")
        index, count = self.worker_index(), self.worker_num()
        size, more = divmod(len(files), count)
        begin = index * size + min(index, more)
        return files[begin : begin + size + (index < more)]

    # -- life cycle -----------------------------------------------------------------------------------------------

    def init_worker(self) -> None:
        """Do nothing: workers meet when the startup program runs."""

    def init_server(self, model_dir: str | None = None) -> None:
        """Do nothing: a server holds nothing."""

    def run_server(self) -> None:
        """Do nothing: there are no servers."""

    def stop_worker(self) -> None:
        """Leave the other workers, which continue."""
        leave()

    def barrier_worker(self) -> None:
        """Wait for the other workers."""
        self._role().barrier_worker()

    def all_reduce_worker(self, input: Variable, output: object) -> None:
        """Set `output` to the sum of all workers' `input`."""
        self._role().all_reduce_worker(input, output)

    # -- saving ---------------------------------------------------------------------------------------------------

    def _trained(self, program: Program | None) -> Program:
        found = self.main_program if program is None else program
        return found if isinstance(found, Program) else found._program

    def _check_saving(self, function: str, executor: object, program: object) -> None:
        if not isinstance(executor, Executor):
            raise self._refusal(f"fleet.{function}: executor must be a fluid.Executor")
        if program is not None and not isinstance(program, Program):
            raise self._refusal(f"fleet.{function}: main_program must be a fluid.Program")

    def save_persistables(
        self, executor: Executor, dirname: str, main_program: Program | None = None, filename: str | None = None
    ) -> None:
        """Save the program's persistable variables; every worker has all of them, so one worker saves."""
        self._check_saving("save_persistables", executor, main_program)
        io.save_persistables(executor, dirname, self._trained(main_program), filename)

    def save_inference_model(
        self,
        executor: Any,
        dirname: str,
        feeded_var_names: Any = None,
        target_vars: list[Variable] | None = None,
        main_program: Any = None,
        export_for_deployment: bool = True,
    ) -> None:
        """Save the part of the program that computes the targets."""
        self._check_saving("save_inference_model", executor, main_program)
        program = self._trained(main_program)
        io.save_inference_model(
            dirname, feeded_var_names, target_vars, executor, program, export_for_deployment=export_for_deployment
        )
