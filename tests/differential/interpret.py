"""Build and run a case: a program written as plain data.

Python 3.7 with the real 1.8.5 and Python 3.11 with fluidio import this same file; `fluid` is either's module.

A case is {"inputs": {name: input}, "steps": [step], "fetch": [handle]}, with optional "seed", "runs" (1 by default),
"persistables" (compare them after the last run), "save" (compare the saved files after startup), "test" and "inference"
(run a copy for testing, a saved model) and "shake" (move what startup has made by its last bits).
An input is {"shape", "dtype", "lod_level", "values": [tensor of each run], "how": "var" or "data"}.
A step is {"do": kind, ...}; `_Builder` has a method for each kind. Handles name Variables inside the case.
"""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np

from tests.differential.describe import describe
from tests.differential.saved import digests, run_saved, value_of
from tests.differential.steps import KINDS, Builder
from tests.differential.tensors import decode, encode

__all__ = ["run_case"]

_SUM = 0.25  # about what a bias is added to


def run_case(fluid: Any, case: dict[str, Any]) -> dict[str, Any]:
    """Return what the case shows: {"main", "startup", "names", "values", "saved"}, or "error" and its stage."""
    result: dict[str, Any] = {"values_only": True} if case.get("values_only") else {}
    stage = "build"
    try:
        main, startup = fluid.Program(), fluid.Program()
        main.random_seed = startup.random_seed = case.get("seed", 90)
        with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
            builder = Builder(fluid, case)
            builder.build()
            names = {handle: _name(var) for handle, var in builder.handles.items()}
            result.update(main=describe(main), startup=describe(startup), names=names)
            if builder.test is not None:
                result["test"] = describe(builder.test)
            stage = "run"
            result["values"] = {}
            _run(fluid, case, (main, startup), builder, result)
    except Exception as error:
        result["error"] = {"stage": stage, "type": type(error).__name__, "text": _text(error)}
    return result


def _name(var: Any) -> Any:
    return [_name(one) for one in var] if isinstance(var, (list, tuple)) else getattr(var, "name", None)


def _text(error: Exception) -> str:
    where = traceback.format_exc().splitlines()
    return "\n".join([str(error).split("Error Message Summary:")[-1][:800], *where[-5:-1]])


def _run(fluid: Any, case: dict[str, Any], programs: Any, builder: Builder, result: dict[str, Any]) -> None:
    main, startup = programs
    exe = fluid.Executor(fluid.CPUPlace())
    if startup.global_block().ops:
        exe.run(startup)
    if case.get("shake"):
        _shake(fluid, main, np.random.RandomState(case["shake"]))
    if case.get("save"):
        result["saved"] = digests(lambda folder: fluid.io.save_persistables(exe, folder, main))
    fetch = _flat(builder, case["fetch"])
    variables = [var for _, var in fetch]
    for number, feed in enumerate(_feeds(fluid, case, builder.loader)):
        _hold(fluid, case, number)
        found = exe.run(main, feed=feed, fetch_list=variables, return_numpy=False)
        for (handle, _), value in zip(fetch, found):
            result["values"]["%d %s" % (number, handle)] = value_of(value)
        for handle in case.get("read", ()):
            result["values"]["%d %s" % (number, handle)] = _held(fluid, builder.handles[handle])
    if builder.loader is not None and not case["reader"]["iterable"]:
        result["ended"] = _ends(fluid, exe, main, variables)
        builder.loader.reset()
    if not case.get("reader"):
        _run_copies(fluid, exe, case, programs, builder, result)
    if case.get("persistables"):
        for name in sorted(var.name for var in main.list_vars() if var.persistable and int(var.type) == 7):
            held = fluid.global_scope().find_var(name)
            if held is not None:
                result["values"]["end " + name] = value_of(held.get_tensor())


def _shake(fluid: Any, main: Any, random: Any) -> None:
    """Move what the startup program has made by up to two units of the last place.

    Parameters that are zero (biases) move as the sums round which they join; counters and moments that are zero stay.
    """
    parameters = {var.name for var in main.all_parameters()}
    for name in sorted(var.name for var in main.list_vars() if var.persistable and int(var.type) == 7):
        held = fluid.global_scope().find_var(name)
        if held is None or not held.get_tensor()._is_initialized():
            continue
        array = np.array(held.get_tensor())
        if array.dtype.kind == "f":
            size = np.where(array == 0, _SUM, np.abs(array)) if name in parameters else np.abs(array)
            steps = random.choice([-2, -1, 1, 2], array.shape)
            held.get_tensor().set(
                (array + steps * np.finfo(array.dtype).eps * size).astype(array.dtype), fluid.CPUPlace()
            )


