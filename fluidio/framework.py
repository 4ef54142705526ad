"""`fluid.framework`: programs and small functions around them."""

from __future__ import annotations

import random
import re
from typing import Any

from fluidio import core
from fluidio.dtypes import VarType, convert_np_dtype_to_dtype_
from fluidio.era import era
from fluidio.errors import not_supported
from fluidio.flags import get_flags, set_flags
from fluidio.op import get_all_op_protos
from fluidio.places import CPUPlace, cpu_places, cuda_pinned_places, cuda_places, is_compiled_with_cuda
from fluidio.program import (
    Block,
    Operator,
    Parameter,
    Program,
    Variable,
    default_main_program,
    default_startup_program,
    name_scope,
    program_guard,
    switch_main_program,
    switch_startup_program,
    unique_name,
)
from fluidio.program.devices import device_guard, switch_device
from fluidio.program.ir_graph import IrGraph
from fluidio.program.name_scopes import scope_path
from fluidio.program.op_def import grad_name as grad_var_name
from fluidio.program.op_proto import COMMON_ATTRS
from fluidio.version import FLUID_VERSION

__all__ = [
    "CONTROL_DEP_VAR_PREFIX",
    "EMPTY_VAR_NAME",
    "GRAD_VAR_SUFFIX",
    "TEMP_VAR_NAME",
    "ZERO_VAR_SUFFIX",
    "Block",
    "IrGraph",
    "OpProtoHolder",
    "Operator",
    "Parameter",
    "Program",
    "Variable",
    "convert_np_dtype_to_dtype_",
    "core",
    "cpu_places",
    "cuda_pinned_places",
    "cuda_places",
    "default_main_program",
    "default_startup_program",
    "device_guard",
    "dtype_is_floating",
    "generate_control_dev_var_name",
    "get_all_op_protos",
    "get_flags",
    "get_var",
    "grad_var_name",
    "in_dygraph_mode",
    "is_compiled_with_cuda",
    "load_op_library",
    "name_scope",
    "program_guard",
    "require_version",
    "set_flags",
    "switch_device",
    "switch_main_program",
    "switch_startup_program",
    "unique_name",
]

EMPTY_VAR_NAME = "@EMPTY@"
TEMP_VAR_NAME = "@TEMP@"
GRAD_VAR_SUFFIX = "@GRAD"
ZERO_VAR_SUFFIX = "@ZERO"
CONTROL_DEP_VAR_PREFIX = "__control_var"


def _get_var(name: str, program: Program | None = None) -> Variable:
    """Return a variable of the global block of a program (the default one) by name."""
    if not isinstance(name, str):
        raise AssertionError(f"_get_var: the name of a variable must be a str, got {type(name).__name__}")
    return (program or default_main_program()).global_block().var(name)


get_var = _get_var


def dtype_is_floating(dtype: Any) -> bool:
    """Return whether a dtype is float16, float32 or float64."""
    kind = dtype if isinstance(dtype, VarType) else convert_np_dtype_to_dtype_(dtype)
    return kind in (VarType.FP16, VarType.FP32, VarType.FP64)


def in_dygraph_mode() -> bool:
    """Return False: there is no imperative mode here."""
    return False


def _current_expected_place() -> CPUPlace:
    return CPUPlace()


_VERSION = re.compile(r"\d+(\.\d+){0,3}")


def require_version(min_version: str, max_version: str | None = None) -> None:
    """Check whether Fluid 1.8.5 is a version that a script accepts; older eras accept every version below 2.0.

    Raises:
        Exception: the script needs another version, for example Paddle 2.0, whose API is different.
    """
    for name, value in (("min_version", min_version), ("max_version", max_version)):
        if value is None and name == "max_version":
            continue
        if not isinstance(value, str):
            raise TypeError(f"require_version: {name} must be a str, got {type(value).__name__}")
        if not _VERSION.fullmatch(value):
            raise ValueError(
                f"require_version: {name} must be a version of one to four numbers such as '1.5.2.0', got {value!r}"
            )
    if _parts(min_version) > _parts(FLUID_VERSION):
        raise Exception(f"the script needs PaddlePaddle {min_version} or later, but fluidio supports 0.12 to 1.8")
    if max_version is not None and era().name == "1.8" and _parts(max_version) < _parts(FLUID_VERSION):
        raise Exception(
            f"the script needs PaddlePaddle {min_version} to {max_version}, but fluidio is following "
            f"{FLUID_VERSION}: run it with `--fluid {max_version}` or call fluidio.use_era({max_version!r})"
        )


def _parts(version: str) -> tuple[int, ...]:
    """Return the four numbers of a version."""
    numbers = [int(part) for part in version.split(".")]
    return tuple(numbers + [0] * (4 - len(numbers)))


def generate_control_dev_var_name() -> str:
    """Return the name of a variable that only orders two nodes of a graph."""
    return f"{CONTROL_DEP_VAR_PREFIX}@{random.random()}"


def _cpu_num() -> int:
    """Return the number of CPU places that data-parallel programs run on."""
    return len(cpu_places())


def _cuda_ids() -> list[int]:
    """Return the numbers of the GPUs."""
    return list(range(core.get_cuda_device_count()))


def _dygraph_tracer() -> None:
    """Return the tracer of the imperative mode: there is none."""


def _full_name_scope() -> str:
    """Return the path of name scopes that new ops are marked with."""
    return scope_path()


def load_op_library(lib_filename: str) -> None:
    """Refuse: compiled ops of Fluid's C++ core cannot run here."""
    not_supported(
        f"fluid.load_op_library({lib_filename!r})", "write the op in Python with layers.py_func, forward and backward"
    )


class OpProtoHolder:
    """Fluid 1.8.5's descriptions of op types; `OpProtoHolder.instance()` is the process's only one."""

    _instance: OpProtoHolder | None = None

    def __init__(self) -> None:
        if OpProtoHolder._instance is not None:
            raise AssertionError("there is only one OpProtoHolder: get it with OpProtoHolder.instance()")
        self.op_proto_map = {proto.type: proto for proto in get_all_op_protos()}

    @classmethod
    def instance(cls) -> OpProtoHolder:
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def get_op_proto(self, type: str) -> Any:
        if type not in self.op_proto_map:
            raise ValueError(f"there is no op {type!r}")
        return self.op_proto_map[type]

    def update_op_proto(self) -> list[str]:
        """Return the types added since the last call: none, because no library of ops can be loaded."""
        return []

    @staticmethod
    def generated_op_attr_names() -> set[str]:
        return {attr.name for attr in COMMON_ATTRS}
