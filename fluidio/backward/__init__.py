"""Append the ops that compute the gradients of a loss to its program."""

from fluidio.backward.append import append_backward, append_grad_ops
from fluidio.backward.legacy_names import _append_grad_suffix_, _as_list, _strip_grad_suffix_
from fluidio.backward.several import calc_gradient, gradients

__all__ = [
    "_append_grad_suffix_",
    "_as_list",
    "_strip_grad_suffix_",
    "append_backward",
    "append_grad_ops",
    "calc_gradient",
    "gradients",
]
