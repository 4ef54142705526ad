"""Checkpoints hold everything that a training needs to go on, with any number of trainers."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.io import checkpoints as module
from fluidio.recordio import Writer
from tests.distributed.jobs import Job, endpoints, fluidio_run, needs_torch, paddle_variables

pytestmark = pytest.mark.timeout(300)  # several processes, maybe on a busy machine

DEATHS = int(os.environ.get("FLUIDIO_TEST_DEATHS", "3"))
L = fluid.layers


def write(folder: Path, records: int = 600) -> Path:
    """Write three files of records."""
    folder.mkdir()
    rng = np.random.default_rng(3)
    for index in range(3):
        with Writer(folder / f"part-{index}.recordio", max_num_records=20) as writer:
            for _ in range(records // 3):
                x = rng.random((1, 3)).astype("float32")
                writer.write_tensors([(x, ()), (x.sum(1, keepdims=True), ())])
    return folder


class Training:
    """A program with a decayed rate, momentum and a reader, and its checkpoints."""

    def __init__(self, data: Path, folder: Path, **options: Any) -> None:
        self.scope = fluid.Scope()
        self.main, startup = fluid.Program(), fluid.Program()
        self.main.random_seed = startup.random_seed = 5
        with fluid.program_guard(self.main, startup), fluid.unique_name.guard():
            names = sorted(map(str, data.iterdir()))
            reader = L.open_files(names, [[-1, 3], [-1, 1]], [0, 0], ["float32"] * 2, thread_num=1)
            self.reader = L.batch(L.shuffle(reader, 40), 15)
            x, y = L.read_file(self.reader)
            self.loss = L.mean(L.square_error_cost(L.fc(x, 1), y))
            fluid.optimizer.Momentum(L.exponential_decay(0.1, 3, 0.5), 0.9).minimize(self.loss)
        self.exe = fluid.Executor(fluid.CPUPlace())
        with fluid.scope_guard(self.scope):
            self.exe.run(startup)
            self.checkpoints = fluid.io.Checkpoints(self.exe, folder, self.main, readers=[self.reader], **options)

    def run(self, steps: int) -> list[float]:
        losses: list[float] = []
        with fluid.scope_guard(self.scope):
            while len(losses) < steps:
                try:
                    losses.append(float(self.exe.run(self.main, fetch_list=[self.loss])[0]) + np.random.rand())
                except fluid.core.EOFException:
                    self.reader.reset()
        return losses

    def save(self, step: int, **note: Any) -> None:
        with fluid.scope_guard(self.scope):
            self.checkpoints.save(step, **note)

    def resume(self) -> module.Saved | None:
        with fluid.scope_guard(self.scope):
            return self.checkpoints.resume()


@pytest.mark.parametrize("steps", [3, 50])
def test_a_training_goes_on_as_if_it_had_not_been_interrupted(steps: int, tmp_path: Path) -> None:
    data = write(tmp_path / "data")
    first = Training(data, tmp_path / "run")
    assert first.resume() is None
    first.run(steps)
    random.seed(1)
    first.save(steps, best=0.5)
    expected, number = first.run(40), random.random()
    second = Training(data, tmp_path / "run")
    saved = second.resume()
    assert saved == module.Saved(steps, {"best": 0.5})
    assert second.run(40) == expected and random.random() == number


def test_the_last_checkpoints_are_kept(tmp_path: Path) -> None:
    training = Training(write(tmp_path / "data"), tmp_path / "run", keep=2)
    for step in (1, 2, 10, 11):
        training.save(step)
    assert sorted(os.listdir(tmp_path / "run")) == ["checkpoint-0000000010", "checkpoint-0000000011"]
    with pytest.raises(ValueError, match="at least 1"):
        fluid.io.Checkpoints(training.exe, tmp_path, keep=0)


@pytest.mark.parametrize("broken", ["save_persistables", "_sync"])
def test_a_checkpoint_that_cannot_be_finished_leaves_the_one_before(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = Training(write(tmp_path / "data"), tmp_path / "run")
    training.save(1)
    (tmp_path / "run" / ".unfinished-x").mkdir()  # of a process that was killed

    def fail(*_: Any) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(module, broken, fail)
        with pytest.raises(OSError, match="full"):
            training.save(2)
    assert os.listdir(tmp_path / "run") == ["checkpoint-0000000001"]
    saved = training.resume()
    assert saved is not None and saved.step == 1


def test_a_checkpoint_stays_while_another_of_its_step_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = Training(write(tmp_path / "data"), tmp_path / "run", keep=1)
    training.save(1, first=True)

    def killed(source: Any, target: Any) -> None:
        if ".unfinished" in str(source):
            raise SystemExit
        os.replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", killed)
        with pytest.raises(SystemExit):
            training.save(1)
    assert training.resume() == module.Saved(1, {"first": True})
    training.save(1)
    assert training.resume() == module.Saved(1, {})
    training.save(2)
    assert os.listdir(tmp_path / "run") == ["checkpoint-0000000002"]


def test_another_number_of_readers_is_refused(tmp_path: Path) -> None:
    training = Training(write(tmp_path / "data"), tmp_path / "run")
    training.save(1)
    training.checkpoints._readers = []
    with pytest.raises(fluid.core.EnforceNotMet, match="the positions of 1 readers, but 0"):
        training.resume()


def elastic(data: Path, out: Path, steps: int, trainers: int, pause: float = 0.0) -> None:
    """Train with Paddle's variables until `steps`."""
    names = endpoints(trainers)
    with Job() as job:
        for trainer in range(trainers):
            command = fluidio_run("elastic.py", data, out, str(steps), "24", str(pause))
            job.start(command, paddle_variables(trainer, names) if trainers > 1 else None)
        for ended in job.wait():
            assert ended.status == 0, ended.output


