"""Runs are recorded in bounded memory, and their page is written however they end."""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import recordio
from fluidio.flow.observer import OBSERVERS, Drop, Observer, Read, Step, StepResult, Wait, observing
from fluidio.pages.advice import advise
from fluidio.pages.live import LiveLine
from fluidio.pages.recorder import Recorder
from fluidio.pages.runs import run_page, watching
from fluidio.pages.series import Curve, Lanes
from tests.pages.data_of import data_of

HERE = threading.get_ident()


class Machine:
    """Plays a run to a recorder, on clocks of its own."""

    def __init__(self, **options: Any) -> None:
        self.now = 100.0
        self.process = self.thread = 0.0
        self.recorder = Recorder(
            times_ops=False, process_clock=lambda: self.process, thread_clock=lambda: self.thread, **options
        )

    def step(self, wait: float, compute: float, *, busy: float = 0.0, loss: float = 1.0, queues: Any = ()) -> None:
        """Run a step that waits for its data, while `busy` cores work, and then computes."""
        step = Step(0, "CPUPlace", 0, HERE, self.now)
        self.recorder.step_began(step)
        began = self.now
        self.now += wait
        self.process += wait * busy
        for name, side, share in queues:
            self.recorder.wait_ended(Wait(name, side, 1, HERE, self.now - share * (wait + compute), self.now))
        chain = tuple(dict.fromkeys(name for name, _, _ in queues)) or ("open_files_0",)
        self.recorder.item_read(Read(chain[0], chain, 32, False, HERE, began, self.now))
        self.now += compute
        self.process += compute
        self.thread += compute
        self.recorder.step_ended(step, StepResult(("loss",), [np.array([loss])], None, self.now))


def test_a_slow_source_is_found_from_events() -> None:
    machine = Machine()
    for _ in range(100):
        machine.step(0.06, 0.04, queues=[("open_files_0", "consumer", 0.59)])
    told = advise(machine.recorder.measured())
    assert told.kind == "source"
    assert "waits 60 % of the time for `open_files`" in told.text


def test_slow_decoding_is_found_from_events() -> None:
    machine = Machine()
    for _ in range(100):
        machine.step(0.06, 0.04, busy=1.0, queues=[("create_py_reader_0", "consumer", 0.59)])
    assert advise(machine.recorder.measured()).kind == "decoding"


def test_a_slow_step_is_found_from_events() -> None:
    machine = Machine()
    for _ in range(100):
        machine.step(0.001, 0.1, queues=[("open_files_0", "producer", 0.9)])
    assert advise(machine.recorder.measured()).kind == "step"


def test_a_small_queue_is_found_from_events() -> None:
    machine = Machine()
    for _ in range(100):
        waits = [("create_py_reader_0", "consumer", 0.4), ("create_py_reader_0", "producer", 0.5)]
        machine.step(0.04, 0.06, queues=waits)
    assert advise(machine.recorder.measured()).kind == "queue"


def test_a_balanced_run_is_found_from_events() -> None:
    machine = Machine()
    for _ in range(100):
        machine.step(0.005, 0.07, queues=[("open_files_0", "producer", 0.3)])
        machine.now += 0.02
    assert advise(machine.recorder.measured()).kind == "balanced"


def test_a_million_values_make_a_small_curve_that_keeps_every_spike() -> None:
    curve = Curve()
    for step in range(100_000):
        curve.add(step, 50.0 if step == 77_777 else math.sin(step / 1000))
    told = curve.as_json()
    assert told["count"] == 100_000
    assert len(told["step"]) <= 2000
    assert max(told["most"]) == 50.0
    assert told["step"] == sorted(told["step"])


def test_values_that_are_not_finite_are_counted_and_hide_nothing() -> None:
    curve = Curve()
    for step in range(5000):
        curve.add(step, math.nan if step % 2 else 1.0)
    told = curve.as_json()
    assert told["not_finite"] == 2500
    assert told["least"] == [1.0] * len(told["least"])


def test_lanes_keep_their_sums_when_they_are_halved() -> None:
    lanes = Lanes(0.0, width=0.01)
    for n in range(10_000):
        lanes.spend_all("busy", [n * 0.1], [n * 0.1 + 0.05])
        lanes.count("steps", [n * 0.1], [1])
    told = lanes.as_json()
    assert len(told["lanes"]["busy"]) <= 400
    assert sum(told["lanes"]["steps"]) == 10_000
    assert sum(told["lanes"]["busy"]) == pytest.approx(500, rel=1e-3)


