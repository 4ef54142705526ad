"""`fluidio doctor`: say what fluidio finds on this machine; with --gpu, check and measure the GPU as well."""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

import fluidio
from fluidio.cli import doctor_tests, gpu_checks
from fluidio.distributed import describe_launch
from fluidio.places import get_cuda_device_count
from fluidio.recordio.decode import loops
from fluidio.recordio.format import compressors
from fluidio.version import __version__

__all__ = ["HELP", "add_arguments", "run"]

HELP = "report the environment, ready to paste into an issue; --gpu checks and measures the GPU"
_PACKAGES = (
    "numpy",
    "crc32c",
    "cramjam",
    "isal",
    "six",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "pyarrow",
    "fsspec",
    "torch",
    "mpi4py",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.epilog = "example: fluidio doctor --gpu"
    parser.add_argument(
        "--gpu",
        action="store_true",
        help="check programs and transfers on the GPU, measure overlap and, in a checkout, run the tests marked gpu",
    )
    parser.add_argument(
        "--device", type=_device, default=0, metavar="N", help="the GPU to check (default: %(default)s)"
    )
    parser.add_argument(
        "--megabytes", type=_size, default=16, help="size of a batch in the measurement (default: %(default)s)"
    )
    parser.add_argument(
        "--tests",
        action=argparse.BooleanOptionalAction,
        help="with --gpu: fail where the tests cannot run, or leave them out (default: run them where they can)",
    )


def _device(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than 0")
    return number


def _size(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a size")
    return number


def run(args: argparse.Namespace) -> int:
    """Print the report; return 1 when a check of the GPU failed."""
    print(f"fluidio {__version__} from {Path(fluidio.__file__).parent}")
    print(f"Python {platform.python_version()} on {platform.platform()}, {os.cpu_count()} cores")
    print("packages: " + ", ".join(_versions()))
    print(f"RecordIO: {_recordio()}")
    print(f"trainers: {describe_launch()}")
    if not args.gpu:
        count = get_cuda_device_count()
        print(f"GPUs: {count}" + (" (`fluidio doctor --gpu` checks them)" if count else _why_no_gpu()))
        return 0
    for line in gpu_checks.describe(args.device):
        print(line)
    failed = sum(not _check(name, check, args.device) for name, check in gpu_checks.CHECKS.items())
    failed += not _measure(args.device, args.megabytes)
    failed += not _run_tests(args.device, args.tests)
    print("all checks passed" if not failed else f"{failed} check(s) failed: please report this with the lines above")
    return int(failed > 0)


def _versions() -> list[str]:
    found = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _recordio() -> str:
    if loops.compiled is not None and compressors.compiled is not None:
        return "its loops and snappy are compiled"
    return "in Python; installed again where there is a C compiler, it reads up to twice as fast"


def _why_no_gpu() -> str:
    try:
        gpu_checks.describe(0)
    except Exception as error:
        return f" ({error})"
    return ""


def _check(name: str, check: Callable[[int], None], device: int) -> bool:
    began = time.perf_counter()
    try:
        check(device)
    except Exception as error:
        print(f"  FAILED  {name}: {type(error).__name__}: {error}")
        return False
    print(f"  ok      {name} ({time.perf_counter() - began:.1f} s)")
    return True


def _measure(device: int, megabytes: float) -> bool:
    try:
        print(gpu_checks.measure(device, megabytes))
    except Exception as error:
        print(f"  FAILED  the measurement of overlap: {type(error).__name__}: {error}")
        return False
    return True


def _run_tests(device: int, wanted: bool | None) -> bool:
    """Run the tests marked gpu unless the user does not want them; where they cannot run, fail if he asked for them."""
    if wanted is False:
        print("tests marked gpu: left out (--no-tests)")
        return True
    if reason := doctor_tests.why_not():
        print(f"{'  FAILED  ' if wanted else ''}tests marked gpu: not run: {reason}")
        return not wanted
    print("tests marked gpu: running, this takes some minutes (--no-tests leaves them out)", flush=True)
    passed, lines = doctor_tests.run_tests(device)
    print("\n".join([*lines[:-1], f"  {'ok    ' if passed else 'FAILED'}  tests marked gpu: {lines[-1]}"]))
    return passed
