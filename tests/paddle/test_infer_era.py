"""The era of a script is read off what it calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from fluidio.paddle.infer_era import guess_era, local_sources


@pytest.mark.parametrize(
    ("text", "era"),
    [
        ("import paddle.fluid as fluid\nfluid.layers.fc(x, 3)", "1.8"),
        ("fluid.data('x', [None, 3])", "1.8"),
        ("fluid.io.DataLoader.from_generator(feed_list=[x], capacity=3)", "1.8"),
        ("import paddle\npaddle.fluid.data('x', [3])", "1.8"),
        ("fluid.layers.open_files(filenames=f, shapes=s, for_parallel=True)", "0.14"),
        ("r = fluid.layers.open_files(f)\ntry:\n  pass\nexcept fluid.core.EnforceNotMet:\n  pass", "0.14"),
        ("r = fluid.layers.open_files(f)\ntry:\n  pass\nexcept fluid.core.EOFException:\n  pass", "1.5"),
        ("r = fluid.io.PyReader(feed_list=[x], capacity=3)\nr.start()", "1.4"),
        ("r = fluid.io.PyReader(feed_list=[x], capacity=3, iterable=False)\nr.start()", "1.8"),
        ("fluid.Trainer(train_func=f)", "0.15"),
        ("from paddle.fluid.contrib.trainer import *", "1.5"),
        ("from paddle.fluid.trainer import Trainer", "0.15"),
        ("import paddle.fluid.contrib.inferencer as inferencer", "1.5"),
        ("from paddle.fluid.layers.control_flow import ParallelDo", "0.14"),
        ("fluid.require_version('1.7.0')\nfluid.layers.open_files(f)", "1.8"),
        ("from paddle.fluid.layers import open_recordio_file", "1.5"),
        ("import paddle.fluid.layers as L\nL.open_files(f)", "1.5"),
        ("import paddle.fluid as pf\npf.layers.ParallelDo(pf.layers.get_places())", "0.14"),
        ("import recordio", "1.5"),
        ("import paddle.v2.fluid as fluid\nfluid.layers.fc(x, 3)", "0.12"),
        ("from paddle.v2.fluid.executor import Executor", "0.12"),
        ("import paddle.v2 as paddle\nfrom paddle.v2 import fluid", "0.12"),
        ("from paddle.v2.plot import Ploter\nimport paddle.fluid as fluid", "1.8"),
        ("fluid.io.save_checkpoint(exe, 'd', 0, main)", "0.14"),
        ("print 'old'\nfluid.Trainer(train_func=f)", "0.15"),
        ("this is not python", "1.8"),
        ("try:\n  from paddle.fluid.initializer import init_on_cpu\nexcept ImportError:\n  init_on_cpu = None", "1.8"),
        ("try:\n  import recordio\nexcept:\n  recordio = None", "1.8"),
        ("try:\n  import recordio\nexcept ImportError:\n  raise SystemExit(1)", "1.5"),
        ("try:\n  import recordio\nexcept ImportError:\n  sys.exit(1)", "1.5"),
        ("try:\n  import recordio\nexcept ValueError:\n  pass", "1.5"),
        (
            "try:\n  from paddle.fluid.contrib.trainer import *\nexcept ImportError:\n"
            "  from paddle.fluid.trainer import *",
            "1.5",
        ),
    ],
)
def test_signs_decide(text: str, era: str) -> None:
    assert guess_era([("train.py", text)]).era == era


def test_the_sign_is_named_with_its_line() -> None:
    sources = [("train.py", "import model\n"), ("model.py", "import paddle.fluid as fluid\n\nfluid.data('x', [3])\n")]
    assert guess_era(sources).sign == "model.py:3: fluid.data"
    assert guess_era([("train.py", "x = 1")]).sign == "it shows no sign of an older one"


def test_modules_of_the_scripts_folder_count(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import model\nfrom package import part\n")
    (tmp_path / "model.py").write_text("import numpy\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "part.py").write_text("")
    names = {path.name for path in local_sources(tmp_path / "train.py")}
    assert names == {"train.py", "model.py", "part.py"}
