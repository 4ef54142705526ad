"""Program: blocks of ops that an executor runs."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fluidio.era import era
from fluidio.program.attached import Attached
from fluidio.program.block import Block
from fluidio.program.op_roles import OpRole
from fluidio.program.variable import Parameter, Variable, check_text_options

__all__ = ["Program"]

_serial = itertools.count()


class Program:
    """A static graph: block 0 is the body, further blocks are bodies of loops, branches and preprocessors.

    Example:
        >>> import fluidio as fluid
        >>> main, startup = fluid.Program(), fluid.Program()
        >>> with fluid.program_guard(main, startup):
        ...     x = fluid.layers.data("x", [3])
        ...     y = fluid.layers.fc(x, size=2)
        >>> [op.type for op in main.global_block().ops]
        ['mul', 'elementwise_add']
    """

    _default_seed = 0
    # Attributes that Fluid's transpilers and fleet keep on a program; scripts read and set them.
    _parameters_on_pservers: object = None
    _pipeline_opt: Mapping[str, object] | None = None
    _fleet_opt: Mapping[str, object] | None = None
    _nccl_comm_num = 1
    _use_hierarchical_allreduce = False
    _hierarchical_allreduce_inter_nranks = 0
    _enable_dgc = False
    _program_config: object = None
    _backward_passes = 0
    _use_lamb = False

    def __init__(self) -> None:
        self.blocks: list[Block] = [Block(self, 0)]
        self.current_block_idx = 0
        self._seed = Program._default_seed
        self.changes = 0
        self._ops_version = 0
        self._serial = next(_serial)
        self._op_role: int = OpRole.Forward
        self._op_role_var: list[str] = []
        self._is_mem_optimized = False
        # Fluid: attributes that distributed jobs set on their programs.
        self._is_distributed = False
        self._trainers_agree = False  # whether they started training it with the same values
        self._is_chief = False
        self._trainers_endpoints: list[str] = []
        self._endpoints: list[str] = []
        self._ps_endpoint: str | None = None
        self._distributed_lookup_table: str | None = None
        self.is_for_test = False
        self.desc_version = 1008005
        self.attached = Attached()

    def note_change(self) -> None:
        """Record a change, so that compiled plans of the old state are not reused."""
        self.changes += 1
        self._ops_version += 1

    def _bump_details(self) -> None:
        """Record a change that leaves the ops, and the names they read and write, unchanged."""
        self.changes += 1

    # -- blocks -------------------------------------------------------------------------------------------------

    def global_block(self) -> Block:
        return self.blocks[0]

    def block(self, index: int) -> Block:
        return self.blocks[index]

    def current_block(self) -> Block:
        return self.blocks[self.current_block_idx]

    @property
    def num_blocks(self) -> int:
        return len(self.blocks)

    def _create_block(self, parent_idx: int | None = None) -> Block:
        """Create a sub-block of the current block (or of `parent_idx`) and make it current."""
        parent = self.current_block_idx if parent_idx is None else parent_idx
        block = Block(self, len(self.blocks), parent)
        self.blocks.append(block)
        self.current_block_idx = block.idx
        self.note_change()
        return block

    def _rollback(self) -> None:
        """Make the parent of the current block current again."""
        self.current_block_idx = self.current_block().parent_idx

    create_block = _create_block
    rollback = _rollback

    # -- seeds --------------------------------------------------------------------------------------------------

    @property
    def random_seed(self) -> int:
        return self._seed

    @random_seed.setter
    def random_seed(self, seed: int) -> None:
        if not isinstance(seed, int):
            raise ValueError(f"Program.random_seed must be an int, got {type(seed).__name__}")
        self._seed = seed

    # -- contents -----------------------------------------------------------------------------------------------

    def list_vars(self) -> Iterator[Variable]:
        for block in self.blocks:
            yield from list(block.vars.values())

    def all_parameters(self) -> list[Parameter]:
        return [p for block in self.blocks for p in block.all_parameters()]

    @property
    def desc(self) -> Any:
        from fluidio.program.desc import ProgramDesc

        return ProgramDesc(self)

    def clone(self, for_test: bool = False) -> Program:
        """Return a copy; `for_test` sets `is_test` on every op that has it.

        Fluid: until 1.5 a test clone kept backward and optimizer ops, so that testing continued training unless one
        cloned before `minimize`; from 1.6 it drops them. Here it always does, except in a strict old era.
        """
        from fluidio.program.clone import clone_program

        return clone_program(self, for_test)

    def _prune(self, targets: Sequence[Any]) -> Program:
        from fluidio.program.prune import check_produced, prune

        check_produced(self, targets)
        return prune(self, targets)

    def _prune_with_input(self, feeded_var_names: Sequence[str], targets: Sequence[Any]) -> Program:
        from fluidio.program.prune import check_produced, prune

        check_produced(self, targets, feeded_var_names)
        return prune(self, targets, feeded_var_names)

    prune = _prune

    def _inference_optimize(self, prune_read_op: bool = True) -> Program:
        from fluidio.program.prune import inference_optimize

        return inference_optimize(self, prune_read_op)

    inference_optimize = _inference_optimize

    @staticmethod
    def parse_from_string(binary_str: bytes, *, allow_files: bool = False) -> Program:
        """Return the program of ProgramDesc bytes.

        Args:
            allow_files: let its ops use files, functions and other machines when it runs; only for bytes you trust.
        """
        from fluidio.program.proto import parse_program

        if isinstance(binary_str, int):
            raise TypeError(f"parse_from_string() takes the bytes of a saved program, got {binary_str!r}")
        return parse_program(binary_str, allow_files=allow_files)

    # -- what another program knows ----------------------------------------------------------------------------

    def _copy_param_info_from(self, other: Program) -> None:
        """Copy which variables are parameters; a program's bytes do not record it."""
        self._check_source(other, "_copy_param_info_from")
        self.global_block()._copy_param_info_from(other.global_block())

    def _copy_data_info_from(self, other: Program) -> None:
        """Copy which variables are fed, and whether their gradients stop."""
        self._check_source(other, "_copy_data_info_from")
        for block, source in zip(self.blocks, other.blocks):
            for name, variable in source.vars.items():
                twin = block.vars.get(name)
                if twin is not None:
                    twin.is_data = twin.is_data or variable.is_data
                    twin.stop_gradient = twin.stop_gradient or variable.stop_gradient

    def _copy_dist_param_info_from(self, other: Program) -> None:
        """Copy the attributes that a transpiler set."""
        self._check_source(other, "_copy_dist_param_info_from")
        self._is_distributed = other._is_distributed

    @staticmethod
    def _check_source(other: object, method: str) -> None:
        if not isinstance(other, Program):
            raise TypeError(f"Program.{method}() takes the Program to copy from, got {type(other).__name__}")

    def _version(self) -> int:
        """Return the version of Fluid that the program's description is written in."""
        return self.desc_version

    @property
    def _current_role(self) -> int:
        return self._op_role

    @_current_role.setter
    def _current_role(self, role: int) -> None:
        self._op_role = int(role)

    @property
    def _appending_grad_times(self) -> int:
        """Return how often gradients were appended."""
        return self._backward_passes

    def _sync_with_cpp(self) -> None:
        """Do nothing: program and desc are the same object."""

    def _get_desc(self) -> Any:
        return self.desc

    @staticmethod
    def _construct_from_desc(desc: Any) -> Program:
        program: Program = desc._program
        return program

    def global_seed(self, seed: int = 0) -> None:
        """Set the seed of this program and of all programs created from now on."""
        Program._default_seed = self._seed = seed

    # -- op roles and name scopes -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def role_guard(self, role: int, role_var: Sequence[str] = ()) -> Iterator[None]:
        """Give ops created in the block a role (backward, optimize, ...)."""
        old, old_var = self._op_role, self._op_role_var
        self._op_role, self._op_role_var = int(role), list(role_var)
        try:
            yield
        finally:
            self._op_role, self._op_role_var = old, old_var

    def _optimized_guard(self, param_and_grads: Sequence[Any]) -> Any:
        names = [v.name if isinstance(v, Variable) else v for v in param_and_grads if v is not None]
        return self.role_guard(OpRole.Optimize, names)

    optimized_guard = _optimized_guard

    def _lr_schedule_guard(self, is_with_opt: bool = False) -> Any:
        return self.role_guard(OpRole.LRSched | (OpRole.Optimize if is_with_opt else 0))

    def _backward_role_guard(self) -> Any:
        return self.role_guard(OpRole.Backward)

    # -- text ---------------------------------------------------------------------------------------------------

    def to_string(self, throw_on_error: bool, with_details: bool = False) -> str:
        """Return the ProgramDesc as text; `with_details` adds the properties of variables that only Python has."""
        from fluidio.program.text_format import program_text

        check_text_options(throw_on_error, with_details)
        return program_text(self, with_details)

    def _repr_html_(self) -> str:
        """Return the program page, for notebooks."""
        from fluidio.pages.notebook import framed
        from fluidio.pages.programs import program_page

        return framed(program_page(self))

    def __str__(self) -> str:
        return self.to_string(True)

    def __repr__(self) -> str:
        if era().repr_is_text:
            return self.to_string(True)
        return f"Program({', '.join(f'{len(b.ops)} ops' for b in self.blocks)})"
