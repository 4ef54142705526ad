"""`core.PassBuilder` and `core.get_pass`: the passes that Fluid's C++ would run on a graph, by name.

They are lists of names that scripts read and change; plans here have their own passes (`executor.passes`).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fluidio.errors import EnforceNotMet
from fluidio.program.ir_graph import Graph, IrGraph

if TYPE_CHECKING:
    from fluidio.executor.strategies import BuildStrategy

__all__ = ["Pass", "PassBuilder", "get_pass", "passes_of"]

_KNOWN = frozenset(
    [
        "add_reader_dependency_pass",
        "all_reduce_deps_pass",
        "all_reduce_mode_multi_devices_pass",
        "async_multi_devices_pass",
        "attention_lstm_fuse_pass",
        "backward_optimizer_op_deps_pass",
        "buffer_shared_cross_op_memory_reuse_pass",
        "buffer_shared_inplace_pass",
        "coalesce_grad_tensor_pass",
        "conv_affine_channel_fuse_pass",
        "conv_bn_fuse_pass",
        "conv_eltwiseadd_bn_fuse_pass",
        "delete_quant_dequant_op_pass",
        "dist_multi_devices_pass",
        "eager_deletion_pass",
        "embedding_fc_lstm_fuse_pass",
        "fc_fuse_pass",
        "fc_gru_fuse_pass",
        "fc_lstm_fuse_pass",
        "fuse_adam_op_pass",
        "fuse_all_reduce_op_pass",
        "fuse_bn_act_pass",
        "fuse_elewise_add_act_pass",
        "fuse_momentum_op_pass",
        "fuse_relu_depthwise_conv_pass",
        "fuse_sgd_op_pass",
        "graph_to_program_pass",
        "graph_viz_pass",
        "identity_scale_op_clean_pass",
        "infer_clean_graph_pass",
        "is_test_pass",
        "modify_op_lock_and_record_event_pass",
        "mul_gru_fuse_pass",
        "mul_lstm_fuse_pass",
        "multi_batch_merge_pass",
        "multi_devices_check_pass",
        "multi_devices_print_pass",
        "reduce_mode_multi_devices_pass",
        "reference_count_pass",
        "repeated_fc_relu_fuse_pass",
        "runtime_context_cache_pass",
        "seq_concat_fc_fuse_pass",
        "seqconv_eltadd_relu_fuse_pass",
        "seqpool_concat_fuse_pass",
        "sequential_execution_pass",
        "squared_mat_sub_fuse_pass",
        "sync_batch_norm_pass",
        "transpose_flatten_concat_fuse_pass",
        "while_op_eager_deletion_pass",
    ]
)


class Pass:
    """A named pass with the attributes set on it."""

    def __init__(self, type: str) -> None:
        if not isinstance(type, str):
            raise TypeError(f"a pass is chosen by its name, a str; got {type!r}")
        if type not in _KNOWN:
            raise EnforceNotMet(f"there is no pass {type!r}")
        self._type = type
        self._attrs: dict[str, Any] = {}

    def type(self) -> str:
        return self._type

    def has(self, name: str) -> bool:
        return name in self._attrs

    def set(self, name: str, value: object) -> None:
        """Set an attribute."""
        self._attrs[name] = value

    set_not_owned = set

    def erase(self, name: str) -> None:
        """Remove an attribute."""
        if name not in self._attrs:
            raise EnforceNotMet(f"Attribute {name} of pass {self._type} is not set")
        del self._attrs[name]

    def apply(self, graph: Graph) -> Graph:
        """Return the graph unchanged: plans need no pass of Fluid's C++; `graph_viz_pass` draws it to a file."""
        if self._type == "graph_viz_pass":
            if "graph_viz_path" not in self._attrs:
                raise EnforceNotMet("graph_viz_pass: set('graph_viz_path', FILE) first")
            folder, name = os.path.split(self._attrs["graph_viz_path"])
            IrGraph(graph).draw(folder or ".", name.removesuffix(".dot"))
        return graph

    def __repr__(self) -> str:
        return f"Pass({self._type!r})"


def get_pass(name: str) -> Pass:
    """Return a new pass; EnforceNotMet for a name that Fluid 1.8.5 does not have."""
    return Pass(name)


class PassBuilder:
    """The passes of a BuildStrategy, in order."""

    def __init__(self, names: list[str] | None = None) -> None:
        self._passes = [Pass(name) for name in names or ()]

    def all_passes(self) -> list[Pass]:
        return list(self._passes)

    def append_pass(self, name: str) -> Pass:
        """Add a pass at the end."""
        return self._insert(len(self._passes), name)

    def insert_pass(self, index: int, name: str) -> Pass:
        """Insert a pass before the one at `index`."""
        self._check(index, len(self._passes))
        return self._insert(index, name)

    def _insert(self, index: int, name: str) -> Pass:
        added = Pass(name)
        self._passes.insert(index, added)
        return added

    def remove_pass(self, index: int) -> None:
        """Remove a pass."""
        self._check(index, len(self._passes) - 1)
        del self._passes[index]

    def _check(self, index: int, last: int) -> None:
        if not 0 <= index <= last:
            raise EnforceNotMet(f"there is no pass number {index}: the builder has {len(self._passes)}")


def passes_of(strategy: BuildStrategy) -> list[str]:
    """Return the names of the passes that 1.8.5 runs for a strategy."""
    s: Any = strategy
    view = ["graph_viz_pass"] if s.debug_graphviz_path else []
    reduces = s.reduce_strategy == s.ReduceStrategy.Reduce
    spread = s.async_mode or s.is_distribution
    fuses = s.fuse_all_reduce_ops and not reduces and not spread
    return [
        *view,
        *(["fuse_relu_depthwise_conv_pass"] if s.fuse_relu_depthwise_conv else []),
        *(["fuse_bn_act_pass"] if s.fuse_bn_act_ops else []),
        *(["fuse_elewise_add_act_pass"] if s.fuse_elewise_add_act_ops else []),
        *(["sync_batch_norm_pass"] if s.sync_batch_norm else []),
        *(["coalesce_grad_tensor_pass"] if fuses else []),
        *(["fuse_adam_op_pass", "fuse_sgd_op_pass", "fuse_momentum_op_pass"] if s.fuse_all_optimizer_ops else []),
        *view,
        *(["sequential_execution_pass"] if s.enable_sequential_execution else []),
        "add_reader_dependency_pass",
        _devices_pass(s, reduces),
        *(["fuse_all_reduce_op_pass"] if fuses else []),
        *(["multi_devices_print_pass"] if view else []),
        *([] if reduces else ["all_reduce_deps_pass"]),
        *(["runtime_context_cache_pass"] if s.cache_runtime_context else []),
        *(["modify_op_lock_and_record_event_pass"] if s.remove_unnecessary_lock else []),
        "multi_devices_check_pass",
    ]


def _devices_pass(strategy: Any, reduces: bool) -> str:
    if strategy.async_mode:
        return "async_multi_devices_pass"
    if strategy.is_distribution:
        return "dist_multi_devices_pass"
    return "reduce_mode_multi_devices_pass" if reduces else "all_reduce_mode_multi_devices_pass"
