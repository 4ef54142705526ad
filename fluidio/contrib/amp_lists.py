"""Which ops mixed precision runs in float16, which in float32, and which follow their inputs."""

from __future__ import annotations

from typing import Any

__all__ = ["AutoMixedPrecisionLists", "black_list", "gray_list", "white_list"]

white_list = {"conv2d", "matmul", "mul"}
_BLACK = """
cos_sim cross_entropy cross_entropy2 exp log mean sigmoid_cross_entropy_with_logits softmax softmax_with_cross_entropy
square sum
"""
_GRAY = """
batch_norm cast dropout elementwise_add elementwise_div elementwise_floordiv elementwise_max elementwise_min
elementwise_mod elementwise_mul elementwise_pow elementwise_sub fill_constant flatten2 gather gaussian_random
gaussian_random_batch_size_like get_tensor_from_selected_rows leaky_relu lookup_table pool2d pool3d rank relu relu6
reshape2 scale sigmoid sign slice soft_relu stack tanh top_k transpose2 uniform_random_batch_size_like unstack
"""
black_list = set(_BLACK.split())
gray_list = set(_GRAY.split())


class AutoMixedPrecisionLists:
    """The op lists, with custom ops applied: white runs in float16, black in float32, gray follows its inputs."""

    def __init__(
        self, custom_white_list: Any = None, custom_black_list: Any = None, custom_black_varnames: Any = None
    ) -> None:
        white, black = set(custom_white_list or ()), set(custom_black_list or ())
        if white & black:
            raise ValueError(f"custom_white_list and custom_black_list both contain {', '.join(sorted(white & black))}")
        self._custom_white_list, self._custom_black_list = custom_white_list, custom_black_list
        self.white_list = (white_list | white) - black
        self.black_list = (black_list | black) - white
        self.gray_list = gray_list - white - black
        self.black_varnames = custom_black_varnames
