"""A `tf.data.Dataset` over RecordIO files (`pip install 'fluidio[tf]'`).

from fluidio.tf import records

for image, label in records("train-*-of-*", 128, shuffle=True):
    ...
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fluidio.errors import ConversionError, missing_dependency
from fluidio.recordio import iter_batches
from fluidio.recordio.files.batches import iter_blocks
from fluidio.recordio.files.named import names_of, strings
from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.resumable import Batches
from fluidio.recordio.files.schema import Field

try:
    import tensorflow as _tensorflow
except ImportError as error:
    raise missing_dependency("TensorFlow", "tf", "fluidio.tf") from error

tf: Any = _tensorflow  # type checkers know different parts of it

__all__ = ["raw_records", "records"]


def records(
    paths: object,
    batch_size: int,
    *,
    shuffle: bool | int = False,
    seed: int = 0,
    drop_last: bool = False,
    part: tuple[int, int] | None = None,
    named: bool = False,
    epoch: int = 0,
    state: object = None,
) -> Any:
    """Return a Dataset of batches, a tuple with one tensor for each slot; a slot with sequences is a RaggedTensor.

    Args:
        paths: a path, glob or URL of tensor records, or a list of them.
        shuffle: True, or the number of records in a window, as in `recordio.iter_batches`; each pass has its own order.
        part: (i, n) reads part i of n.
        named: yield dicts with the names from a manifest; strings are tensors of tf.string.
        epoch: the number of the first pass, which its order depends on.
        state: the first pass resumes here: the result of `recordio.iter_batches(...).state_after(batches)` for the same
            arguments, or a list of these for all parts of a job, whose number may have changed.

    Example:
        >>> state = recordio.iter_batches("train-*", 128, shuffle=True, epoch=3).state_after(500)    # doctest: +SKIP
        >>> rest_and_later_passes = records("train-*", 128, shuffle=True, state=state)               # doctest: +SKIP
    """
    files = expand(paths)
    first = next(iter_blocks(files), None)
    if first is None:
        raise ConversionError(f"{paths!r}: there are no records, so the types of the data set are unknown")
    names = names_of(files) if named else None
    slots = names.slots if names is not None and names.slots is not None else [None] * len(first.columns)
    specs = [_spec(column, slot) for column, slot in zip(first.columns, slots, strict=True)]
    signature: Any = tuple(specs) if names is None else names.named(specs)
    saved, first_pass = _begin(state, epoch)
    passes = itertools.count(first_pass)

    def one_pass(number: int) -> Batches:
        return iter_batches(files, batch_size, shuffle=shuffle, seed=seed, epoch=number, drop_last=drop_last, part=part)

    def batches() -> Iterator[Any]:
        number = next(passes)
        found = one_pass(number)
        if saved is not None and number == first_pass:
            found.load_state_dict(saved)
        for batch in found:
            values = [_value(item, slot) for item, slot in zip(batch, slots)]
            yield tuple(values) if names is None else names.named(values)

    data = tf.data.Dataset.from_generator(batches, output_signature=signature)
    if saved is not None or not all(isinstance(file, str) for file in files):
        return data
    return data.apply(tf.data.experimental.assert_cardinality(one_pass(first_pass).total))


def _begin(state: Any, epoch: int) -> tuple[Any, int]:
    """Return the state from which the first pass resumes, and its number."""
    if state is None:
        return None, epoch
    states = [state] if isinstance(state, Mapping) else list(state)
    if not states:
        raise ValueError("expected the states of all parts, got none")
    number = int(states[0]["epoch"])
    if all(each.get("ended") for each in states):
        return None, number + 1
    return state, number


def _spec(column: Any, slot: Field | None) -> Any:
    if slot is not None and slot.text:
        return (
            tf.TensorSpec((None,), tf.string) if slot.lod_level == 1 else tf.RaggedTensorSpec((None, None), tf.string)
        )
    dtype, dims = tf.as_dtype(column.data.dtype.newbyteorder("=")), column.data.shape[1:]
    if not column.lod:
        return tf.TensorSpec((None, *dims), dtype)
    shape = (None,) * (len(column.lod) + 1) + dims
    return tf.RaggedTensorSpec(shape, dtype, ragged_rank=len(column.lod))


def _value(item: object, slot: Field | None) -> Any:
    if not isinstance(item, tuple):
        return np.ascontiguousarray(item)
    array, lod = item
    if slot is not None and slot.text:
        value = tf.constant(strings(array, lod[-1], decode=False), tf.string)
        lod = lod[:-1]
    else:
        value = tf.constant(np.ascontiguousarray(array))
    for level in reversed(lod):
        value = tf.RaggedTensor.from_row_splits(value, level)
    return value


def raw_records(paths: object) -> Any:
    """Return a Dataset of the records of any dialect as byte strings, like pyrecordio's."""
    from fluidio.recordio import File

    files = expand(paths)

    def each() -> Iterator[bytes]:
        for path in files:
            with File(path) as file:
                yield from file

    return tf.data.Dataset.from_generator(each, output_signature=tf.TensorSpec((), tf.string))