def test_a_long_wait_is_spread_over_the_time_that_it_took() -> None:
    lanes = Lanes(0.0, width=1.0)
    lanes.spend("wait", 0.5, 3.25)
    assert lanes.as_json()["lanes"]["wait"] == [0.5, 1.0, 1.0, 0.25]


@pytest.mark.slow
def test_a_run_of_a_million_steps_gives_a_small_page() -> None:
    machine = Machine()
    for n in range(1_000_000):
        machine.step(0.001, 0.002, loss=1 / (n + 1), queues=[("open_files_0", "consumer", 0.1)])
    page = run_page(machine.recorder.as_json())
    assert len(page) < 5_000_000
    assert data_of(page)["steps"] == 1_000_000


def loss_of(count: int, fails_at: int = -1) -> None:
    x = fluid.layers.data("x", [4])
    loss = fluid.layers.mean(fluid.layers.fc(x, size=1))
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    for n in range(count):
        exe.run(feed={"x": np.full((2, 4), n, np.float32)}, fetch_list=[loss])
        if n == fails_at:
            raise KeyboardInterrupt


def test_a_report_in_code_holds_curves_speeds_profile_and_environment(tmp_path: Path) -> None:
    with fluid.report(tmp_path / "run.html"):
        loss_of(20)
    found = data_of((tmp_path / "run.html").read_text("utf-8"))
    assert found["steps"] == 21
    assert found["records"] == 40
    (curve,) = found["curves"].values()
    assert curve["count"] == 20
    assert {"mul", "mean"} <= {row["type"] for row in found["profile"]}
    assert found["environment"]["NumPy"] == np.__version__
    assert OBSERVERS.all == ()


def test_the_page_is_written_after_ctrl_c_and_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), watching(str(tmp_path / "run.html")):
        loss_of(20, fails_at=7)
    found = data_of((tmp_path / "run.html").read_text("utf-8"))
    assert found["steps"] == 9
    assert found["error"].startswith("KeyboardInterrupt")
    assert OBSERVERS.all == ()


def test_a_record_keeps_every_number(tmp_path: Path) -> None:
    with fluid.report(record=tmp_path / "trace.json"):
        loss_of(5)
    found = json.loads((tmp_path / "trace.json").read_text("utf-8"))
    (curve,) = found["curves"].values()
    assert len(curve["values"]) == 5
    assert curve["steps"] == [1, 2, 3, 4, 5]


def test_drops_and_failures_are_told() -> None:
    recorder = Recorder()
    recorder.items_dropped(Drop("create_batch_reader_0", 3))
    step = Step(0, "CPUPlace", 0, HERE, 1.0)
    recorder.step_began(step)
    recorder.step_ended(step, StepResult((), [], ValueError("<b>boom</b>"), 2.0))
    recorder.stop()
    told = recorder.as_json()
    assert told["dropped"] == {"create_batch_reader_0": 3}
    assert told["error"] == "ValueError: <b>boom</b>"
    assert told["steps"] == 0


def test_the_live_line_tells_steps_speed_and_the_last_loss() -> None:
    machine = Machine()
    line = LiveLine(machine.recorder, io.StringIO())
    line.text(100.0)
    for n in range(50):
        machine.step(0.01, 0.01, loss=n / 10)
    text = line.text(101.0)
    assert text == "step 50 · 50 steps/s · 1,600 records/s · 50 % waiting · loss 4.9"


def test_the_live_line_is_silent_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    line = LiveLine(Recorder(), stream)
    line.start()
    assert OBSERVERS.all == ()
    line.stop()
    assert stream.getvalue() == ""


