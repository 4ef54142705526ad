"""The verbs of `fluidio records`: each does what it says, keeps names and text, and streams."""

from __future__ import annotations

import json
import math
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio
from fluidio.cli import main
from fluidio.conversion import generate, looking, read_rows, sorting
from fluidio.conversion.stats import stats
from fluidio.conversion.tools import diff, merge, sorted_by
from fluidio.errors import ConversionError
from fluidio.recordio import File, Writer, iter_batches, load
from fluidio.recordio.files.paths import expand
from tests.conversion.templates import write

TEMPLATE = """
def task_number():
    return 2

def dict_data(task):
    for n in range(task, 40, 2):
        yield {"label": n % 7, "name": f"é{n}", "score": n / 4, "ids": list(range(n % 3 + 1)), "raw": bytes([n, 255])}
"""
ROWS = [
    {"label": n % 7, "name": f"é{n}", "score": n / 4, "ids": list(range(n % 3 + 1)), "raw": bytes([n, 255])}
    for n in [*range(0, 40, 2), *range(1, 40, 2)]
]


@pytest.fixture
def data(tmp_path: Path) -> str:
    generate(write(tmp_path, TEMPLATE), str(tmp_path / "in" / "x"), 2, workers=1)
    return str(tmp_path / "in" / "x-*-of-*")


def lines(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_head_and_cat_show_rows(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["records", "head", data, "-n", "2", "--json"]) == 0
    assert lines(capsys)[1] == ROWS[1] | {"raw": {"base64": "Av8="}}
    assert main(["records", "cat", data, "--json", "--columns", "name,label"]) == 0
    assert lines(capsys) == [{"name": row["name"], "label": row["label"]} for row in ROWS]
    assert main(["records", "head", data, "-n", "1"]) == 0
    assert capsys.readouterr().out == "0: label=0, name='é0', score=0.0, ids=[0], raw=2 bytes\n"
    assert main(["records", "cat", data, "--columns", "nonsense"]) == 1
    assert "there is no column nonsense; it has label, name, score" in capsys.readouterr().err


def test_pickles_and_bytes_are_shown_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fluidio.convert(str(tmp_path), lambda: iter([(1, "a"), (2, "b")]), 1, "p")
    assert main(["records", "cat", str(tmp_path / "p-*"), "--json"]) == 0
    assert lines(capsys) == [{"slot_0": 1, "slot_1": "a"}, {"slot_0": 2, "slot_1": "b"}]
    with Writer(str(tmp_path / "raw")) as writer:
        writer.write("line")
    assert main(["records", "cat", str(tmp_path / "raw"), "--json"]) == 0
    assert lines(capsys) == [{"record": "line"}]


def test_count_takes_headers(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["records", "count", data]) == 0
    assert capsys.readouterr().out == "40 records in 2 files, 20 in each\n"
    assert main(["records", "count", expand(data)[0]]) == 0
    assert capsys.readouterr().out == "20\n"
    assert main(["records", "count", data, "--json"]) == 0
    assert [each["records"] for each in lines(capsys)] == [20, 20]


def test_stats_are_those_of_numpy(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = {each.name: each for each in stats(expand(data))}
    scores = np.array([row["score"] for row in ROWS])
    score = found["score"]
    assert (score.records, score.least, score.most) == (40, 0.0, 9.75)
    assert score.mean == pytest.approx(scores.mean())
    assert score.std == pytest.approx(scores.std())
    assert (found["ids"].shortest, found["ids"].longest) == (1, 3)
    assert (found["name"].shortest, found["name"].longest, found["name"].mean) == (2, 3, None)
    assert main(["records", "stats", data, "--columns", "label"]) == 0
    assert capsys.readouterr().out.startswith("label: int64 (1, 1), 40 records, 0 to 6, mean 2.8")


def test_a_sample_is_drawn_without_replacement(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = []
    for seed in ("1", "1", "2"):
        assert main(["records", "sample", data, "-n", "9", "--seed", seed, "--json", "--columns", "name"]) == 0
        drawn.append([row["name"] for row in lines(capsys)])
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0])) == 9
    assert main(["records", "sample", data, "-n", "1000", "--json"]) == 0
    assert len(lines(capsys)) == 40


