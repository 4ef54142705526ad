"""Branches: cond, case, switch_case and Switch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fluidio.dtypes import VarType
from fluidio.layer_helper import LayerHelper
from fluidio.layers._control.loops import assign_to
from fluidio.layers.utils import assert_same_structure, map_structure
from fluidio.program import Variable
from fluidio.program.sub_blocks import append_conditional, sub_block

__all__ = ["Switch", "case", "cond", "select_input", "select_output", "switch_case"]


class ConditionalBlock:
    """A block that runs under a condition: the building block of cond, Switch and IfElse."""

    def __init__(self, inputs: Sequence[Variable], is_scalar_condition: bool = False, name: str | None = None) -> None:
        for each in inputs:
            if not isinstance(each, Variable):
                raise TypeError(f"ConditionalBlock takes Variables, got {type(each).__name__}")
        self.inputs = list(inputs)
        self.is_scalar_condition = is_scalar_condition
        self.helper = LayerHelper("conditional_block", name=name)

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        with sub_block() as body:
            yield
        append_conditional(self.inputs, body, self.is_scalar_condition)


def copy_var_to_parent_block(var: Variable | None, layer_helper: LayerHelper) -> Any:
    """Declare a copy of a branch's result in the outer block and assign the result to it."""
    if var is None or not isinstance(var, Variable):
        return var
    parent = layer_helper.main_program.current_block().parent
    assert parent is not None
    if var.type is VarType.LOD_TENSOR_ARRAY and parent._find_var_recursive(var.name) is not None:
        return var
    twin = parent.create_var(dtype=var.dtype, shape=var.shape, type=var.type)
    assign_to(var, twin)
    return twin


def select_output(input: Variable, outputs: Sequence[Variable], mask: Variable) -> Sequence[Variable]:
    """Copy the input to one of the outputs."""
    LayerHelper("select_output").append_op(
        type="select_output", inputs={"X": input, "Mask": mask}, outputs={"Out": list(outputs)}
    )
    return outputs


def select_input(inputs: Sequence[Variable], mask: Variable) -> Variable:
    """Take one of the inputs."""
    helper = LayerHelper("select_input")
    first = inputs[0]
    out = helper.create_variable(dtype=first.dtype, shape=first.shape, type=first.type)
    helper.append_op(type="select_input", inputs={"X": list(inputs), "Mask": mask}, outputs={"Out": out})
    return out


def cond(
    pred: Variable,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Build both branches; return the results of the one that `pred` selects at run time."""
    from fluidio.layers import cast, logical_not

    if not isinstance(pred, Variable):
        raise TypeError(f"cond: pred must be a Variable, got {type(pred).__name__}")
    helper = LayerHelper("cond", name=name)
    results: list[Any] = [None, None]
    for index, branch in enumerate((true_fn, false_fn)):
        if branch is None:
            continue
        if not callable(branch):
            raise TypeError(
                f"cond: {'false_fn' if index else 'true_fn'} must be a function, got {type(branch).__name__}"
            )
        condition = logical_not(pred) if index else pred
        with ConditionalBlock([condition], is_scalar_condition=True).block():
            result = branch()
            if result is not None:
                results[index] = map_structure(lambda v: copy_var_to_parent_block(v, helper), result)
    true_result, false_result = results
    if true_result is None and false_result is None:
        return None
    if true_result is None or false_result is None:
        raise ValueError(
            "cond: one of true_fn and false_fn returns None, the other does not; both must return Variables "
            "in the same structure, or both None"
        )
    try:
        assert_same_structure(true_result, false_result, check_types=False)
    except ValueError as error:
        raise ValueError(f"cond: true_fn and false_fn return different structures: {error}") from error
    mask = cast(pred, "int32")
    return map_structure(lambda no, yes: _selected(no, yes, mask), false_result, true_result)


def _selected(no: object, yes: object, mask: Variable) -> Any:
    if isinstance(no, Variable) and isinstance(yes, Variable):
        return no if no is yes else select_input([no, yes], mask)
    if not isinstance(no, Variable) and not isinstance(yes, Variable) and no == yes:
        return no
    raise TypeError(f"cond: true_fn and false_fn must return Variables in the same places, got {yes!r} and {no!r}")


def case(
    pred_fn_pairs: Sequence[tuple[Variable, Callable[[], Any]]],
    default: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return the result of the first function whose predicate is true, else of `default` (or the last function)."""
    if not isinstance(pred_fn_pairs, (list, tuple)) or not pred_fn_pairs:
        raise TypeError(
            "case: pred_fn_pairs must be a list or tuple of pairs (condition, function), got "
            f"{type(pred_fn_pairs).__name__}"
        )
    for pair in pred_fn_pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"case: each entry of pred_fn_pairs must be a pair (condition, function), got {pair!r}")
        if not isinstance(pair[0], Variable) or not callable(pair[1]):
            raise TypeError("case: in each pair the condition must be a boolean Variable and the function callable")
    if default is not None and not callable(default):
        raise TypeError(f"case: default must be a function, got {type(default).__name__}")
    pairs = list(pred_fn_pairs)
    if default is None:
        default = pairs.pop()[1]
    result: Callable[[], Any] = default
    for predicate, function in reversed(pairs):
        result = _nested(predicate, function, result)
    return result()


