"""Run a script or module as `__main__`, as `python` would, with fluidio as paddle."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import sys
import traceback
import types
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path

from fluidio.distributed import fail
from fluidio.errors import DeviceError, NotHere
from fluidio.names.modules_here import AliasLoader
from fluidio.paddle.sources import compile_source, install_capsule
from fluidio.program.call_site import is_ours

__all__ = ["load_worker_main", "run_module", "run_script"]

# Modules that legacy scripts import -> the package to install.
_PIP_NAMES = {
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}


def run_script(path: str, argv: Sequence[str]) -> int:
    """Execute a file as `__main__` and return its exit status."""
    script = Path(path)
    if script.is_dir():
        script = script / "__main__.py"
    if not script.is_file():
        print(f"fluidio run: can't open file {path!r}: no such file", file=sys.stderr)
        return 2
    sys.argv = [path, *argv]
    sys.path[0:0] = [str(script.parent.resolve())]
    return _execute(script, spec=None)


def run_module(name: str, argv: Sequence[str]) -> int:
    """Execute a module as `python -m` does and return its exit status."""
    sys.path[0:0] = [os.getcwd()]
    spec = importlib.util.find_spec(name)
    if spec is not None and isinstance(spec.loader, AliasLoader):
        return _run_own(name, argv)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{name}.__main__")
    if spec is None or spec.origin is None:
        print(f"fluidio run: No module named {name!r}", file=sys.stderr)
        return 1
    sys.argv = [spec.origin, *argv]
    return _execute(Path(spec.origin), spec)


def _run_own(name: str, argv: Sequence[str]) -> int:
    """Run one of fluidio's own modules, such as paddle.distributed.launch."""
    sys.argv = [name, *argv]
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    except SystemExit as stop:
        return _status(stop)
    return 0


def _execute(script: Path, spec: ModuleSpec | None) -> int:
    main = types.ModuleType("__main__")
    main.__file__ = str(script)
    main.__spec__ = spec
    if spec is not None:
        main.__package__ = spec.parent
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    if "__mp_main__" in sys.modules:
        sys.modules["__mp_main__"] = main  # multiprocessing's second name for it
    install_capsule()
    try:
        loaded = compile_source(script.read_bytes(), str(script), in_package=bool(main.__package__))
        loaded.prepare(main.__dict__)
        exec(loaded.code, main.__dict__)
    except SystemExit as stop:
        fail(stop)
        return _status(stop)
    except KeyboardInterrupt as error:
        print("KeyboardInterrupt", file=sys.stderr)
        fail(error)
        return 130
    except BaseException as error:
        _report(error)
        fail(error)
        return 1
    return 0


def load_worker_main(path: str) -> None:
    """Load a program's main script in a worker process, under multiprocessing's name for it."""
    if getattr(sys.modules["__main__"], "__file__", None) == path:
        return
    main = types.ModuleType("__mp_main__")
    main.__file__ = path
    main.__dict__["__builtins__"] = __builtins__
    loaded = compile_source(Path(path).read_bytes(), path)
    loaded.prepare(main.__dict__)
    exec(loaded.code, main.__dict__)
    sys.modules["__main__"] = sys.modules["__mp_main__"] = main


def _status(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code
    print(stop.code, file=sys.stderr)
    return 1


def _report(error: BaseException) -> None:
    """Print the traceback without fluidio's own frames above the script, and a line of advice if there is one."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    if isinstance(error, ModuleNotFoundError) and error.name:
        print(f"fluidio run: {_site(trace)}{error}{_advice(error.name)}", file=sys.stderr)
        return
    traceback.print_exception(type(error), error, trace)
    if isinstance(error, ImportError) and (advice := _instead(error)):
        print(f"fluidio run: {_site(trace)}{advice}", file=sys.stderr)
    if isinstance(error, DeviceError) or isinstance(error.__cause__, DeviceError):
        print("fluidio run: to run on the CPU: python -m fluidio run --device cpu SCRIPT", file=sys.stderr)


def _site(trace: types.TracebackType | None) -> str:
    """Return "file:line: " of the script's own line that failed, or ""."""
    frames = [f for f in traceback.extract_tb(trace) if not is_ours(f.filename) and "importlib" not in f.filename]
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""


def _instead(error: ImportError) -> str:
    """Return a module's advice about a name that could not be imported from it, which Python omits."""
    name = re.match(r"cannot import name '(\w+)'", str(error))
    module = sys.modules.get(error.name or "")
    if name is not None and module is not None:
        try:
            getattr(module, name[1])
        except NotHere as advice:
            return str(advice)
        except AttributeError:
            return ""
    return ""


def _advice(module: str) -> str:
    root = module.partition(".")[0]
    if root in ("paddle", "recordio"):
        return ""
    return f" (pip install {_PIP_NAMES.get(root, root)})"
