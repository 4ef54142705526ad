"""Ops on arrays of tensors and rank tables, which loops are made of."""

from __future__ import annotations

import numpy as np

from tests.differential.draw import Lod, OpDraw, draws

__all__: list[str] = []


def _table(d: OpDraw, sequences: int | None = None, levels: int = 1) -> tuple[Lod, int]:
    lod, rows = d.lod(levels, empty=False, sequences=sequences)
    d.slots["RankTable"] = [_rank(d, d.feed("ranked", d.floats([rows, 1]), lod))]
    return lod, rows


def _rank(d: OpDraw, name: str) -> str:
    return d.first("lod_rank_table", "Out", "LOD_RANK_TABLE", X=name)


@draws("max_sequence_len", grad=False)
def max_sequence_len(d: OpDraw) -> None:
    _table(d)
    d.out_dtypes["Out"] = "int64"


@draws("lod_rank_table", grad=False)
def lod_rank_table(d: OpDraw) -> None:
    levels = d.size(1, 2)
    lod, rows = d.lod(levels, empty=False)
    d.put("X", d.floats([rows, 2]), lod=lod)
    d.attr("level", 0, levels - 1, always=True)
    d.types["Out"] = "LOD_RANK_TABLE"
    d.unfetched("Out")  # what it holds shows in the ops that read it


@draws("lod_tensor_to_array", grad=False)
def lod_tensor_to_array(d: OpDraw) -> None:
    lod, rows = _table(d)
    d.put("X", d.floats([rows, *d.shape(1, 2)]), lod=lod)
    d.types["Out"] = "LOD_TENSOR_ARRAY"
    d.read.add("Out")


@draws("array_to_lod_tensor", grad=False)
def array_to_lod_tensor(d: OpDraw) -> None:
    lod, rows = _table(d)
    d.feed("cut", d.floats([rows, *d.shape(1, 2)]), lod)
    d.slots["X"] = [
        d.first("lod_tensor_to_array", "Out", "LOD_TENSOR_ARRAY", X="cut", RankTable=d.slots["RankTable"][0])
    ]


@draws("reorder_lod_tensor_by_rank")
def reorder_lod_tensor_by_rank(d: OpDraw) -> None:
    lod, _ = _table(d)
    count = len(lod[0])
    if d.chance():
        own, rows = d.lod(empty=False, sequences=count)
        d.put("X", d.floats([rows, 2]), lod=own)
    else:
        d.put("X", d.floats([count, *d.shape(1, 2)]))


@draws("shrink_rnn_memory")
def shrink_rnn_memory(d: OpDraw) -> None:
    lod, _ = _table(d)
    d.put("X", d.floats([len(lod[0]), d.size()]))
    d.put("I", np.array([d.rng.randrange(max(lod[0]))], "int64"), fixed=True)


@draws("write_to_array", grad=False)
def write_to_array(d: OpDraw) -> None:
    d.put("X", d.pick(d.floats(d.shape()), d.ids(d.shape(), 9)))
    d.put("I", d.ids([1], 3), fixed=True)
    d.types["Out"] = "LOD_TENSOR_ARRAY"
    d.read.add("Out")


def _array(d: OpDraw, axis: int | None = None) -> int:
    count, shape = d.size(1, 4), d.shape(1, 3)
    shapes = []
    for _ in range(count):
        one = list(shape)
        if axis is not None:
            one[axis % len(one)] = d.size(1, 3)
        shapes.append(one)
    d.put_array("X", *[d.floats(one) for one in shapes])
    return count


@draws("read_from_array", grad=False)
def read_from_array(d: OpDraw) -> None:
    count = _array(d)
    d.put("I", d.ids([1], count), fixed=True)
    if d.chance(0.2):
        d.put("X_W", d.floats([1]), fixed=True)


@draws("lod_array_length", grad=False)
def lod_array_length(d: OpDraw) -> None:
    _array(d)
    d.out_dtypes["Out"] = "int64"


@draws("tensor_array_to_tensor", grad=False)
def tensor_array_to_tensor(d: OpDraw) -> None:
    stacks = d.attr("use_stack", False, True)
    _array(d, None if stacks else 0)
    d.attr("axis", 0, always=True)
    if stacks:
        d.attrs["axis"] = d.pick(0, 1)
    d.out_dtypes["OutIndex"] = "int32"


@draws("select_input", grad=False)
def select_input(d: OpDraw) -> None:
    shape = d.shape()
    d.put("X", d.floats(shape), d.floats(shape))
    d.put("Mask", d.ids([1], 2, dtype="int32"), fixed=True)


@draws("select_output", grad=False)
def select_output(d: OpDraw) -> None:
    d.put("X", d.floats(d.shape()))
    d.put("Mask", np.array([0], "int32"), fixed=True)
    d.out("Out", 1)


@draws("rnn_memory_helper")
def rnn_memory_helper(d: OpDraw) -> None:
    d.attr("dtype", 5, 6)
    d.put("X", d.floats(d.shape()))


