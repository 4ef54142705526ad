"""What the cases of this folder are written with: `fluid` is the real 1.8.5 under record.py, fluidio in the tests."""

from __future__ import annotations

import importlib
import os
import shutil
import tempfile
import warnings

import numpy as np

REAL = os.environ.get("SEEN") == "real"
if REAL:
    import paddle
    import paddle.fluid as fluid

    for _module in ("default_scope_funcs", "incubate.data_generator"):
        importlib.import_module("paddle.fluid." + _module)
else:
    import fluidio as fluid
    from fluidio import paddle

layers, core, io = fluid.layers, fluid.core, fluid.io
CPU, batch, reader = fluid.CPUPlace(), paddle.batch, paddle.reader


def numbers(*shape):
    return ((np.arange(np.prod(shape)).reshape(shape) % 7 + 1.0) / 3).astype("float32")


def run(fetch, feed=None, prog=None, numpy=True):
    exe = fluid.Executor(CPU)
    exe.run(fluid.default_startup_program())
    return exe.run(prog, feed=feed or {}, fetch_list=fetch, return_numpy=numpy)


def started():
    exe = fluid.Executor(CPU)
    exe.run(fluid.default_startup_program())
    return exe


def lt(rows, lengths):
    return fluid.create_lod_tensor(np.array(rows), lengths, CPU)


def tryit(f, *args, **kwargs):
    """Return what a call returns or raises."""
    try:
        return f(*args, **kwargs)
    except Exception as error:
        return error


def ops(program=None):
    return [op.type for op in (program or fluid.default_main_program()).global_block().ops]


def names(program=None):
    return sorted((program or fluid.default_main_program()).global_block().vars)


class fresh:
    """New programs, names and scope."""

    def __enter__(self):
        self.guards = [
            fluid.unique_name.guard(),
            fluid.scope_guard(core.Scope()),
            fluid.program_guard(fluid.Program(), fluid.Program()),
        ]
        for guard in self.guards:
            guard.__enter__()
        fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 7

    def __exit__(self, *error):
        for guard in reversed(self.guards):
            guard.__exit__(*error)


class folder:
    """A folder that goes away."""

    def __enter__(self):
        self.path = tempfile.mkdtemp()
        return self.path

    def __exit__(self, *error):
        shutil.rmtree(self.path)


def kind(error):
    """Return the name of the class that a script of 1.8.5 would have caught."""
    if not REAL:
        for known in (core.EOFException, core.EnforceNotMet):
            if isinstance(error, known):
                return known.__name__
        for base in type(error).__mro__:
            if base.__module__ == "builtins" and base not in (Exception, BaseException, object):
                return base.__name__
        return "Exception"
    return type(error).__name__


def plain(value, depth=0):
    """Return a value as JSON can hold it: arrays with dtype and dims, objects by their class."""
    if depth > 6:
        return "..."
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if type(value).__name__ in ("VarType", "AttrType", "OpRole"):
        return str(value).split(".")[-1].upper()
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float("%.7g" % float(value)) if np.isfinite(value) else str(float(value))
    if isinstance(value, np.ndarray):
        shown = [plain(one) for one in np.asarray(value).reshape(-1)[:60]]
        return {"dtype": str(value.dtype), "shape": list(value.shape), "values": shown}
    if isinstance(value, (list, tuple)):
        return [plain(one, depth + 1) for one in value]
    if isinstance(value, dict):
        return {str(plain(key)): plain(one, depth + 1) for key, one in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plain(one, depth + 1) for one in value), key=str)
    if isinstance(value, BaseException):
        return "raises " + kind(value)
    return _object(value)


def _object(value):
    name = type(value).__name__
    if name == "LoDTensor":
        return {"tensor": plain(tryit(np.array, value)), "lengths": plain(value.recursive_sequence_lengths())}
    if name in ("Variable", "Parameter"):
        return "%s %s %s" % (value.name, tuple(value.shape), plain(value.dtype))
    return "op " + value.type if name == "Operator" else "<%s>" % name


def result(case):
    """Run a case in fresh programs and return what it gives, plain."""
    np.random.seed(1)
    with fresh(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return plain(case())


def cases(module):
    """Return the cases of a module by name: its public functions, in the order of the file."""
    found = importlib.import_module("tests.data.seen." + module)
    return {n: f for n, f in vars(found).items() if getattr(f, "__module__", "") == found.__name__ and n[0] != "_"}
