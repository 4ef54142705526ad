"""Clip gradients by value, norm or global norm, and the errors that flow back through a layer."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from fluidio.dtypes import VarType
from fluidio.era import era
from fluidio.layer_helper import LayerHelper
from fluidio.program import Block, OpRole, Parameter, Program, Variable, default_main_program, name_scope
from fluidio.program.op_def import GRAD_SUFFIX, grad_name

__all__ = [
    "ErrorClipByValue",
    "GradientClipByGlobalNorm",
    "GradientClipByNorm",
    "GradientClipByValue",
    "append_error_clip_ops",
    "append_gradient_clip_ops",
    "error_clip_callback",
    "set_gradient_clip",
]

Pairs = Sequence[tuple[Parameter, Variable | None]]
ParamsGrads = list[tuple[Parameter, Variable | None]]


class BaseErrorClipAttr:
    """Base class of `error_clip` values."""

    def __str__(self) -> str:
        raise NotImplementedError


class ErrorClipByValue(BaseErrorClipAttr):
    """Clip the gradient of a variable while it flows back: `variable.error_clip = ErrorClipByValue(max=1.0)`."""

    def __init__(self, max: float, min: float | None = None) -> None:
        self.max = float(max)
        self.min = -self.max if min is None else float(min)

    def __str__(self) -> str:
        return f"ByValue, min={self.min:f}, max={self.max:f}"

    def _insert(self, block: Block, index: int, grad: str) -> None:
        op = block._insert_op(
            index, type="clip", inputs={"X": [grad]}, outputs={"Out": [grad]}, attrs={"min": self.min, "max": self.max}
        )
        op.has_defaults = False
        op.attrs["op_role"] = int(OpRole.Backward)


def append_error_clip_ops(block: Block) -> None:
    """Append a clip after the op that completes the gradient of each variable with an `error_clip`."""
    for name, variable in list(block.vars.items()):
        if variable.error_clip is not None:
            grad = grad_name(name)
            writers = [i for i, op in enumerate(block.ops) if grad in op.output_arg_names and op.type != "clip"]
            if writers:
                variable.error_clip._insert(block, writers[-1] + 1, grad)


def error_clip_callback(block: Block, context: Any = None) -> None:
    """Clip the outputs of a block's last op that have an `error_clip`; a callback of `append_backward`."""
    for grad in list(block.ops[-1].output_arg_names):
        variable = block._find_var_recursive(grad.removesuffix(GRAD_SUFFIX)) if grad.endswith(GRAD_SUFFIX) else None
        if variable is not None and variable.error_clip is not None:
            variable.error_clip._insert(block, len(block.ops), grad)


class GradientClipBase:
    """Base class: `clip(params_grads)` appends the ops and returns the pairs with the clipped gradients."""

    def __init__(self, need_clip: Callable[[Parameter], bool] | None = None) -> None:
        if need_clip is not None and not callable(need_clip):
            raise TypeError(f"need_clip must be a function that takes a parameter, got {type(need_clip).__name__}")
        self._need_clip_func = need_clip
        self.partial = False
        self.by_parameter = False  # given by set_gradient_clip rather than to an optimizer

    def __call__(self, params_grads: Pairs) -> ParamsGrads:
        """Clip for an optimizer that has `grad_clip`: the ops belong to the clipped gradients, as in Fluid 1.8."""
        given = [(param, grad) for param, grad in params_grads if grad is not None]
        with name_scope("gradient_clip"):
            clipped = self._clip(given)
        for (param, before), (_, grad) in zip(given, clipped):
            if grad is not None and grad is not before and grad.op is not None:
                grad.op.attrs["op_role_var"] = [param.name, grad.name]
        return clipped

    def _clip(self, params_grads: Pairs) -> ParamsGrads:
        return [
            (param, self._clip_one(param, grad) if grad is not None and self._wanted(param) else grad)
            for param, grad in params_grads
        ]

    def _wanted(self, param: Parameter) -> bool:
        return self._need_clip_func is None or self._need_clip_func(param)

    def _clip_one(self, param: Parameter, grad: Variable) -> Variable:
        raise NotImplementedError(f"{type(self).__name__} must define how it clips")

    def _group(self) -> Any:
        """Return the group within which parameters are clipped together."""
        return id(self)


