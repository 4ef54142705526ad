"""Ops that read or write sparse rows (SelectedRows)."""

from __future__ import annotations

import numpy as np

from tests.differential.draw import OpDraw, draws

__all__: list[str] = []


@draws("merge_selected_rows", grad=False)
def merge_selected_rows(d: OpDraw) -> None:
    d.put_rows("X", d.size(1, 6), d.shape(1, 1))
    d.types["Out"] = "SELECTED_ROWS"
    d.read.add("Out")


@draws("get_tensor_from_selected_rows", grad=False)
def get_tensor_from_selected_rows(d: OpDraw) -> None:
    d.put_rows("X", d.size(1, 6), d.shape(1, 2))


@draws("split_selected_rows", grad=False)
def split_selected_rows(d: OpDraw) -> None:
    d.float = "float32"
    sections = [d.size(1, 4) for _ in range(d.size(1, 3))]
    d.put_rows("X", sum(sections), d.shape(1, 1))
    d.attrs["height_sections"] = sections
    d.out("Out", len(sections))
    d.types["Out"] = "SELECTED_ROWS"
    d.read.add("Out")


@draws("lookup_sparse_table", grad=False)
def lookup_sparse_table(d: OpDraw) -> None:
    d.float = "float32"
    height = d.size(2, 6)
    d.put_rows("W", height, [d.size(1, 3)])
    held = d.inputs["in_W"]["values"][0]
    held["rows"] = list(range(len(held["rows"])))
    held["height"] = d.inputs["in_W"]["shape"][0] = max(height, len(held["rows"]))
    d.put("Ids", d.ids([d.size(1, 4), 1], len(held["rows"])))
    d.attr("is_test", False, True)


def sparse_update(d: OpDraw, *like: str, low: float = 0.0, high: float = 1.0) -> list[int]:
    """Give an update Param, a sparse Grad and its moments."""
    shape = d.shape(2, 2)
    d.put("Param", d.floats(shape), fixed=True)
    d.put_rows("Grad", shape[0], shape[1:])
    for slot in like:
        d.put(slot, d.floats(shape, low, high), fixed=True)
    return shape


def sparse_one(d: OpDraw, low: float = -2.0, high: float = 2.0) -> None:
    """Give the slot X sparse rows, and let Out be sparse."""
    d.put_rows("X", d.size(1, 6), d.shape(1, 1), low=low, high=high)
    d.types["Out"] = "SELECTED_ROWS"
    d.read.add("Out")
    d.no_grad()


@draws("merge_ids", grad=False)
def merge_ids(d: OpDraw) -> None:
    d.float = "float32"
    shards, width = d.size(1, 3), d.size(1, 3)
    ids = [d.ids([d.size(1, 4), 1], 12) for _ in range(d.size(1, 2))]
    known = sorted({int(one) for part in ids for one in part.ravel()})
    rows = [[one for one in known if one % shards == shard] for shard in range(shards)]
    d.put("Ids", *ids, fixed=True)
    d.put("Rows", *[np.array(part, "int64").reshape(-1, 1) for part in rows], fixed=True)
    d.put("X", *[d.floats([len(part), width]) for part in rows], fixed=True)
    d.out("Out", len(ids))