def test_run_report_writes_the_page_when_the_script_fails(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import paddle.fluid as fluid\nimport numpy as np\n"
        "x = fluid.layers.data('x', [2])\ny = fluid.layers.mean(x)\nexe = fluid.Executor(fluid.CPUPlace())\n"
        "for n in range(3):\n    exe.run(feed={'x': np.ones((1, 2), 'float32')}, fetch_list=[y])\n1 / 0\n"
    )
    page, trace = tmp_path / "run.html", tmp_path / "trace.json"
    words = ["-m", "fluidio", "run", "--report", str(page), "--record", str(trace), str(script)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    found = data_of(page.read_text("utf-8"))
    assert (found["steps"], found["status"]) == (3, 1)
    assert found["title"] == "train.py"
    assert json.loads(trace.read_text("utf-8"))["format"] == "fluidio trace 1"


def test_short_steps_are_counted_though_only_some_are_watched() -> None:
    x = fluid.layers.data("x", [4])
    total = fluid.layers.reduce_sum(x)
    exe = fluid.Executor(fluid.CPUPlace())
    recorder = Recorder(times_ops=False)
    recorder.start()
    for n in range(1500):
        exe.run(feed={"x": np.full((2, 4), n, np.float32)}, fetch_list=[total])
    recorder.stop()
    curve = recorder.as_json()["curves"][total.name]
    assert recorder.steps == 1500
    assert recorder.records == 3000
    assert 200 <= curve["count"] <= 1500
    assert curve["mean"] == [8 * step for step in curve["step"]]
    assert OBSERVERS.all == ()


def test_reads_and_waits_between_watched_steps_are_counted() -> None:
    machine = Machine()
    recorder = machine.recorder
    recorder.lanes = Lanes(machine.now)
    OBSERVERS.add(recorder)
    for _ in range(250):
        machine.step(0.0, 1e-4)
    before = recorder.measured()
    began = machine.now
    for n in range(10):
        at = began + n * 1e-3
        OBSERVERS.read(("files",), 32, False, at, at + 1e-4)
        OBSERVERS.waited("files", "consumer", n, at, at + 1e-4)
    machine.now += 0.01
    machine.step(0.0, 1e-4)
    recorder.stop()
    after = recorder.measured()
    assert before.queues == []
    (queue,) = after.queues
    assert (queue.name, queue.most) == ("files", 9)
    assert queue.starved * after.seconds == pytest.approx(1e-3)
    assert after.waiting * after.seconds == pytest.approx(1e-3)
    assert recorder.records == 251 * 32 + 10 * 32
    assert sum(recorder.lanes.lanes["records"]) == pytest.approx(recorder.records)
    assert sum(recorder.lanes.lanes["starved files"]) == pytest.approx(1e-3)


def test_records_and_epochs_of_a_pipeline_are_exact_though_only_some_steps_are_watched(tmp_path: Path) -> None:
    path = str(tmp_path / "data.recordio")
    with recordio.Writer(path) as writer:
        writer.write_block([np.ones((999, 4), np.float32)])
    files = fluid.layers.open_files([path], shapes=[(-1, 4)], lod_levels=[0], dtypes=["float32"])
    reader = fluid.layers.double_buffer(fluid.layers.batch(files, batch_size=2, drop_last=False))
    total = fluid.layers.reduce_sum(fluid.layers.read_file(reader))
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    recorder = Recorder(times_ops=False)
    recorder.start()
    for _ in range(3):
        try:
            while True:
                exe.run(fetch_list=[total])
        except fluid.core.EOFException:
            reader.reset()
    recorder.stop()
    assert (recorder.epochs, recorder.steps, recorder.records) == (3, 1500, 2997)
    assert recorder.marks == [500, 1000, 1500]


def test_a_run_that_is_recorded_is_watched_step_by_step() -> None:
    total = fluid.layers.reduce_sum(fluid.layers.data("x", [4]))
    exe = fluid.Executor(fluid.CPUPlace())
    recorder = Recorder(keep=True, times_ops=False)
    recorder.start()
    for _ in range(400):
        exe.run(feed={"x": np.ones((2, 4), np.float32)}, fetch_list=[total])
    recorder.stop()
    assert recorder.as_json()["curves"][total.name]["count"] == 400


def test_nothing_is_skipped_while_somebody_else_watches() -> None:
    first, second = Observer(), Observer()
    with observing(first):
        assert OBSERVERS.skip(first, 3)
        with observing(second):
            assert next(OBSERVERS.skipped, None) is None
            assert not OBSERVERS.skip(first, 3)


class Slow(fluid.io.Dataset):
    """Ten samples."""

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return (np.full(2, index, np.float32),)

    def __len__(self) -> int:
        return 10


def test_worker_processes_are_counted() -> None:
    x = fluid.data("x", [None, 2])
    total = fluid.layers.reduce_sum(x)
    exe = fluid.Executor(fluid.CPUPlace())
    loader = fluid.io.DataLoader(Slow(), feed_list=[x], places=fluid.CPUPlace(), batch_size=1, num_workers=2)
    recorder = Recorder(times_ops=False)
    recorder.start()
    for batch in loader():
        exe.run(feed=batch, fetch_list=[total])
    recorder.stop()
    assert recorder.measured().processes == 2
