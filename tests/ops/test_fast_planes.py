"""instance_norm and group_norm in C give what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops.compiled import channels
from fluidio.ops.norm import planes

L = fluid.layers
pytestmark = pytest.mark.skipif(channels.compiled is None, reason="there was no C compiler when fluidio was installed")


def trained(norm: Any, shape: tuple[int, ...], **attrs: Any) -> list[Any]:
    """Return the output and all gradients of a norm."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x = fluid.data("x", list(shape))
        x.stop_gradient = False
        scale = fluid.ParamAttr(name="scale", initializer=fluid.initializer.Normal(seed=1))
        bias = fluid.ParamAttr(name="bias", initializer=fluid.initializer.Normal(seed=2))
        out = norm(x, param_attr=scale, bias_attr=bias, **attrs)
        params = main.all_parameters()
        wave = L.assign(np.sin(np.arange(np.prod(shape))).reshape(shape).astype(np.float32))
        grads = fluid.gradients(L.reduce_sum(out * wave), [x, *params])
    rng = np.random.default_rng(0)
    with fluid.scope_guard(fluid.Scope()):
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        feed = {"x": rng.standard_normal(shape, np.float32) * 3 + 5}
        found: list[Any] = exe.run(main, feed=feed, fetch_list=[out, *grads])
        return found


@pytest.mark.parametrize("shape", [(2, 6, 5, 7), (1, 4, 3, 3), (3, 2, 1, 4)])
@pytest.mark.parametrize(("norm", "attrs"), [(L.instance_norm, {}), (L.group_norm, {"groups": 2})])
def test_norms_of_planes_are_those_of_numpy(
    norm: Any, attrs: dict[str, Any], shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = trained(norm, shape, **attrs)
    monkeypatch.setattr(planes, "fits", lambda *arrays: False)
    for one, other in zip(fast, trained(norm, shape, **attrs)):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5 * float(np.abs(other).max()))


@pytest.mark.parametrize("shape", [(2, 1, 1, 6), (2, 3, 5, 6)])
def test_channels_behind_the_places_stay_there(shape: tuple[int, ...]) -> None:
    out, dx, *_ = trained(L.group_norm, shape, groups=2, data_layout="NHWC")
    assert out.shape == dx.shape == shape


def test_what_the_c_cannot_take_is_left_to_numpy() -> None:
    x = np.ones((2, 3, 4, 4), np.float32)
    assert planes.fits(x, None, np.ones(3, np.float32))
    assert not planes.fits(x[:, :, :, 0].swapaxes(1, 2))
    assert not planes.fits(x[:0]) and not planes.fits(x[:, :, 0, 0].copy())
    assert not planes.fits(x, np.ones(3))