class GradientClipByValue(GradientClipBase):
    """Clip every element to [min, max]; min is -max by default."""

    def __init__(
        self, max: float, min: float | None = None, need_clip: Callable[[Parameter], bool] | None = None
    ) -> None:
        super().__init__(need_clip)
        if min is None and max <= 0.0:
            raise AssertionError(f"max must be above 0 when min is not given, got {max}")
        self.max = float(max)
        self.min = -self.max if min is None else float(min)

    def __str__(self) -> str:
        return f"Gradient Clip By Value, min = {self.min:f}, max={self.max:f}"

    def _clip_one(self, param: Parameter, grad: Variable) -> Variable:
        with param.block.program._optimized_guard([param, grad]):
            return _append("clip", {"X": [grad]}, grad, {"min": self.min, "max": self.max})


class GradientClipByNorm(GradientClipBase):
    """Scale each gradient down to a norm of at most `clip_norm`."""

    def __init__(self, clip_norm: float, need_clip: Callable[[Parameter], bool] | None = None) -> None:
        super().__init__(need_clip)
        self.clip_norm = float(clip_norm)

    def __str__(self) -> str:
        return f"Gradient Clip By Norm, clip_norm={self.clip_norm:f}"

    def _clip_one(self, param: Parameter, grad: Variable) -> Variable:
        with param.block.program._optimized_guard([param, grad]):
            return _append("clip_by_norm", {"X": [grad]}, grad, {"max_norm": self.clip_norm})


class GradientClipByGlobalNorm(GradientClipBase):
    """Scale all gradients of a group by one factor, so that their global norm is at most `clip_norm`."""

    def __init__(
        self,
        clip_norm: float,
        group_name: str = "default_group",
        need_clip: Callable[[Parameter], bool] | None = None,
    ) -> None:
        super().__init__(need_clip)
        self.clip_norm = float(clip_norm)
        self.group_name = group_name

    def __str__(self) -> str:
        return f"Gradient Clip By GlobalNorm, global_norm={self.clip_norm:f}"

    def _group(self) -> Any:
        return "global norm", self.group_name

    def _clip(self, params_grads: Pairs) -> ParamsGrads:
        chosen = [(p, g) for p, g in params_grads if g is not None and self._wanted(p)]
        if not chosen:
            return list(params_grads)
        program = chosen[0][0].block.program
        with program._optimized_guard([]):
            limit = self._limit(chosen[0][1]) if self.by_parameter else None
            norms = [_squared_norm(grad) for _, grad in chosen]
            total = _append("sum", {"X": norms}, norms[0])
            norm = _append("sqrt", {"X": [total]}, total)
            if limit is None:
                limit = self._limit(norm)
            larger = _append("elementwise_max", {"X": [limit], "Y": [norm]}, norm, {"axis": -1})
            factor = _append("elementwise_div", {"X": [limit], "Y": [larger]}, norm, {"axis": -1})
        scaled = {}
        for param, grad in chosen:
            with program._optimized_guard([param, grad]):
                scaled[param.name] = _scaled(grad, factor)
        return [(param, scaled.get(param.name, grad)) for param, grad in params_grads]

    def _limit(self, like: Variable) -> Variable:
        attrs = {"shape": [1], "value": self.clip_norm, "str_value": str(self.clip_norm), "dtype": like.dtype}
        helper = LayerHelper("fill_constant")
        limit = helper.create_variable_for_type_inference(like.dtype)
        helper.append_op(type="fill_constant", outputs={"Out": [limit]}, attrs=attrs)
        limit.stop_gradient = True
        return limit


