"""The ops at the ends of a saved model: one puts each fed value into its variable, one takes each result."""

from __future__ import annotations

from collections.abc import Sequence

from fluidio.dtypes import VarType
from fluidio.program import Program

__all__ = ["append_fetch_ops", "prepend_feed_ops"]


def prepend_feed_ops(
    inference_program: Program, feed_target_names: Sequence[str], feed_holder_name: str = "feed"
) -> None:
    """Put a `feed` op for each name in front of a program."""
    if not feed_target_names:
        return
    block = inference_program.global_block()
    holder = block.create_var(name=feed_holder_name, type=VarType.FEED_MINIBATCH, persistable=True)
    for index, name in enumerate(feed_target_names):  # Fluid: the last one comes first
        out = block.var(name)
        block._prepend_op(type="feed", inputs={"X": [holder]}, outputs={"Out": [out]}, attrs={"col": index})


def append_fetch_ops(
    inference_program: Program, fetch_target_names: Sequence[str], fetch_holder_name: str = "fetch"
) -> None:
    """Append a `fetch` op for each name to a program."""
    block = inference_program.global_block()
    holder = block.create_var(name=fetch_holder_name, type=VarType.FETCH_LIST, persistable=True)
    for index, name in enumerate(fetch_target_names):
        block.append_op(type="fetch", inputs={"X": [name]}, outputs={"Out": [holder]}, attrs={"col": index})
