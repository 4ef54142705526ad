"""ParamAttr: the name, initialisation, regularisation, clipping and updates of a layer's parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from fluidio.era import era

__all__ = ["AttrLike", "ParamAttr", "WeightNormParamAttr"]


class ParamAttr:
    """Attributes of one parameter.

    Args:
        name: its name; derived from the layer's if None.
        initializer: its initial value; the layer's default if None.
        learning_rate: a factor of the optimizer's rate.
        regularizer: its own regularisation, in place of the optimizer's.
        trainable: False keeps it fixed.
        gradient_clip: its own gradient clipping.
        do_model_average: whether ModelAverage includes it.
    """

    def __init__(
        self,
        name: str | None = None,
        initializer: Any = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        gradient_clip: Any = None,
        do_model_average: bool = True,
    ) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"ParamAttr: name must be a str or None, got {type(name).__name__} {name!r}")
        if isinstance(gradient_clip, bool):  # Fluid 1.8 has no gradient_clip: do_model_average is the sixth argument
            gradient_clip, do_model_average = None, gradient_clip
        for what, value in (("trainable", trainable), ("do_model_average", do_model_average)):
            if not isinstance(value, bool) and era().checks_layer_arguments:
                raise TypeError(f"ParamAttr: {what} must be True or False, got {type(value).__name__}")
        if not isinstance(learning_rate, (float, int)):
            raise TypeError(f"ParamAttr: learning_rate must be a number, got {learning_rate!r}")
        self.name = name
        self.initializer = initializer
        self.learning_rate = learning_rate
        self.regularizer = regularizer
        self.trainable = trainable
        self.gradient_clip = gradient_clip
        self.do_model_average = do_model_average

    def _set_default_initializer(self, initializer: object) -> None:
        if initializer is None and self.initializer is None:
            raise ValueError("ParamAttr: there is no initializer yet: pass initializer=")
        if self.initializer is None:
            self.initializer = initializer

    set_default_initializer = _set_default_initializer

    def _set_default_param_initializer(self) -> None:
        from fluidio.initializer import Xavier

        self._set_default_initializer(Xavier())

    def _set_default_bias_initializer(self) -> None:
        from fluidio.initializer import Constant

        self._set_default_initializer(Constant(0.0))

    @staticmethod
    def _to_attr(arg: object) -> Any:
        """Convert a layer argument to a ParamAttr: None, a name, an initializer, False, or a list of these."""
        if arg is None or arg is True:
            return ParamAttr()
        if isinstance(arg, (list, tuple)):
            return [ParamAttr._to_attr(a) for a in arg]
        if isinstance(arg, ParamAttr):
            return arg
        if isinstance(arg, str):
            return ParamAttr(name=arg)
        if arg is False:
            return False
        if callable(arg) and hasattr(arg, "is_initializer"):
            return ParamAttr(initializer=arg)
        if hasattr(arg, "is_regularizer"):
            return ParamAttr(regularizer=arg)
        raise TypeError(
            "param_attr and bias_attr take a fluid.ParamAttr, a name, an initializer or False, got "
            f"{type(arg).__name__}"
        )

    to_attr = _to_attr

    def _to_kwargs(self, with_initializer: bool = False) -> dict[str, Any]:
        options = {
            "name": self.name,
            "optimize_attr": {"learning_rate": self.learning_rate},
            "regularizer": self.regularizer,
            "trainable": self.trainable,
            "gradient_clip_attr": self.gradient_clip,
            "do_model_average": self.do_model_average,
        }
        if with_initializer:
            options["initializer"] = self.initializer
        return options

    to_kwargs = _to_kwargs


class WeightNormParamAttr(ParamAttr):
    """A parameter in the form g v / |v|, with the norm over all dims but `dim`."""

    params_with_weight_norm: ClassVar[list[Any]] = []
    """Fluid: the parameters made with this attribute."""

    def __init__(
        self,
        dim: int | None = None,
        name: str | None = None,
        initializer: Any = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        gradient_clip: Any = None,
        do_model_average: bool = False,
    ) -> None:
        super().__init__(name, initializer, learning_rate, regularizer, trainable, gradient_clip, do_model_average)
        self.dim = dim


AttrLike = ParamAttr | str | bool | float | Callable[..., object] | Sequence["AttrLike"] | None
"""What layers take for a parameter: its attributes, its name, its initializer, False for none, or several of these."""
