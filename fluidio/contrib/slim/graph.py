"""`contrib.slim.graph`: a program as slim's tools see it, with the ops and variables around each other."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fluidio.contrib.slim.teachers import append_constants
from fluidio.executor import CompiledProgram, Executor
from fluidio.io import load_vars, save_inference_model, save_vars
from fluidio.places import PlaceLike
from fluidio.program import DataFeeder, Operator, OpRole, Parameter, Program, Variable, program_guard
from fluidio.tensor import Scope, global_scope, scope_guard

__all__ = ["OPTIMIZER_OPS", "GraphWrapper", "OpWrapper", "SlimGraphExecutor", "VarWrapper"]

OPTIMIZER_OPS = [
    "momentum",
    "lars_momentum",
    "adagrad",
    "adam",
    "adamax",
    "dpsgd",
    "decayed_adagrad",
    "adadelta",
    "rmsprop",
]


class VarWrapper:
    """A variable of a graph."""

    def __init__(self, var: Variable, graph: GraphWrapper) -> None:
        self._var, self._graph = var, graph

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VarWrapper) and self._var.name == other.name()

    def __hash__(self) -> int:
        return hash(self._var.name)

    def __repr__(self) -> str:
        return self._var.name

    def name(self) -> str:
        return self._var.name

    def shape(self) -> tuple[int, ...]:
        return self._var.shape

    def set_shape(self, shape: Sequence[int]) -> None:
        self._var.desc.set_shape(list(shape))

    def inputs(self) -> list[OpWrapper]:
        """Return the ops that have the variable as an input."""
        return [op for op in self._graph.ops() if self in op.all_inputs()]

    def outputs(self) -> list[OpWrapper]:
        """Return the ops that have the variable as an output."""
        return [op for op in self._graph.ops() if self in op.all_outputs()]


class OpWrapper:
    """An op of a graph."""

    def __init__(self, op: Operator, graph: GraphWrapper) -> None:
        self._op, self._graph = op, graph

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpWrapper) and self._op is other._op

    def __hash__(self) -> int:
        return hash(id(self._op))

    def type(self) -> str:
        return self._op.type

    def idx(self) -> int:
        return self._op.idx

    def all_inputs(self) -> list[VarWrapper]:
        return self._vars(self._op.input_arg_names)

    def all_outputs(self) -> list[VarWrapper]:
        return self._vars(self._op.output_arg_names)

    def inputs(self, name: str) -> list[VarWrapper]:
        return self._vars(self._op.input(name))

    def outputs(self, name: str) -> list[VarWrapper]:
        return self._vars(self._op.output(name))

    def _vars(self, names: Iterable[str]) -> list[VarWrapper]:
        return [self._graph.var(name) for name in names]

    def attr(self, name: str) -> Any:
        return self._op.attr(name)

    def set_attr(self, key: str, value: object) -> None:
        self._op._set_attr(key, value)

    def is_bwd_op(self) -> bool:
        """Return whether the op computes gradients."""
        return self.type().endswith("_grad")

    def is_opt_op(self) -> bool:
        """Return whether the op is one of OPTIMIZER_OPS. Fluid: `sgd` and some others are not in that list."""
        return self.type() in OPTIMIZER_OPS


class GraphWrapper:
    """A program with the names of what goes in and comes out.

    Args:
        in_nodes, out_nodes: {key: variable name}, or pairs of them.
    """

    def __init__(self, program: Program | None = None, in_nodes: Any = (), out_nodes: Any = ()) -> None:
        self.program = Program() if program is None else program
        self.persistables = {v.name: v for v in self.program.list_vars() if v.persistable}
        self.teacher_persistables: dict[str, Variable] = {}
        self.in_nodes: OrderedDict[str, str] = OrderedDict(in_nodes)
        self.out_nodes: OrderedDict[str, str] = OrderedDict(out_nodes)
        self.compiled_graph: CompiledProgram | None = None
        self._attrs: OrderedDict[str, Any] = OrderedDict()

    # -- looking around -------------------------------------------------------------------------------------------

    def all_parameters(self) -> list[VarWrapper]:
        return [VarWrapper(p, self) for block in self.program.blocks for p in block.all_parameters()]

    def is_parameter(self, var: VarWrapper) -> bool:
        return isinstance(var._var, Parameter)

    def is_persistable(self, var: VarWrapper) -> bool:
        return var._var.persistable

    def ops(self) -> list[OpWrapper]:
        return [OpWrapper(op, self) for block in self.program.blocks for op in block.ops]

    def vars(self) -> list[VarWrapper]:
        return [VarWrapper(v, self) for v in self.program.list_vars()]

    def var(self, name: str) -> VarWrapper:
        for block in self.program.blocks:
            if block.has_var(name):
                return VarWrapper(block.var(name), self)
        raise ValueError(f"the graph has no variable {name!r}")

    def pre_ops(self, op: OpWrapper) -> list[OpWrapper]:
        """Return the ops that write what an op reads."""
        reads = op.all_inputs()
        return [each for each in self.ops() if any(v in reads for v in each.all_outputs())]

    def next_ops(self, op: OpWrapper) -> list[OpWrapper]:
        """Return the ops that read what an op writes."""
        writes = op.all_outputs()
        return [each for each in self.ops() if any(v in writes for v in each.all_inputs())]

    def get_param_by_op(self, op: OpWrapper) -> list[VarWrapper]:
        return [v for v in op.all_inputs() if self.is_parameter(v)]

    def numel_params(self) -> int:
        """Return how many numbers the parameters have."""
        return sum(int(np.prod(p.shape())) for p in self.all_parameters())

    def flops(self, only_conv: bool = False) -> Any:
        """Return the multiplications and additions of one sample; without `only_conv`, of a few more ops."""
        return sum(_flops(op, only_conv) for op in self.ops())

    # -- making others --------------------------------------------------------------------------------------------

    def clone(self, for_test: bool = False) -> GraphWrapper:
        return GraphWrapper(self.program.clone(for_test), self.in_nodes, self.out_nodes)

    def compile(self, for_parallel: bool = True, for_test: bool = False, mem_opt: bool = False) -> None:
        """Prepare `compiled_graph` for an executor."""
        program = self.program.clone(for_test=True) if for_test else self.program
        compiled = CompiledProgram(program)
        if for_parallel:
            loss = None if for_test else self.out_nodes.get("loss") or self.out_nodes.get("cost")
            compiled = compiled.with_data_parallel(loss_name=loss)
        self.compiled_graph = compiled

    def merge(self, graph: GraphWrapper) -> None:
        """Append another graph's variables, which become constants, and the ops of its main block."""
        append_constants(self.program, graph.program)
        for var in graph.program.list_vars():
            if var.persistable:
                self.teacher_persistables[var.name] = self.var(var.name)._var

    def get_optimize_graph(
        self, optimizer: Any, place: PlaceLike, scope: Scope, no_grad_var_names: Sequence[str] = ()
    ) -> GraphWrapper:
        """Return a copy with the ops of an optimizer, whose variables are set in the scope."""
        graph = self.clone()
        startup = Program()
        with program_guard(graph.program, startup):
            loss = graph.out_nodes.get("loss") or graph.out_nodes.get("cost")
            if loss is None:
                raise ValueError(
                    f"the graph's out_nodes have no 'loss' and no 'cost', they have {list(graph.out_nodes)}"
                )
            optimizer.minimize(graph.program.global_block().var(loss), no_grad_set=set(no_grad_var_names))
        with scope_guard(scope):
            Executor(place).run(startup)
        return graph

    # -- sizes ----------------------------------------------------------------------------------------------------

    def update_param_shape(self, scope: Scope) -> None:
        """Give the parameters the shapes that their values in a scope have."""
        for param in self.all_parameters():
            held = scope.find_var(param.name())
            if held is not None:
                param.set_shape(held.get_tensor().shape())

    def infer_shape(self) -> None:
        """Infer the shapes of all forward variables again."""
        for op in self.ops():
            if not op._op.has_attr("op_role") or not int(op.attr("op_role")) & (OpRole.Backward | OpRole.Optimize):
                op._op.infer()

    def update_groups_of_conv(self) -> None:
        """Give depthwise convolutions, and their gradients, as many groups as their filters have."""
        for op in self.ops():
            if op.type() in ("depthwise_conv2d", "depthwise_conv2d_grad"):
                op.set_attr("groups", op.inputs("Filter")[0].shape()[0])

    # -- files ----------------------------------------------------------------------------------------------------

    def save_model(self, path: str, exe: Executor) -> None:
        """Save the program as text and bytes, and its persistable variables."""
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, "__model__"), "wb") as file:
            file.write(self.program.desc.serialize_to_string())
        self.save_persistables(path, exe)

    def save_infer_model(self, path: str, exe: Executor, in_out: Any, program_only: bool = False) -> None:
        """Save an inference model; `in_out` are the keys or names of inputs and outputs."""
        feeds = [self.in_nodes.get(key, key) for key in in_out[0]]
        fetches = [self.var(str(self.out_nodes.get(key, key)))._var for key in in_out[1]]
        save_inference_model(
            path,
            feeds,
            fetches,
            exe,
            self.program.clone(),
            model_filename="__model__.infer",
            params_filename="__params__",
            program_only=program_only,
        )

    def save_persistables(self, path: str, exe: Executor) -> None:
        """Save the persistable variables that do not belong to a teacher, each to its file."""
        wanted = [v for name, v in self.persistables.items() if name not in self.teacher_persistables]
        save_vars(exe, path, self.program, vars=[v for v in wanted if _has_value(v)])

    def load_persistables(self, path: str, exe: Executor) -> None:
        """Load those of the persistable variables that the folder has files of."""
        there = [v for name, v in self.persistables.items() if os.path.exists(os.path.join(path, name))]
        load_vars(exe, path, self.program, vars=there)


