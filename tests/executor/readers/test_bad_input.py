"""Missing files, wrong files, wrong descriptions: a clear error, at the first moment that shows it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fluidio as fluid
from fluidio.flow.thread_pool import ThreadPool
from fluidio.recordio import Writer
from tests.executor.readers.subjects import SLOTS, Subject, py_reader, write_file, write_files

layers = fluid.layers


def startup() -> None:
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())


@pytest.mark.parametrize("several", [True, False])
def test_a_missing_file_is_noticed_by_the_startup_program(tmp_path: Path, several: bool) -> None:
    good = write_file(tmp_path / "good.recordio", range(3))
    missing = str(tmp_path / "missing.recordio")
    if several:
        layers.open_files([good, missing], **SLOTS)
    else:
        layers.io.open_recordio_file(missing, **SLOTS)
    with pytest.raises(fluid.core.EnforceNotMet, match=r"cannot open the RecordIO file .*missing\.recordio"):
        startup()


def test_an_empty_list_of_files_is_refused() -> None:
    layers.open_files([], **SLOTS)
    with pytest.raises(fluid.core.EnforceNotMet, match="the list of files is empty"):
        startup()


@pytest.mark.parametrize(
    ("content", "text"), [(b"PK\x03\x04 some zip file", "zip"), (b"<html>no</html>" * 9, "[Hh][Tt][Mm][Ll]")]
)
def test_a_file_of_another_kind_says_what_it_looks_like(tmp_path: Path, content: bytes, text: str) -> None:
    path = tmp_path / "a.recordio"
    path.write_bytes(content)
    with pytest.raises(fluid.core.EnforceNotMet, match=text):
        Subject(lambda: layers.double_buffer(layers.io.open_recordio_file(str(path), **SLOTS))).step()


def test_a_file_of_pickled_samples_says_how_to_read_it(tmp_path: Path) -> None:
    path = tmp_path / "a.recordio"
    with Writer(path, dialect="go") as writer:
        writer.write(b"\x80\x02K\x01.")
    subject = Subject(lambda: layers.io.open_recordio_file(str(path), **SLOTS))
    with pytest.raises(fluid.core.EnforceNotMet, match="dialect"):
        subject.step()


def test_an_empty_file_gives_an_empty_epoch(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.recordio", [])
    subject = Subject(lambda: layers.batch(layers.io.open_recordio_file(path, pass_num=3, **SLOTS), 2))
    assert subject.step() is None
    subject.reader.reset()
    assert subject.step() is None


def test_a_wrong_number_of_slots_is_an_error(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.recordio", range(3))
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        layers.read_file(layers.io.open_recordio_file(path, [(-1, 4)], [0], ["float32"]))
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    with pytest.raises(fluid.core.EnforceNotMet, match="delivers 2 tensors, but the program reads 1"):
        exe.run(main)


def test_descriptions_that_do_not_fit_together_are_refused_at_once() -> None:
    with pytest.raises(fluid.core.EnforceNotMet, match=r"lod_levels has 1 entries, but there are 2 shapes"):
        layers.open_files(["a.recordio"], SLOTS["shapes"], [0], SLOTS["dtypes"])
    with pytest.raises(TypeError):
        layers.open_files(["a.recordio"], [(-1, 4), (1)], [0, 0], SLOTS["dtypes"])  # type: ignore[list-item]
    with pytest.raises(fluid.core.EnforceNotMet, match="2 shapes but 1 dtypes"):
        layers.py_reader(3, SLOTS["shapes"], ["float32"])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda r: layers.batch(r, 0), "batch_size must be above 0"),
        (lambda r: layers.shuffle(r, -1), "buffer_size must be above 0"),
        (lambda r: layers.io.multi_pass(r, 0), "pass_num must be above 0"),
    ],
)
def test_sizes_must_be_positive(make: Any, text: str) -> None:
    reader = layers.open_files(["a.recordio"], **SLOTS)
    with pytest.raises(fluid.core.EnforceNotMet, match=text):
        make(reader)


def test_threads_must_be_positive() -> None:
    with pytest.raises(fluid.core.EnforceNotMet, match="thread_num must be above 0"):
        layers.open_files(["a.recordio"], thread_num=0, **SLOTS)


@pytest.mark.parametrize("make", [lambda x: layers.batch(x, 2), lambda x: layers.read_file(x)])
def test_what_is_no_reader_is_refused(make: Any) -> None:
    with pytest.raises(TypeError, match="reader"):
        make(fluid.layers.data("x", [3]))


def test_reset_before_the_startup_program_says_so() -> None:
    reader = layers.open_files(["a.recordio"], **SLOTS)
    with pytest.raises(fluid.core.EnforceNotMet, match="[Rr]un the startup program first"):
        reader.reset()


def test_running_before_the_startup_program_says_so(tmp_path: Path) -> None:
    paths = write_files(tmp_path)
    layers.read_file(layers.batch(layers.open_files(paths, **SLOTS), 2))
    with pytest.raises(fluid.core.EnforceNotMet, match="[Rr]un the startup program first"):
        fluid.Executor(fluid.CPUPlace()).run()


def test_py_reader_before_the_startup_program_says_so() -> None:
    layers.read_file(py_reader())
    with pytest.raises(fluid.core.EnforceNotMet, match="[Rr]un the startup program first"):
        fluid.Executor(fluid.CPUPlace()).run()


def test_a_file_that_was_cut_while_it_is_read_is_an_error_not_an_end(tmp_path: Path) -> None:
    path = tmp_path / "a.recordio"
    write_file(path, range(40), chunk=5)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 30])
    subject = Subject(lambda: layers.batch(layers.open_files([str(path)], **SLOTS), 5, drop_last=False))
    seen: list[int] = []
    with pytest.raises(fluid.core.EnforceNotMet, match="CutTailError"):
        while (item := subject.step()) is not None:
            seen += item
    assert seen == list(range(35))


def test_suffixes_are_checked_only_when_bugs_are_wanted_back(tmp_path: Path) -> None:
    path = write_file(tmp_path / "plain", range(3))
    assert Subject(lambda: layers.open_files([path], **SLOTS)).epoch() == [0, 1, 2]
    with fluid.use_era("1.5", strict=True), pytest.raises(fluid.core.EnforceNotMet, match="needs an ending"):
        Subject(lambda: layers.open_files(path, **SLOTS))


def test_an_interrupted_reader_says_that_it_must_be_reset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = write_files(tmp_path)
    subject = Subject(lambda: layers.batch(layers.open_files(paths, is_test=True, **SLOTS), 7))
    assert subject.step() == list(range(7))
    subject.reader.reset()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ThreadPool, "result", _interrupt)
        subject.step()
    for _ in range(2):
        with pytest.raises(fluid.core.EnforceNotMet, match="interrupted by KeyboardInterrupt"):
            subject.step()
    subject.reader.reset()
    assert subject.step() == list(range(7))
    subject.reader.reset()


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("deterministic", [True, False])
def test_files_opened_before_a_fork_are_an_error_behind_it_until_they_are_reset(
    tmp_path: Path, deterministic: bool
) -> None:
    script = f"""
import os, warnings, fluidio as fluid
from tests.executor.readers.subjects import *
warnings.simplefilter("ignore")
paths = {write_files(tmp_path)!r}
options = dict(thread_num=2, deterministic={deterministic}, **SLOTS)
subject = Subject(lambda: fluid.layers.batch(fluid.layers.open_files(paths, **options), 5))
subject.step()
child = os.fork()
if child == 0:
    try:
        subject.epoch()
    except fluid.core.EnforceNotMet as error:
        assert "before a fork" in str(error), error
    subject.reader.reset()
    assert len(subject.epoch()) == 35
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert len(subject.epoch()) == 30
subject.reader.reset()
"""
    root = Path(__file__).resolve().parents[3]
    subprocess.run([sys.executable, "-c", script], check=True, cwd=root, timeout=50)
