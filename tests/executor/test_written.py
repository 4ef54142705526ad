"""Steps are written as code: what they share, and which LoD and which memory their outputs get."""

from __future__ import annotations

import numpy as np

import fluidio as fluid
from fluidio.executor import written

ROWS = np.arange(6, dtype="float32").reshape(3, 2)


def test_layers_of_one_form_share_their_code() -> None:
    def compiled(depth: int) -> int:
        main, startup = fluid.Program(), fluid.Program()
        with fluid.program_guard(main, startup):
            x = fluid.layers.data("x", [2])
            for _ in range(depth):
                x = fluid.layers.fc(x, 2, act="tanh")
            fluid.optimizer.Adam(0.1).minimize(fluid.layers.mean(x))
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        exe.run(main, feed={"x": ROWS})
        return written._compiled.cache_info().misses

    few = compiled(2)
    assert compiled(12) == few


def test_outputs_take_their_lod_from_the_first_input_that_has_one_or_from_x_alone() -> None:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        flat, ragged = fluid.layers.data("flat", [2]), fluid.layers.data("ragged", [2], lod_level=1)
        first = fluid.layers.concat([flat, ragged], axis=1)
        product = fluid.layers.elementwise_mul(ragged, flat)
    exe = fluid.Executor(fluid.CPUPlace())
    feed = {"flat": ROWS, "ragged": fluid.create_lod_tensor(ROWS, [[1, 2]], fluid.CPUPlace())}
    of_first, of_product = exe.run(main, feed=feed, fetch_list=[first, product], return_numpy=False)
    assert of_first.lod() == []
    assert of_product.lod() == [[0, 1, 3]]


def test_a_variable_that_gets_the_value_of_a_feed_has_memory_of_its_own() -> None:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        x = fluid.layers.data("x", [3, 2], append_batch_size=False)
        kept = main.global_block().create_var(name="kept", shape=[6], dtype="float32", persistable=True)
        main.global_block().append_op(
            type="reshape2",
            inputs={"X": x},
            outputs={"Out": kept, "XShape": main.global_block().create_var(name="shape", dtype="float32")},
            attrs={"shape": [6]},
        )
    fed, scope = ROWS.copy(), fluid.Scope()
    fluid.Executor(fluid.CPUPlace()).run(main, feed={"x": fed}, scope=scope)
    fed[:] = -1
    np.testing.assert_array_equal(np.asarray(scope.var("kept").get_tensor()), ROWS.reshape(-1))


def test_several_outputs_of_which_some_are_unwanted() -> None:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        x = fluid.layers.data("x", [2])
        values, _ = fluid.layers.topk(x, 1)
        parts = fluid.layers.split(x, 2, dim=1)
    got = fluid.Executor(fluid.CPUPlace()).run(main, feed={"x": ROWS}, fetch_list=[values, parts[1]])
    np.testing.assert_array_equal(got[0], ROWS[:, 1:])
    np.testing.assert_array_equal(got[1], ROWS[:, 1:])
