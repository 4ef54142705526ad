"""Parallel generation: the same bytes whoever works, resumed after kills, with errors that name task and row."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fluidio.conversion import generate, read_manifest
from fluidio.errors import ConversionError
from fluidio.recordio import File, load
from tests.conversion.templates import MIXED, NUMBERS, contents, rows, write
from tests.house.repository import ROOT


def test_shards_do_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    script = write(tmp_path, MIXED)
    for workers in (1, 3):
        generate(script, str(tmp_path / f"out{workers}" / "x"), 3, workers=workers)
    assert contents(tmp_path / "out1") == contents(tmp_path / "out3")
    assert sorted(contents(tmp_path / "out1")) == [
        "x-00000-of-00002",
        "x-00001-of-00002",
        "x-00002-of-00002",
        "x.manifest.json",
    ]
    assert not (tmp_path / "out1" / ".x.parts").exists()


def test_values_arrive_as_fluid_tensors(tmp_path: Path) -> None:
    manifest = generate(write(tmp_path, MIXED), str(tmp_path / "x"), 7, workers=1)
    image, label, weight, good, name, raw, tokens, words, pairs = load(str(tmp_path / "x-00002-of-00006"))
    expected = np.random.default_rng(2).normal(size=(22, 4, 5)).astype("float32")
    assert np.array_equal(image.data, np.stack([expected[i] for i in range(22)]))
    assert label.data.dtype == np.int64
    assert label.data[:, 0].tolist() == list(range(200, 222))
    assert weight.data.dtype == np.float64
    assert weight.data[:, 0].tolist() == [0.1 * row for row in range(22)]
    assert good.data.dtype == np.bool_
    assert name.data.dtype == np.uint8
    assert name.data.tobytes().decode() == "".join(f"2/{row} é" for row in range(22))
    assert np.diff(raw.lod[0]).tolist() == list(range(22))
    assert tokens.data[:6, 0].tolist() == [0, 0, 1, 0, 1, 2]
    assert [len(level) - 1 for level in words.lod] == [22, sum(row % 3 + 1 for row in range(22))]
    assert pairs.slice(1, 2).lod[1].tolist() == [0, 2, 3]
    assert [slot["name"] for slot in manifest["slots"]][:2] == ["image", "label"]
    assert [slot["lod_level"] for slot in manifest["slots"]] == [0, 0, 0, 0, 1, 1, 1, 2, 2]
    assert manifest["records"] == sum(20 + task for task in range(7))


def test_tasks_are_dealt_out_over_shards(tmp_path: Path) -> None:
    script = write(tmp_path, NUMBERS)
    generate(script, str(tmp_path / "few"), 2, workers=1, args=["5", "2"])
    assert [task for task, _ in rows(str(tmp_path / "few-00000-of-00001"))] == [0, 0, 2, 2, 4, 4]
    generate(script, str(tmp_path / "many"), 5, workers=1, args=["2", "5"])
    found = [rows(str(tmp_path / f"many-{n:05d}-of-00004")) for n in range(5)]
    assert found == [[(0, 0), (0, 3)], [(1, 0), (1, 2), (1, 4)], [(0, 1), (0, 4)], [(1, 1), (1, 3)], [(0, 2)]]


def test_the_manifest_holds_checksums(tmp_path: Path) -> None:
    generate(write(tmp_path, NUMBERS), str(tmp_path / "n"), 2, workers=1, args=["2", "5"])
    manifest = read_manifest(str(tmp_path / "n"))
    assert manifest is not None
    for shard in manifest["shards"]:
        data = (tmp_path / shard["name"]).read_bytes()
        assert (shard["bytes"], shard["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
        with File(str(tmp_path / shard["name"])) as file:
            assert file.count() == shard["records"]


def test_a_finished_conversion_is_not_done_again_and_not_overwritten(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    script = write(tmp_path, f"open({str(marker)!r}, 'a').close()\n" + NUMBERS)
    first = generate(script, str(tmp_path / "n"), 2, workers=1, args=["2", "5"])
    stamp = (tmp_path / "n-00000-of-00001").stat().st_mtime_ns
    assert generate(script, str(tmp_path / "n"), 2, workers=1, args=["2", "5"]) == first
    assert (tmp_path / "n-00000-of-00001").stat().st_mtime_ns == stamp
    with pytest.raises(ConversionError, match="another conversion.*--restart"):
        generate(script, str(tmp_path / "n"), 2, workers=1, args=["2", "6"])
    assert generate(script, str(tmp_path / "n"), 2, workers=1, args=["2", "6"], restart=True)["records"] == 12


def test_a_damaged_shard_is_made_again(tmp_path: Path) -> None:
    script = write(tmp_path, NUMBERS)
    generate(script, str(tmp_path / "n"), 2, workers=1, args=["2", "5"])
    before = contents(tmp_path)
    (tmp_path / "n-00001-of-00001").write_bytes(b"damage")
    generate(script, str(tmp_path / "n"), 2, workers=1, args=["2", "5"])
    assert contents(tmp_path) == before


def command(script: str, output: Path, *args: str) -> list[str]:
    options = ["--output", str(output), "--partitions", "3", "--workers", "2", "--quiet", "--", *args]
    return [sys.executable, "-m", "fluidio", "convert", script, *options]


def test_nothing_is_lost_when_everything_is_killed_again_and_again(tmp_path: Path) -> None:
    script = write(tmp_path, NUMBERS)
    generate(script, str(tmp_path / "whole" / "n"), 3, workers=1, args=["40", "3000"])
    output = tmp_path / "killed" / "n"
    chance = random.Random(os.getpid())
    kills = 0
    while not Path(f"{output}.manifest.json").exists():
        process = subprocess.Popen(command(script, output, "40", "3000"), cwd=ROOT, start_new_session=True)
        notes = output.parent / ".n.parts"
        before = len(list(notes.glob("*.json")))
        wanted = before + chance.randint(1, 8)
        while process.poll() is None and len(list(notes.glob("*.json"))) < wanted:
            time.sleep(chance.random() * 0.01)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills >= 1  # 8 to 10 in five trial runs; a busy machine may let one slip through
    subprocess.run(command(script, output, "40", "3000"), cwd=ROOT, check=True, capture_output=True)
    assert contents(output.parent) == contents(tmp_path / "whole")


def test_the_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    text = (
        "import os, time\n"
        "def task_number():\n    return 2\n"
        "def dict_data(task):\n"
        f"    open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        "    time.sleep(60)\n    yield {'x': 1}\n"
    )
    process = subprocess.Popen(command(write(tmp_path, text), tmp_path / "n"), cwd=ROOT)
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline and (not pids.exists() or len(pids.read_text().split()) < 2):
        time.sleep(0.05)
    process.kill()
    process.wait()
    workers = [int(pid) for pid in pids.read_text().split()]
    while any(_alive(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in workers if _alive(pid)] == []


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    marker = tmp_path / "died"
    text = NUMBERS.replace(
        "    for row",
        "    import os\n"
        f"    if task_id == 3 and not os.path.exists({str(marker)!r}):\n"
        f"        open({str(marker)!r}, 'w').close()\n"
        "        os.kill(os.getpid(), 9)\n"
        "    for row",
    )
    manifest = generate(write(tmp_path, text), str(tmp_path / "n"), 2, workers=2, args=["6", "5"])
    assert marker.exists()
    assert manifest["records"] == 30


def test_a_template_that_always_kills_its_worker_is_given_up(tmp_path: Path) -> None:
    text = NUMBERS.replace("    for row", "    import os; os.kill(os.getpid(), 9)\n    for row")
    with pytest.raises(ConversionError, match="killed 3 times in a row"):
        generate(write(tmp_path, text), str(tmp_path / "n"), 2, workers=1, args=["2", "5"])


BAD_ROWS = [
    ("{'x': row} if row < 5 else {'y': 1}", "task 0, row 5: the row lacks x and has the new y"),
    ("{'x': row} if row < 5 else {'x': 'text'}", "task 0, row 5: x: str 'text', but the first row holds int64"),
    ("{'x': np.zeros(3)} if row < 5 else {'x': np.zeros(4)}", r"row 5: x: an array of shape \(4,\)"),
    ("{'x': np.zeros(3, 'f4')} if row < 5 else {'x': np.zeros(3)}", "row 5: x: an array of float64"),
    ("{'x': None}", "row 0: x: NoneType None cannot become a tensor"),
    ("{'x': 2**70 if row == 4 else 1}", "row 4: x: 1180591620717411303424 does not fit 64 bits"),
    ("{'x': []}", "row 0: x: the first lists are all empty"),
    ("{'x': np.zeros(2, 'u4')}", "row 0: x: a tensor cannot hold uint32"),
    ("[1] if row < 2 else 1 / 0", "row 0: a row must be a dict"),
    ("{'x': 1 // (row - 7)}", "row 7: ZeroDivisionError"),
    ("{'x': 1} if row < 3 else exit(2)", "task 0, row 3: SystemExit: 2"),
]


@pytest.mark.parametrize(("row", "message"), BAD_ROWS)
def test_a_bad_row_is_named_with_its_task(tmp_path: Path, row: str, message: str) -> None:
    text = "import numpy as np\ndef task_number():\n    return 1\n"
    text += f"def dict_data(task_id):\n    for row in range(10):\n        yield {row}\n"
    with pytest.raises(ConversionError, match=message):
        generate(write(tmp_path, text), str(tmp_path / "n"), 1, workers=1)
    assert not list(tmp_path.glob("n*"))


def test_tasks_of_different_schema_are_named(tmp_path: Path) -> None:
    text = "def task_number():\n    return 2\ndef dict_data(task):\n    yield {'x': 1} if task else {'x': 0.5}\n"
    with pytest.raises(ConversionError, match=r"rows of task . have x: .* those of task . have x: "):
        generate(write(tmp_path, text), str(tmp_path / "n"), 1, workers=1)


def test_a_task_of_str_and_a_task_of_bytes_are_told_apart(tmp_path: Path) -> None:
    text = "def task_number():\n    return 2\ndef dict_data(task):\n    yield {'x': b'\\xff' if task else 'a'}\n"
    with pytest.raises(ConversionError, match=r"x: .* \((bytes|str)\).*x: .* \((?!\1)(bytes|str)\)"):
        generate(write(tmp_path, text), str(tmp_path / "n"), 1, workers=1)


def test_a_number_of_numpy_is_a_number_of_tasks(tmp_path: Path) -> None:
    text = (
        "import numpy as np\ndef task_number():\n    return np.int64(2)\ndef dict_data(task):\n    yield {'x': task}\n"
    )
    assert generate(write(tmp_path, text), str(tmp_path / "n"), 1, workers=1)["tasks"] == 2


def test_a_schema_in_the_template_fixes_types_and_order(tmp_path: Path) -> None:
    text = "SCHEMA = {'b': 'float32', 'a': ('int32', 1), 'c': 'str', 'd': ('int64', 2)}\n"
    text += "def task_number():\n    return 1\n"
    text += "def dict_data(task):\n    yield {'a': [], 'b': 1, 'c': 'x', 'd': [[]]}\n"
    text += "    yield {'d': [[1], [2, 3]], 'c': '', 'b': 0.5, 'a': [1, 2]}\n"
    generate(write(tmp_path, text), str(tmp_path / "n"), 1, workers=1)
    b, a, c, d = load(str(tmp_path / "n-00000-of-00000"))
    assert b.data.dtype == np.float32
    assert b.data.tolist() == [[1], [0.5]]
    assert a.data.dtype == np.int32
    assert a.lod[0].tolist() == [0, 0, 2]
    assert c.data.tobytes() == b"x"
    assert [level.tolist() for level in d.lod] == [[0, 1, 3], [0, 0, 1, 3]]


def test_a_full_disk_is_an_error_with_task_and_row(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        "import resource, signal, os\n"
        "def task_number():\n    return 2\n"
        "def dict_data(task):\n"
        "    if task:\n"
        "        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, -1))\n"
        "    for row in range(5000 if task else 10):\n        yield {'x': os.urandom(100)}\n",
    )
    with pytest.raises(ConversionError, match=r"task 1, row \d+: OSError: .*File too large"):
        generate(script, str(tmp_path / "n"), 2, workers=1)
    assert list(tmp_path.glob("n-*.part*")) == []


def test_templates_that_are_wrong_say_so(tmp_path: Path) -> None:
    output = str(tmp_path / "n")
    with pytest.raises(ConversionError, match="dict_data is missing"):
        generate(write(tmp_path, "def task_number():\n    return 1\n"), output, 1)
    with pytest.raises(ConversionError, match="cannot be loaded: NameError"):
        generate(write(tmp_path, "nonsense"), output, 1)
    with pytest.raises(ConversionError, match="returned 0"):
        generate(write(tmp_path, NUMBERS), output, 1, args=["0", "1"])
    with pytest.raises(FileNotFoundError, match="neither a file nor a module"):
        generate("no_such_module", output, 1)
    with pytest.raises(FileNotFoundError, match="--init"):
        generate("missing.py", output, 1)


def test_a_module_and_a_mindrecord_folder_are_templates(tmp_path: Path) -> None:
    write(tmp_path, NUMBERS, "mr_api.py")
    assert generate(str(tmp_path), str(tmp_path / "a"), 1, workers=1, args=["2", "2"])["records"] == 4
    manifest = generate(
        "fluidio.conversion.templates.json_lines", str(tmp_path / "b"), 1, workers=1, args=["--files", _lines(tmp_path)]
    )
    assert manifest["records"] == 3


def _lines(folder: Path) -> str:
    path = folder / "lines.jsonl"
    path.write_text("\n".join(json.dumps({"text": "a" * n, "label": n}) for n in range(3)))
    return str(path)
