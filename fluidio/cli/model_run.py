"""`fluidio model run` and `fluidio model diff`."""

from __future__ import annotations

import argparse
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from fluidio.cli.json_output import json_text
from fluidio.errors import FluidioError, ModelError

__all__ = ["RUN_EXAMPLES", "add_diff", "add_run", "run_diff", "run_run"]

RUN_EXAMPLES = """  fluidio model run saved/ --feed x=x.npy --output out.npz
  fluidio model run saved/ --feed words=ids.npy --feed words.lod0=offsets.npy
  fluidio model run saved/ --check"""


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `run`."""
    parser.add_argument(
        "--feed",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="an .npy for an input, by name or in their order, or an .npz of several; NAME.lod0 are offsets",
    )
    parser.add_argument("--output", metavar="FILE.npz", help="write the results there")
    parser.add_argument("--targets", metavar="A,B,...", help="variables to compute (those it was saved with)")
    parser.add_argument("--check", action="store_true", help="run it on random input and say whether it works")
    parser.add_argument("--batch", type=int, default=2, metavar="N", help="with --check: how many examples (2)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run_run(args: argparse.Namespace) -> int:
    """Run a model on given or random inputs."""
    from fluidio.models.open_model import open_model
    from fluidio.models.running import Runner, random_feed

    model = open_model(args.path, args.model_filename, args.params_filename)
    model.raise_problems()
    runner = Runner(model, targets=args.targets.split(",") if args.targets else None)
    if args.check:
        feed = random_feed(runner.program, runner.feeds, max(1, args.batch))
    else:
        feed = _feed(args.feed, runner.feeds)
    try:
        found = runner.run(feed)
    except (FluidioError, ValueError, TypeError) as error:
        if isinstance(error, ModelError) or not args.check:
            raise
        raise ModelError(f"{args.path}: the model does not run on random input", str(error).splitlines()) from error
    results = {name: np.array(tensor) for name, tensor in zip(runner.targets, found)}
    _tell(args, runner.targets, found)
    if args.output:
        lods = {f"{n}.lod{i}": np.asarray(o) for n, t in zip(runner.targets, found) for i, o in enumerate(t.lod())}
        _save(args.output, {**results, **lods})
    bad = [name for name, array in results.items() if array.dtype.kind == "f" and not np.isfinite(array).all()]
    if args.check and bad:
        print(f"fluidio model run: {args.path}: NaN or infinite in {', '.join(bad)}", file=sys.stderr)
        return 1
    return 0


def _tell(args: argparse.Namespace, names: list[str], found: list[Any]) -> None:
    about = []
    for name, tensor in zip(names, found):
        array = np.array(tensor)
        about.append({"name": name, "shape": list(array.shape), "dtype": str(array.dtype), "lod": tensor.lod()})
    if args.json:
        print(json_text({"path": args.path, "works": True, "outputs": about}, indent=1))
        return
    if args.check:
        print(f"{args.path}: works")
    for each, tensor in zip(about, found):
        lod = f", LoD {each['lod']}" if each["lod"] else ""
        text = np.array2string(np.array(tensor), threshold=12, precision=6)
        print(f"{each['name']} {each['dtype']}{each['shape']}{lod}" + ("" if args.check else f"\n{text}"))


def _save(path: str, arrays: dict[str, Any]) -> None:
    from fluidio.models.npz import write_npz
    from fluidio.models.stored import in_memory
    from fluidio.ops.io.whole_files import write_whole

    with write_whole(path) as file:
        write_npz(file, [in_memory(name, np.ascontiguousarray(array)) for name, array in arrays.items()])


def _feed(given: list[str], names: list[str]) -> dict[str, Any]:
    """Return the inputs from files; those without a name are assigned in order."""
    from fluidio.recordio.files.zipped_arrays import read_array, read_zipped_arrays

    arrays: dict[str, Any] = {}
    unnamed = iter(names)
    for text in given:
        name, separator, path = text.partition("=")
        if not separator:
            name, path = "", text
        try:
            if zipfile.is_zipfile(path):
                arrays.update(read_zipped_arrays(path))
            else:
                arrays[name or next(unnamed, "")] = read_array(Path(path).read_bytes())
        except ValueError as error:
            raise ModelError(f"{path} is neither an .npy nor an .npz of plain arrays ({error})") from error
    return _tensors(arrays, names)


def _tensors(arrays: dict[str, Any], names: list[str]) -> dict[str, Any]:
    from fluidio.places import CPUPlace
    from fluidio.tensor import LoDTensor

    lods = {key for key in arrays if ".lod" in key and key.rpartition(".lod")[0] in names}
    unknown = sorted(set(arrays) - set(names) - lods)
    if unknown:
        wrong = [f"{name or 'one more file'}: no input of that name" for name in unknown]
        raise ModelError(f"the model takes {', '.join(names)}", wrong)
    found = {}
    for name in (name for name in names if name in arrays):
        tensor = LoDTensor()
        tensor.set(arrays[name], CPUPlace())
        levels = sorted(key for key in lods if key.rpartition(".lod")[0] == name)
        if levels:
            tensor.set_lod([[int(n) for n in arrays[key]] for key in levels])
        found[name] = tensor
    return found


def add_diff(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `diff`."""
    parser.add_argument("first", metavar="A", help="a folder, a file, or the prefix given to fluid.save")
    parser.add_argument("second", metavar="B")
    parser.add_argument(
        "--tolerance", type=float, default=0.0, metavar="SHARE", help="of the largest value (0: the same bits)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run_diff(args: argparse.Namespace) -> int:
    """Compare two models; return 1 if they differ."""
    from fluidio.models.diff import diff_models
    from fluidio.models.open_model import open_model

    found = diff_models(open_model(args.first), open_model(args.second), args.tolerance)
    if args.json:
        print(json_text(found.as_dict(), indent=1))
    else:
        print("\n".join([*found.lines(), f"{found.alike} parameters are alike"]))
    return int(not found.same)
