"""Gradient clipping as ops: by value, by norm, by global norm; and clipping of errors on their way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.program import Parameter, Program, Variable, default_main_program

__all__ = ["append_gradient_clip_ops", "set_gradient_clip"]

ParamsGrads = list[tuple[Parameter, Variable | None]]


def set_gradient_clip(clip: Any, param_list: Sequence[Any] | None = None, program: Program | None = None) -> None:
    """Clip the gradients of these parameters (all by default) when `minimize` is called."""
    program = program or default_main_program()
    parameters = param_list or program.all_parameters()
    for item in parameters:
        parameter = program.global_block().var(item) if isinstance(item, str) else item
        if not isinstance(parameter, Parameter):
            raise TypeError("Every element of param_list should be a Parameter or its name")
        parameter.gradient_clip_attr = clip


def append_gradient_clip_ops(params_grads: ParamsGrads) -> ParamsGrads:
    """Append what the parameters' clip attributes ask for; parameters of one clip are clipped together."""
    groups: dict[int, tuple[Any, list[int]]] = {}
    for index, (param, grad) in enumerate(params_grads):
        clip = param.gradient_clip_attr
        if clip is not None and grad is not None:
            groups.setdefault(id(clip), (clip, []))[1].append(index)
    clipped = list(params_grads)
    for clip, indices in groups.values():
        for index, pair in zip(indices, clip._clip([params_grads[i] for i in indices])):
            clipped[index] = pair
    return clipped