def _run_copies(fluid: Any, exe: Any, case: dict[str, Any], programs: Any, builder: Builder, result: Any) -> None:
    """Run the copy for testing, and a model that was saved for inference and loaded again, on the first feed."""
    feed = next(_feeds(fluid, {**case, "runs": 1}, None))
    if builder.test is not None:
        known = builder.test.global_block().vars
        fetch = [(handle, var.name) for handle, var in _flat(builder, case["fetch"]) if var.name in known]
        found = exe.run(builder.test, feed=feed, fetch_list=[name for _, name in fetch], return_numpy=False)
        result["values"].update(("test " + handle, value_of(value)) for (handle, _), value in zip(fetch, found))
    if case.get("inference"):
        run_saved(fluid, exe, case["inference"], programs[0], builder.handles, feed, result)


def _hold(fluid: Any, case: dict[str, Any], number: int) -> None:
    """Put the inputs that cannot be fed into the scope: sparse rows and arrays of tensors."""
    for name, given in case["inputs"].items():
        if given["how"] not in KINDS:
            continue
        var, written = fluid.global_scope().var(name), given["values"][number]
        if given["how"] == "rows":
            held = var.get_selected_rows()
            held.set_height(written["height"])
            held.set_rows(written["rows"])
            held.get_tensor().set(decode(written), fluid.CPUPlace())
            held.sync_index()
            continue
        array = var.get_lod_tensor_array()
        for one in written:
            tensor = fluid.LoDTensor()
            tensor.set(decode(one), fluid.CPUPlace())
            tensor.set_recursive_sequence_lengths(one.get("lod", []))
            array.append(tensor)


def _held(fluid: Any, var: Any) -> Any:
    """Return what the scope holds after a run: a tensor, sparse rows or an array of tensors."""
    held, kinds = fluid.global_scope().find_var(var.name), fluid.core.VarDesc.VarType
    if var.type == kinds.LOD_TENSOR_ARRAY:
        return value_of(held.get_lod_tensor_array())
    if var.type != kinds.SELECTED_ROWS:
        return value_of(held.get_tensor())
    rows = held.get_selected_rows()
    written = encode(np.array(rows.get_tensor()))
    written.update(rows=list(map(int, rows.rows())), height=rows.height())
    return written


def _feeds(fluid: Any, case: dict[str, Any], loader: Any) -> Any:
    """Yield what each run is fed with: a dict, what an iterable loader yields, or nothing where ops read."""
    runs = range(case.get("runs", 1))
    given = [(name, one) for name, one in case["inputs"].items() if one["how"] not in KINDS]
    if loader is None:
        return iter([{name: _fed(fluid, one["values"][number]) for name, one in given} for number in runs])

    def batches() -> Any:
        for number in runs:
            yield [_fed(fluid, one["values"][number]) for _, one in given]

    name = "decorate_batch_generator" if case["reader"]["kind"] == "PyReader" else "set_batch_generator"
    getattr(loader, name)(batches, places=fluid.CPUPlace())
    if case["reader"]["iterable"]:
        return iter(loader())
    loader.start()
    return iter([None for _ in runs])


def _ends(fluid: Any, exe: Any, main: Any, fetch: list[Any]) -> bool:
    """Return whether the run behind the last batch raises EOFException."""
    try:
        exe.run(main, fetch_list=fetch)
    except fluid.core.EOFException:
        return True
    return False


def _flat(builder: Builder, handles: list[str]) -> list[tuple[str, Any]]:
    """Return the Variables to fetch; a gradient that does not exist is left out."""
    found = []
    for handle in handles:
        var = builder.handles[handle]
        many = list(_leaves(var))
        found += [(handle if len(many) == 1 else "%s.%d" % (handle, i), one) for i, one in enumerate(many)]
    return [(handle, var) for handle, var in found if var is not None]


def _leaves(var: Any) -> Any:
    """Yield the Variables of a result, which may be lists of lists."""
    if isinstance(var, (list, tuple)):
        for one in var:
            yield from _leaves(one)
    else:
        yield var


def _fed(fluid: Any, written: dict[str, Any]) -> Any:
    array = decode(written)
    if "lod" not in written:
        return array
    tensor = fluid.LoDTensor()
    tensor.set(array, fluid.CPUPlace())
    tensor.set_recursive_sequence_lengths(written["lod"])
    return tensor
