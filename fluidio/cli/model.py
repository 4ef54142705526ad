"""`fluidio model VERB`: inspect saved models, run them, and convert them."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from fluidio.cli.json_output import json_text
from fluidio.cli.model_run import RUN_EXAMPLES, add_diff, add_run, run_diff, run_run
from fluidio.cli.terminal import one_line
from fluidio.errors import ModelError

HELP = "inspect, run, export, import and compare saved models"
_EXIT = (
    "exit status: 0 done; 1 an error, or a model that is damaged, does not fit or differs; 2 wrong usage; "
    "130 interrupted"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: fluidio model inspect saved_model/; `fluidio model VERB --help` has one for each"
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, (help_text, example, add) in _VERBS.items():
        verb = verbs.add_parser(
            name,
            help=help_text,
            description=help_text,
            epilog=f"examples:\n{example}\n\n{_EXIT}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add(verb)


def _path(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a folder, a file, or the prefix given to fluid.save")
    parser.add_argument("--model-filename", metavar="NAME", help="the program's file in the folder")
    parser.add_argument("--params-filename", metavar="NAME", help="the combined file of parameters in the folder")


def _inspect(parser: argparse.ArgumentParser) -> None:
    _path(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="do not read the tensors: no statistics")


def _export(parser: argparse.ArgumentParser) -> None:
    _path(parser)
    parser.add_argument("output", metavar="OUT", help="the file to write; for paddle the prefix of two files")
    parser.add_argument(
        "--to", required=True, choices=["onnx", "paddle", "safetensors", "npz", "torch"], help="the new form"
    )
    parser.add_argument(
        "--targets", metavar="A,B,...", help="onnx, paddle: variables to compute (those it was saved with)"
    )
    parser.add_argument("--feeds", metavar="A,B,...", help="onnx, paddle: variables to feed (those it was saved with)")
    parser.add_argument(
        "--verify",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="onnx: compare with fluidio on random inputs before writing (where onnxruntime is installed)",
    )
    parser.add_argument("--mapping", metavar="FILE", help="JSON or lines of `OLD NEW`: names of the tensors")
    parser.add_argument("--transpose-fc", action="store_true", help="fc weights as (out, in), as PyTorch has them")
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress line")


def _import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("weights", metavar="WEIGHTS", help="a .safetensors, .npz or PyTorch file")
    parser.add_argument("--into", required=True, metavar="PATH", help="a saved model, or a new folder")
    parser.add_argument("--mapping", metavar="FILE", help="JSON or lines of `WEIGHT VARIABLE`")
    parser.add_argument("--transpose-fc", action="store_true", help="fc weights come as (out, in)")
    parser.add_argument("--transpose", action="append", default=[], metavar="NAME", help="this matrix is transposed")
    parser.add_argument("--cast", action="store_true", help="convert dtypes that differ")
    parser.add_argument("--partial", action="store_true", help="accept missing and unused tensors")
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress line")


def _run(parser: argparse.ArgumentParser) -> None:
    _path(parser)
    add_run(parser)


_VERBS: dict[str, tuple[str, str, Any]] = {
    "inspect": (
        "show inputs, outputs, ops, parameters, what is missing or damaged, and which Fluid wrote it",
        "  fluidio model inspect saved/\n  fluidio model inspect saved/all.pdparams --json",
        _inspect,
    ),
    "run": ("run a model on arrays, or on random input to see whether it works", RUN_EXAMPLES, _run),
    "export": (
        "write the model as ONNX or for today's Paddle, or its parameters as safetensors, npz or a PyTorch state_dict",
        "  fluidio model export saved/ --to onnx model.onnx\n"
        "  fluidio model export trained.pdmodel --to onnx model.onnx --targets fc_1.tmp_2\n"
        "  fluidio model export saved/ --to safetensors weights.safetensors\n"
        "  fluidio model export saved/ --to torch weights.pt --transpose-fc",
        _export,
    ),
    "import": (
        "write weights from elsewhere into a saved model",
        "  fluidio model import weights.safetensors --into saved/ --mapping names.json",
        _import,
    ),
    "diff": (
        "compare two models: programs op by op, parameters value by value (status 1 if they differ)",
        "  fluidio model diff epoch_1/ epoch_2/\n  fluidio model diff a/ b/ --tolerance 1e-6 --json",
        add_diff,
    ),
}


def run(args: argparse.Namespace) -> int:
    try:
        return _RUN[args.verb](args)
    except ModelError as error:
        if getattr(args, "json", False):
            print(json_text({"error": error.what, "problems": error.problems}, indent=1))
        print(f"fluidio model {args.verb}: {error}", file=sys.stderr)
        return 1


def run_inspect(args: argparse.Namespace) -> int:
    from fluidio.models.describe import describe, text_of
    from fluidio.models.open_model import open_model

    found = describe(open_model(args.path, args.model_filename, args.params_filename), not args.quick)
    if args.json:
        print(json_text(found, indent=1))
    else:
        print("\n".join(map(one_line, text_of(found))))
    return int(bool(found["problems"]))


def run_export(args: argparse.Namespace) -> int:
    from fluidio.models.open_model import open_model
    from fluidio.models.weights import read_mapping, write_weights

    if args.to == "onnx":
        return _export_onnx(args)
    if args.to == "paddle":
        return _export_paddle(args)
    mapping = read_mapping(args.mapping) if args.mapping else None
    model = open_model(args.path, args.model_filename, args.params_filename)
    with _Pieces(model.size, args.quiet) as pieces:
        tensors = write_weights(
            model, args.to, args.output, mapping=mapping, transpose_fc=args.transpose_fc, tell=pieces.tell
        )
    size = sum(tensor.nbytes for tensor in tensors)
    if args.json:
        listed = [{"name": t.name, "dtype": t.dtype.newbyteorder("=").name, "shape": list(t.shape)} for t in tensors]
        print(json_text({"path": args.output, "tensors": listed}, indent=1))
    else:
        print(f"{args.output}: {len(tensors)} tensors, {size:,} bytes")
    return 0


def _names(text: str | None) -> list[str] | None:
    return [name.strip() for name in text.split(",") if name.strip()] if text else None


def _export_onnx(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from fluidio.models.onnx import export_onnx
    from fluidio.models.open_model import open_model

    model = open_model(args.path, args.model_filename, args.params_filename)
    with _Pieces(model.size, args.quiet) as pieces:
        done = export_onnx(
            model,
            args.output,
            feeds=_names(args.feeds),
            targets=_names(args.targets),
            verify=args.verify,
            tell=pieces.tell,
        )
    if args.json:
        print(json_text(asdict(done), indent=1))
        return 0
    ends = f"inputs {', '.join(done.inputs)}, outputs {', '.join(done.outputs)}"
    print(one_line(f"{done.path}: {done.nodes} nodes, {ends}"))
    for each in done.compared:
        print(f"  {each.text}")
    if done.not_compared:
        print(f"fluidio model export: not compared with fluidio: {done.not_compared}", file=sys.stderr)
    return 0


def _export_paddle(args: argparse.Namespace) -> int:
    from fluidio.models.open_model import open_model
    from fluidio.models.paddle3 import export_paddle

    model = open_model(args.path, args.model_filename, args.params_filename)
    with _Pieces(model.size, args.quiet) as pieces:
        paths = export_paddle(
            model, args.output, feeds=_names(args.feeds), targets=_names(args.targets), tell=pieces.tell
        )
    print(json_text({"paths": paths}) if args.json else "\n".join(paths))
    return 0


def run_import(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from fluidio.models.importing import import_weights
    from fluidio.models.weights import read_mapping, read_weights

    weights = read_weights(args.weights)
    with _Pieces(sum(tensor.nbytes for tensor in weights.values()), args.quiet) as pieces:
        done = import_weights(
            weights,
            args.into,
            mapping=read_mapping(args.mapping) if args.mapping else None,
            transpose_fc=args.transpose_fc,
            transpose=args.transpose,
            cast=args.cast,
            partial=args.partial,
            tell=pieces.tell,
        )
    if args.json:
        print(json_text(asdict(done), indent=1))
        return 0
    print(f"{args.into}: {len(done.written)} tensors written, {len(done.kept)} kept, {len(done.unused)} not used")
    for name in done.unused:
        print(f"  not used: {name}")
    return 0


class _Pieces:
    """A progress line that counts megabytes."""

    def __init__(self, total: int, quiet: bool) -> None:
        from fluidio.conversion.progress import Progress, terminal

        self._progress = Progress(max(1, -(-total // 1_000_000)), "MB", terminal(quiet=quiet))
        self._size = 0

    def __enter__(self) -> _Pieces:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self._progress.done = self._progress.total
            self._progress.finish()

    def tell(self, size: int) -> None:
        self._size += size
        self._progress.bytes += size
        self._progress.done = min(self._size // 1_000_000, self._progress.total - 1)
        self._progress.tell()


_RUN = {"inspect": run_inspect, "run": run_run, "export": run_export, "import": run_import, "diff": run_diff}
