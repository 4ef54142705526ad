"""From a loss to gradients: ops that compute them, appended to the program."""

from fluidio.backward.append import append_backward, append_grad_ops, calc_gradient, gradients

__all__ = ["append_backward", "append_grad_ops", "calc_gradient", "gradients"]