@draws("split_lod_tensor", grad=False)
def split_lod_tensor(d: OpDraw) -> None:
    if d.chance(0.4):  # whole sequences go to one side
        lod, rows = d.lod(d.size(1, 2), empty=False)
        level = d.attr("level", 0, len(lod) - 1)
        d.put("X", d.floats([rows, d.size()]), lod=lod)
        d.put("Mask", d.bools([len(lod[level]), 1]))
        return
    rows = d.size(1, 5)
    d.put("X", d.floats([rows, d.size()]))
    d.put("Mask", d.bools([rows, 1]))


@draws("merge_lod_tensor", "merge_lod_tensor_infer", grad=False)
def merge_lod_tensor(d: OpDraw) -> None:
    rows, width = d.size(2, 5), d.size(1, 3)
    mask = d.bools([rows, 1])
    if d.op == "merge_lod_tensor":  # it takes no empty branch
        mask[0], mask[1] = True, False
    sides = [int(mask.sum()), int((~mask).sum())]
    if all(sides) and d.chance(0.4):  # sequences, below another level at times
        lods = [d.lod(d.size(1, 1), empty=False, sequences=count) for count in sides]
        upper = [[1, rows - 1]] if d.attr("level", 0, 1, always=True) else []
        d.put("X", d.floats([rows, width]), lod=[*upper, [1] * rows])
        d.put("Mask", mask)
        for slot, (lod, count) in zip(("InTrue", "InFalse"), lods):
            d.put(slot, d.floats([count, width]), lod=lod)
        return
    d.put("X", d.floats([rows, width]))
    d.put("Mask", mask)
    for slot, count in zip(("InTrue", "InFalse"), sides):
        d.put(slot, d.floats([count, width]))


@draws("beam_search_decode", grad=False)
def beam_search_decode(d: OpDraw) -> None:
    d.float = "float32"
    sources, beam, steps = d.size(1, 2), d.size(1, 3), d.size(1, 4)
    counts = [1] * sources  # branches of each source at this step
    ids, scores, lods = [], [], []
    parents = counts
    for _ in range(steps):
        children = [[d.size(0 if d.chance(0.3) else 1, 2) for _ in range(count)] for count in parents]
        for of in children:
            while sum(of) > beam:
                of[of.index(max(of))] -= 1
        flat = [one for of in children for one in of]
        total = sum(flat)
        lods.append([list(parents), flat])
        ids.append(d.ids([total, 1], 5))
        scores.append(d.floats([total, 1]))
        parents = [sum(of) for of in children]
        if not total:
            break
    d.put_array("Ids", *ids, lods=lods)
    d.put_array("Scores", *scores, lods=lods)
    d.attrs.update(beam_size=beam, end_id=d.size(0, 4))
    d.out_dtypes["SentenceIds"] = "int64"


@draws("delete_var", grad=False)
def delete_var(d: OpDraw) -> None:
    d.put("X", d.floats(d.shape()))
    d.unfetched("X")


@draws("fake_init", grad=False)
def fake_init(d: OpDraw) -> None:
    d.attr("shape", d.shape(), always=True)
    d.unfetched("Out")  # memory that nobody wrote


@draws("get_places", grad=False)
def get_places(d: OpDraw) -> None:
    d.attr("device_count", 0, 1, 2)
    d.attr("device_type", "CPU", "AUTO", always=True)
    d.types["Out"] = "PLACE_LIST"
    d.unfetched("Out")


@draws("seed", grad=False)
def seed(d: OpDraw) -> None:
    d.attrs["seed"] = d.size(1, 900)
    d.out_dtypes["Out"] = "int32"


@draws("fill", grad=False)
def fill(d: OpDraw) -> None:
    shape = d.shape(1, 3)
    dtype = d.pick(("int32", 2), ("int64", 3), ("float32", 5), ("float64", 6))
    d.attrs.update(shape=shape, value=d.ids([int(np.prod(shape))], 9).astype("float64").tolist(), dtype=dtype[1])
    d.attr("force_cpu", False, True)
    d.out_dtypes["Out"] = dtype[0]


@draws("fill_zeros_like2", grad=False)
def fill_zeros_like2(d: OpDraw) -> None:
    d.put("X", d.floats(d.shape()))
    d.attr("dtype", 6 if d.float == "float64" else 5, always=True)


@draws("split_byref", grad=False)
def split_byref(d: OpDraw) -> None:
    parts = d.size(1, 3)
    rows = parts * d.size(1, 3)
    d.put("X", d.floats([rows, *d.shape(1, 2)]), fixed=True)
    if d.chance():
        cuts = [rows // parts] * parts
        d.attrs["sections"] = cuts
    else:
        d.attrs["num"] = parts
    d.out("Out", parts)


@draws("print", grad=False)
def print_op(d: OpDraw) -> None:
    d.put("In", d.floats(d.shape()))
    d.attr("first_n", -1, 2, always=True)
    d.attr("message", "", "hello", always=True)
    d.attr("summarize", 20, -1, 2, always=True)
    for part in ("name", "type", "shape", "lod"):
        d.attr(f"print_tensor_{part}", True, False, always=True)
    d.attr("print_phase", "BOTH", "FORWARD", "BACKWARD")
    d.attr("is_forward", True, False)
