"""`fluid.dygraph.Layer` in static programs: names, ownership and calls are those of 1.8.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.contrib.layer_object import Layer


class Scaled(Layer):
    def __init__(self) -> None:
        super().__init__()
        self.times = 3
        self.w = self.create_parameter([2, 3], fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(2.0)))

    def forward(self, x: Any) -> Any:
        return fluid.layers.matmul(x, self.w) * self.times


class Next(Layer):
    def forward(self, x: Any) -> Any:
        return x + 1


class Net(Layer):
    def __init__(self) -> None:
        super().__init__("m")
        self.inner = Scaled()
        self.v = self.create_parameter([3], is_bias=True)

    def forward(self, x: Any) -> Any:
        return self.inner(x) + self.v


def test_layers_own_parameters_of_the_program() -> None:
    with fluid.unique_name.guard(), fluid.program_guard(fluid.Program(), fluid.Program()):
        net = Net()
        assert (net.full_name(), net.inner.full_name()) == ("m_0", "scaled_0")
        assert [p.name for p in net.parameters()] == ["m_0.b_0", "w"]
        assert [name for name, _ in net.named_parameters()] == ["v", "inner.w"] == list(net.state_dict())
        assert [name for name, _ in net.named_sublayers(include_self=True)] == ["", "inner"]
        assert [op.type for op in fluid.default_startup_program().global_block().ops] == ["fill_constant"] * 2
        assert net.create_variable(dtype="float32").name == "m_0._generated_var_0"
        net.eval()
        assert not net.inner.training
        out = net(fluid.data("x", [None, 2]))
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        assert exe.run(feed={"x": np.ones((1, 2), "float32")}, fetch_list=[out])[0].tolist() == [[12.0] * 3]


def test_hooks_change_what_goes_in_and_out() -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        layer = Next()
        before = layer.register_forward_pre_hook(lambda _, inputs: inputs[0] * 10)
        after = layer.register_forward_post_hook(lambda _, inputs, outputs: outputs * 2)
        assert layer(1) == 22
        before.remove()
        after.remove()
        assert layer(1) == 2


def test_attributes_are_owned_replaced_and_deleted() -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        net = Net()
        net.v = None
        assert net.v is None and list(net._parameters) == ["v"] and len(net.parameters()) == 1
        net.v = 4
        assert net.v == 4 and not net._parameters
        del net.inner
        assert net.sublayers() == []
        with pytest.raises(AttributeError, match="inner"):
            _ = net.inner
        with pytest.raises(NotImplementedError):
            Layer()(3)


def test_names_come_from_the_class() -> None:
    names = ("FCNet2D", "ABCNet", "ResNet50", "Conv2DBNLayer")
    with fluid.unique_name.guard():
        found = [type(name, (Layer,), {})().full_name() for name in names]
    assert found == ["fc_net2d_0", "abc_net_0", "res_net50_0", "conv2dbn_layer_0"]


def test_a_layer_says_that_its_base_comes_first() -> None:
    class Early(Layer):
        def __init__(self) -> None:
            self.inner = Scaled()

    with fluid.program_guard(fluid.Program(), fluid.Program()), pytest.raises(ValueError, match="call super"):
        Early()
