"""`fluidio doctor`: report what fluidio finds on this machine; with --gpu, also check and measure the GPU."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import math
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

import fluidio
from fluidio.cli import doctor_tests, gpu_checks, gpu_speed
from fluidio.cli.report import Report
from fluidio.distributed import describe_launch
from fluidio.places import get_cuda_device_count
from fluidio.version import FLUID_VERSION, __version__

__all__ = ["HELP", "add_arguments", "run"]

HELP = "report the environment, ready to paste into an issue; --gpu checks and measures the GPU"
_PACKAGES = (
    "numpy",
    "crc32c",
    "cramjam",
    "isal",
    "six",
    "fissix",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "pyarrow",
    "fsspec",
    "torch",
    "mpi4py",
    "onnx",
    "onnxruntime",
    "safetensors",
)
_SETTINGS = ("FLUIDIO_", "FLAGS_", "CPU_NUM", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "CUDA_VISIBLE_DEVICES")


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
        help="with --gpu: fail where the tests cannot run, or skip them (default: run them where they can)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("fluidio-gpu.txt"),
        metavar="FILE",
        help="with --gpu: where to write the report (default: %(default)s)",
    )


def _device(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected the number of a GPU, 0 or more, got {text!r}")
    return int(text)


def _size(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number of megabytes above 0, got {text!r}")
    return number


def run(args: argparse.Namespace) -> int:
    """Print the report; return 1 if a check of the GPU failed."""
    report = Report()
    _environment(report)
    if not args.gpu:
        count = get_cuda_device_count()
        report.add(f"GPUs: {count}" + (" (`fluidio doctor --gpu` checks them)" if count else _why_no_gpu()))
        return 0
    failed = _gpu(report, args)
    report.add("all checks passed" if not failed else f"{failed} check(s) failed: please report this")
    report.write(args.output)
    print(f"written to {args.output}: please send this file, good news included (docs/gpu.md says where)")
    return int(failed > 0)


def _environment(report: Report) -> None:
    report.add(f"fluidio {__version__} (as Fluid {FLUID_VERSION}) from {Path(fluidio.__file__).parent}")
    report.add(f"Python {platform.python_version()} on {platform.platform()}, {os.cpu_count()} cores")
    report.add("packages: " + ", ".join(_versions()))
    settings = [f"{name}={os.environ[name]}" for name in sorted(os.environ) if name.startswith(_SETTINGS)]
    report.add("settings: " + (", ".join(settings) or "none"))
    report.add(f"C code: {_c_code()}")
    report.add(f"trainers: {describe_launch()}")


def _gpu(report: Report, args: argparse.Namespace) -> int:
    """Check and measure a card; return how many checks failed."""
    for line in gpu_checks.describe(args.device):
        report.add(line)
    failed = sum(not _check(report, name, check, args.device) for name, check in gpu_checks.CHECKS.items())
    failed += not _measure(report, "overlap", lambda: [gpu_checks.measure(args.device, args.megabytes)])
    failed += not _measure(report, "speed", lambda: gpu_speed.compare_with_the_cpu(args.device))
    return failed + (not _run_tests(report, args.device, args.tests))


def _versions() -> list[str]:
    found = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _c_code() -> str:
    """Say which parts in C are missing: each has a stub beside it, and Python that does the same."""
    root = Path(fluidio.__file__).parent
    parts = sorted(".".join(path.relative_to(root).with_suffix("").parts) for path in root.glob("**/_*.pyi"))
    missing = [part for part in parts if importlib.util.find_spec(f"fluidio.{part}") is None]
    if not missing:
        return f"all {len(parts)} parts are compiled"
    which = "none is compiled" if missing == parts else f"not compiled: {', '.join(missing)}"
    return f"{which}; Python does the same more slowly: install fluidio again where there is a C compiler"


def _why_no_gpu() -> str:
    try:
        gpu_checks.describe(0)
    except Exception as error:
        return f" ({error})"
    return ""


def _check(report: Report, name: str, check: Callable[[int], None], device: int) -> bool:
    began = time.perf_counter()
    try:
        check(device)
    except Exception as error:
        report.add(f"  FAILED  {name}: {type(error).__name__}: {error}")
        return False
    report.add(f"  ok      {name} ({time.perf_counter() - began:.1f} s)")
    return True


def _measure(report: Report, what: str, measure: Callable[[], list[str]]) -> bool:
    try:
        for line in measure():
            report.add(line)
    except Exception as error:
        report.add(f"  FAILED  measuring {what}: {type(error).__name__}: {error}")
        return False
    return True


def _run_tests(report: Report, device: int, wanted: bool | None) -> bool:
    """Run the tests marked gpu unless declined; if they cannot run, fail only if they were requested."""
    if wanted is False:
        report.add("tests marked gpu: not run (--no-tests)")
        return True
    if reason := doctor_tests.why_not():
        report.add(f"{'  FAILED  ' if wanted else ''}tests marked gpu: not run: {reason}")
        return not wanted
    report.add("tests marked gpu: running, this takes some minutes (--no-tests skips them)")
    passed, lines = doctor_tests.run_tests(device)
    for line in [*lines[:-1], f"  {'ok    ' if passed else 'FAILED'}  tests marked gpu: {lines[-1]}"]:
        report.add(line)
    return passed
