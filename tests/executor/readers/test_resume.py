"""Stop anywhere, restore elsewhere, and the rest is the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fluidio as fluid
from fluidio.recordio import Writer
from fluidio.recordio.decode.columnar import Decoder
from fluidio.recordio.format.tensor_codec import encode_record
from fluidio.testing import fresh
from tests.executor.readers.subjects import SLOTS, Subject, batches, loader, write_file, write_files

layers = fluid.layers


def chain(paths: list[str], kind: str) -> Any:
    if kind == "file":
        return layers.io.open_recordio_file(paths[0], **SLOTS)
    reader = layers.open_files(paths, thread_num=2, shuffle_files=True, seed=5, pass_num=2, **SLOTS)
    if kind == "plain":
        return reader
    reader = layers.batch(layers.shuffle(reader, 9, seed=2), 4, drop_last=False)
    return layers.double_buffer(reader) if kind == "buffered" else reader


def epochs(subject: Subject, count: int) -> list[list[int]]:
    """Return the items of the next steps, over the ends of epochs."""
    found: list[list[int]] = []
    while len(found) < count:
        item = subject.step()
        if item is None:
            subject.reader.reset()
        else:
            found.append(item)
    return found


@pytest.mark.parametrize("kind", ["file", "plain", "batched", "buffered"])
@given(steps=st.integers(0, 40))
def test_the_rest_is_identical_wherever_it_was_stopped(
    kind: str, steps: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    paths = write_files(tmp_path_factory.mktemp("data"))
    with fresh():
        subject = Subject(lambda: chain(paths, kind))
        epochs(subject, steps)
        state = json.loads(json.dumps(subject.reader.state_dict()))
        expected = epochs(subject, 25)
        subject.reader.reset()
    with fresh():
        other = Subject(lambda: chain(paths, kind))
        other.reader.load_state_dict(state)
        assert epochs(other, 25) == expected
        other.reader.reset()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["file", "files", "shuffled", "passes"])
def test_restoring_decodes_only_the_chunks_around_the_saved_place(
    kind: str, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = write_files(tmp_path, (200, 140, 160), chunk=2)  # 250 chunks

    def build() -> Any:
        if kind == "file":
            return layers.batch(layers.io.open_recordio_file(paths[0], **SLOTS), 3)
        passes = 3 if kind == "passes" else 1
        reader = layers.open_files(paths, thread_num=threads, pass_num=passes, **SLOTS)
        return layers.double_buffer(layers.batch(layers.shuffle(reader, 10) if kind == "shuffled" else reader, 3))

    subject = Subject(build)
    epochs(subject, 300 if kind == "passes" else 60)
    state = subject.reader.state_dict()
    expected = epochs(subject, 2)
    subject.reader.reset()
    opened: list[int] = []
    decode = Decoder.spans

    def counted(self: Decoder, *args: Any) -> Any:
        opened.append(1)
        return decode(self, *args)

    monkeypatch.setattr(Decoder, "spans", counted)
    with fresh():
        other = Subject(build)
        other.reader.load_state_dict(state)
        assert epochs(other, 2) == expected
        other.reader.reset()
    assert len(opened) < 30  # what startup reads ahead, a buffer of the shuffle, and what is read ahead then


def test_levels_in_the_wrong_order_are_found_out_though_chunks_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "old.recordio"
    wrong = np.array([0, 1, 3, 6, 8]), np.array([0, 3, 4])  # makes sense only innermost first
    either = np.array([0, 1, 2]), np.array([0, 2, 2])  # makes sense both ways
    with Writer(path, max_num_records=1) as writer:
        for number in range(9):
            lod, rows = (wrong, 8) if number == 2 else (either, 2)
            writer.write(encode_record([(np.zeros((rows, 4), "float32"), lod), (np.array([[number]], "int64"), ())]))

    def lods(subject: Subject, count: int) -> list[Any]:
        rows = [subject.exe.run(subject.main, fetch_list=[subject.row], return_numpy=False) for _ in range(count)]
        return [row.lod() for (row,) in rows]

    def build() -> Any:
        return layers.io.open_recordio_file(str(path), **SLOTS)

    with pytest.warns(UserWarning, match="innermost first"):
        subject = Subject(build)
        lods(subject, 6)
    state = subject.reader.state_dict()
    expected = lods(subject, 3)
    assert expected[0] == [[0, 2, 2], [0, 1, 2]]
    with fresh(), pytest.warns(UserWarning, match="innermost first"):
        other = Subject(build)
        other.reader.load_state_dict(state)
        assert lods(other, 3) == expected


def test_a_state_saved_at_the_end_resumes_at_the_end(tmp_path: Path) -> None:
    paths = write_files(tmp_path)
    subject = Subject(lambda: chain(paths, "buffered"))
    subject.epoch()
    state = subject.reader.state_dict()
    subject.reader.load_state_dict(state)
    assert subject.step() is None
    subject.reader.reset()


def test_a_state_of_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = write_file(tmp_path / "a" / "x.recordio", range(10))
    second = write_file(tmp_path / "b" / "y.recordio", range(10))
    subject = Subject(lambda: layers.io.open_recordio_file(first, **SLOTS))
    subject.step()
    state = subject.reader.state_dict()
    with fluid.scope_guard(fluid.Scope()):
        other = Subject(lambda: layers.io.open_recordio_file(second, **SLOTS))
        with pytest.raises(fluid.core.EnforceNotMet, match="to other files"):
            other.reader.load_state_dict(state)
        assert other.epoch() == list(range(10))


def test_a_moved_folder_is_the_same_data(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    paths = write_files(tmp_path / "a")
    subject = Subject(lambda: layers.open_files(paths, thread_num=1, **SLOTS))
    epochs(subject, 5)
    state = subject.reader.state_dict()
    subject.reader.reset()
    (tmp_path / "a").rename(tmp_path / "b")
    moved = [path.replace("/a/", "/b/") for path in paths]
    with fluid.scope_guard(fluid.Scope()):
        other = Subject(lambda: layers.open_files(moved, thread_num=1, **SLOTS))
        other.reader.load_state_dict(state)
        assert other.step() == [5]
        other.reader.reset()


def test_arrival_order_cannot_be_saved(tmp_path: Path) -> None:
    paths = write_files(tmp_path)
    subject = Subject(lambda: layers.open_files(paths, deterministic=False, **SLOTS))
    with pytest.raises(fluid.core.EnforceNotMet, match="cannot be saved"):
        subject.reader.state_dict()
    subject.reader.reset()


def test_a_queue_reader_passes_over_what_was_read_and_says_so() -> None:
    subject = Subject(loader, read=False)
    subject.reader.set_batch_generator(batches(range(10)))
    subject.reader.start()
    epochs(subject, 4)
    state = subject.reader.state_dict()
    subject.reader.reset()
    other = Subject(loader, read=False)
    other.reader.set_batch_generator(batches(range(10)))
    with pytest.warns(UserWarning, match="skips the first 4 batches"):
        other.reader.load_state_dict(state)
    other.reader.start()
    assert other.epoch() == list(range(4, 10))
    other.reader.reset()
    other.reader.start()
    assert other.epoch() == list(range(10))
    other.reader.reset()


def test_resuming_works_in_a_new_process(tmp_path: Path) -> None:
    paths = write_files(tmp_path)
    subject = Subject(lambda: chain(paths, "buffered"))
    epochs(subject, 11)
    state = subject.reader.state_dict()
    expected = epochs(subject, 12)
    subject.reader.reset()
    script = (
        "import json, sys; from tests.executor.readers.test_resume import *\n"
        "paths, state = json.loads(sys.argv[1])\n"
        "s = Subject(lambda: chain(paths, 'buffered')); s.reader.load_state_dict(state)\n"
        "print(json.dumps(epochs(s, 12)))"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps([paths, state])], capture_output=True, text=True, check=True, cwd=root
    )
    assert json.loads(done.stdout) == expected