def _nested(predicate: Variable, function: Callable[[], object], otherwise: Callable[[], object]) -> Callable[[], Any]:
    return lambda: cond(predicate, true_fn=function, false_fn=otherwise)


def switch_case(
    branch_index: Variable, branch_fns: Any, default: Callable[[], Any] | None = None, name: str | None = None
) -> Any:
    """Return the result of the function for the given index, else of `default` (or of the largest index)."""
    from fluidio.layers import cast, equal, fill_constant

    if not isinstance(branch_index, Variable):
        raise TypeError(f"switch_case: branch_index must be a Variable, got {type(branch_index).__name__}")
    if isinstance(branch_fns, dict):
        pairs = list(branch_fns.items())
    else:
        pairs = [tuple(b) if isinstance(b, (tuple, list)) else (i, b) for i, b in enumerate(branch_fns)]
    if any(len(pair) != 2 for pair in pairs):
        raise TypeError("switch_case: each entry of branch_fns must be a function or a pair (number, function)")
    for number, function in pairs:
        if not isinstance(number, int) or not callable(function):
            raise TypeError(
                f"switch_case: each pair of branch_fns must be (number, function), got ({number!r}, {function!r})"
            )
    if len({number for number, _ in pairs}) != len(pairs):
        raise ValueError("switch_case: two entries of branch_fns have the same number")
    if branch_index.dtype is not VarType.INT64:
        branch_index = cast(branch_index, "int64")
    pairs.sort(key=lambda pair: pair[0])
    otherwise: Callable[[], Any] = pairs.pop()[1] if default is None else default
    chosen = [(equal(branch_index, fill_constant([1], "int64", n)), function) for n, function in pairs]
    return case(chosen[::-1], otherwise) if chosen else otherwise()  # Fluid: the last index is tested first


class Switch:
    """Run the first case whose condition is true.

    Example:
        >>> import fluidio as fluid
        >>> step = fluid.layers.fill_constant([1], "float32", 3.0)
        >>> rate = fluid.layers.create_global_var([1], 0.0, "float32", persistable=True)
        >>> with fluid.layers.Switch() as switch:
        ...     with switch.case(step < 5.0):
        ...         fluid.layers.assign(fluid.layers.fill_constant([1], "float32", 0.1), rate)
        ...     with switch.default():
        ...         fluid.layers.assign(fluid.layers.fill_constant([1], "float32", 0.01), rate)
    """

    def __init__(self, name: str | None = None) -> None:
        self.helper = LayerHelper("switch", name=name)
        self.inside_scope = False
        self.pre_not_conditions: list[Variable] = []

    def case(self, condition: Variable) -> Any:
        """Begin the block of one condition."""
        from fluidio.layers import logical_and, logical_not

        if not self.inside_scope:
            raise ValueError(
                "Switch.case() works only inside the switch: `with Switch() as switch:` and then `with "
                "switch.case(condition):`"
            )
        if not isinstance(condition, Variable):
            raise TypeError(f"Switch.case takes a boolean Variable, got {type(condition).__name__}")
        negated = logical_not(x=condition)
        if not self.pre_not_conditions:
            self.pre_not_conditions.append(negated)
            return ConditionalBlock([condition], is_scalar_condition=True).block()
        earlier = self.pre_not_conditions[-1]
        self.pre_not_conditions.append(logical_and(x=earlier, y=negated))
        return ConditionalBlock([logical_and(x=earlier, y=condition)], is_scalar_condition=True).block()

    def default(self) -> Any:
        """Begin the block that runs when no condition holds."""
        if not self.pre_not_conditions:
            raise ValueError("Switch.default() must follow at least one case()")
        return ConditionalBlock([self.pre_not_conditions[-1]], is_scalar_condition=True).block()

    def __enter__(self) -> Switch:
        self.inside_scope = True
        return self

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> bool:
        self.inside_scope = False
        return exc_type is None
