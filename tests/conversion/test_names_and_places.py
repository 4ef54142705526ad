"""Outputs get the names that are reported, pipes are read, and mistakes are refused rather than guessed."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.cli import main
from fluidio.conversion import generate, read_manifest, read_rows
from fluidio.conversion.export import export
from fluidio.errors import ConversionError
from fluidio.recordio import File, Writer, iter_batches, partition
from tests.conversion.servers import RangeHandler, need, s3_environment, s3_server, serving
from tests.conversion.templates import NUMBERS, write
from tests.house.repository import ROOT


@pytest.fixture(scope="module", autouse=True)
def _the_thread_of_fsspec() -> None:
    """Start the thread that fsspec keeps for the whole process, so that no test is found to have left it."""
    if importlib.util.find_spec("fsspec") is not None:
        importlib.import_module("fsspec.asyn").get_loop()


def made(path: Path, count: int = 10) -> str:
    with Writer(str(path), max_num_records=3) as writer:
        writer.write_block([np.arange(count).reshape(-1, 1)])
    return str(path)


# -- names -------------------------------------------------------------------------------------------------------------


def test_a_folder_as_output_gets_the_name_of_the_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = write(tmp_path, NUMBERS, "numbers.py")
    assert main(["convert", script, "--output", f"{tmp_path}/out/", "--quiet", "--workers", "1", "--", "1", "2"]) == 0
    manifest = capsys.readouterr().out.splitlines()[-1].removeprefix("manifest: ")
    assert os.path.isfile(manifest)
    assert manifest == f"{tmp_path}/out/numbers.manifest.json"
    assert main(["records", "split", made(tmp_path / "a.recordio"), "--output", f"{tmp_path}/s/", "--shards", "2"]) == 0
    assert (tmp_path / "s" / "a-00000-of-00001").is_file()
    assert main(["records", "shuffle", f"{tmp_path}/s/a-*", "--output", f"{tmp_path}/r/", "--shards", "1"]) == 0
    assert (tmp_path / "r" / "a-00000-of-00000").is_file()


@pytest.mark.parametrize("extension", [".feather", ".arrow", ".pq", ".tfrecords"])
def test_an_exported_file_loses_its_old_extension(extension: str, tmp_path: Path) -> None:
    to = "tfrecord" if extension == ".tfrecords" else "parquet" if extension == ".pq" else "arrow"
    if to != "tfrecord":
        need("pyarrow")
    (path,) = export(made(tmp_path / "a.recordio"), to, str(tmp_path / "1"))
    renamed = tmp_path / "1" / f"a{extension}"
    os.rename(path, renamed)
    assert [Path(p).name for p in export(str(renamed), "npz", str(tmp_path / "2"))] == ["a.npz"]
    assert [Path(p).name for p in export(str(renamed), "recordio", str(tmp_path / "3"))] == ["a.recordio"]


def test_shards_have_no_extension_after_their_way_back(tmp_path: Path) -> None:
    export(made(tmp_path / "x-00000-of-00000"), "npz", str(tmp_path / "1"))
    (path,) = export(str(tmp_path / "1" / "*"), "recordio", str(tmp_path / "2"))
    assert Path(path).name == "x-00000-of-00000"


def test_a_number_under_a_schema_comes_back_as_a_number(tmp_path: Path) -> None:
    script = write(tmp_path, 'SCHEMA = {"row": "int32", "task": "float32"}\n' + NUMBERS)
    generate(script, str(tmp_path / "n"), 1, workers=1, args=["1", "2"])
    assert list(read_rows(str(tmp_path / "n"))) == [{"row": 0, "task": 0.0}, {"row": 1, "task": 0.0}]
    manifest = read_manifest(str(tmp_path / "n"))
    assert manifest is not None and [slot["dtype"] for slot in manifest["slots"]] == ["int32", "float32"]


def test_a_template_refuses_arguments_that_it_does_not_know(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n')
    assert main(["convert", "--init", "jsonl", str(tmp_path)]) == 0
    command = ["convert", str(tmp_path / "json_lines.py"), "--output", str(tmp_path / "x"), "--quiet", "--workers", "1"]
    arguments = ["--files", str(tmp_path / "rows.jsonl")]
    assert main([*command, "--", *arguments, "--skipp", "3"]) == 1
    assert "unrecognized arguments: --skipp 3" in capfd.readouterr().err
    with pytest.raises(ConversionError, match="does not take these arguments: --filez"):
        generate(str(tmp_path / "json_lines.py"), str(tmp_path / "x"), 1, args=["--filez"])
    assert main([*command, "--", *arguments]) == 0


# -- pipes -------------------------------------------------------------------------------------------------------------


def test_standard_input_is_a_file(tmp_path: Path) -> None:
    data = Path(made(tmp_path / "a")).read_bytes()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "fluidio", *words]
        done = subprocess.run(command, input=data, capture_output=True, env=environment, cwd=tmp_path, check=True)
        return done.stdout.decode()

    for said in (run("inspect", "-"), run("check", "-")):
        assert said.startswith("standard input")
        assert "/fluidio-" not in said  # the copy, which is gone by now
    assert "records  10" in run("inspect", "-")
    run("records", "split", "-", "--output", "s/x", "--shards", "2")
    assert [len(File(str(path))) for path in sorted((tmp_path / "s").glob("x-*"))] == [5, 5]


def counted(path: str) -> int:
    with File(path) as file:
        return file.count()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="platform: there are no named pipes")
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_named_pipe_is_a_file(shuffle: bool, tmp_path: Path) -> None:
    data = Path(made(tmp_path / "a")).read_bytes()
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)

    def through(read: Any) -> Any:
        thread = threading.Thread(target=Path(pipe).write_bytes, args=(data,))
        thread.start()
        result = read()
        thread.join()
        return result

    found = through(lambda: [int(n) for (batch,) in iter_batches(pipe, 4, shuffle=shuffle) for n in batch.ravel()])
    assert sorted(found) == list(range(10))
    assert through(lambda: counted(pipe)) == 10
    assert len(through(lambda: partition(pipe, 2, 0))[0]) == 5


# -- stores ------------------------------------------------------------------------------------------------------------


def test_a_mistyped_bucket_is_not_made(tmp_path: Path) -> None:
    source, script = made(tmp_path / "a"), write(tmp_path, NUMBERS)
    with s3_server() as server:
        for words in (
            ["records", "cp", source, "s3://buckett/to", "--quiet"],
            ["records", "split", source, "--output", "s3://buckett/x", "--shards", "2"],
            ["convert", script, "--output", "s3://buckett/x", "--quiet", "--workers", "1", "--", "1", "1"],
        ):
            command = [sys.executable, "-W", "ignore", "-m", "fluidio", *words]
            done = subprocess.run(command, env=s3_environment(server), capture_output=True, text=True, cwd=tmp_path)
            assert done.returncode == 1
            assert done.stderr.count("\n") == 1
            assert "s3://buckett" in done.stderr
        listing = "import fsspec; print(fsspec.filesystem('s3').ls(''))"
        command = [sys.executable, "-W", "ignore", "-c", listing]
        assert subprocess.check_output(command, env=s3_environment(server), text=True) == "['bucket']\n"


@pytest.mark.parametrize("words", [["inspect"], ["check"], ["records", "cp"], ["export", "--to", "npz", "--output"]])
def test_network_failures_are_told_in_a_line(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Forbidding(RangeHandler):
        folder = tmp_path

        def do_GET(self) -> None:
            self.send_error(403 if "secret" in self.path else 404)

        do_HEAD = do_GET

    target = [str(tmp_path / "to")] if len(words) > 1 else []
    with serving(Forbidding) as server:
        pass
    cases = {f"{server}/x": "connection refused"}
    with serving(Forbidding) as server:
        cases |= {f"{server}/x": "there is no such file", f"{server}/secret": "the server answers 403"}
        for url, text in cases.items():
            command = [*words, *target, url] if words[0] == "export" else [*words, url, *target]
            assert main([*command, *(["--quiet"] if target else [])]) == 1
            err = capsys.readouterr().err
            assert text in err and url in err and err.count("\n") == 1
            assert err.startswith(f"fluidio {words[0]}: ")


def test_debug_shows_the_rest(tmp_path: Path) -> None:
    for command in (["--debug", "inspect", f"{tmp_path}/x"], ["inspect", f"{tmp_path}/x", "--debug"]):
        with pytest.raises(FileNotFoundError):
            main(command)
