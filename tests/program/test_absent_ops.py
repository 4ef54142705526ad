"""Programs that hold an op which fluidio does not have."""

from __future__ import annotations

import pytest

import fluidio as fluid
from fluidio.ops import OP_TABLE
from fluidio.program.absent_ops import _WHY
from fluidio.program.op_proto import all_op_protos


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("send", "before it was transpiled"),
        ("run_program", "run that program itself"),
        ("tensorrt_engine", "as save_inference_model wrote it"),
        ("no_such_op", "fluidio apis --ops"),
    ],
)
def test_an_absent_op_says_what_to_do(kind: str, advice: str) -> None:
    with pytest.raises(ValueError, match=f'"{kind}" has not been registered') as raised:
        fluid.Program().global_block().append_op(type=kind)
    assert advice in "".join(raised.value.__notes__)


def test_each_op_of_185_is_there_or_explained() -> None:
    explained = {kind for kinds in _WHY.values() for kind in kinds.split()}
    assert set(all_op_protos()) - set(OP_TABLE) <= explained
    assert not explained & set(OP_TABLE)
