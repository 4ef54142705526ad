"""`fluidio run` holds over many epochs, and ends when it should."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.house.repository import ROOT

NETWORK = """
import itertools, sys, threading, time
import numpy as np
import paddle
import paddle.fluid as fluid

def samples():
    for _ in range(COUNT) if COUNT else itertools.count():
        yield np.ones(4, 'float32'), 1

def network():
    reader = fluid.layers.py_reader(
        capacity=4, shapes=[(-1, 4), (-1, 1)], dtypes=['float32', 'int64'], use_double_buffer=True)
    reader.decorate_paddle_reader(paddle.batch(samples, batch_size=8))
    x, label = fluid.layers.read_file(reader)
    loss = fluid.layers.mean(fluid.layers.cross_entropy(fluid.layers.fc(x, 3, act='softmax'), label))
    fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe, reader, loss
"""


def start(tmp_path: Path, script: str, count: int, *options: str) -> subprocess.Popen[str]:
    path = tmp_path / "train.py"
    path.write_text(f"COUNT = {count}\n" + NETWORK + textwrap.dedent(script))
    return subprocess.Popen(
        [sys.executable, "-m", "fluidio", "run", *options, str(path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    try:
        return process.communicate(timeout=50)
    finally:
        process.kill()


def test_a_hundred_epochs_leave_memory_and_threads_flat(tmp_path: Path) -> None:
    process = start(
        tmp_path,
        """
        import os
        def resident():
            with open('/proc/self/statm') as file:
                return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')
        exe, reader, loss = network()
        for epoch in range(100):
            reader.start()
            try:
                while True:
                    exe.run(fetch_list=[loss])
            except fluid.core.EOFException:
                reader.reset()
            if epoch == 20:
                threads, memory = threading.active_count(), resident()
        print(threading.active_count() - threads, (resident() - memory) // 1024)
        """,
        80,
        "--stats",
    )
    out, err = finish(process)
    assert process.returncode == 0, err
    threads, kilobytes = map(int, out.split())
    assert threads == 0
    assert kilobytes < 4096
    assert "1,001 steps, 100 epochs" in err
    assert "8,000 records" in err


@pytest.mark.parametrize("where", ["in a step", "waiting for data"])
def test_ctrl_c_ends_at_once(tmp_path: Path, where: str) -> None:
    slow = "" if where == "in a step" else "samples = lambda: iter(lambda: time.sleep(3600), 1)\n"
    process = start(
        tmp_path,
        slow
        + textwrap.dedent("""
        import signal
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may inherit "ignore"
        exe, reader, loss = network()
        reader.start()
        print('ready', flush=True)
        while True:
            exe.run(fetch_list=[loss])
        """),
        0,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, err = finish(process)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "KeyboardInterrupt"
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "loop",
    [
        """
        exe, reader, loss = network()
        reader.start()
        exe.run(fetch_list=[loss])
        """,
        """
        x = fluid.data('x', [None, 4], 'float32')
        label = fluid.data('label', [None, 1], 'int64')
        loader = fluid.io.DataLoader.from_generator(feed_list=[x, label], capacity=2)
        loader.set_sample_list_generator(paddle.batch(samples, 8), places=fluid.cpu_places(1))
        iterator = iter(loader())
        next(iterator)
        """,
        """
        exe, reader, loss = network()
        reader.start()
        exe.run(fetch_list=[loss])
        sys.exit(0)
        """,
        """
        data = paddle.reader.xmap_readers(lambda s: s, samples, 2, 4)()
        next(data)
        buffered = paddle.reader.buffered(samples, 4)()
        next(buffered)
        """,
    ],
)
def test_a_script_that_ends_while_a_reader_runs_exits_cleanly(tmp_path: Path, loop: str) -> None:
    process = start(tmp_path, textwrap.dedent(loop) + "print('last line', flush=True)\n" * ("exit" not in loop), 0)
    _, err = finish(process)
    assert process.returncode == 0, err
    assert [line for line in err.splitlines() if not line.startswith("fluidio run: following")] == []


def test_stats_count_drops_and_records_of_files(tmp_path: Path) -> None:
    process = start(
        tmp_path,
        """
        fluid.recordio_writer.convert_reader_to_recordio_file(
            'a.recordio', paddle.batch(samples, 1),
            fluid.DataFeeder([fluid.layers.data('x', [4]), fluid.layers.data('y', [1], dtype='int64')],
                             fluid.CPUPlace()))
        reader = fluid.layers.open_files(['a.recordio'], [[-1, 4], [-1, 1]], [0, 0], ['float32', 'int64'])
        reader = fluid.layers.double_buffer(fluid.layers.batch(reader, 8))
        x, y = fluid.layers.read_file(reader)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        for epoch in range(2):
            try:
                while True:
                    exe.run(fetch_list=[x])
            except fluid.core.EOFException:
                reader.reset()
        """,
        20,
        "--stats",
    )
    _, err = finish(process)
    assert process.returncode == 0, err
    assert "5 steps, 2 epochs" in err
    assert "32 records" in err
    assert "8 dropped" in err