@pytest.mark.parametrize("shards", ["1", "3"])
def test_filter_keeps_records_as_they_are(
    data: str, shards: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = str(tmp_path / "out" / "y")
    command = ["records", "filter", "label == 3 and len(name) > 2", data, "--output", output, "--shards", shards]
    assert main(command) == 0
    wanted = [row for row in ROWS if row["label"] == 3 and len(str(row["name"])) > 2]
    assert f"{len(wanted)} records of 40 in {shards} shard" in capsys.readouterr().out
    assert list(read_rows(output)) == wanted
    assert main(["records", "filter", "labell == 3", data, "--output", output]) == 1
    assert "the names are label, name, score" in capsys.readouterr().err
    assert main(["records", "filter", "label ==", data, "--output", output]) == 1
    assert list(read_rows(output)) == wanted  # a failure keeps what was there


@pytest.mark.parametrize(
    "expression",
    [
        "any(label == n for n in [3, 5])",  # a comprehension and a lambda have scopes of their own
        "(lambda wanted: label in wanted)({3, 5})",
        "[n for n in (3, 5) if row['label'] == n]",
    ],
)
def test_filter_knows_the_columns_everywhere_in_its_expression(data: str, expression: str, tmp_path: Path) -> None:
    assert main(["records", "filter", expression, data, "--output", f"{tmp_path}/f/y"]) == 0
    assert list(read_rows(f"{tmp_path}/f/y")) == [row for row in ROWS if row["label"] in (3, 5)]


@pytest.mark.parametrize(
    "names, problem", [("label,label", "named twice in label, label"), ("", "at least one column")]
)
def test_columns_are_selected_once(
    names: str, problem: str, data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["records", "select", names, data, "--output", f"{tmp_path}/s/y"]) == 1
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    "function, problem",
    [
        ("of_script", "expected module:function or script.py:function"),
        ("nowhere.py:f", "ModuleNotFoundError: No module named 'nowhere'"),
        ("SCRIPT:number", "row 0: the function must return a dict or None, it returned int"),
        ("SCRIPT:numbers", "row 0: the function must return a dict or None, it returned int"),
        ("SCRIPT:value", "is not a function"),
    ],
)
def test_a_wrong_function_is_refused_in_a_sentence(
    function: str, problem: str, data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "value = 3\ndef number(row): return 1\ndef numbers(row): return [1]\n"
    script = write(tmp_path, text, "a_script_for_map.py")
    command = ["records", "map", function.replace("SCRIPT", script), data, "--output", f"{tmp_path}/m/y"]
    assert main(command) == 1
    assert problem in capsys.readouterr().err
    sys.modules.pop("a_script_for_map", None)


@pytest.mark.parametrize("words", [["sample", "--seed", "-1"], ["head", "-n", "-1"]])
def test_negative_numbers_are_wrong_usage(words: list[str], data: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["records", *words, data])
    assert end.value.code == 2
    assert "at least 0, got -1" in capsys.readouterr().err


def test_select_and_map_make_new_columns(data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["records", "select", "name,label", data, "--output", f"{tmp_path}/s/y", "--shards", "2"]) == 0
    assert list(read_rows(f"{tmp_path}/s/y")) == [{"name": row["name"], "label": row["label"]} for row in ROWS]
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "my_map", raising=False)
    text = "def f(row):\n    return {'x': row['label'] * 2, 't': row['name'] + '!'} if row['label'] else None\n"
    (tmp_path / "my_map.py").write_text(text)
    assert main(["records", "map", "my_map:f", data, "--output", f"{tmp_path}/m/y"]) == 0
    wanted = [{"x": int(str(row["label"])) * 2, "t": f"{row['name']}!"} for row in ROWS if row["label"]]
    assert list(read_rows(f"{tmp_path}/m/y")) == wanted
    assert main(["records", "map", "my_map:g", data, "--output", f"{tmp_path}/m/y"]) == 1


@pytest.mark.parametrize("reverse", [False, True])
def test_sort_is_stable_and_merges_runs(data: str, reverse: bool, tmp_path: Path) -> None:
    output = str(tmp_path / "out" / "y")
    sorted_by(expand(data), "label", output, 2, reverse=reverse, memory=2000)
    assert list(read_rows(output)) == sorted(ROWS, key=lambda row: int(str(row["label"])), reverse=reverse)
    with pytest.raises(ConversionError, match="ids holds several values"):
        sorted_by(expand(data), "ids", output)


def test_merge_joins_sets_of_one_kind(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["records", "merge", data, data, "--output", f"{tmp_path}/m/y", "--shards", "3"]) == 0
    assert list(read_rows(f"{tmp_path}/m/y")) == ROWS + ROWS
    assert main(["records", "select", "name", data, "--output", f"{tmp_path}/s/y"]) == 0
    assert main(["records", "merge", data, f"{tmp_path}/s/y-*", "--output", f"{tmp_path}/m/z"]) == 1
    assert "the slots differ" in capsys.readouterr().err


