"""The verbs of `fluidio records` that show records or write new sets of some of them."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

from fluidio.errors import ConversionError
from fluidio.recordio.files.paths import expand

__all__ = ["VERBS", "add_verbs", "run_verb", "show_progress"]


def add_verbs(actions: Any) -> None:
    """Add the parsers of all verbs."""
    for name, (help_text, example, add) in _PARSERS.items():
        parser = actions.add_parser(name, help=help_text, description=help_text, epilog=f"example: {example}")
        add(parser)


def _files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="paths, URLs, globs or - (standard input)")


def _looking(parser: argparse.ArgumentParser) -> None:
    _files(parser)
    parser.add_argument("--columns", metavar="A,B,...", help="only these; others are not decoded")
    parser.add_argument("--json", action="store_true", help="JSON lines")


def _making(parser: argparse.ArgumentParser) -> None:
    _files(parser)
    parser.add_argument("--output", required=True, metavar="PREFIX", help="PREFIX-00000-of-... are written")
    parser.add_argument("--shards", type=int, default=1, metavar="N", help="how many (1)")


def _cat(parser: argparse.ArgumentParser) -> None:
    _looking(parser)
    parser.add_argument("-f", "--follow", action="store_true", help="go on when the file, or the pipe, has more")


def _head(parser: argparse.ArgumentParser) -> None:
    _looking(parser)
    parser.add_argument("-n", type=int, default=10, metavar="N", help="how many (10)")


def _sample(parser: argparse.ArgumentParser) -> None:
    _head(parser)
    parser.add_argument("--seed", type=int, default=0)


def _filter(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("expression", help="Python over the names of the slots; np is NumPy")
    _making(parser)


def _select(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("columns", metavar="A,B,...", help="the columns to keep, in this order")
    _making(parser)


def _map(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("function", metavar="MODULE:FUNCTION", help="takes a dict, returns a dict, None or several")
    _making(parser)


def _sort(parser: argparse.ArgumentParser) -> None:
    _making(parser)
    parser.add_argument("--by", required=True, metavar="COLUMN")
    parser.add_argument("--reverse", action="store_true")
    parser.add_argument("--memory", type=int, default=256, metavar="MB", help="memory to use (default: 256)")


def _diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("one", help="a path, URL or glob")
    parser.add_argument("other", help="a path, URL or glob")
    parser.add_argument("--json", action="store_true", help="JSON lines")


_PARSERS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "head": ("show the first records", "fluidio records head 'train-*-of-*' -n 3", _head),
    "cat": ("show all records", "fluidio records cat train.recordio --json | jq .label", _cat),
    "count": ("count records without reading them", "fluidio records count 's3://bucket/train-*-of-*'", _looking),
    "stats": ("figures about columns", "fluidio records stats 'train-*-of-*' --columns label", _looking),
    "sample": ("show records drawn at random", "fluidio records sample 'train-*-of-*' -n 5 --seed 1", _sample),
    "filter": (
        "keep the records for which an expression is true",
        "fluidio records filter 'label < 10' 'train-*-of-*' --output small/train",
        _filter,
    ),
    "select": (
        "keep some columns",
        "fluidio records select label,name 'train-*-of-*' --output labels/train",
        _select,
    ),
    "map": (
        "write what a function makes of each row",
        "fluidio records map my_module:smaller 'train-*-of-*' --output out/train --shards 8",
        _map,
    ),
    "merge": ("write several sets into one, in order", "fluidio records merge a-* b-* --output ab", _making),
    "diff": ("compare records in their order; exit status 1 if they differ", "fluidio records diff a b", _diff),
    "sort": ("sort by a column, in bounded memory", "fluidio records sort 'x-*' --by label --output sorted/x", _sort),
}


def _columns(args: argparse.Namespace) -> list[str] | None:
    return [name.strip() for name in args.columns.split(",")] if args.columns else None


def _show(rows: Iterable[dict[str, Any]], as_json: bool, *, at_once: bool = False) -> int:
    from fluidio.conversion.looking import plain, short

    for number, row in enumerate(rows):
        if as_json:
            print(json.dumps(plain(row), ensure_ascii=False), flush=at_once)
        else:
            values = ", ".join(f"{name}={short(value)}" for name, value in row.items())
            print(f"{number}: {values}", flush=at_once)
    return 0


def _run_head(args: argparse.Namespace) -> int:
    from fluidio.conversion.looking import rows

    with contextlib.closing(rows(expand(args.files), _columns(args))) as found:
        return _show(itertools.islice(found, max(0, args.n)), args.json)


def _run_cat(args: argparse.Namespace) -> int:
    from fluidio.conversion.looking import rows

    if args.follow:
        return _follow(args)
    return _show(rows(expand(args.files), _columns(args)), args.json)


def _follow(args: argparse.Namespace) -> int:
    from fluidio.conversion.looking import rows_of_records
    from fluidio.recordio import follow

    if len(args.files) != 1:
        print("fluidio records: --follow takes one file", file=sys.stderr)
        return 2
    (path,) = args.files
    records = ((path, number, record) for number, record in enumerate(follow(path)))
    return _show(rows_of_records(records, _columns(args)), args.json, at_once=True)


def _run_count(args: argparse.Namespace) -> int:
    from fluidio.conversion.tools import count

    paths = expand(args.files)
    counts = count(paths)
    if args.json:
        for path, number in zip(paths, counts):
            print(json.dumps({"path": path, "records": number}))
    elif len(paths) == 1:
        print(counts[0])
    else:
        print(f"{sum(counts)} records in {len(paths)} files, {min(counts)} to {max(counts)} in each")
    return 0


def _run_stats(args: argparse.Namespace) -> int:
    from fluidio.conversion.stats import stats

    for each in stats(expand(args.files), _columns(args)):
        if args.json:
            print(json.dumps(each.as_json()))
            continue
        facts = [f"{each.name}: {each.type}, {each.records} records"]
        if each.mean is not None:
            least, most = (f"{n:g}" if isinstance(n, float) else str(n) for n in (each.least, each.most))
            facts.append(f"{least} to {most}, mean {each.mean:.6g}, std {each.std:.6g}")
        if each.longest is not None:
            facts.append(f"lengths {each.shortest} to {each.longest}, mean {each.mean_length:.4g}")
        if each.not_finite:
            facts.append(f"{each.not_finite} values are not finite")
        print(", ".join(facts))
    return 0


def _run_sample(args: argparse.Namespace) -> int:
    from fluidio.conversion.looking import rows_of_records
    from fluidio.conversion.tools import sample

    drawn = sample(expand(args.files), max(0, args.n), args.seed)
    return _show(rows_of_records(drawn, _columns(args)), args.json)


def _made(paths: list[str], records: int | None = None, of: int | None = None) -> int:
    counted = "" if records is None else f"{records} records" + (f" of {of}" if of is not None else "") + " in "
    print(f"{counted}{len(paths)} shards, the first is {paths[0]}")
    return 0


def _run_filter(args: argparse.Namespace) -> int:
    from fluidio.conversion.tools import filtered

    return _made(*filtered(expand(args.files), args.expression, args.output, args.shards))


def _run_select(args: argparse.Namespace) -> int:
    from fluidio.conversion.tools import select

    return _made(select(expand(args.files), _columns(args) or [], args.output, args.shards))


def _run_map(args: argparse.Namespace) -> int:
    from fluidio.conversion.tools import mapped

    return _made(*mapped(expand(args.files), args.function, args.output, args.shards))


def _run_merge(args: argparse.Namespace) -> int:
    from fluidio.conversion.tools import merge

    return _made(merge(expand(args.files), args.output, args.shards))


def _run_sort(args: argparse.Namespace) -> int:
    from fluidio.conversion.tools import sorted_by

    memory = max(1, args.memory) << 20
    made = sorted_by(expand(args.files), args.by, args.output, args.shards, reverse=args.reverse, memory=memory)
    return _made(made)


def _run_diff(args: argparse.Namespace) -> int:
    from fluidio.conversion.looking import row_of_record, short
    from fluidio.conversion.tools import diff

    differing, first = diff(expand(args.one), expand(args.other))
    for number, a, b in first:
        if args.json:
            print(json.dumps({"record": number, "one": a is not None, "other": b is not None}))
            continue
        texts = ["nothing" if r is None else short(row_of_record(r), 200) for r in (a, b)]
        print(f"record {number}:\n  - {texts[0]}\n  + {texts[1]}")
    if not args.json:
        print(f"{differing} records differ" if differing else "all records are equal")
    return int(bool(differing))


VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "head": _run_head,
    "cat": _run_cat,
    "count": _run_count,
    "stats": _run_stats,
    "sample": _run_sample,
    "filter": _run_filter,
    "select": _run_select,
    "map": _run_map,
    "merge": _run_merge,
    "sort": _run_sort,
    "diff": _run_diff,
}


def _progress(args: argparse.Namespace) -> contextlib.AbstractContextManager[None]:
    """Show the progress of verbs that write a set or compare two; the others print their results."""
    if not hasattr(args, "output") and args.action != "diff":
        return contextlib.nullcontext()
    return show_progress([args.one] if args.action == "diff" else args.files)


def show_progress(files: object) -> contextlib.AbstractContextManager[None]:
    """Show how many of the records of some files were read, on a terminal."""
    from fluidio.conversion.progress import showing
    from fluidio.conversion.tools import count

    return showing(lambda: sum(count(expand(files))))


def run_verb(args: argparse.Namespace) -> int:
    """Run the requested verb."""
    if getattr(args, "shards", 1) < 1:
        print("fluidio records: --shards is at least 1", file=sys.stderr)
        return 2
    try:
        with _progress(args):
            return VERBS[args.action](args)
    except UnicodeDecodeError as error:
        raise ConversionError(f"the manifest says text, but a record is not UTF-8: {error}") from error
