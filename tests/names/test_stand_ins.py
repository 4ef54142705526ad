"""What Fluid had and fluidio does not can be imported; using it says what to use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import fluidio
from fluidio.errors import NotHere
from fluidio.names.find import has
from fluidio.paddle import hook

# A library for both modes: the static part must not suffer from the other one.
LIBRARY = """
import paddle.fluid as fluid
from paddle.fluid.dygraph import *
from paddle.fluid.dygraph.base import to_variable
from paddle.fluid.dygraph.learning_rate_scheduler import LearningRateDecay

class Net(fluid.dygraph.Layer):
    def __init__(self, size):
        super(Net, self).__init__()
        self.fc = Linear(size, size)

    @fluid.dygraph.jit.declarative
    def forward(self, x):
        return self.fc(to_variable(x))

class Warm(LearningRateDecay):
    def step(self):
        return 1

@fluid.dygraph.no_grad
def twice(x):
    with fluid.dygraph.no_grad():
        return x * 2

def build(model):
    if fluid.dygraph.enabled() or isinstance(model, (fluid.dygraph.Layer, Layer)):
        return to_variable(model)
    disable_dygraph()
    return twice(model)
"""


@pytest.fixture
def library() -> Iterator[dict[str, Any]]:
    hook.install_as_paddle()
    space: dict[str, Any] = {}
    exec(LIBRARY, space)
    yield space
    hook.uninstall()


def test_the_static_part_of_a_library_for_both_modes_works(library: dict[str, Any]) -> None:
    assert library["build"](21) == 42


@pytest.mark.parametrize(
    ("use", "name"),
    [
        ("Net(3)", "Linear"),
        ("Net.forward(None, 3)", "declarative"),
        ("Warm()", "LearningRateDecay"),
        ("to_variable(3)", "to_variable"),
        ("fluid.dygraph.grad(3)", "grad"),
        ("fluid.enable_dygraph()", "enable_dygraph"),
        ("fluid.dygraph.Linear.parameters", "Linear"),
        ("fluid.dygraph.StaticModelRunner('saved').train()", "train"),
        ("fluid.dygraph.StaticModelRunner('saved')(3)", "__call__"),
    ],
)
def test_using_a_name_that_is_not_here_raises(library: dict[str, Any], use: str, name: str) -> None:
    with pytest.raises(NotHere, match=rf"\.{name} is not supported by fluidio: fluidio runs static programs"):
        eval(use, library)


def test_what_only_imperative_scripts_use_can_be_set_up(library: dict[str, Any]) -> None:
    """PaddleHub 1.8 does so for each of its modules."""
    fluid = library["fluid"]
    ops = len(fluid.default_main_program().global_block().ops)
    with fluid.dygraph.guard(fluid.CPUPlace()):
        fluid.layers.zeros([2], "float32")
        runner = fluid.dygraph.StaticModelRunner("saved")
        with pytest.raises(NotHere, match="to_variable"):
            library["to_variable"](3)
    assert runner.model_dir == "saved" and not fluid.in_dygraph_mode()
    assert len(fluid.default_main_program().global_block().ops) == ops


def test_what_stands_for_a_name_is_not_taken_for_it(library: dict[str, Any]) -> None:
    assert library["Linear"] is fluidio.dygraph.Linear is fluidio.dygraph.nn.Linear
    assert not has("fluid.dygraph", "Linear") and not has("fluid", "enable_dygraph")
    assert not hasattr(fluidio, "make_channel")  # 1.8.5 had none


def test_the_environment_of_trainers_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fluidio.dygraph.ParallelEnv().nranks == 1 and fluidio.dygraph.parallel.Env().trainer_endpoints == [""]
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    monkeypatch.setenv("PADDLE_TRAINER_ID", "1")
    monkeypatch.setenv("PADDLE_CURRENT_ENDPOINT", "127.0.0.1:7")
    monkeypatch.setenv("PADDLE_TRAINER_ENDPOINTS", "127.0.0.1:6,127.0.0.1:7")
    env = fluidio.dygraph.ParallelEnv()
    assert (env.nranks, env.local_rank, env.dev_id, env.current_endpoint) == (2, 1, 0, "127.0.0.1:7")
    assert env.trainer_endpoints == ["127.0.0.1:6", "127.0.0.1:7"]