def _append(op_type: str, inputs: dict[str, Any], like: Variable, attrs: dict[str, Any] | None = None) -> Variable:
    helper = LayerHelper(op_type)
    out = helper.create_variable_for_type_inference(like.dtype)
    if like.type is VarType.SELECTED_ROWS:
        out.type = VarType.SELECTED_ROWS
    helper.append_op(type=op_type, inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def _squared_norm(grad: Variable) -> Variable:
    if grad.type is VarType.SELECTED_ROWS:
        merged = _append("merge_selected_rows", {"X": [grad]}, grad)
        helper = LayerHelper("get_tensor_from_selected_rows")
        grad = helper.create_variable_for_type_inference(grad.dtype)
        helper.append_op(type="get_tensor_from_selected_rows", inputs={"X": [merged]}, outputs={"Out": [grad]})
    square = _append("square", {"X": [grad]}, grad)
    return _append("reduce_sum", {"X": [square]}, grad, {"dim": [0], "keep_dim": False, "reduce_all": True})


def _scaled(grad: Variable, factor: Variable) -> Variable:
    return _append("elementwise_mul", {"X": [grad], "Y": [factor]}, grad, {"axis": -1})


def set_gradient_clip(
    clip: Any, param_list: Sequence[Any] | None = None, program: Program | None = None, *, partial: bool = False
) -> None:
    """Clip the gradients of these parameters (all by default) when `minimize` is called.

    Fluid: 1.8 clips nothing at all if any trained parameter has no clip; `partial=True` clips those that have one.
    """
    unset = clip is None and not era().checks_layer_arguments
    if not unset and not isinstance(clip, GradientClipBase):
        raise TypeError(
            "set_gradient_clip: clip must be a GradientClipByValue, GradientClipByNorm or "
            f"GradientClipByGlobalNorm, got {type(clip).__name__}"
        )
    program = program or default_main_program()
    for item in param_list or program.all_parameters():
        parameter = program.global_block().var(item) if isinstance(item, str) else item
        if not isinstance(parameter, Parameter):
            raise TypeError("set_gradient_clip: each entry of param_list must be a Parameter or the name of one")
        own = copy.copy(clip)
        if own is not None:
            own.partial, own.by_parameter = partial, True
        parameter.gradient_clip_attr = own


def _leaves_all_alone(param_grads: Pairs) -> bool:
    """Return whether some parameter has no clip, so that Fluid 1.8 clips none of them; warn if so."""
    clips = [(param.name, param.gradient_clip_attr) for param, grad in param_grads if grad is not None]
    without = [name for name, clip in clips if clip is None]
    asked = [name for name, clip in clips if clip is not None]
    if not asked or not without or any(clip.partial for _, clip in clips if clip is not None):
        return False
    warnings.warn(
        f"no gradient is clipped: the parameter {without[0]} has no clip, and like Fluid 1.8, fluidio then "
        f"ignores the clip of {asked[0]} as well; set_gradient_clip(clip, param_list, partial=True) clips "
        "those that have one",
        stacklevel=4,
    )
    return True


def append_gradient_clip_ops(param_grads: Pairs) -> ParamsGrads:
    """Append the clipping that the parameters' attributes request; parameters of one group are clipped together."""
    given = [(param, grad) for param, grad in param_grads if grad is not None]
    if not given:
        return []
    if era().clips_all_or_none and _leaves_all_alone(param_grads):
        return list(param_grads)
    groups: dict[Any, tuple[Any, list[int]]] = {}
    for index, (param, grad) in enumerate(param_grads):
        clip = param.gradient_clip_attr
        if clip is None or grad is None:
            continue
        first, indices = groups.setdefault(clip._group(), (clip, []))
        if getattr(first, "clip_norm", None) != getattr(clip, "clip_norm", None):
            raise ValueError(
                f"parameters of one clip group must share one clip_norm, but {param.name} has "
                f"{clip.clip_norm} and an earlier one {first.clip_norm}"
            )
        indices.append(index)
    clipped = list(param_grads)
    for clip, indices in groups.values():
        for index, pair in zip(indices, clip._clip([param_grads[i] for i in indices])):
            clipped[index] = pair
    return clipped
