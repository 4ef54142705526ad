"""Every op has the slots and the defaults that the real 1.8.5 has."""

from __future__ import annotations

from typing import Any

import fluidio.ops  # noqa: F401  (fills the table)
from fluidio.program.op_def import OP_TABLE
from tests.differential.protos import PROTOS

OPS = sorted(op for op in PROTOS() if op in OP_TABLE)

# Ours differ: ours never leave the process, or say more than the real one does.
DEFAULTS_OF_OURS = {
    ("cudnn_lstm", "seed"),
    ("py_func", "forward_callable_id"),
    ("recurrent", "has_states"),
}
SLOTS_OF_OTHER_PROCESSES = {("listen_and_serv", "X")}


def _same(real: Any, ours: Any) -> bool:
    if isinstance(real, float):
        return abs(real - float(ours)) <= 1e-6 * max(1.0, abs(real))
    return bool(real == ours)


def _wrong_defaults(op: str) -> dict[str, Any]:
    ours = OP_TABLE[op].attrs
    known = {name: default for name, (_, default) in PROTOS()[op]["attrs"].items() if default is not None}
    compared = {name for name in ours if name in known and (op, name) not in DEFAULTS_OF_OURS}
    return {f"{op}.{name}": (known[name], ours[name]) for name in compared if not _same(known[name], ours[name])}


def _missing_slots(op: str) -> set[tuple[str, str]]:
    ours, proto = OP_TABLE[op], PROTOS()[op]
    inputs = {slot.name for slot in ours.inputs} | set(ours.carried)
    missing = (set(proto["inputs"]) - inputs) | (set(proto["outputs"]) - {slot.name for slot in ours.outputs})
    return {(op, slot) for slot in missing} - SLOTS_OF_OTHER_PROCESSES


def _demanded_slots(op: str) -> set[tuple[str, str]]:
    flags = PROTOS()[op]["inputs"]
    needed = (slot.name for slot in OP_TABLE[op].inputs if not slot.optional)
    return {(op, slot) for slot in needed if "dispensable" in flags.get(slot, "")}


def test_attributes_have_the_defaults_of_the_real_one() -> None:
    assert {name: pair for op in OPS for name, pair in _wrong_defaults(op).items()} == {}


def test_an_op_takes_every_slot_of_the_real_one() -> None:
    assert {slot for op in OPS for slot in _missing_slots(op)} == set()


def test_what_the_real_one_may_go_without_ours_may() -> None:
    assert {slot for op in OPS for slot in _demanded_slots(op)} == {("assign", "X")}
