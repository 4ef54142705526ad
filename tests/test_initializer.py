"""Initializers beside the golden case: fans, mistakes, what is not random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import initializer as I
from fluidio.errors import EnforceNotMet


def value(initializer: Any, shape: list[int], name: str = "p") -> Any:
    fluid.layers.create_parameter(shape, "float32", attr=fluid.ParamAttr(name=name, initializer=initializer))
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    return fluid.fetch_var(name)


def test_the_bilinear_kernel_is_the_outer_product_of_its_line() -> None:
    got = value(I.Bilinear(), [2, 1, 4, 4])
    line = np.array([0.25, 0.75, 0.75, 0.25], "float32")
    np.testing.assert_allclose(got, np.broadcast_to(np.outer(line, line), (2, 1, 4, 4)))


def test_the_bilinear_kernel_wants_square_filters() -> None:
    with pytest.raises(ValueError, match="4 dims"):
        value(I.Bilinear(), [4, 4])
    with pytest.raises(ValueError, match="as high as it is wide"):
        value(I.BilinearInitializer(), [1, 1, 2, 3], "q")


def test_without_a_seed_every_start_is_another() -> None:
    first = value(I.Normal(), [100])
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    assert (fluid.fetch_var("p") != first).any()


def test_truncated_normals_stay_within_two_deviations() -> None:
    got = value(I.TruncatedNormal(loc=1.0, scale=0.5, seed=1), [1000])
    assert got.min() >= 0.0 and got.max() <= 2.0


@pytest.mark.parametrize(("make", "limit"), [(I.Xavier(), np.sqrt(6 / 70)), (I.MSRA(), np.sqrt(6 / 30))])
def test_fans_decide_the_limits(make: Any, limit: float) -> None:
    got = value(make, [30, 40])
    assert 0.9 * limit < abs(got).max() <= limit


def test_diagonals_must_fit() -> None:
    with pytest.raises(EnforceNotMet, match="diag_num"):
        value(I.Uniform(diag_num=4, diag_step=3), [3, 3])


def test_uniform_wants_an_interval() -> None:
    with pytest.raises(AssertionError, match=r"low \(1.0\) must not be above high"):
        I.Uniform(1.0, -1.0)


def test_initial_values_are_made_on_the_cpu_anyway() -> None:
    with I.init_on_cpu():
        assert I.force_init_on_cpu()


def test_bilinear_is_skewed_in_1_8_and_says_so() -> None:
    with fluid.use_era("1.8"), pytest.warns(UserWarning, match="even=True"):
        skewed = fluid.initializer.Bilinear()
    observed = [
        [0.0625, 0.28125, 0.375, 0.15625],
        [0.1875, 0.65625, 0.75, 0.21875],
        [0.1875, 0.46875, 0.375, 0.09375],
        [0.0625, 0.09375, 0.0, -0.03125],
    ]
    assert _values(skewed, [1, 1, 4, 4]).tolist() == [[observed]]


def test_bilinear_is_even_before_1_8_or_when_asked() -> None:
    line = [0.25, 0.75, 0.75, 0.25]
    with fluid.use_era("1.8"):
        asked = fluid.initializer.Bilinear(even=True)
    for initializer in (asked, fluid.initializer.Bilinear()):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            np.testing.assert_allclose(_values(initializer, [1, 1, 4, 4])[0, 0], np.outer(line, line))


def _values(initializer: Any, shape: list[int]) -> Any:
    weight = fluid.layers.create_parameter(shape, "float32", default_initializer=initializer)
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    return fluid.fetch_var(weight.name)


FLOAT16_NAMES = {
    "Constant": "constant_init",
    "Uniform": "uniform_random",
    "Normal": "gaussian_random",
    "TruncatedNormal": "truncated_gaussian_random",
    "Xavier": "xavier_init",
    "MSRA": "masra_init",
}


@pytest.mark.parametrize("kind", FLOAT16_NAMES)
def test_a_float16_parameter_is_cast_from_float32(kind: str) -> None:
    made = getattr(fluid.initializer, kind)()
    fluid.layers.create_parameter([2, 3], "float16", name="w", default_initializer=made)
    ops = fluid.default_startup_program().global_block().ops
    assert [op.output_arg_names for op in ops] == [[f"{FLOAT16_NAMES[kind]}.w.tmp_0"], ["w"]]
    assert ops[1].type == "cast"
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    assert fluid.fetch_var("w").dtype == np.float16


def test_an_array_becomes_the_integers_of_its_parameter() -> None:
    block = fluid.Program().global_block()
    values = np.array([0.7, 1.9, 3.0])
    for dtype in ("int32", "int64"):
        parameter = block.create_parameter(name=dtype, shape=[3], dtype=dtype)
        op = fluid.initializer.NumpyArrayInitializer(values)(parameter, block)
        assert op.attr(f"{dtype}_values") == [0, 1, 3]
