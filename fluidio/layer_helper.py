"""LayerHelper: the common work of layer functions: names, parameters, temporaries, bias and activation."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import DTypeLike, VarType, to_vartype
from fluidio.era import era
from fluidio.initializer import Constant, Xavier
from fluidio.param_attr import ParamAttr, WeightNormParamAttr
from fluidio.program import (
    Operator,
    Parameter,
    Program,
    Variable,
    default_main_program,
    default_startup_program,
    unique_name,
)
from fluidio.program.variable import to_dim

__all__ = ["LayerHelper"]

_FLOATS = frozenset({VarType.FP16, VarType.FP32, VarType.FP64})


def _checked_name(name: object) -> Any:
    if name is not None and not isinstance(name, str) and era().checks_layer_arguments:
        raise TypeError(f"the name of a layer must be a str, got {type(name).__name__} {name!r}")
    return name


class LayerHelper:
    """Built by a layer function from its own arguments: `LayerHelper("fc", **locals())`."""

    def __init__(self, layer_type: str, **kwargs: Any) -> None:
        self.layer_type = layer_type
        self.kwargs = kwargs
        self.name: str = _checked_name(kwargs.get("name")) or unique_name.generate(layer_type)
        self._made: list[Variable] = []

    @property
    def main_program(self) -> Program:
        return default_main_program()

    @property
    def startup_program(self) -> Program:
        return default_startup_program()

    # -- ops and variables --------------------------------------------------------------------------------------

    def append_op(self, type: str, inputs: object = None, outputs: object = None, attrs: object = None) -> Operator:
        block = self.main_program.current_block()
        try:
            return block.append_op(type=type, inputs=inputs, outputs=outputs, attrs=attrs)
        except Exception:
            self._forget_unused()
            raise

    def _forget_unused(self) -> None:
        """Remove variables created for an op that could not be built: temporaries and parameters without an op."""
        used = {
            name
            for block in self.main_program.blocks
            for op in block.ops
            for name in (*op.input_arg_names, *op.output_arg_names)
        }
        startup = self.startup_program.global_block()
        unused = [variable for variable in self._made if variable.name not in used]
        self._made = [variable for variable in self._made if variable.name in used]
        for variable in unused:
            variable.block._remove_var(variable.name)
            if isinstance(variable, Parameter):
                startup.ops = [op for op in startup.ops if variable.name not in op.output_arg_names]
                startup._remove_var(variable.name)

    def create_variable_for_type_inference(self, dtype: DTypeLike | None, stop_gradient: bool = False) -> Variable:
        """Create a temporary named `<layer>.tmp_N`; inference describes it."""
        made = self.main_program.current_block().create_var(
            name=unique_name.generate(f"{self.name}.tmp"), dtype=dtype, persistable=False, stop_gradient=stop_gradient
        )
        self._made.append(made)
        return made

    create_tmp_variable = create_variable_for_type_inference

    def create_variable(self, *args: Any, **kwargs: Any) -> Variable:
        return self.main_program.current_block().create_var(*args, **kwargs)

    def create_global_variable(self, persistable: bool = False, *args: Any, **kwargs: Any) -> Variable:
        return self.main_program.global_block().create_var(*args, persistable=persistable, **kwargs)

    def create_or_get_global_variable(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Return (variable, is_new), the order of Fluid 1.8: the variable if it exists, else a new one."""
        block = self.main_program.global_block()
        if block.has_var(name):
            return block.var(name), False
        return self.create_global_variable(*args, name=name, **kwargs), True

    def set_variable_initializer(self, var: Variable, initializer: object) -> Variable:
        """Declare the variable in the startup program too, with an op that fills it."""
        return self.startup_program.global_block().create_var(
            name=var.name, type=var.type, dtype=var.dtype, shape=var.shape, persistable=True, initializer=initializer
        )

    # -- inputs and attributes ----------------------------------------------------------------------------------

    def multiple_input(self, input_param_name: str = "input") -> list[Variable]:
        inputs = self.kwargs.get(input_param_name, [])
        found = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        for item in found:
            if isinstance(item, np.ndarray) and era().checks_layer_arguments:
                raise AssertionError(
                    f"layer {self.layer_type}: {input_param_name} must be Variables; only dygraph took arrays"
                )
            if not isinstance(item, Variable):
                raise TypeError(
                    f"layer {self.layer_type}: {input_param_name} must be Variables, got {type(item).__name__}"
                )
        return found

    def input(self, input_param_name: str = "input") -> Variable:
        inputs = self.multiple_input(input_param_name)
        if len(inputs) != 1:
            raise ValueError(f"layer {self.layer_type} takes one input, got {len(inputs)}")
        return inputs[0]

    @property
    def param_attr(self) -> Any:
        return ParamAttr._to_attr(self.kwargs.get("param_attr"))

    @property
    def bias_attr(self) -> Any:
        return ParamAttr._to_attr(self.kwargs.get("bias_attr"))

    def multiple_param_attr(self, length: int) -> list[ParamAttr]:
        attr = self.param_attr
        attrs = list(attr) if isinstance(attr, list) else [attr]
        if len(attrs) != 1 and len(attrs) != length:
            raise ValueError(
                f"layer {self.layer_type}: got {len(attrs)} param_attr for {length} inputs; give one for "
                "each, or one for all"
            )
        return attrs if len(attrs) == length else [copy.copy(attrs[0]) for _ in range(length)]

    def iter_inputs_and_params(self, input_param_name: str = "input") -> Iterator[tuple[Variable, ParamAttr]]:
        inputs = self.multiple_input(input_param_name)
        yield from zip(inputs, self.multiple_param_attr(len(inputs)))

    def input_dtype(self, input_param_name: str = "input") -> VarType:
        dtypes = {v.dtype for v in self.multiple_input(input_param_name)}
        if not dtypes:
            raise ValueError(f"layer {self.name} has no input whose dtype it could take")
        if len(dtypes) > 1:
            raise ValueError(
                f"layer {self.name}: all inputs must have the same dtype, got "
                f"{', '.join(sorted(d.name for d in dtypes))}"
            )
        return dtypes.pop()

    # -- parameters ---------------------------------------------------------------------------------------------

    def create_parameter(
        self,
        attr: Any,
        shape: Sequence[int],
        dtype: DTypeLike | None = None,
        is_bias: bool = False,
        default_initializer: Any = None,
        stop_gradient: bool = False,
        type: VarType = VarType.LOD_TENSOR,
    ) -> Any:
        """Create a parameter in the main program and its initialisation in the startup program.

        None for an attribute of False. An existing parameter of that name is shared: it keeps its first initialisation,
        and the attributes given last (learning rate, trainable, regularizer, ...) apply everywhere.
        """
        if attr is False or (isinstance(attr, list) and not attr):
            return None
        attr = copy.copy(ParamAttr._to_attr(attr))
        if not isinstance(attr, ParamAttr):
            raise AssertionError(f"layer {self.layer_type} has one parameter here, but got a list of attributes")
        kind = to_vartype(VarType.FP32 if dtype is None else dtype)
        if attr.initializer is None:
            if default_initializer is None and kind not in _FLOATS:
                raise TypeError(
                    f"a parameter of dtype {kind.name} has no default initializer: pass one in "
                    "ParamAttr(initializer=...)"
                )
            attr.initializer = default_initializer or (Constant(0.0) if is_bias else Xavier())
        if attr.name is None:
            attr.name = unique_name.generate(f"{self.name}.{'b' if is_bias else 'w'}")
        if isinstance(attr, WeightNormParamAttr):
            from fluidio.weight_norm import create_normalised

            weight = create_normalised(self, attr, shape, kind)
            WeightNormParamAttr.params_with_weight_norm.append(weight)
            return weight
        return self._declare(attr, [to_dim(d) for d in shape], kind, stop_gradient, type)

    def _declare(
        self,
        attr: ParamAttr,
        shape: list[int],
        dtype: VarType,
        stop_gradient: bool = False,
        type: VarType = VarType.LOD_TENSOR,
    ) -> Parameter:
        existing = self.main_program.global_block().vars.get(attr.name or "")
        if isinstance(existing, Parameter):
            _check_shared(existing, shape, dtype)
        self.startup_program.global_block().create_parameter(
            dtype=dtype, shape=shape, type=type, **attr._to_kwargs(with_initializer=True)
        )
        made = self.main_program.global_block().create_parameter(
            dtype=dtype, shape=shape, type=type, stop_gradient=stop_gradient, **attr._to_kwargs()
        )
        if not isinstance(existing, Parameter):
            self._made.append(made)
        return made

    def get_parameter(self, name: str) -> Parameter:
        parameter = self.main_program.global_block().var(name)
        if not isinstance(parameter, Parameter):
            raise ValueError(f"the program has no parameter {name!r}")
        return parameter

    # -- bias and activation ------------------------------------------------------------------------------------

    def append_bias_op(self, input_var: Variable, dim_start: int = 1, dim_end: int | None = None) -> Variable:
        """Add a bias over dims dim_start..dim_end, unless bias_attr is False."""
        bias = self.create_parameter(self.bias_attr, input_var.shape[dim_start:dim_end], input_var.dtype, is_bias=True)
        if bias is None:
            return input_var
        out = self.create_variable_for_type_inference(input_var.dtype)
        self.append_op(
            type="elementwise_add",
            inputs={"X": [input_var], "Y": [bias]},
            outputs={"Out": [out]},
            attrs={"axis": dim_start},
        )
        return out

    def append_activation(self, input_var: Variable) -> Variable:
        """Apply the layer's `act`: a name, or a dict with `type` and attributes."""
        act = self.kwargs.get("act")
        if act is None:
            return input_var
        if not isinstance(act, (str, dict)):
            raise TypeError(f"layer {self.layer_type}: act must be a name, or a dict with the key 'type'; got {act!r}")
        attrs: dict[str, Any] = {"type": act} if isinstance(act, str) else dict(act)
        kind = attrs.pop("type")
        if self.kwargs.get("use_cudnn"):
            attrs["use_cudnn"] = True
        out = self.create_variable_for_type_inference(input_var.dtype)
        self.append_op(type=kind, inputs={"X": [input_var]}, outputs={"Out": [out]}, attrs=attrs)
        return out

    def is_instance(self, param_name: str, cls: Any) -> None:
        value = self.kwargs.get(param_name)
        if not isinstance(value, cls):
            raise TypeError(f"layer {self.layer_type}: {param_name} must be {cls.__name__}, got {type(value).__name__}")


def _check_shared(existing: Parameter, shape: list[int], dtype: VarType) -> None:
    """Raise unless an existing parameter has the shape and dtype that another layer needs."""
    if list(existing.shape) != shape:
        raise ValueError(
            f"the parameter {existing.name} already has shape {list(existing.shape)}, but this layer needs "
            f"{shape}: give one of the two another name"
        )
    if existing.dtype != dtype:
        raise ValueError(
            f"the parameter {existing.name} already has dtype {existing.dtype.name}, but this layer needs "
            f"{dtype.name}: give one of the two another name"
        )
