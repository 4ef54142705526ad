"""The device of update ops: that of the first op that reads the parameter."""

from __future__ import annotations

import fluidio as fluid


def test_updates_and_accumulators_have_the_device_of_the_parameters_first_reader() -> None:
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x = fluid.layers.data("x", [3])
        with fluid.device_guard("cpu"):
            first = fluid.layers.fc(x, 3)
        second = fluid.layers.fc(first, 2, bias_attr=False)
        with fluid.device_guard("gpu"):
            fluid.optimizer.Momentum(0.1, 0.9).minimize(fluid.layers.mean(second))
    updates = {op.input("Param")[0]: op.attr("op_device") for op in main.global_block().ops if op.type == "momentum"}
    assert updates == {"fc_0.b_0": "cpu", "fc_0.w_0": "cpu", "fc_1.w_0": ""}
    made = {op.output_arg_names[0]: op.attr("op_device") for op in startup.global_block().ops}
    assert {name: device for name, device in made.items() if "velocity" in name} == {
        "fc_0.b_0_velocity_0": "cpu",
        "fc_0.w_0_velocity_0": "cpu",
        "fc_1.w_0_velocity_0": "",
    }