def test_diff_tells_what_differs(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["records", "diff", data, data]) == 0
    assert capsys.readouterr().out == "all records are equal\n"
    assert main(["records", "diff", expand(data)[0], data]) == 1
    assert capsys.readouterr().out.endswith("20 records differ, the first 10 are shown\n")
    assert diff(expand(data), expand(data)) == (0, [])
    assert main(["records", "diff", expand(data)[1], expand(data)[0], "--json"]) == 1
    assert lines(capsys)[0] == {"record": 0, "one": _plain(ROWS[20]), "other": _plain(ROWS[0])}


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"raw": looking.plain(row["raw"])}


def test_filtered_pickles_stay_pickles_of_their_dialect(tmp_path: Path) -> None:
    fluidio.convert(str(tmp_path), lambda: iter([(n, "a") for n in range(5)]), 1, "p")
    assert main(["records", "filter", "slot_0 > 2", str(tmp_path / "p-*"), "--output", str(tmp_path / "q")]) == 0
    with File(str(tmp_path / "q-00000-of-00000")) as file:
        assert [pickle.loads(record) for record in file] == [(3, "a"), (4, "a")]
        assert file._index.dialect is not None and file._index.dialect.name == "go"


def test_cp_has_a_short_form(data: str, tmp_path: Path) -> None:
    assert main(["cp", data, str(tmp_path / "to"), "--quiet"]) == 0
    assert (tmp_path / "to" / "x.manifest.json").is_file()
    assert main(["run", "--", "paddle", "cp", data, str(tmp_path / "again"), "--quiet"]) == 0
    assert len(list((tmp_path / "again").glob("x-*"))) == 2


