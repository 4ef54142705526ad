"""`py_reader`: a reader in the program, fed by a Python generator."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from fluidio.dtypes import DTypeLike, VarType, to_vartype
from fluidio.errors import EnforceNotMet
from fluidio.flow.feed_queue import FeedQueue
from fluidio.layers._io.reader_handle import FeedHandle, attach_feed_handle
from fluidio.program import (
    Block,
    Operator,
    Program,
    Variable,
    default_main_program,
    default_startup_program,
    program_guard,
    unique_name,
)
from fluidio.program.call_site import describe, user_site
from fluidio.tensor import global_scope

__all__ = ["append_py_reader", "create_py_reader_by_data", "make_queue", "py_reader"]


def py_reader(
    capacity: int,
    shapes: Sequence[Sequence[int]],
    dtypes: Sequence[DTypeLike],
    lod_levels: Sequence[int] | None = None,
    name: str | None = None,
    use_double_buffer: bool = True,
) -> Variable:
    """Create a reader that a generator feeds from a thread.

    Args:
        capacity: the maximum number of queued batches.
        shapes, dtypes, lod_levels: one entry for each tensor of a batch; a shape includes the batch's -1.
        name: prefix of the names of the queue and the readers.
        use_double_buffer: copy batches to the device in a thread (on the CPU the feeding thread is enough).

    Example:
        >>> import fluidio as fluid, numpy as np
        >>> reader = fluid.layers.py_reader(capacity=4, shapes=[(-1, 3)], dtypes=["float32"])
        >>> x = fluid.layers.read_file(reader)
        >>> reader.decorate_tensor_provider(lambda: ([np.ones((2, 3), "float32")] for _ in range(2)))
        >>> exe = fluid.Executor(fluid.CPUPlace())
        >>> _ = exe.run(fluid.default_startup_program())
        >>> reader.start()
        >>> exe.run(fetch_list=[x])[0].shape
        (2, 3)
        >>> reader.reset()
    """
    levels = [0] * len(shapes) if lod_levels is None else list(lod_levels)
    kinds = [to_vartype(dtype) for dtype in dtypes]
    dims = [tuple(-1 if d is None else int(d) for d in shape) for shape in shapes]
    if len(kinds) != len(dims):
        raise EnforceNotMet(f"py_reader: got {len(dims)} shapes but {len(kinds)} dtypes; give one dtype for each shape")
    variables = _data_variables(dims, kinds, levels)
    return _py_reader(capacity, list(zip(dims, kinds, levels)), variables, name, use_double_buffer)


def create_py_reader_by_data(
    capacity: int, feed_list: list[Variable], name: str | None = None, use_double_buffer: bool = True
) -> Variable:
    """Make a py_reader whose tensors are described by data variables."""
    if not isinstance(feed_list, list):
        raise TypeError(f"create_py_reader_by_data: feed_list must be a list of Variables, got {feed_list!r}")
    slots = [(v.shape, v.dtype, v.lod_level) for v in feed_list]
    return _py_reader(capacity, slots, feed_list, name, use_double_buffer)


def _data_variables(dims: Any, kinds: Any, levels: Any) -> list[Variable]:
    """Return variables "0", "1", ... in a separate program, for the DataFeeder."""
    with program_guard(Program(), Program()):
        block = default_main_program().global_block()
        return [
            block.create_var(name=str(i), shape=shape, dtype=kind, lod_level=level, is_data=True)
            for i, (shape, kind, level) in enumerate(zip(dims, kinds, levels))
        ]


def _py_reader(capacity: int, slots: Any, variables: Any, name: str | None, use_double_buffer: bool) -> Variable:
    main, startup = default_main_program().current_block(), default_startup_program().current_block()
    if name is None:
        queue_name, reader_name, buffer_name = _free_names()
    else:
        queue_name, reader_name, buffer_name = f"{name}_queue", f"{name}_reader", f"{name}_double_buffer"
    queue = make_queue(queue_name, reader_name, capacity, main.program)
    variable = append_py_reader(startup, queue_name, reader_name, queue, slots)
    reader = main._clone_variable(variable)
    reader.stop_gradient = True
    handle = FeedHandle(queue, variables)
    if use_double_buffer:
        reader = append_double_buffer(main, reader, buffer_name)
    return attach_feed_handle(reader, handle)


def _free_names() -> tuple[str, str, str]:
    """Return names for a queue, its reader and its buffer that are unused in the global scope.

    Fluid: two unnamed py_readers under two `unique_name.guard()`s got the same name and clashed.
    """
    while True:
        names = (
            unique_name.generate("lod_tensor_blocking_queue"),
            unique_name.generate("create_py_reader"),
            unique_name.generate("double_buffer"),
        )
        held = [global_scope().find_var(name) for name in names]
        if all(variable is None or variable.value is None for variable in held):
            return names


def make_queue(queue_name: str, reader_name: str, capacity: int, program: Program) -> FeedQueue:
    """Create the queue in the global scope; a second one of that name in the same program is an error."""
    site = describe(user_site())
    queue = FeedQueue(reader_name, capacity, site)
    queue.owner = weakref.ref(program)
    held = global_scope().var(queue_name)
    old = held.value
    if isinstance(old, FeedQueue):
        if old.owner is not None and old.owner() is program:
            raise EnforceNotMet(
                f"this program already has a reader {reader_name}, made at {old.site}; the second one, at "
                f"{site}, needs another name="
            )
        old.reset()  # built again, as in a notebook: the new one replaces the old
    held.value = queue
    return queue


def append_py_reader(
    block: Block, queue_name: str, reader_name: str, queue: FeedQueue, slots: Any, checked: Sequence[bool] = ()
) -> Variable:
    """Append the op that creates the run-time reader of a queue; `checked` says which slots came from `fluid.data`."""
    variable = block.create_var(name=reader_name, type=VarType.READER, persistable=True)
    variable.reader_slots = list(slots)
    variable.stop_gradient = True
    op: Operator = block.append_op(
        type="create_py_reader",
        inputs={"blocking_queue": [queue_name]},
        outputs={"Out": [variable]},
        attrs={
            "shape_concat": [d for shape, _, _ in slots for d in shape],
            "lod_levels": [level for _, _, level in slots],
            "dtypes": [int(kind) for _, kind, _ in slots],
            "need_check_feed": [int(check) for check in checked or [False] * len(slots)],
            "ranks": [len(shape) for shape, _, _ in slots],
        },
    )
    op.feed_queue = queue
    return variable


def append_double_buffer(block: Block, reader: Variable, name: str) -> Variable:
    """Append the op that creates a double buffer."""
    variable = block.create_var(name=name, type=VarType.READER, persistable=True)
    variable.stop_gradient = True
    block.append_op(
        type="create_double_buffer_reader", inputs={"UnderlyingReader": [reader]}, outputs={"Out": [variable]}
    )
    return variable
