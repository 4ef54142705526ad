"""Run the attack with the C compiled under AddressSanitizer and UndefinedBehaviorSanitizer.

    python -m tests.fuzz.sanitized [TARGET ...] [--count 2000]
    python -m tests.fuzz.sanitized --tests tests/ops/test_fast_conv.py ...

Builds all C of the package into a temporary folder with gcc, starts Python anew with the sanitizer's library in front,
and lets the parsers, or the tests that are named, use these builds. A find ends the process with a report.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = {
    module["name"]: module["sources"][0]
    for module in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["ext-modules"]
}
FLAGS = ["-shared", "-fPIC", "-g", "-O1", "-w", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
FOLDER = "FLUIDIO_SANITIZED"  # set in the process that runs the builds


def build(folder: str) -> None:
    """Compile all C with the sanitizers."""
    include = sysconfig.get_paths()["include"]
    for name, source in MODULES.items():
        subprocess.run(["gcc", *FLAGS, f"-I{include}", "-o", f"{folder}/{name}.so", str(ROOT / source)], check=True)


def use(folder: str) -> None:
    """Put the builds where imports look first."""
    for name in MODULES:
        loader = importlib.machinery.ExtensionFileLoader(name, f"{folder}/{name}.so")
        spec = importlib.util.spec_from_loader(name, loader)
        assert spec is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        loader.exec_module(sys.modules[name])


def libraries() -> str:
    """Return the sanitizers' libraries, which must be loaded before everything else."""
    asked = [["gcc", f"-print-file-name={name}"] for name in ("libasan.so", "libubsan.so")]
    return ":".join(subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip() for words in asked)


def attack(targets: list[str], count: int) -> None:
    """Attack the targets that use C."""
    from fluidio.pickles import opcodes
    from fluidio.recordio.decode import loops
    from fluidio.recordio.format import compressors
    from tests.fuzz import run

    assert opcodes.compiled.__name__ in MODULES and loops.compiled.__name__ in MODULES
    assert compressors.compiled is sys.modules["fluidio.recordio._snappy"]
    for name in targets:
        print(f"{name}: {run.attack(name, range(count))} of {count} taken for good, no find", flush=True)


def run_tests(paths: list[str]) -> int:
    """Run tests with the builds."""
    import pytest

    return int(pytest.main(["-q", "-p", "no:randomly", "-p", "no:cacheprovider", *paths]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", default=["recordio", "pickles"])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="run these tests instead")
    options = parser.parse_args()
    if FOLDER in os.environ:
        use(os.environ[FOLDER])
        if options.tests:
            return run_tests(options.tests)
        attack(options.targets, options.count)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        build(folder)
        # Python keeps memory at its end, and hides errors of its own allocator from the sanitizer.
        extra = {"ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc", "LD_PRELOAD": libraries(), FOLDER: folder}
        words = [sys.executable, "-m", "tests.fuzz.sanitized", *sys.argv[1:]]
        return subprocess.run(words, cwd=ROOT, env={**os.environ, **extra}).returncode


if __name__ == "__main__":
    sys.exit(main())