def test_the_spellings_of_mindrecord_work(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    command = ["convert", "--mindrecord_script", "jsonl", "--mindrecord_file", str(tmp_path / "x")]
    command += ["--mindrecord_partitions", "2", "--workers", "1", "--quiet", "--files", str(tmp_path / "rows.jsonl")]
    assert main(command) == 0
    assert [row["a"] for row in read_rows(str(tmp_path / "x"))] == [1, 2]


def open_files() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


@pytest.mark.parametrize("reverse", [False, True])
def test_many_runs_are_merged_in_passes(reverse: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_AT_ONCE", 3)
    most, least = 0, open_files()
    items = [((number * 7919) % 50, b"%d" % number) for number in range(400)]
    found = []
    for record in sorting.in_order(iter(items), str(tmp_path), 1000, reverse=reverse):
        most = max(most, open_files() - least)
        found.append(record)
    assert found == [record for _, record in sorted(items, key=lambda item: item[0], reverse=reverse)]
    assert most <= 4 and not os.listdir(tmp_path)


@pytest.mark.parametrize("verb", ["head", "cat", "count", "stats", "sample", "filter", "map", "sort", "diff", "split"])
def test_every_verb_has_an_example(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["records", verb, "--help"])
    assert f"example: fluidio records {verb} " in " ".join(capsys.readouterr().out.split())


def test_records_that_no_reader_takes_together_are_not_merged(tmp_path: Path) -> None:
    with Writer(tmp_path / "a") as writer:
        writer.write_block([np.arange(3).reshape(-1, 1)])
    with Writer(tmp_path / "b") as writer:
        writer.write_block([np.zeros((3, 1))])
    with Writer(tmp_path / "c") as writer:
        writer.write(b"bytes")
    Writer(tmp_path / "empty").close()
    for other in "bc":
        with pytest.raises(ConversionError, match="a file can hold only one of the two"):
            merge([str(tmp_path / "a"), str(tmp_path / other)], str(tmp_path / "both"))
    made = merge([str(tmp_path / name) for name in ("a", "empty", "a")], str(tmp_path / "both"))
    assert [len(column.data) for column in load(made)] == [6]


def test_numbers_are_shown_as_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Writer(tmp_path / "a") as writer:
        writer.write_block([np.array([[1.5]])])
    assert main(["records", "head", str(tmp_path / "a")]) == 0
    assert capsys.readouterr().out == "0: slot_0=1.5\n"


def column_file(path: Path, values: Any) -> str:
    with Writer(path) as writer:
        writer.write_block([np.asarray(values)])
    return str(path)


@pytest.mark.parametrize(("reverse", "memory"), [(False, 1), (True, 1), (False, 1 << 20), (True, 1 << 20)])
def test_sort_puts_what_is_not_a_number_behind_all_numbers(reverse: bool, memory: int, tmp_path: Path) -> None:
    path = column_file(tmp_path / "a", [2.0, np.nan, 1.0, np.inf, np.nan, -np.inf, 0.0])
    (out,) = sorted_by([path], "slot_0", str(tmp_path / "out"), reverse=reverse, memory=memory)
    found = load(out)[0].data.reshape(-1).tolist()
    assert repr(found[::-1] if reverse else found) == "[-inf, 0.0, 1.0, 2.0, inf, nan, nan]"


@pytest.mark.filterwarnings("ignore:.*descriptions differ")
def test_sort_refuses_numbers_among_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, source in enumerate(["[{'k': 1}]", "[{'k': 'one'}]"]):
        text = f"def task_number():\n    return 1\n\ndef dict_data(task):\n    yield from {source}\n"
        generate(write(tmp_path, text), str(tmp_path / f"k{number}"), 1, workers=1)
    files = [str(path) for path in sorted(tmp_path.glob("k*-of-*"))]
    assert main(["records", "sort", *files, "--by", "k", "--output", str(tmp_path / "sorted")]) == 1
    assert "k holds numbers and text, which have no order" in capsys.readouterr().err


def test_stats_keep_the_digits_of_whole_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = column_file(tmp_path / "a", [2**63 - 1, -(2**63), 2**53 + 1])
    assert main(["records", "stats", path, "--json"]) == 0
    (found,) = lines(capsys)
    assert (found["least"], found["most"]) == (-(2**63), 2**63 - 1)
    assert main(["records", "stats", path]) == 0
    assert "-9223372036854775808 to 9223372036854775807, mean" in capsys.readouterr().out


def test_stats_of_the_largest_numbers(tmp_path: Path) -> None:
    path = column_file(tmp_path / "a", [1e308, 1.7e308, 1.5e308])
    (found,) = stats([path, path])
    assert (found.least, found.most, found.std) == (1e308, 1.7e308, math.inf)
    assert found.mean == pytest.approx(1.4e308)


KINDS: list[tuple[str, str, list[Any]]] = [
    ("1", "np.int64(2)", [1, 2]),
    ("0.5", "np.float64(1.5)", [0.5, 1.5]),
    ("'é'", "b'x'", ["é".encode(), b"x"]),
    ("['é']", "[b'x', b'']", [["é".encode()], [b"x", b""]]),
    ("[1, 2]", "[np.array([3])]", [[1, 2], [3]]),
    ("True", "np.bool_(False)", [True, False]),
    ("1", "np.array([2])", [[1], [2]]),
]


@pytest.mark.parametrize(("one", "other", "values"), KINDS)
def test_sets_of_one_name_and_several_python_types_keep_it(
    one: str, other: str, values: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("a", one), ("b", other)):
        text = (
            f"import numpy as np\ndef task_number(): return 1\ndef dict_data(task): yield {{'v': {value}, 'n': 'é'}}\n"
        )
        generate(write(tmp_path, text), str(tmp_path / name), 1, workers=1)
    sets = [str(tmp_path / "a-*-of-*"), str(tmp_path / "b-*-of-*")]
    assert main(["records", "merge", *sets, "--output", str(tmp_path / "both")]) == 0
    found = list(read_rows(str(tmp_path / "both")))
    assert [row["n"] for row in found] == ["é", "é"]
    plain = [row["v"].reshape(-1).tolist() if isinstance(row["v"], np.ndarray) else row["v"] for row in found]
    assert plain == values
    (batch,) = iter_batches(sets, 5, named=True)
    assert list(batch) == ["v", "n"] and batch["n"] == ["é", "é"]


def test_lengths_are_what_len_gives(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"s": "Zoë 名", "b": b"\0\1", "l": [1, 2, 3], "t": ["é", "", "x"], "n": [[1], [], [2, 3], [4]]},
        {"s": "", "b": b"", "l": [], "t": [], "n": [[]]},
        {"s": "😀", "b": b"123", "l": [7], "t": ["long text"], "n": []},
    ]
    generate(
        write(tmp_path, f"def task_number(): return 1\ndef dict_data(task): yield from {rows!r}\n"),
        str(tmp_path / "x"),
        1,
    )
    for each in stats(expand(str(tmp_path / "x-*-of-*"))):
        lengths = [len(row[each.name]) for row in rows]
        assert (each.shortest, each.longest, each.mean_length) == (min(lengths), max(lengths), sum(lengths) / 3)
