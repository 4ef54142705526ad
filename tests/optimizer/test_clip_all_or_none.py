"""`set_gradient_clip` for some parameters alone follows the era."""

from __future__ import annotations

import pytest

import fluidio as fluid
from fluidio.era import use_era


def _ops(names: list[str] | None, *, partial: bool = False) -> list[str]:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()), fluid.unique_name.guard():
        hidden = fluid.layers.fc(fluid.layers.data("x", [3]), 3)
        fluid.clip.set_gradient_clip(fluid.clip.GradientClipByNorm(0.1), names, partial=partial)
        fluid.optimizer.SGD(1.0).minimize(fluid.layers.mean(hidden))
    return [op.type for op in main.global_block().ops if op.type in ("clip_by_norm", "sgd")]


@pytest.mark.parametrize("name", ["fc_0.w_0", "fc_0.b_0"])
def test_fluid_1_8_clips_nothing_where_a_parameter_has_no_clip(name: str) -> None:
    with use_era("1.8"), pytest.warns(UserWarning, match="no gradient is clipped"):
        assert _ops([name]) == ["sgd", "sgd"]


def test_those_that_have_a_clip_are_clipped_on_request_and_in_older_eras() -> None:
    with use_era("1.8"):
        assert _ops(["fc_0.w_0"], partial=True) == ["clip_by_norm", "sgd", "sgd"]
        assert _ops(None) == ["clip_by_norm", "clip_by_norm", "sgd", "sgd"]
    with use_era("1.5"):
        assert _ops(["fc_0.w_0"]) == ["clip_by_norm", "sgd", "sgd"]
