"""Results without dims, on which kernels' arithmetic gives NumPy's numbers instead of arrays."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers


@pytest.mark.parametrize("return_numpy", [True, False])
def test_a_result_without_dims_is_fetched_as_an_array(return_numpy: bool) -> None:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        x = fluid.data("x", [3], "float32")
        fetch = [layers.scale(layers.argmax(x, 0), 2.0), layers.elementwise_add(layers.rank(x), layers.rank(x))]
    feed = {"x": np.array([1, 3, 2], np.float32)}
    found = fluid.Executor().run(main, feed=feed, fetch_list=fetch, return_numpy=return_numpy)
    assert [type(each) for each in found] == ([type(found[0])] * 2 if return_numpy else [fluid.LoDTensor] * 2)
    assert [np.array(each).shape for each in found] == [(), ()]
    assert [int(np.array(each)) for each in found] == [2, 2]
    assert isinstance(found[0], np.ndarray if return_numpy else fluid.LoDTensor)
