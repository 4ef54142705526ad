"""`fluid.dygraph.Layer` as static programs use it: an object that owns parameters and other Layers.

Parameters are those of the current program; calling the object calls its `forward`, which appends ops.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fluidio.dtypes import DTypeLike, VarType
from fluidio.layer_helper import LayerHelper
from fluidio.program import Parameter, Variable, default_main_program, unique_name

__all__ = ["Layer"]

Hook = Callable[..., Any]


class _Removable:
    """A handle to a registered hook."""

    def __init__(self, hooks: OrderedDict[int, Hook], hook: Hook) -> None:
        self._hooks, self._key = hooks, max(hooks, default=-1) + 1
        hooks[self._key] = hook

    def remove(self) -> None:
        """Remove the hook."""
        self._hooks.pop(self._key, None)


class Layer:
    """The base of classes that own parameters."""

    def __init__(self, name_scope: str | None = None, dtype: DTypeLike = VarType.FP32) -> None:
        scope = name_scope or re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=.)(?=[A-Z][a-z])", "_", type(self).__name__).lower()
        self.training = True
        self._full_name = unique_name.generate(scope)
        self._dtype = dtype
        self._parameters: OrderedDict[str, Any] = OrderedDict()
        self._sub_layers: OrderedDict[str, Layer] = OrderedDict()
        self._forward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
        self._forward_post_hooks: OrderedDict[int, Hook] = OrderedDict()

    def full_name(self) -> str:
        """Return the prefix for the names of unnamed parameters."""
        return self._full_name

    def train(self) -> None:
        """Mark this object and those below for training; static programs are cloned for tests instead."""
        self._mark(True)

    def eval(self) -> None:
        """Mark this object and those below for tests."""
        self._mark(False)

    def _mark(self, training: bool) -> None:
        for layer in (self, *self.sublayers()):
            layer.training = training

    # -- what it owns ------------------------------------------------------------------------------------------

    def create_parameter(
        self,
        shape: Sequence[int],
        attr: Any = None,
        dtype: DTypeLike = "float32",
        is_bias: bool = False,
        default_initializer: Any = None,
    ) -> Any:
        """Return a new parameter of the current program; None for an attribute of False."""
        helper = LayerHelper(self._full_name, name=self._full_name)
        return helper.create_parameter(None if attr == "" else attr, shape, dtype, is_bias, default_initializer)

    def create_variable(
        self,
        name: str | None = None,
        persistable: bool | None = None,
        dtype: DTypeLike | None = None,
        type: VarType = VarType.LOD_TENSOR,
    ) -> Variable:
        """Return a new variable of the current block."""
        full = f"{self._full_name}.{name}" if name else unique_name.generate(f"{self._full_name}._generated_var")
        options: dict[str, Any] = {} if dtype is None else {"dtype": dtype}
        block = default_main_program().current_block()
        return block.create_var(name=full, persistable=bool(persistable), type=type, **options)

    def add_sublayer(self, name: str, sublayer: Layer) -> Layer:
        """Add a child object."""
        assert isinstance(sublayer, Layer)
        self._sub_layers[name] = sublayer
        return sublayer

    def add_parameter(self, name: str, parameter: Any) -> Any:
        """Add a parameter."""
        assert parameter is None or isinstance(parameter, Parameter)
        self._parameters[name] = parameter
        return parameter

    def parameters(self, include_sublayers: bool = True) -> list[Any]:
        """Return the parameters of this object, then of those below."""
        return [parameter for _, parameter in self.named_parameters(include_sublayers=include_sublayers)]

    def named_parameters(self, prefix: str = "", include_sublayers: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield the parameters with their dotted names, a shared one once."""
        seen: set[int] = set()
        for path, layer in self.named_sublayers(prefix, include_sublayers, include_self=True):
            for name, parameter in layer._parameters.items():
                if parameter is not None and id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield f"{path}.{name}" if path else name, parameter

    def sublayers(self, include_sublayers: bool = True) -> list[Layer]:
        """Return the objects below this one."""
        return [layer for _, layer in self.named_sublayers(include_sublayers=include_sublayers)]

    def named_sublayers(
        self,
        prefix: str = "",
        include_sublayers: bool = True,
        include_self: bool = False,
        layers_set: set[Layer] | None = None,
    ) -> Iterator[tuple[str, Layer]]:
        """Yield the objects below this one with their dotted names, a shared one once."""
        seen = set() if layers_set is None else layers_set
        if include_self and self not in seen:
            seen.add(self)
            yield prefix, self
        for name, layer in self._sub_layers.items() if include_sublayers else ():
            path = f"{prefix}.{name}" if prefix else name
            yield from layer.named_sublayers(path, include_self=True, layers_set=seen)

    def state_dict(self, destination: Any = None, include_sublayers: bool = True, prefix: str = "") -> Any:
        """Return the parameters by their dotted names."""
        found = OrderedDict() if destination is None else destination
        found.update((prefix + name, p) for name, p in self.named_parameters(include_sublayers=include_sublayers))
        return found

    # -- calls -------------------------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook: Hook) -> _Removable:
        """Call `hook(layer, inputs)` before `forward`; what it returns replaces the inputs."""
        return _Removable(self._forward_pre_hooks, hook)

    def register_forward_post_hook(self, hook: Hook) -> _Removable:
        """Call `hook(layer, inputs, outputs)` after `forward`; what it returns replaces the outputs."""
        return _Removable(self._forward_post_hooks, hook)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Append the ops; subclasses define which."""
        raise NotImplementedError

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        for hook in self._forward_pre_hooks.values():
            changed = hook(self, inputs)
            if changed is not None:
                inputs = changed if isinstance(changed, tuple) else (changed,)
        outputs = self.forward(*inputs, **kwargs)
        for hook in self._forward_post_hooks.values():
            changed = hook(self, inputs, outputs)
            outputs = outputs if changed is None else changed
        return outputs

    def __getattr__(self, name: str) -> Any:
        for owned in ("_parameters", "_sub_layers"):
            if name in self.__dict__.get(owned, {}):
                return self.__dict__[owned][name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        kind = "_parameters" if isinstance(value, Parameter) else "_sub_layers" if isinstance(value, Layer) else ""
        if kind and kind not in self.__dict__:
            raise ValueError(f"{type(self).__name__}.__init__ must call super().__init__() before it sets attributes")
        owners = [self.__dict__.get(owned, {}) for owned in ("_parameters", "_sub_layers")]
        if value is None and any(name in owner for owner in owners):
            next(owner for owner in owners if name in owner)[name] = None
            return
        for owner in owners:
            owner.pop(name, None)
        if kind:
            self.__dict__.pop(name, None)
            self.__dict__[kind][name] = value
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for owned in (self._parameters, self._sub_layers):
            if name in owned:
                del owned[name]
                return
        object.__delattr__(self, name)
