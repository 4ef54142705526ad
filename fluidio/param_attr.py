"""ParamAttr: how a layer's parameter is named, initialised, regularised, clipped and updated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from fluidio.era import era

__all__ = ["AttrLike", "ParamAttr", "WeightNormParamAttr"]


class ParamAttr:
    """Attributes of one parameter.

    Args:
        name: its name; generated from the layer's if None.
        initializer: how it starts; the layer's default if None.
        learning_rate: factor on the optimizer's rate.
        regularizer: its own regularisation, instead of the optimizer's.
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
            raise TypeError(f"The name of a ParamAttr must be a str or None, got {name!r} ({type(name).__name__})")
        if isinstance(gradient_clip, bool):  # Fluid 1.8 has no gradient_clip: do_model_average is the sixth argument
            gradient_clip, do_model_average = None, gradient_clip
        for what, value in (("trainable", trainable), ("do_model_average", do_model_average)):
            if not isinstance(value, bool) and era().checks_layer_arguments:
                raise TypeError(f"The type of '{what}' in ParamAttr must be bool, but received {type(value)}.")
        if not isinstance(learning_rate, (float, int)):
            raise TypeError(f"The learning_rate of a ParamAttr must be a number, got {learning_rate!r}")
        self.name = name
        self.initializer = initializer
        self.learning_rate = learning_rate
        self.regularizer = regularizer
        self.trainable = trainable
        self.gradient_clip = gradient_clip
        self.do_model_average = do_model_average

    def _set_default_initializer(self, initializer: object) -> None:
        if initializer is None and self.initializer is None:
            raise ValueError("ParamAttr.initializer is not set")
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
        """Return the ParamAttr that a layer argument means: None, a name, an initializer, False, a list of them."""
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
        raise TypeError(f"{type(arg).__name__} cast to ParamAttr: use fluid.ParamAttr, a name, an initializer or False")

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
    """A parameter given as g v / |v|, the norm taken over all dimensions but `dim`."""

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
