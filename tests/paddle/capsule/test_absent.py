"""A program may import what fluidio does not have; it fails where it uses it, as far as it uses it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fluidio.errors import NotHere
from fluidio.paddle import hook
from tests.paddle.capsule.running import run

_IMPORTS = (
    "from paddle.fluid.contrib.utils.hdfs_utils import HDFSClient, multi_download as fetch\n"
    "from paddle.fluid.contrib.slim.prune import AutoPruneStrategy\n"
    "from paddle.fluid.layers import fc\n"
)


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    hook.install_as_paddle()
    yield
    hook.uninstall()


def test_an_import_that_is_not_used_does_no_harm() -> None:
    names = run(_IMPORTS + "class Mine(AutoPruneStrategy):\n    pass\n")
    assert names["fc"].__name__ == "fc"
    assert issubclass(names["Mine"], names["AutoPruneStrategy"])


USES = ["fetch(None, 'a', 'b', 0, 1)", "AutoPruneStrategy()", "AutoPruneStrategy.on_epoch_begin", "Mine(1)"]


@pytest.mark.parametrize("use", USES)
def test_the_use_says_what_to_do(use: str) -> None:
    with pytest.raises(NotHere, match=r"fluid\.contrib\.\S+ is not supported by fluidio: \w+"):
        run(_IMPORTS + "class Mine(AutoPruneStrategy):\n    pass\n" + use + "\n")


def test_a_program_that_tries_reaches_its_other_branch() -> None:
    text = "try:\n    from paddle.fluid.contrib.utils import multi_upload as a\nexcept ImportError:\n    a = None\n"
    assert run(text)["a"] is None


def test_a_misspelt_name_is_refused_at_once() -> None:
    with pytest.raises(ImportError):
        run("from paddle.fluid.contrib.utils import multi_downlaod\n")
