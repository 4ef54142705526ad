"""Templates may yield whole columns; tables and JSON lines go in directly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.cli import main
from fluidio.conversion import Columns, generate, read_rows
from fluidio.conversion.columns import block_of
from fluidio.errors import ConversionError
from tests.conversion.servers import need
from tests.conversion.templates import write

COLUMNS = """
import numpy as np
from fluidio.conversion import Columns

def task_number():
    return 2

def dict_data(task):
    for start in (0, 5):
        n = np.arange(start, start + 5) + 100 * task
        x = np.repeat(n[:, None], 3, 1).astype("float32")
        yield Columns(n=n, x=x, t=[f"é{i}" for i in n], l=[[int(i)] * 2 for i in n])
    yield {"n": 7, "x": np.zeros(3, "float32"), "t": "row", "l": [1]}
"""


@pytest.mark.parametrize("partitions", [1, 2, 3, 5])
def test_columns_become_the_rows_that_they_stand_for(partitions: int, tmp_path: Path) -> None:
    text = COLUMNS.replace("MIXED", "True").replace("np.zeros(3)", "np.zeros(3, 'float32')")
    text = text.replace('n[:, None] * np.ones(3, "float32")', "(n[:, None] * np.ones(3)).astype('float32')")
    generate(write(tmp_path, text), str(tmp_path / "c"), partitions, workers=1)
    found = sorted(read_rows(str(tmp_path / "c")), key=lambda row: (str(row["t"]) == "row", int(row["n"])))
    numbers = [*range(10), *range(100, 110)]
    assert [row["n"] for row in found] == [*numbers, 7, 7]
    assert [row["t"] for row in found][:20] == [f"é{n}" for n in numbers]
    assert all(row["l"] == [row["n"]] * 2 and row["x"].tolist() == [row["n"]] * 3 for row in found[:20])


def test_rows_and_columns_give_the_same_records(tmp_path: Path) -> None:
    common = "import numpy as np\nfrom fluidio.conversion import Columns\ndef task_number():\n    return 3\n"
    rows = "def dict_data(task):\n    for n in range(10): yield {'n': n * task, 's': str(n), 'f': n / 2}\n"
    columns = "def dict_data(task):\n    n = np.arange(10)\n"
    columns += "    yield Columns(n=n * task, s=[str(i) for i in n], f=n / 2)\n"
    for name, text in (("r", rows), ("c", columns)):
        generate(write(tmp_path, common + text, f"{name}.py"), str(tmp_path / name), 4, workers=1)
    for shard in range(4):
        one, other = (tmp_path / f"{name}-0000{shard}-of-00003" for name in "rc")
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (Columns(), "the same length"),
        (Columns(a=np.zeros(2), b=np.zeros(3)), "a: 2, b: 3"),
        (Columns(a=np.zeros(2, "uint16")), "a: a tensor cannot hold uint16"),
        (Columns(a=["x", 3]), "a: "),
        (Columns(a=[]), "no rows"),
    ],
)
def test_wrong_columns_are_refused(columns: Any, text: str) -> None:
    with pytest.raises(ConversionError, match=text):
        block_of(columns)


def test_a_schema_casts_columns() -> None:
    slots, block = block_of(Columns(b=np.arange(3), a=np.zeros((3, 2))), {"a": "float32", "b": "uint8"})
    assert [(slot.name, slot.dtype) for slot in slots] == [("a", "float32"), ("b", "uint8")]
    assert block.columns[1].data.tolist() == [[0], [1], [2]]
    with pytest.raises(ConversionError, match="300 does not fit uint8"):
        block_of(Columns(b=np.array([300])), {"b": "uint8"})


def test_tables_and_json_lines_go_in_directly(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"n": 1, "t": "x"}\n{"n": 2, "t": "y"}\n')
    command = ["--quiet", "--workers", "1", "--output"]
    assert main(["convert", str(tmp_path / "a.jsonl"), *command, str(tmp_path / "j")]) == 0
    assert list(read_rows(str(tmp_path / "j"))) == [{"n": 1, "t": "x"}, {"n": 2, "t": "y"}]
    need("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "a.csv").write_text("n,t\n1,x\n2,y\n")
    pq.write_table(pa.table({"n": [3, 4], "t": ["z", ""]}), tmp_path / "b.parquet")
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.parquet")]
    assert main(["convert", *files, *command, str(tmp_path / "t")]) == 0
    wanted = [{"n": 1, "t": "x"}, {"n": 2, "t": "y"}, {"n": 3, "t": "z"}, {"n": 4, "t": ""}]
    assert list(read_rows(str(tmp_path / "t"))) == wanted
    with pytest.raises(SystemExit):
        main(["convert", str(tmp_path / "a.csv"), str(tmp_path / "a.jsonl"), *command, str(tmp_path / "u")])


def test_lists_of_numbers_are_gathered_and_still_checked(tmp_path: Path) -> None:
    from fluidio.conversion.rows import RowBuffer, slots_of

    buffer = RowBuffer(slots_of({"l": [1]}), 100, 1 << 20)
    for value in ([1, 2], [], np.array([3]), [4], (5, 6)):
        buffer.add({"l": value})
    column = buffer.take().columns[0]
    assert column.data.ravel().tolist() == [1, 2, 3, 4, 5, 6]
    assert column.lod[0].tolist() == [0, 2, 2, 3, 4, 6]
    with pytest.raises(ConversionError, match="l: "):
        buffer.add({"l": [1.5]})
    with pytest.raises(ConversionError, match="l: "):
        buffer.add({"l": [1 << 70]})
