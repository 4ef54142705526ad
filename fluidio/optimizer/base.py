"""The base of all optimizers: backward ops, clipping, regularisation and update ops in one `minimize`."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from fluidio.backward import _get_no_grad_set_name, append_backward
from fluidio.clip import GradientClipBase, append_error_clip_ops, append_gradient_clip_ops
from fluidio.dtypes import DTypeLike, VarType
from fluidio.era import era
from fluidio.initializer import Constant
from fluidio.layer_helper import LayerHelper
from fluidio.optimizer.arguments import Clip, Decay, Parameters, Rate
from fluidio.optimizer.lars import append_LARS
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
    unique_name,
)
from fluidio.program.arguments import ShapeLike
from fluidio.program.collector import without_collections
from fluidio.program.devices import device_guard, devices_of_readers
from fluidio.program.imperative import refuse_imperative
from fluidio.regularizer import WeightDecayRegularizer, append_regularization_ops

__all__ = ["Optimizer", "Pair", "ParamsGrads"]

Pair = tuple[Parameter, Variable]
ParamsGrads = list[Pair]


class Optimizer:
    """Base class: subclasses name their accumulators and append one update op for each parameter.

    Args:
        learning_rate: a float, or the Variable of a schedule.
        regularization: decay for parameters without one of their own.
        grad_clip: clipping for all parameters (Fluid 1.8).
        parameter_list: what `minimize` updates by default.
        LARS_weight_decay: scale each rate by |p| / (|g| + decay * |p|) (Fluid 0.12 to 0.14).

    Fluid: until 1.6 `regularization, name` stood where 1.8 has `parameter_list, regularization`; both are understood.
    """

    type = ""
    accumulators: tuple[str, ...] = ()

    def __init__(
        self,
        learning_rate: Rate,
        parameter_list: Parameters = None,
        regularization: Decay = None,
        grad_clip: Clip = None,
        name: str | None = None,
        *,
        LARS_weight_decay: float = 0.0,
    ) -> None:
        if isinstance(regularization, str):
            regularization, name = None, regularization
        if isinstance(parameter_list, WeightDecayRegularizer):
            parameter_list, regularization = None, parameter_list
        if not isinstance(learning_rate, (float, Variable)):
            raise TypeError(
                f"learning_rate must be a float or a Variable, got {type(learning_rate).__name__} {learning_rate!r}"
            )
        self._learning_rate = learning_rate
        self._parameter_list = parameter_list
        self.regularization = regularization
        if grad_clip is not None and not isinstance(grad_clip, GradientClipBase):
            raise TypeError(
                f"grad_clip must be a clip such as fluid.clip.GradientClipByNorm(1.0), got {type(grad_clip).__name__}"
            )
        self._grad_clip = grad_clip
        self._name = name
        self._lars_weight_decay = LARS_weight_decay
        self._dtype: Any = "float32"
        self._learning_rate_map: dict[Program, Variable] = {}
        self._devices: dict[str, str] = {}
        if isinstance(learning_rate, Variable):
            self._learning_rate_map[default_main_program()] = learning_rate
        self._accumulators: defaultdict[str, dict[str, Variable]] = defaultdict(dict)
        self._opti_name_list: list[str] = []
        self.helper: LayerHelper = None  # type: ignore[assignment]

    @staticmethod
    def _require(**settings: object) -> None:
        """Refuse None for a setting, as Fluid does."""
        for name, value in settings.items():
            if value is None:
                raise AssertionError(f"{name} must be given, got None")

    def state_dict(self) -> NoReturn:
        refuse_imperative("Optimizer.state_dict")

    def set_dict(self, state_dict: object) -> NoReturn:
        refuse_imperative("Optimizer.set_dict")

    def clear_gradients(self) -> NoReturn:
        refuse_imperative("Optimizer.clear_gradients")

    # -- learning rate ------------------------------------------------------------------------------------------

    def _create_global_learning_rate(self, program: Program | None = None) -> None:
        program = default_main_program() if program is None else program
        if program in self._learning_rate_map:
            return
        if isinstance(self._learning_rate, Variable):
            self._learning_rate_map[program] = self._learning_rate
            return
        name = unique_name.generate("learning_rate")
        rate = program.global_block().create_var(name=name, shape=[1], dtype=self._dtype, persistable=True)
        rate.stop_gradient = True
        self.helper.set_variable_initializer(rate, Constant(self._learning_rate))
        self._learning_rate_map[program] = rate

    def _global_learning_rate(self, program: Program | None = None) -> Any:
        return self._learning_rate_map.get(program or default_main_program())

    def _create_param_lr(self, param_and_grad: Pair) -> Variable:
        param = param_and_grad[0]
        base = self._learning_rate_map[param.block.program]
        factor = param.optimize_attr["learning_rate"]
        if isinstance(factor, Variable):
            return factor
        if factor == 1.0:
            return base
        with param.block.program._lr_schedule_guard(is_with_opt=True), name_scope("scale_with_param_lr"):
            scaled: Variable = base * factor
        return scaled

    # -- accumulators -------------------------------------------------------------------------------------------

    def _add_accumulator(
        self,
        name: str,
        param: Parameter,
        dtype: DTypeLike | None = None,
        fill_value: float = 0.0,
        shape: ShapeLike | None = None,
        type: VarType | None = None,
        device: str | None = None,
    ) -> Variable:
        """Create a persistable variable beside a parameter, filled by the startup program."""
        known = self._accumulators[self._own(name)]
        if param.name in known:
            return known[param.name]
        if era().per_param_accumulator_names:
            full = unique_name.generate(f"{param.name}_{self._own(name)}")
        else:
            full = unique_name.generate(name)
        accumulator = param.block.program.global_block().create_var(
            name=full,
            persistable=True,
            dtype=dtype or param.dtype,
            type=param.type if type is None else type,
            shape=list(param.shape if shape is None else shape),
        )
        accumulator.belong_to_optimizer = True
        with device_guard(self._devices.get(param.name) if device is None else device):
            self.helper.set_variable_initializer(accumulator, Constant(float(fill_value)))
        known[param.name] = accumulator
        self._opti_name_list.append(full)
        return accumulator

    def _own(self, name: str) -> str:
        """Return the name of an accumulator among those of this optimizer."""
        return f"{self._name}_{name}" if self._name else name

    def _get_accumulator(self, name: str, param: Parameter) -> Variable:
        try:
            return self._accumulators[self._own(name)][param.name]
        except KeyError:
            raise ValueError(f"the parameter {param.name} has no accumulator {name!r} in this optimizer") from None

    def _create_accumulators(self, block: Block, parameters: Sequence[Parameter]) -> None:
        for param in parameters:
            for name in self.accumulators:
                self._add_accumulator(name, param)

    # -- for subclasses -----------------------------------------------------------------------------------------

    def _append_optimize_op(self, block: Block, param_and_grad: Pair) -> Operator:
        raise NotImplementedError(f"{type(self).__name__} must define its update op")

    def _finish_update(self, block: Block, params_grads: ParamsGrads) -> None:
        """Append what follows all updates."""

    # -- the steps of minimize ----------------------------------------------------------------------------------

    def backward(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Sequence[object] | None = None,
        no_grad_set: Iterable[object] | None = None,
        callbacks: object = None,
    ) -> ParamsGrads:
        """Append the gradient ops and return (parameter, gradient) pairs.

        Args:
            callbacks: called after every gradient op; without them, gradients of variables with an `error_clip` are
                clipped, which `callbacks=[fluid.clip.error_clip_callback]` does beside other callbacks.
        """
        if callbacks is not None and not isinstance(callbacks, list):
            raise AssertionError(f"minimize: callbacks must be a list of functions, got {callbacks!r}")
        with program_guard(loss.block.program, startup_program or default_startup_program()):
            return self._backward(loss, parameter_list, self._get_no_grad_set(loss, no_grad_set), callbacks)

    def _get_no_grad_set(self, loss: Variable, no_grad_set: Iterable[object] | None = None) -> set[str]:
        """Return the names of constants: those given, and parameters that are not trained."""
        parameters = loss.block.program.global_block().all_parameters()
        return _get_no_grad_set_name(no_grad_set) | {p.name for p in parameters if not p.trainable}

    def _backward(
        self,
        loss: Variable,
        parameter_list: Sequence[Any] | None,
        no_grad_set: Iterable[Any] | None,
        callbacks: Any,
        checkpoints: Sequence[Any] | None = None,
    ) -> ParamsGrads:
        if list(loss.shape) not in ([1], []):
            raise AssertionError(
                f"the loss must have shape [1], got {list(loss.shape)}: reduce it first, for example with "
                "fluid.layers.mean"
            )
        self._dtype = loss.dtype
        own = None if isinstance(self._parameter_list, bool) else self._parameter_list
        pairs = append_backward(loss, parameter_list or own, no_grad_set, callbacks, checkpoints)
        if callbacks is None and not checkpoints:  # Fluid: callbacks given take the place of the error clips
            append_error_clip_ops(loss.block)
        return pairs

    @without_collections()
    def apply_gradients(self, params_grads: ParamsGrads) -> list[Operator]:
        """Append clipping, regularisation and the update ops; return the update ops, including those of rates."""
        pairs: Any = sorted(params_grads, key=lambda pair: pair[0].name)
        clipped = self._grad_clip(pairs) if self._grad_clip is not None else append_gradient_clip_ops(pairs)
        regularised = append_regularization_ops(clipped, self.regularization)
        return self._append_updates(regularised)

    def apply_optimize(
        self, loss: Variable, startup_program: Program | None, params_grads: ParamsGrads
    ) -> list[Operator]:
        with program_guard(loss.block.program, startup_program or default_startup_program()):
            return self.apply_gradients(params_grads)

    def _create_optimization_pass(self, parameters_and_grads: Sequence[object], *_: object) -> list[Operator]:
        """Append accumulators and update ops; Fluid before 1.6 also passed the loss and the startup program."""
        return self._append_updates(parameters_and_grads)

    def _append_updates(self, params_grads: Sequence[Any]) -> list[Operator]:
        program = params_grads[0][0].block.program if params_grads else default_main_program()
        block = program.current_block()
        self.helper = LayerHelper(type(self).__name__)
        first = len(block.ops)
        active = [(p, g) for p, g in params_grads if g is not None and p.trainable]
        self._devices = devices_of_readers(block)
        self._create_accumulators(block, [p for p, _ in params_grads if p.trainable])
        self._create_global_learning_rate(program)
        if self._lars_weight_decay > 0:
            append_LARS(params_grads, self._learning_rate_map[program], self._lars_weight_decay)
        for pair in active:
            device = self._devices.get(pair[0].name)
            with program._optimized_guard(pair), name_scope("optimizer"), device_guard(device):
                self._append_optimize_op(block, pair)
        with program._optimized_guard([]):
            self._finish_update(block, active)
        made: list[Operator] = block.ops[first:]
        return made

    def minimize(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Sequence[Any] | None = None,
        no_grad_set: Iterable[Any] | None = None,
        grad_clip: GradientClipBase | None = None,
    ) -> tuple[list[Operator], ParamsGrads]:
        """Append everything that makes one run of the program one step towards a smaller loss.

        Returns:
            the update ops, and (parameter, gradient) pairs.
        """
        if not isinstance(loss, Variable):
            raise AssertionError(f"minimize: the loss must be a Variable, got {type(loss).__name__}")
        params_grads = self.backward(loss, startup_program, parameter_list, no_grad_set)
        if not params_grads:
            warnings.warn(
                f"minimize({loss.name}): no trainable parameter has a gradient, so nothing will be trained. "
                "Does the loss depend on a parameter, and is no variable between them marked stop_gradient?",
                stacklevel=2,
            )
        if grad_clip is not None:
            self._grad_clip = grad_clip
        return self.apply_optimize(loss, startup_program, params_grads), params_grads

    def current_step_lr(self) -> float:
        """Return the rate of the next step, for a rate given as a number."""
        if isinstance(self._learning_rate, Variable):
            raise RuntimeError("the learning rate is a Variable of the program: fetch it with exe.run")
        return float(self._learning_rate)

    def get_opti_var_name_list(self) -> list[str]:
        """Return the names of the accumulators."""
        return list(self._opti_name_list)

    def _update(
        self,
        block: Block,
        pair: Pair,
        inputs: dict[str, Any],
        outputs: dict[str, Any],
        attrs: dict[str, Any] | None = None,
    ) -> Operator:
        """Append the update op: Param, Grad and LearningRate in, ParamOut out, and the subclass's additions."""
        param, grad = pair
        return block.append_op(
            type=self.type,
            inputs={"Param": [param], "Grad": [grad], "LearningRate": [self._create_param_lr(pair)], **inputs},
            outputs={"ParamOut": [param], **outputs},
            attrs=attrs or {},
        )
