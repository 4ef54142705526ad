"""Draw the inputs and attributes of one op."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.differential.protos import proto
from tests.differential.tensors import literal

__all__ = ["DRAWS", "OpDraw", "draws"]

Lod = list[list[int]]


class OpDraw:
    """Collect the inputs, attributes and outputs of one op while its function draws them.

    `put` gives an input slot a value, `attr` draws an attribute, `out` says how many variables an output slot has;
    other outputs of the op's proto get one variable each.
    """

    def __init__(self, op: str, rng: random.Random) -> None:
        self.op = op
        self.rng = rng
        self.numpy = np.random.RandomState(rng.randrange(2**31))
        self.float = "float64" if rng.random() < 0.25 and op not in SINGLE else "float32"
        self.open = rng.random()  # below 0.4: first dims are declared as -1; below 0.5: some of them
        self.inputs: dict[str, Any] = {}
        self.slots: dict[str, list[str]] = {}
        self.attrs: dict[str, Any] = {}
        self.outputs: dict[str, int] = {}
        self.out_dtypes: dict[str, str] = {}
        self.unread: set[str] = {"XShape"}  # it holds nothing, only a shape at build time
        self.steady: set[str] = set()
        self.out_inputs: dict[str, str] = {}
        self.before: list[dict[str, Any]] = []  # ops that make what the op reads
        self.types: dict[str, str] = {}  # kinds of outputs that are no tensors
        self.read: set[str] = (
            set()
        )  # output slots and gradients (`X@GRAD`) that cannot be fetched, only read in the scope

    # -- choices

    def chance(self, probability: float = 0.5) -> bool:
        return self.rng.random() < probability

    def pick(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def size(self, low: int = 1, high: int = 4) -> int:
        return self.rng.randint(low, high)

    def shape(self, low: int = 1, high: int = 4, most: int = 4) -> list[int]:
        return [self.size(1, most) for _ in range(self.size(low, high))]

    # -- arrays

    def floats(self, shape: Sequence[int], low: float = -2.0, high: float = 2.0) -> Any:
        return np.round(self.numpy.uniform(low, high, shape), 3).astype(self.float)

    def apart(self, shape: Sequence[int], low: float = -2.0, high: float = 2.0) -> Any:
        """Draw values that all differ, so that no maximum is tied."""
        count = int(np.prod(shape))
        values = np.round(np.linspace(low, high, count), 4)
        return self.numpy.permutation(values).reshape(shape).astype(self.float)

    def ids(self, shape: Sequence[int], high: int, low: int = 0, dtype: str = "int64") -> Any:
        return self.numpy.randint(low, high, shape).astype(dtype)

    def bools(self, shape: Sequence[int]) -> Any:
        return self.numpy.rand(*shape) < 0.5

    def rows(self, shape: Sequence[int]) -> Any:
        """Draw rows of probabilities."""
        values = self.numpy.uniform(0.05, 1.0, shape)
        return np.round(values / values.sum(-1, keepdims=True), 4).astype(self.float)

    def lod(self, levels: int = 1, empty: bool = True, most: int = 4, sequences: int | None = None) -> tuple[Lod, int]:
        """Draw sequence lengths; return them with the number of rows."""
        least = 0 if empty and self.chance(0.3) else 1
        count = sequences or self.size(1, 3)
        lengths = []
        for _ in range(levels):
            level = [self.rng.randint(least, most) for _ in range(count)]
            if not sum(level):
                level[0] = 1
            lengths.append(level)
            count = sum(level)
        return lengths, count

    # -- parts of the op

    def put(self, slot: str, *arrays: Any, lod: Lod | None = None, fixed: bool = False) -> None:
        """Give an input slot its values; `fixed` ones are declared with their true shape, others at times with -1."""
        for array in arrays:
            name = f"in_{slot}" if len(arrays) == 1 and slot not in self.slots else f"in_{slot}_{len(self.inputs)}"
            self.inputs[name] = self._input(np.asarray(array), lod, fixed)
            self.slots.setdefault(slot, []).append(name)

    def _input(self, array: Any, lod: Lod | None, fixed: bool) -> dict[str, Any]:
        shape = list(array.shape)
        if shape and not fixed and (self.open < 0.4 or (self.open < 0.5 and self.chance())):
            shape[0] = -1
        return {
            "shape": shape,
            "dtype": str(array.dtype),
            "lod_level": len(lod or []),
            "values": [literal(array, lod)],
            "how": "var",
        }

    def put_rows(
        self,
        slot: str,
        height: int,
        shape: Sequence[int],
        count: int | None = None,
        low: float = -2.0,
        high: float = 2.0,
    ) -> None:
        """Give a slot sparse rows: `count` of `height`, with repeats, each of the given shape."""
        rows = [self.rng.randrange(height) for _ in range(self.size(1, 5) if count is None else count)]
        value = literal(self.floats([len(rows), *shape], low, high))
        name = f"in_{slot}" if slot not in self.slots else f"in_{slot}_{len(self.inputs)}"
        self.inputs[name] = {
            "shape": [height, *shape],
            "dtype": self.float,
            "lod_level": 0,
            "values": [{**value, "rows": rows, "height": height}],
            "how": "rows",
        }
        self.slots.setdefault(slot, []).append(name)
        self.steady.add(slot)

    def put_array(self, slot: str, *arrays: Any, lods: Sequence[Lod | None] = ()) -> None:
        """Give a slot an array of tensors."""
        written = [literal(array, lod) for array, lod in zip(arrays, lods or [None] * len(arrays))]
        dtype = str(np.asarray(arrays[0]).dtype)
        name = f"in_{slot}" if slot not in self.slots else f"in_{slot}_{len(self.inputs)}"
        self.inputs[name] = {"shape": [], "dtype": dtype, "lod_level": 0, "values": [written], "how": "array"}
        self.slots.setdefault(slot, []).append(name)
        self.steady.add(slot)

    def first(self, op: str, out: str, kind: str = "LOD_TENSOR", dtype: str | None = None, **slots: str) -> str:
        """Let an op run before: inputs by slot name, one output `out` of this name and kind; return its name."""
        attrs: dict[str, Any] = {}
        name = f"made_{len(self.before)}"
        ins = {slot: [held] for slot, held in slots.items()}
        step = {"do": "op", "type": op, "in": ins, "out": {out: [name]}, "dtypes": {out: dtype or self.float}}
        self.before.append({**step, "attrs": attrs, "types": {out: kind}})
        return name

    def feed(self, name: str, array: Any, lod: Lod | None = None) -> str:
        """Declare an input that no slot of the op reads, for ops before it."""
        self.inputs[name] = self._input(np.asarray(array), lod, False)
        return name

    def attr(self, name: str, *choices: Any, always: bool = False) -> Any:
        """Set an attribute to one of the choices; at times leave it at its default, which is the first choice."""
        if not always and self.chance(0.25):
            return choices[0]
        self.attrs[name] = self.pick(*choices)
        return self.attrs[name]

    def real(self, name: str, default: float, low: float, high: float) -> float:
        """Draw a float attribute."""
        if self.chance(0.25):
            return default
        self.attrs[name] = round(self.rng.uniform(low, high), 3)
        return float(self.attrs[name])

    def out(self, slot: str, count: int = 1) -> None:
        self.outputs[slot] = count

    def unfetched(self, *slots: str) -> None:
        """Do not look into these outputs: the real one leaves them empty or as they were in memory."""
        self.unread.update(slots)

    def same(self, **outputs: str) -> None:
        """Let output slots write the variable of an input slot, as optimizers do."""
        self.out_inputs.update(outputs)

    def no_grad(self, *slots: str) -> None:
        """Do not ask for gradients of these input slots, or of any when none is named."""
        self.steady.update(slots or self.slots)

    # -- the case

    def case(self, differentiable: bool) -> dict[str, Any]:
        """Return the drawn op as a case."""
        outputs: dict[str, list[str]] = {}
        for slot, flags in proto(self.op)["outputs"].items():
            count = self.outputs.get(slot, 0 if "dispensable" in flags else 1)
            if slot in self.out_inputs:
                outputs[slot] = self.slots[self.out_inputs[slot]]
            elif count:
                outputs[slot] = [f"out_{slot}" if count == 1 else f"out_{slot}_{i}" for i in range(count)]
        dtypes = {slot: self.out_dtypes.get(slot) or INTEGERS.get(slot) or self._dtype() for slot in outputs}
        step = {
            "do": "op",
            "type": self.op,
            "in": self.slots,
            "out": outputs,
            "dtypes": dtypes,
            "attrs": self.attrs,
            **({"types": self.types} if self.types else {}),
        }
        unread = self.unread | self.read
        names = [name for slot, names in outputs.items() if slot not in unread for name in names]
        case = {"about": self.op, "inputs": self.inputs, "steps": [*self.before, step], "fetch": names}
        if self.read:
            case["read"] = [name for slot in outputs if slot in self.read for name in outputs[slot]]
        wrt = [
            name
            for slot, slot_names in self.slots.items()
            for name in slot_names
            if slot not in self.steady and "float" in self.inputs.get(name, {}).get("dtype", "")
        ]
        if len(wrt) > 1 and self.chance(0.2):  # the gradient of some inputs alone
            wrt = sorted(self.rng.sample(wrt, self.rng.randrange(1, len(wrt))))
        targets = [name for slot in self._targets(outputs) if "float" in dtypes[slot] for name in outputs[slot]]
        if differentiable and wrt and targets:
            case["steps"] = [*self.before, step, {"do": "gradients", "of": targets, "wrt": wrt}]
            sparse = [f"in_{slot[:-5]}@GRAD" for slot in self.read if slot.endswith("@GRAD")]
            grads = [name + "@GRAD" for name in wrt]
            case["fetch"] = names + [name for name in grads if name not in sparse]
            if sparse:
                case["read"] = [*case["read"], *(name for name in sparse if name in grads)]
        return case

    def _dtype(self) -> str:
        """Return the dtype that outputs are declared with: the one of the first float input, else of the first."""
        dtypes = [str(given["dtype"]) for given in self.inputs.values()] or [self.float]
        return next((dtype for dtype in dtypes if "float" in dtype), dtypes[0])

    def _targets(self, outputs: dict[str, list[str]]) -> list[str]:
        """Return the outputs that are differentiated: the op's results, without intermediate ones and integers."""
        flags = proto(self.op)["outputs"]
        return [slot for slot in outputs if "intermediate" not in flags[slot] and slot not in NOT_DIFFERENTIATED]


