"""Models in the form that PaddlePaddle 3 loads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fluidio.cli import main
from fluidio.models import Model, open_model
from fluidio.models.running import Runner, random_feed

MODELS = Path(__file__).parent.parent / "data" / "models"


def test_an_inference_model_keeps_its_bytes(tmp_path: Path) -> None:
    assert main(["model", "export", str(MODELS / "mlp"), "--to", "paddle", str(tmp_path / "m"), "--quiet"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.pdiparams", "m.pdmodel"]
    assert (tmp_path / "m.pdmodel").read_bytes() == (MODELS / "mlp" / "__model__").read_bytes()
    names = ["fc_0.b_0", "fc_0.w_0", "fc_1.b_0", "fc_1.w_0"]
    assert (tmp_path / "m.pdiparams").read_bytes() == b"".join((MODELS / "mlp" / n).read_bytes() for n in names)


def test_a_training_program_is_cut_to_its_targets(tmp_path: Path) -> None:
    arguments = [str(MODELS / "mlp_save"), "--to", "paddle", str(tmp_path / "m"), "--targets", "fc_1.tmp_2", "--quiet"]
    assert main(["model", "export", *arguments]) == 0
    model = open_model(str(tmp_path / "m.pdmodel"), params_filename="m.pdiparams")
    assert model.raw is not None and "adam" not in model.raw.ops
    old = Runner(open_model(str(MODELS / "mlp_save")), targets=["fc_1.tmp_2"])
    feed = random_feed(old.program, old.feeds, 3)
    found = Runner(_with_params(tmp_path)).run(feed)
    np.testing.assert_array_equal(np.array(found[0]), np.array(old.run(feed)[0]))


def _with_params(folder: Path) -> Model:
    (folder / "m.pdmodel").rename(folder / "__model__")
    return open_model(str(folder), params_filename="m.pdiparams")


@pytest.mark.filterwarnings("ignore:nothing to save")
def test_ops_that_paddle_has_not_are_all_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import fluidio as fluid

    program, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(program, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        x = fluid.layers.data("x", [4])
        y = fluid.layers.cos_sim(x, fluid.layers.zeros_like(x))
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        fluid.io.save_inference_model(str(tmp_path / "m"), ["x"], [fluid.layers.soft_relu(y)], exe, program)
    assert main(["model", "export", str(tmp_path / "m"), "--to", "paddle", str(tmp_path / "new"), "--quiet"]) == 1
    text = capsys.readouterr().err
    assert "cos_sim: Paddle 3 has no such op (1 of them)" in text
    assert "soft_relu: Paddle 3 has no such op (1 of them)" in text
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
