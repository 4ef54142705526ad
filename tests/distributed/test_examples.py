"""The examples of distributed training run, and give the same numbers for any number of trainers."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.distributed.jobs import Job, endpoints, needs_torch
from tests.house.repository import ROOT

pytestmark = pytest.mark.timeout(300)  # several processes, maybe on a busy machine


def output(name: str, *words: str) -> str:
    port = endpoints(1)[0].rpartition(":")[2]
    with Job() as job:
        job.start([sys.executable, ROOT / "examples" / "distributed" / name, "--port", port, *words])
        (ended,) = job.wait()
    assert ended.status == 0, ended.output
    return ended.output


@needs_torch
@pytest.mark.slow
def test_the_guide_has_one_accuracy_for_any_number_of_trainers() -> None:
    found = {}
    for trainers in ("1", "2", "4"):
        text = output("guide.py", "--trainers", trainers, "--epochs", "3")
        assert len(re.findall(r"loss of its last batch", text)) == int(trainers)
        found[trainers] = re.findall(r"accuracy: (.*)", text)
    assert found["1"] == found["2"] == found["4"] and float(found["1"][0]) > 0.85


@needs_torch
@pytest.mark.slow
def test_a_run_in_pieces_ends_like_one_in_one_piece() -> None:
    ends = [output("elastic.py", "--jobs", *jobs).strip().splitlines()[-1] for jobs in (["1"], ["2", "3", "1"])]
    numbers = [[float(word) for word in end.rpartition(": ")[2].split()] for end in ends]
    assert numbers[0] == pytest.approx(numbers[1], abs=2e-4)


@needs_torch
@pytest.mark.slow
def test_word_vectors_in_a_divided_table_are_those_of_one_process(tmp_path: Path) -> None:
    script = ROOT / "examples" / "distributed" / "word2vec.py"
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    likeness = []
    for command in ([sys.executable], launcher):
        with Job() as job:
            job.start([*command, script, "--steps", "60", "--model", tmp_path])
            (ended,) = job.wait()
        assert ended.status == 0, ended.output
        likeness += re.findall(r"more alike by (.*)", ended.output)
    assert likeness[0] == likeness[1] and float(likeness[0]) > 0.1
    assert (tmp_path / "words").stat().st_size > 400 * 16 * 4  # all of it, in one file