# Ops whose kernels in 1.8.5 take float32 alone.
SINGLE = {
    "auc",
    "bilinear_interp",  # it multiplies weights in 32 bits
    "box_coder",  # it reads the attribute `variance` as doubles
    "cos_sim",
    "decayed_adagrad",
    "ftrl",
    "im2sequence",
    "log_loss",
    "lrn",
    "modified_huber_loss",
    "nce",
    "pad",  # the gradient of doubles takes some elements from beside the window
    "pad_constant_like",  # the same
    "proximal_adagrad",
    "proximal_gd",
    "rmsprop",
    "row_conv",
    "sequence_conv",
    "shuffle_channel",  # it copies half of each double
    "smooth_l1_loss",
    "squared_l2_norm",
    "trilinear_interp",  # it multiplies weights in 32 bits
    "truncated_gaussian_random",
    "warpctc",
}
INTEGERS = {"Indices": "int64", "Index": "int64", "Length": "int64", "MaxIndex": "int32"}
NOT_DIFFERENTIATED = {
    "Indices",
    "Index",
    "Mask",
    "XShape",
    "MatchX",
    "MidOut",
    "Length",
    "MeanOut",
    "VarianceOut",
    "CentersOut",
    "SampleCenterDiff",
    "OutIndex",
    "Count",
}

Drawing = Callable[[OpDraw], None]
DRAWS: dict[str, tuple[Drawing, bool]] = {}


def draws(*ops: str, grad: bool = True) -> Callable[[Drawing], Drawing]:
    """Register the function that draws these ops; `grad` says whether their gradients are compared."""

    def register(function: Drawing) -> Drawing:
        for op in ops:
            assert op not in DRAWS, op
            DRAWS[op] = (function, grad)
        return function

    return register
