"""Fleet alone, and slot data."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.incubate import data_generator
from fluidio.incubate.fleet import collective
from fluidio.incubate.fleet.base import role_maker


def test_a_script_for_a_cluster_that_was_started_alone_is_the_only_worker(tmp_path: Path) -> None:
    fleet = collective.Collective()
    fleet.init(role_maker.PaddleCloudRoleMaker(is_collective=True))
    assert fleet.is_first_worker() and fleet.worker_num() == 1 and fleet.worker_index() == 0
    assert fleet.split_files(["a", "b"]) == ["a", "b"]
    x = fluid.layers.data("x", [2])
    out = fluid.layers.fc(x, 1)
    optimizer = fleet.distributed_optimizer(fluid.optimizer.SGD(0.1), strategy=collective.DistributedStrategy())
    optimizer.minimize(fluid.layers.mean(out))
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fleet.startup_program)
    exe.run(fleet.main_program, feed={"x": np.ones((2, 2), "float32")}, fetch_list=[])
    assert float(fluid.fetch_var("fc_0.b_0")[0]) == pytest.approx(-0.1)
    fleet.save_persistables(exe, str(tmp_path / "all"))
    fleet.save_inference_model(exe, str(tmp_path / "model"), ["x"], [out])
    assert (tmp_path / "all" / "fc_0.w_0").exists() and (tmp_path / "model" / "__model__").exists()
    fleet.stop_worker()


class Words(data_generator.MultiSlotDataGenerator):
    def generate_sample(self, line: str | None) -> Any:
        def samples() -> Iterator[Any]:
            if line is not None:
                numbers = [int(word) for word in line.split()]
                yield [("words", numbers[:-1]), ("label", numbers[-1:])]

        return samples


def test_samples_become_slots(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("1 2 3 0\n4 5 1\n"))
    Words().run_from_stdin()
    assert capsys.readouterr().out == "3 1 2 3 1 0\n2 4 5 1 1\n"


def test_a_generator_batches_what_it_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    class Sorted(data_generator.MultiSlotStringDataGenerator):
        def generate_sample(self, line: str | None) -> Any:
            return lambda: iter([[("w", [word])] for word in "dacb"])

        def generate_batch(self, samples: list[Any]) -> Any:
            return lambda: iter(sorted(samples))

    generator = Sorted()
    generator.set_batch(2)
    generator.run_from_memory()
    assert capsys.readouterr().out.split("\n") == ["1 a", "1 d", "1 b", "1 c", ""]


@pytest.mark.parametrize("sample", [3, [("w", [])], [("w", "text")], [(1, [1])], [("w", ["a"])]])
def test_a_sample_of_another_form_is_refused(sample: Any) -> None:
    with pytest.raises(ValueError, match="must"):
        data_generator.MultiSlotDataGenerator()._gen_str(sample)


@pytest.mark.parametrize(
    ("sample", "text"),
    [
        ([("a", "12"), ("b", "3")], "2 1 2 1 3\n"),
        ([("words", "a b"), ("b", ["3"])], "3 a   b 1 3\n"),
        ([("a", ["x", "y"])], "2 x y\n"),
        ([], "\n"),
    ],
)
def test_a_slot_of_one_string_is_written_character_by_character(sample: Any, text: str) -> None:
    assert data_generator.MultiSlotStringDataGenerator()._gen_str(sample) == text


def test_slots_must_not_change() -> None:
    generator = data_generator.MultiSlotDataGenerator()
    assert generator._gen_str([("a", [1]), ("b", [2.5])]) == "1 1 1 2.5\n"
    with pytest.raises(ValueError, match="earlier samples"):
        generator._gen_str([("a", [1])])
    with pytest.raises(ValueError, match="in earlier samples"):
        generator._gen_str([("b", [1]), ("a", [1])])
