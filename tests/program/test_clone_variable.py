"""What `Block._clone_variable` declares in another program, observed on 1.8.5."""

from __future__ import annotations

import fluidio as fluid


def test_a_parameter_becomes_a_plain_variable_that_nothing_trains() -> None:
    source, target = fluid.Program(), fluid.Program()
    with fluid.program_guard(source, fluid.Program()):
        x = fluid.data("x", [None, 2])
        fluid.layers.fc(x, 3, param_attr="w", bias_attr=False)
    block = target.global_block()
    weight = block._clone_variable(source.global_block().var("w"), force_persistable=False)
    assert type(weight) is fluid.Variable and not isinstance(weight, fluid.Parameter)
    assert (weight.persistable, weight.shape, weight.stop_gradient) == (True, (2, 3), False)
    assert target.all_parameters() == [] and not hasattr(weight, "trainable")
    data = block._clone_variable(x, force_persistable=False)
    assert x.stop_gradient and not data.stop_gradient and data.is_data and not data.persistable
    assert fluid.Program().global_block()._clone_variable(x).persistable
    assert isinstance(source.global_block().var("w"), fluid.Parameter)