def parameters(out: Path) -> dict[str, Any]:
    return dict(np.load(out / "parameters.npz"))


@needs_torch
@pytest.mark.slow
def test_other_numbers_of_trainers_go_on_in_mid_epoch(tmp_path: Path) -> None:
    data = write(tmp_path / "data")
    for name in ("alone", "elastic"):
        (tmp_path / name).mkdir()
    elastic(data, tmp_path / "alone", 40, 1)
    for steps, trainers in ((8, 2), (20, 3), (30, 1), (40, 2)):
        elastic(data, tmp_path / "elastic", steps, trainers)
    expected, found = parameters(tmp_path / "alone"), parameters(tmp_path / "elastic")
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=1e-6)


def trainers_of(launcher: int) -> list[int]:
    """Return the processes that a launcher has started and that live."""
    try:
        children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
        return [int(word) for word in children if "State:\tZ" not in Path(f"/proc/{word}/status").read_text()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def last_step(checkpoints: Path) -> int:
    """Return the step of the newest checkpoint; 0 if there is none."""
    names = os.listdir(checkpoints) if checkpoints.exists() else []
    return max((int(name.removeprefix("checkpoint-")) for name in names if name.startswith("checkpoint-")), default=0)


def kill_at_random(process: Any, checkpoints: Path, moments: list[int], rng: random.Random) -> int:
    """Kill a trainer of a launcher soon after each of these steps; return how many were killed.

    Of moments that one checkpoint has passed, the later ones come while the trainers start again.
    """
    killed = 0
    for moment in moments:
        while last_step(checkpoints) < moment and process.poll() is None:
            time.sleep(0.02)
        time.sleep(rng.random() * 2)
        while not (living := trainers_of(process.pid)) and process.poll() is None:
            time.sleep(0.02)
        if living:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rng.choice(living), signal.SIGKILL)
                killed += 1
                print(f"death {killed} after step {last_step(checkpoints)}", flush=True)
    return killed


@needs_torch
@pytest.mark.slow
@pytest.mark.timeout(300 + 60 * DEATHS)
@pytest.mark.skipif(not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="needs Linux's /proc")
def test_trainers_of_torchrun_that_are_killed_end_as_if_undisturbed(tmp_path: Path) -> None:
    trainers = 4
    data, rng = write(tmp_path / "data"), random.Random(int(os.environ.get("FLUIDIO_TEST_SEED", "1")))
    steps = 40 + 2 * DEATHS
    moments = sorted(rng.randrange(steps - 39) for _ in range(DEATHS))  # all of them come well before the end
    for name in ("quiet", "killed"):
        (tmp_path / name).mkdir()
    elastic(data, tmp_path / "quiet", steps, trainers)
    run = fluidio_run("elastic.py", data, tmp_path / "killed", str(steps), "24", "0.1")[1:]
    words = ["--standalone", "--nproc-per-node", str(trainers), "--max-restarts", str(2 * DEATHS)]
    with Job() as job:
        launcher = [sys.executable, "-m", "torch.distributed.run", *words, "--monitor-interval", "0.1"]
        process = job.start([*launcher, *run])
        killed = kill_at_random(process, tmp_path / "killed" / "checkpoints", moments, rng)
        (ended,) = job.wait(400)
    assert ended.status == 0, ended.output[-3000:]
    assert killed == DEATHS
    expected, found = parameters(tmp_path / "quiet"), parameters(tmp_path / "killed")
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name])