def _has_value(variable: Variable) -> bool:
    held = global_scope().find_var(variable.name)
    return held is not None and held.value is not None


def _flops(op: OpWrapper, only_conv: bool) -> Any:
    kind = op.type()
    if kind in ("conv2d", "depthwise_conv2d"):
        _, channels, height, width = op.inputs("Filter")[0].shape()
        count, out_height, out_width = op.outputs("Output")[0].shape()[1:]
        # Fluid: divides by the groups, although the filter has a group's channels only.
        return 2 * out_height * out_width * count * (height * width * (channels / op.attr("groups")))
    if only_conv:
        return 0
    if kind == "pool2d":
        _, channels, height, width = op.outputs("Out")[0].shape()
        size = op.attr("ksize")[0]
        return height * width * channels * size * size
    if kind == "mul":
        x, y = op.inputs("X")[0].shape(), op.inputs("Y")[0].shape()
        return 2 * abs(x[0]) * x[1] * y[1]
    if kind in ("relu", "sigmoid", "batch_norm"):
        return abs(np.prod(op.inputs("X")[0].shape()))
    return 0


class SlimGraphExecutor:
    """Run graphs."""

    def __init__(self, place: PlaceLike) -> None:
        self.exe = Executor(place)
        self.place = place

    def run(self, graph: GraphWrapper, scope: Scope, data: Any = None) -> list[Any]:
        """Run a graph on a batch of samples, or on a feed dict, and return the values of its out_nodes."""
        feed = data
        if data is not None and not isinstance(data, dict):
            if isinstance(data, (list, tuple)) and data and isinstance(data[0], dict):
                feed = data[0]
            else:
                feed = DataFeeder(list(graph.in_nodes.values()), self.place, graph.program).feed(data)
        program = graph.compiled_graph or graph.program
        return self.exe.run(program, feed=feed, fetch_list=list(graph.out_nodes.values()), scope=scope)
