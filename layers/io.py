"""How data enter a program: `data` for feeding, reader ops for files, `py_reader` for generators."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from fluidio.distributed import trainer_count
from fluidio.dtypes import DTypeLike, VarType, to_vartype
from fluidio.era import era
from fluidio.errors import EnforceNotMet
from fluidio.layer_helper import LayerHelper
from fluidio.layers._io.preprocessor import Preprocessor
from fluidio.layers._io.queue_reader import create_py_reader_by_data, py_reader
from fluidio.layers._io.reader_handle import attach_file_handle
from fluidio.places import CPUPlace, CUDAPlace, PlaceLike
from fluidio.program import Variable, default_main_program, default_startup_program, unique_name
from fluidio.program.arguments import Attrs
from fluidio.program.variable import to_dim

__all__ = [
    "Preprocessor",
    "batch",
    "create_py_reader_by_data",
    "data",
    "double_buffer",
    "load",
    "open_files",
    "open_recordio_file",
    "py_reader",
    "random_data_generator",
    "read_file",
    "shuffle",
]


def data(
    name: str,
    shape: Sequence[int | None],
    append_batch_size: bool = True,
    dtype: DTypeLike = "float32",
    lod_level: int = 0,
    type: VarType = VarType.LOD_TENSOR,
    stop_gradient: bool = True,
) -> Variable:
    """Declare a variable to be fed; a batch dim of -1 is prepended unless the shape already has a -1."""
    dims = [-1 if d is None else to_dim(d) for d in shape]
    if append_batch_size and all(d >= 0 for d in dims):
        dims = [-1, *dims]
    return (
        default_main_program()
        .global_block()
        .create_var(
            name=name,
            shape=dims,
            dtype=dtype,
            type=type,
            stop_gradient=stop_gradient,
            lod_level=lod_level,
            persistable=False,
            is_data=True,
        )
    )


# -- sources: created by the startup program ----------------------------------------------------------------------


def _source(op: str, stem: str, shapes: Any, lod_levels: Any, dtypes: Any, attrs: Attrs) -> Variable:
    """Append an op that creates a reader to the startup program, and declare the reader in both programs."""
    name = unique_name.generate(stem)
    shapes = [tuple(int(d) for d in shape) for shape in shapes]
    kinds = [to_vartype(dtype) for dtype in dtypes]
    startup = default_startup_program().current_block()
    variable = startup.create_var(name=name, type=VarType.READER, persistable=True)
    variable.reader_slots = [(shape, kind, 0) for shape, kind in zip(shapes, kinds)]
    startup.append_op(
        type=op,
        outputs={"Out": [variable]},
        attrs={
            "shape_concat": [d for shape in shapes for d in shape],
            "lod_levels": list(lod_levels),
            "ranks": [len(shape) for shape in shapes],
            **attrs,
        },
    )
    variable.stop_gradient = True
    return _declare_in_main(variable)


def _declare_in_main(variable: Variable) -> Variable:
    twin = default_main_program().current_block()._clone_variable(variable)
    twin.stop_gradient = True
    return attach_file_handle(twin)


def open_recordio_file(
    filename: str,
    shapes: Sequence[Sequence[int]],
    lod_levels: Sequence[int],
    dtypes: Sequence[DTypeLike],
    pass_num: int = 1,
    for_parallel: bool = True,
) -> Variable:
    """Read the records of one RecordIO file, in order.

    Args:
        filename: the file; opened when the startup program runs.
        shapes, lod_levels, dtypes: one entry for each tensor of a record. As in Fluid, what the file holds wins.
        pass_num: how many times the file is read in one epoch.
        for_parallel: makes no difference: every reader here may be read by several threads.

    Example:
        >>> import fluidio as fluid
        >>> reader = fluid.layers.io.open_recordio_file(
        ...     filename="./mnist.recordio", shapes=[(-1, 784), (-1, 1)], lod_levels=[0, 0],
        ...     dtypes=["float32", "int64"])
        >>> image, label = fluid.layers.io.read_file(reader)
    """
    reader = _source(
        "create_recordio_file_reader",
        "open_recordio_file",
        shapes,
        lod_levels,
        dtypes,
        {"filename": os.fspath(filename)},
    )
    return multi_pass(reader, pass_num) if pass_num > 1 else reader


def open_files(
    filenames: str | Sequence[str],
    shapes: Sequence[Sequence[int]],
    lod_levels: Sequence[int],
    dtypes: Sequence[DTypeLike],
    thread_num: int | None = None,
    buffer_size: int | None = None,
    pass_num: int = 1,
    is_test: bool | None = None,
    *,
    for_parallel: bool | None = None,
    shuffle_files: bool = False,
    seed: int | None = None,
    deterministic: bool = True,
    trainers: int | str | None = None,
    trainer_id: int | None = None,
    join: bool = False,
) -> Variable:
    """Read the records of several RecordIO files; reading ahead begins with the startup program.

    The order of the records is a function of the files, the seed and the epoch, never of threads or speed:
    with `thread_num=1` or `is_test=True` file after file in list order, otherwise a chunk of each file in turn.
    Fluid: with threads, records came as they were ready, in a different order each time.

    Args:
        filenames: the files; all are opened when the startup program runs.
        shapes, lod_levels, dtypes: one entry for each tensor of a record. Fluid: the data in the files win.
        thread_num: threads that read and decode.
        buffer_size: records to read ahead, in whole chunks: at most one of each file, at least four more than threads.
        pass_num: how many times the files are read in one epoch.
        is_test: file after file.
        for_parallel: until 0.14 the 8th positional argument, in place of is_test; makes no difference.
        shuffle_files: use a different file order in each epoch.
        seed: for `shuffle_files`; the program's random_seed by default.
        deterministic: False delivers records as they become ready.
        trainers, trainer_id: divide the records among trainers: in every step each gets a part of the next
            `trainers * batch_size` records. All have the same number of steps, every record is read once in an epoch,
            and a different number of trainers can resume in the middle of an epoch (`state_dict`). trainers="env" takes
            both from the environment. By default all given files are read.
        join: if the last records of an epoch are too few for all trainers, those that have one train one more step;
            the others reach the end, and wait for them in the first step of the next epoch.
    """
    if era().open_files_eighth_is_for_parallel:
        is_test = None  # the 8th positional argument was for_parallel
    if isinstance(filenames, (str, os.PathLike)):
        filenames = [os.fspath(filenames)]
    names = [os.fspath(name) for name in filenames]
    side_by_side = thread_num != 1 and len(names) > 1
    threads = min(len(names), (os.cpu_count() or 1)) if thread_num is None else int(thread_num)
    attrs: dict[str, Any] = {
        "file_names": names,
        "thread_num": threads if names else 1,
        "buffer_size": 3 * max(threads, 1) if buffer_size is None else int(buffer_size),
        "is_test": is_test,
        "side_by_side": side_by_side,
        "deterministic": bool(deterministic),
        "shuffle_files": bool(shuffle_files),
        "seed": _seed(seed),
    }
    reader = _source("open_files", "multi_file_reader", shapes, lod_levels, dtypes, attrs)
    reader.trainer_share = _trainer_share(trainers, trainer_id, deterministic, join)
    return multi_pass(reader, pass_num) if pass_num > 1 else reader


def _trainer_share(
    trainers: int | str | None, trainer_id: int | None, deterministic: bool, join: bool
) -> tuple[int, int, bool] | None:
    """Return (trainers, trainer id, join) for a reader whose records are divided, else None."""
    if trainers is None:
        if join:
            raise ValueError("open_files: join=True needs trainers=, their number or 'env'")
        if trainer_id is not None:
            raise ValueError(f"open_files: trainer_id={trainer_id} needs trainers=, their number")
        return None
    if trainers == "env":
        trainer_id, trainers = trainer_count()
    if not isinstance(trainers, int) or trainers < 1:
        raise ValueError(f"open_files: trainers must be a number or 'env', got {trainers!r}")
    if trainer_id is None or not 0 <= trainer_id < trainers:
        raise ValueError(
            f"open_files: with {trainers} trainers, trainer_id must lie in 0 ... {trainers - 1}, got {trainer_id}"
        )
    if not deterministic:
        raise ValueError(
            "open_files: deterministic=False cannot be combined with trainers=: every trainer would see "
            "another order, and records would be lost"
        )
    return trainers, trainer_id, join


def random_data_generator(
    low: float,
    high: float,
    shapes: Sequence[Sequence[int]],
    lod_levels: Sequence[int],
    for_parallel: bool = True,
    *,
    seed: int | None = None,
) -> Variable:
    """Produce endless uniform random float32 tensors, for speed tests.

    Fluid: the numbers were never the same; here they depend on `seed` (the program's random_seed by default).
    """
    names = ("min", "max") if era().random_generator_min_max else ("low", "high")
    attrs = {names[0]: float(low), names[1]: float(high), "seed": _seed(seed)}
    return _source(
        "create_random_data_generator",
        "random_data_generator",
        shapes,
        lod_levels,
        [VarType.FP32] * len(shapes),
        attrs,
    )


def _seed(seed: int | None) -> int:
    return default_main_program().random_seed if seed is None else int(seed)


# -- decorators ---------------------------------------------------------------------------------------------------


def _decorate(op: str, reader: Variable, attrs: Attrs, name: str | None = None) -> Variable:
    """Put a reader on top of another one, in the main program."""
    if not isinstance(reader, Variable) or reader.type is not VarType.READER:
        raise TypeError(f"{op}: expected a reader (from open_files, py_reader, ...), got {reader!r}")
    block = default_main_program().current_block()
    new = block.create_var(name=name or unique_name.generate(op), type=VarType.READER, persistable=True)
    new.stop_gradient = True
    block.append_op(type=op, inputs={"UnderlyingReader": [reader]}, outputs={"Out": [new]}, attrs=attrs)
    _keep_methods(new, reader)
    return new


def _keep_methods(new: Variable, reader: Variable) -> None:
    attach_file_handle(new)
    new.trainer_share = reader.trainer_share
    for method in (
        "start",
        "reset",
        "stats",
        "state_dict",
        "load_state_dict",
        "queue",
        "decorate_tensor_provider",
        "decorate_batch_generator",
        "decorate_paddle_reader",
        "decorate_sample_list_generator",
    ):
        if "queue" in reader.__dict__ and method in reader.__dict__:
            setattr(new, method, reader.__dict__[method])


def _decorate_both(op: str, reader: Variable, attrs: Attrs) -> Variable:
    """Put a reader on top of another one in both programs: the startup program creates it, the main one finds it."""
    name = unique_name.generate(op)
    startup = default_startup_program().current_block()
    if not startup.has_var_recursive(reader.name):
        raise EnforceNotMet(
            f"{op}: the reader {reader.name} is created by the main program; decorate its source instead"
        )
    variable = startup.create_var(name=name, type=VarType.READER, persistable=True)
    startup.append_op(type=op, inputs={"UnderlyingReader": [reader.name]}, outputs={"Out": [variable]}, attrs=attrs)
    return _decorate(op, reader, attrs, name)


def shuffle(reader: Variable, buffer_size: int, *, seed: int | None = None) -> Variable:
    """Shuffle each run of `buffer_size` records separately, in a different order each epoch.

    Fluid: the order was never the same; here it depends on `seed` (the program's random_seed by default) and epoch.
    """
    return _decorate("create_shuffle_reader", reader, {"buffer_size": int(buffer_size), "seed": _seed(seed)})


def batch(reader: Variable, batch_size: int, *, drop_last: bool | None = None) -> Variable:
    """Stack `batch_size` records into one batch; LoDs are merged.

    Fluid: a short last batch was delivered until 0.14 and dropped from 0.15 on; `drop_last` decides, the era by
    default. Records are counted, not rows: a record of 32 rows counts as one. LoDs of records with several sequences
    were merged wrongly; a strict era does so again.
    """
    drop = not era().keep_leftover_batch if drop_last is None else bool(drop_last)
    attrs: dict[str, Any] = {"batch_size": int(batch_size), "discard_leftover": drop}
    share = getattr(reader, "trainer_share", None)
    if share is not None:
        attrs["trainers"], attrs["trainer_id"], attrs["join"] = share
    new = _decorate("create_batch_reader", reader, attrs)
    new.trainer_share = None  # from here on each trainer has its own records
    return new


def double_buffer(reader: Variable, place: Any = None, name: str | None = None) -> Variable:
    """Read ahead in a thread and copy the data to the device.

    Args:
        place: 'cpu', 'cuda:0' or a Place; the executor's place by default.
        name: name of the new reader.
    """
    attrs = {} if place is None else {"place": _place(place)}
    return _decorate("create_double_buffer_reader", reader, attrs, name)


def _place(place: PlaceLike) -> str:
    if isinstance(place, CPUPlace):
        return "CPU"
    if isinstance(place, CUDAPlace):
        return f"CUDA:{place.device}"
    text = str(place).upper()
    kind, _, number = text.partition(":")
    if text in ("CPU", "AUTO") or (kind == "CUDA" and number.isdigit() and int(number) < 128):
        return text
    raise EnforceNotMet(
        f"double_buffer: place must be 'cpu', 'cuda:0', fluid.CPUPlace() or fluid.CUDAPlace(0), got {place!r}"
    )


def multi_pass(reader: Variable, pass_num: int) -> Variable:
    """Read the reader below `pass_num` times per epoch."""
    return _decorate_both("create_multi_pass_reader", reader, {"pass_num": int(pass_num)})


def parallel(reader: Variable) -> Variable:
    """Let several threads share one reader (until Fluid 0.14); every reader here supports that."""
    return _decorate_both("create_threaded_reader", reader, {})


# -- reading ------------------------------------------------------------------------------------------------------


def read_file(reader: Variable | None = None, *, file_obj: Variable | None = None) -> Any:
    """Append the op that reads the next item; return its variable, or a list of them.

    `exe.run` raises `fluid.core.EOFException` when the epoch is over; `reader.reset()` begins the next one.
    """
    reader = file_obj if reader is None else reader
    if not isinstance(reader, Variable) or reader.type is not VarType.READER:
        raise TypeError(f"read_file: expected a reader (from open_files, py_reader, batch, ...), got {reader!r}")
    if reader.trainer_share is not None:
        attrs: dict[str, Any] = dict(zip(("trainers", "trainer_id", "join"), reader.trainer_share))
        reader = _decorate("create_share_reader", reader, attrs)
    helper = LayerHelper("read_file")
    outputs = [
        helper.create_variable_for_type_inference(stop_gradient=True, dtype="float32") for _ in reader.reader_slots
    ]
    helper.append_op(type="read", inputs={"Reader": [reader]}, outputs={"Out": outputs})
    return outputs[0] if len(outputs) == 1 else outputs


def load(out: Variable, file_path: str, load_as_fp16: bool | None = None) -> None:
    """Append an op that loads a saved tensor into `out` every time the program runs."""
    helper = LayerHelper("load")
    helper.append_op(
        type="load",
        inputs={},
        outputs={"Out": [out]},
        attrs={"file_path": os.fspath(file_path), "load_as_fp16": load_as_fp16},
    )
