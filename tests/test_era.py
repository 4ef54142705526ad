"""Eras: which version of Fluid to follow."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fluidio.era import ERAS, era, nearest, set_era, use_era


def test_the_default_is_15() -> None:
    assert (era().name, era().strict) == ("1.5", False)


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("0.12", "0.12"),
        ("0.10.0", "0.12"),
        ("0.13", "0.12"),
        ("0.14.0", "0.14"),
        ("0.15", "0.15"),
        ("1.0.2", "0.15"),
        ("1.1", "0.15"),
        ("1.2", "1.2"),
        ("1.3", "1.2"),
        ("1.4.1", "1.4"),
        ("1.5.2", "1.5"),
        ("1.6", "1.8"),
        ("1.7", "1.8"),
        ("1.8.5", "1.8"),
        ("2.0", "1.8"),
    ],
)
def test_a_version_belongs_to_an_era(version: str, name: str) -> None:
    assert nearest(version) == name


@pytest.mark.parametrize("version", ["", "latest", "1.x"])
def test_no_version_is_an_error_that_lists_the_eras(version: str) -> None:
    with pytest.raises(ValueError, match=r"choose one of 0\.12, 0\.14"):
        use_era(version)
    assert era().name == "1.5"


def test_each_era_is_named_as_its_key() -> None:
    assert [item.name for item in ERAS.values()] == list(ERAS)


def test_a_block_restores_the_era_also_after_an_error() -> None:
    with pytest.raises(KeyError), use_era("0.14", strict=True) as inside:
        assert inside == era()
        assert (inside.name, inside.strict, inside.keep_leftover_batch) == ("0.14", True, True)
        with use_era("1.8"):
            assert not era().strict
        assert era().name == "0.14"
        raise KeyError
    assert era().name == "1.5"


def test_a_call_switches_at_once_and_for_good() -> None:
    use_era("1.2")
    assert era().name == "1.2"
    assert set_era("1.8").name == "1.2"


def test_versions_differ_where_the_table_says() -> None:
    keep = [name for name, item in ERAS.items() if item.keep_leftover_batch]
    drop = [name for name, item in ERAS.items() if item.paddle_batch_drops_last]
    prunes = [name for name, item in ERAS.items() if item.clone_for_test_prunes]
    old_names = [name for name, item in ERAS.items() if not item.per_param_accumulator_names]
    assert (keep, drop, prunes) == (["0.12", "0.14"], ["0.14"], ["1.8"])
    assert old_names == ["0.12", "0.14", "0.15", "1.2"]


def _in_process(value: str) -> subprocess.CompletedProcess[str]:
    code = "from fluidio.era import era; print(era().name)"
    return subprocess.run([sys.executable, "-c", code], env={"FLUIDIO_FLUID": value}, capture_output=True, text=True)


def test_the_environment_chooses_the_era() -> None:
    assert _in_process("0.14").stdout == "0.14\n"
    assert _in_process("").stdout == "1.5\n"
    assert "FLUIDIO_FLUID=newest: unknown Fluid version" in _in_process("newest").stderr
