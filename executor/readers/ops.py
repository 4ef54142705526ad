"""The reader ops: `read`, and one op per kind of reader that creates the run-time object of its variable."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from fluidio.distributed import group
from fluidio.era import era
from fluidio.errors import EnforceNotMet, EOFException
from fluidio.executor.devices.rings import copy_stage
from fluidio.executor.frame import Frame
from fluidio.executor.readers.base import Reader, Source, Spec
from fluidio.executor.readers.batch import Batch
from fluidio.executor.readers.check import check_item, layout_of
from fluidio.executor.readers.custom import Custom
from fluidio.executor.readers.describe import (
    infer_custom,
    infer_decorator,
    infer_open_files,
    infer_read,
    infer_source,
    positive,
    slot_shapes,
)
from fluidio.executor.readers.double_buffer import double_buffer
from fluidio.executor.readers.file import FileReader
from fluidio.executor.readers.multi_pass import MultiPass
from fluidio.executor.readers.open_files import OpenFiles
from fluidio.executor.readers.pass_through import Relay
from fluidio.executor.readers.queue import QueueReader
from fluidio.executor.readers.random_data import RandomData
from fluidio.executor.readers.share import Share
from fluidio.executor.readers.shuffle import Shuffle
from fluidio.executor.readers.wait_clock import WaitClock
from fluidio.flow.feed_queue import FeedQueue
from fluidio.flow.observer import OBSERVERS, records_in
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.program import Operator
from fluidio.program.consent import check_data_path
from fluidio.program.op_def import filled

__all__ = ["end_of_epoch"]

_SHAPES: dict[str, Any] = {"shape_concat": [], "lod_levels": [], "ranks": [], "use_data_config": True}


# -- reading ------------------------------------------------------------------------------------------------------


@op(
    "read",
    "Reader",
    "Out*",
    {"throw_eof_exp": True, "infer_out": True, "drop_last": True},
    infer=infer_read,
    grad=False,
    raw=True,
    side_effect=True,
)
def read(k: Call, f: Frame) -> None:
    """Take the next item of a reader; EOFException at the end of the epoch."""
    reader = f.values[k.ins["Reader"][0]]
    if reader is None:
        raise EnforceNotMet(f"the reader {k.op.input('Reader')[0]} does not exist yet: run the startup program first")
    clock = k.state.get("clock")
    if clock is None:
        clock = k.state["clock"] = WaitClock()
    start = perf_counter()
    item = reader.read_next()
    end = perf_counter()
    clock.note(start, end)
    if OBSERVERS.all:
        OBSERVERS.read(reader.chain(), 0 if item is None else records_in(item), item is None, start, end)
    if item is None:
        slow = clock.verdict(end, reader.source().name)
        if slow:
            warnings.warn(slow, stacklevel=2)
        if k.op.block.program._is_distributed and sits_out(reader):
            group().sit_out()
        raise end_of_epoch(reader)
    layout = layout_of(item)
    if layout != k.state.get("layout"):
        check_item(k.op, item)
        k.state["layout"] = layout
    values, lods, variables = f.values, f.lods, f.variables
    owns = k.dev.owns
    for slot, (array, lod) in zip(k.outs["Out"], item):
        if slot >= 0:
            values[slot] = array if owns(array) else k.dev.upload(array)
            lods[slot] = lod
            if variables[slot] is not None:
                f.store(slot)


def sits_out(reader: Reader) -> bool:
    """Return whether other trainers have one more step in this epoch."""
    link: Reader | None = reader
    while link is not None:
        if link.sits_out:
            link.sits_out = False
            return True
        link = link.underlying
    return False


def end_of_epoch(reader: Reader) -> EOFException:
    """Return the exception of a reader that has no more data; warn about dropped records."""
    link: Reader | None = reader
    while link is not None:
        if link.pending_warning:
            text, link.pending_warning = link.pending_warning, ""
            warnings.warn(text, stacklevel=2)
        link = link.underlying
    epoch, count = reader.progress()
    name = reader.source().name
    return EOFException(
        f"end of epoch {epoch + 1} after {count:,} batches of reader {name}: "
        "catch fluid.core.EOFException and call reset() on the reader",
        reader=name,
        epoch=epoch,
    )


# -- making readers -----------------------------------------------------------------------------------------------


def _spec(k: Call) -> Spec:
    spec = k.state.get("spec")
    if spec is None:
        known = [(name, _frozen(k.attrs[name])) for name in sorted(k.op.definition.attrs) if name in k.attrs]
        spec = k.state["spec"] = (k.op.type, *known)
    return spec


_making = threading.RLock()  # several threads may run a program for the first time


def _now(f: Frame, slot: int) -> Any:
    """Return the scope's reader, which may be newer than the frame's, and put it into the frame."""
    variable = f.variables[slot]
    if variable is not None and variable.value is not None:
        f.values[slot] = variable.value
    return f.values[slot]


def _frozen(value: object) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value


def _decorator(
    type: str, attrs: dict[str, Any], make: Callable[[Call, Any, str, Reader, Spec], Reader], infer: Any
) -> None:
    """Register an op that builds a reader on another one; it does nothing if that reader already exists."""

    def kernel(k: Call, f: Frame) -> None:
        out = k.outs["Out"][0]
        below = f.values[k.ins["UnderlyingReader"][0]]
        existing = f.values[out]
        spec = _spec(k)
        if existing is not None and existing.underlying is below and existing.spec == spec:
            return
        with _making:
            build(k, f, out, spec)

    def build(k: Call, f: Frame, out: int, spec: Spec) -> None:
        below, existing = _now(f, k.ins["UnderlyingReader"][0]), _now(f, out)
        if existing is not None and existing.underlying is below and existing.spec == spec:
            return  # another thread was first
        if below is None:
            name = k.op.input("UnderlyingReader")[0]
            raise EnforceNotMet(f"the reader {name} does not exist yet: run the startup program first")
        if isinstance(existing, Reader):
            existing.shutdown()
        f.set(out, make(k, f, k.op.output("Out")[0], below, spec))

    kernel.__doc__ = f"Make the reader of {type}."
    op(type, "UnderlyingReader", "Out", attrs, infer=infer, grad=False, raw=True, side_effect=True)(kernel)


def _source(
    type: str, inputs: str, attrs: dict[str, Any], make: Callable[[Call, str, Spec], Source], infer: Any
) -> None:
    """Register an op that makes a source; running it again rewinds, unless a chain is built on the source.

    Fluid: a second source replaced it while the chain kept the first, so nothing was rewound there either. The startup
    program of a rebuilt program makes a new source here, and chains move to it.
    """

    def kernel(k: Call, f: Frame) -> None:
        out = k.outs["Out"][0]
        spec = _spec(k)
        origin = k.op.block.program._serial
        with _making:
            make_source(k, f, out, spec, origin)

    def make_source(k: Call, f: Frame, out: int, spec: Spec, origin: int) -> None:
        existing = _now(f, out)
        if isinstance(existing, Source):
            if existing.spec == spec and existing.origin == origin and existing.decorators:
                return
            for end in existing.end_points():
                end.shutdown()
        reader = make(k, k.op.output("Out")[0], spec)
        reader.origin = origin
        f.set(out, reader)

    kernel.__doc__ = f"Make the reader of {type}."
    op(type, inputs, "Out*", attrs, infer=infer, grad=False, raw=True, side_effect=True)(kernel)


def _make_open_files(k: Call, name: str, spec: Spec) -> Source:
    a = k.attrs
    paths: Sequence[str] = a["file_names"]
    for path in paths:
        check_data_path(k.op, path)
    if era().strict:
        for path in paths:
            _check_suffix(path)
    return OpenFiles(
        name,
        paths,
        min(a["thread_num"], max(1, len(paths))),
        a["side_by_side"] and not a["is_test"],
        ahead=a["buffer_size"],
        arrival=not a["deterministic"],
        shuffle_files=a["shuffle_files"],
        seed=a["seed"],
        spec=spec,
    )


def _check_suffix(path: str) -> None:
    stem, dot, suffix = path.rpartition(".")
    if not dot or not stem:
        raise EnforceNotMet(
            f"cannot tell the format of {path!r} from its name: it needs an ending, for example data_file.recordio"
        )
    if suffix != "recordio":
        raise EnforceNotMet(f"there is no reader for files that end in {suffix!r}")


def _make_file(k: Call, name: str, spec: Spec) -> Source:
    check_data_path(k.op, k.attrs["filename"])
    return FileReader(name, k.attrs["filename"], spec)


def _make_random(k: Call, name: str, spec: Spec) -> Source:
    low, high = k.attrs.get("min", k.attrs["low"]), k.attrs.get("max", k.attrs["high"])
    return RandomData(name, low, high, slot_shapes(k.attrs), k.attrs["seed"], spec)


def _make_double_buffer(k: Call, f: Frame, name: str, below: Reader, spec: Spec) -> Reader:
    devices = k.state.get("devices", [k.dev])  # several where the program runs on several GPUs
    stage = copy_stage(devices) if k.attrs["place"] != "CPU" else None
    return double_buffer(name, below, spec, stage)


def _make_custom(k: Call, f: Frame, name: str, below: Reader, spec: Spec) -> Reader:
    a = k.attrs
    return Custom(name, below, f.plan, k.blocks["sub_block"], a["source_var_names"], a["sink_var_names"], spec)


_source(
    "create_recordio_file_reader",
    "",
    {**_SHAPES, "filename": ""},
    _make_file,
    infer_source,
)
_source(
    "open_files",
    "",
    {
        **_SHAPES,
        "file_names": [],
        "thread_num": 1,
        "buffer_size": 1,
        "is_test": False,
        "side_by_side": True,
        "deterministic": True,
        "shuffle_files": False,
        "seed": 0,
    },
    _make_open_files,
    infer_open_files,
)
_source("create_random_data_generator", "", {**_SHAPES, "low": 0.0, "high": 1.0, "seed": 0}, _make_random, infer_source)
_decorator(
    "create_shuffle_reader",
    {"buffer_size": 1, "seed": 0},
    lambda k, f, name, below, spec: Shuffle(name, below, k.attrs["buffer_size"], k.attrs["seed"], spec),
    positive("buffer_size"),
)
_decorator(
    "create_batch_reader",
    {"batch_size": 1, "discard_leftover": True, "trainers": 0, "trainer_id": 0, "join": False},
    lambda k, f, name, below, spec: Batch(
        name,
        below,
        k.attrs["batch_size"],
        k.attrs["discard_leftover"],
        spec,
        fluids_lods=era().strict,
        share=(k.attrs["trainers"], k.attrs["trainer_id"]) if k.attrs["trainers"] else None,
        join=k.attrs["join"],
    ),
    positive("batch_size"),
)
_decorator(
    "create_share_reader",
    {"trainers": 1, "trainer_id": 0, "join": False},
    lambda k, f, name, below, spec: Share(
        name, below, k.attrs["trainers"], k.attrs["trainer_id"], spec, join=k.attrs["join"]
    ),
    positive("trainers"),
)
_decorator(
    "create_multi_pass_reader",
    {"pass_num": 1},
    lambda k, f, name, below, spec: MultiPass(name, below, k.attrs["pass_num"], spec),
    positive("pass_num"),
)
_decorator("create_threaded_reader", {}, lambda k, f, name, below, spec: Relay(name, below, spec), infer_decorator)
_decorator("create_double_buffer_reader", {"place": "AUTO"}, _make_double_buffer, infer_decorator)
_decorator(
    "create_custom_reader",
    {"sub_block": None, "source_var_names": [], "sink_var_names": []},
    _make_custom,
    infer_custom,
)


@op(
    "create_py_reader",
    "blocking_queue",
    "Out*",
    {**_SHAPES, "dtypes": [], "need_check_feed": [], "device_index": 0, "device_count": 1},
    infer=infer_source,
    grad=False,
    raw=True,
    side_effect=True,
)
def create_py_reader(k: Call, f: Frame) -> None:
    """Make the reader that drains a queue; it is kept while the queue is the same."""
    with _making:
        _make_py_reader(k, f, k.outs["Out"][0])


def _make_py_reader(k: Call, f: Frame, out: int) -> None:
    existing = _now(f, out)
    queue = _find_queue(k, f)
    if isinstance(existing, QueueReader):
        if queue is None or existing.queue is queue:
            return
        existing.shutdown()
    if queue is None:
        raise EnforceNotMet(
            f"the scope holds no queue {k.op.input('blocking_queue')[0]!r}: py_reader creates it in the "
            "global scope, so call py_reader and exe.run under the same fluid.scope_guard"
        )
    f.set(out, QueueReader(k.op.output("Out")[0], queue, ("create_py_reader",)))


def _find_queue(k: Call, f: Frame) -> FeedQueue | None:
    built: Operator = k.op
    if built.feed_queue is not None:
        return built.feed_queue
    held = f.scope.find_var(k.op.input("blocking_queue")[0])
    return held.value if held is not None and isinstance(held.value, FeedQueue) else None


filled(__name__)
