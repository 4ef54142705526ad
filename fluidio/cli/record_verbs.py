"""The verbs of `fluidio records` that show records or write new sets of some of them."""

from __future__ import annotations

import argparse
import contextlib
import glob
import itertools
import sys
from collections.abc import Callable, Iterable
from typing import Any

from fluidio.cli.json_output import json_text
from fluidio.cli.terminal import one_line, several, span
from fluidio.errors import ConversionError
from fluidio.recordio.files.paths import expand

__all__ = ["VERBS", "add_verbs", "natural", "run_verb", "shards_made", "show_progress"]


def natural(text: str) -> int:
    """Return the number that an argument is: 0 or more."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, got {number}")
    return number


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
    parser.add_argument("-f", "--follow", action="store_true", help="keep reading when the file, or the pipe, has more")


def _head(parser: argparse.ArgumentParser) -> None:
    _looking(parser)
    parser.add_argument("-n", type=natural, default=10, metavar="N", help="how many (10)")


def _sample(parser: argparse.ArgumentParser) -> None:
    _head(parser)
    parser.add_argument("--seed", type=natural, default=0, help="another number draws others (default: 0)")


def _filter(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("expression", help="Python over the names of the slots; row['a b'] for odd names; np is NumPy")
    _making(parser)


def _select(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("columns", metavar="A,B,...", help="the columns to keep, in this order")
    _making(parser)


def _map(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("function", metavar="MODULE:FUNCTION", help="takes a dict, returns a dict, None or several")
    _making(parser)


def _sort(parser: argparse.ArgumentParser) -> None:
    _making(parser)
    parser.add_argument("--by", required=True, metavar="COLUMN", help="of numbers or text; NaN counts as the largest")
    parser.add_argument("--reverse", action="store_true", help="the largest first")
    parser.add_argument("--memory", type=int, default=256, metavar="MB", help="memory to use (default: 256)")


def _diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("one", help="a path, URL or glob")
    parser.add_argument("other", help="a path, URL or glob")
    parser.add_argument("--json", action="store_true", help="JSON lines")


_PARSERS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "head": ("show the first records", "fluidio records head 'train-*-of-*' -n 3", _head),
    "cat": ("show all records", "fluidio records cat train.recordio --json | jq .label", _cat),
    "count": ("count records without reading them", "fluidio records count 's3://bucket/train-*-of-*'", _looking),
    "stats": ("show statistics of each column", "fluidio records stats 'train-*-of-*' --columns label", _looking),
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
        "apply a function to each row and write the results",
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
            print(json_text(plain(row)), flush=at_once)
        else:
            values = ", ".join(f"{name}={short(value)}" for name, value in row.items())
            print(one_line(f"{number}: {values}"), flush=at_once)
    return 0


def _run_head(args: argparse.Namespace) -> int:
    from fluidio.conversion.looking import rows

    with contextlib.closing(rows(args.files, _columns(args))) as found:
        return _show(itertools.islice(found, args.n), args.json)


def _run_cat(args: argparse.Namespace) -> int:
    from fluidio.conversion.looking import rows

    if args.follow:
        return _follow(args)
    return _show(rows(args.files, _columns(args)), args.json)


def _follow(args: argparse.Namespace) -> int:
    from fluidio.conversion.looking import rows_of_records
    from fluidio.recordio import follow

    files = [name for path in args.files for name in (expand(path) if glob.has_magic(path) else [path])]
    if len(files) != 1:
        print("fluidio records: --follow takes one file", file=sys.stderr)
        return 2
    (path,) = files
    records = ((path, number, record) for number, record in enumerate(follow(path)))
    return _show(rows_of_records(records, _columns(args)), args.json, at_once=True)


def _run_count(args: argparse.Namespace) -> int:
    from fluidio.conversion.progress import showing
    from fluidio.conversion.tools import count

    paths = args.files
    with showing(lambda: len(paths), "files", if_long=True):
        counts = count(paths)
    if args.json:
        for path, number in zip(paths, counts):
            print(json_text({"path": path, "records": number}))
    elif len(paths) == 1:
        print(counts[0])
    else:
        print(f"{several(sum(counts), 'record')} in {len(paths)} files, {span(min(counts), max(counts))} in each")
    return 0


def _run_stats(args: argparse.Namespace) -> int:
    from fluidio.conversion.stats import stats

    with show_progress(args.files):
        found = stats(args.files, _columns(args))
    for each in found:
        if args.json:
            print(json_text(each.as_json()))
            continue
        facts = [f"{each.name}: {each.type}, {several(each.records, 'record')}"]
        if each.mean is not None:
            least, most = (f"{n:g}" if isinstance(n, float) else str(n) for n in (each.least, each.most))
            facts.append(f"{least} to {most}, mean {each.mean:.6g}, std {each.std:.6g}")
        if each.longest is not None:
            facts.append(f"lengths {each.shortest} to {each.longest}, mean {each.mean_length:.4g}")
        if each.not_finite:
            facts.append(f"{each.not_finite} values are not finite")
        print(one_line(", ".join(facts)))
    return 0


def _run_sample(args: argparse.Namespace) -> int:
    from fluidio.conversion.looking import rows_of_records
    from fluidio.conversion.tools import sample

    drawn = sample(args.files, args.n, args.seed)
    return _show(rows_of_records(drawn, _columns(args)), args.json)


def _made(paths: list[str], records: int | None = None, of: int | None = None) -> int:
    counted = (
        "" if records is None else f"{several(records, 'record')}" + (f" of {of}" if of is not None else "") + " in "
    )
    print(f"{counted}{shards_made(paths)}")
    return 0


def shards_made(paths: list[str]) -> str:
    """Return a text about new shards."""
    return one_line(f"{len(paths)} shards, the first is {paths[0]}" if len(paths) > 1 else f"1 shard, {paths[0]}")


def _run_filter(args: argparse.Namespace) -> int:
    from fluidio.conversion.tools import filtered

    with show_progress(args.files):
        made = filtered(args.files, args.expression, args.output, args.shards)
    return _made(*made)


def _run_select(args: argparse.Namespace) -> int:
    from fluidio.conversion.tools import select

    with show_progress(args.files):
        made = select(args.files, _columns(args) or [], args.output, args.shards)
    return _made(made)


def _run_map(args: argparse.Namespace) -> int:
    from fluidio.conversion.tools import mapped

    with show_progress(args.files):
        made = mapped(args.files, args.function, args.output, args.shards)
    return _made(*made)


def _run_merge(args: argparse.Namespace) -> int:
    from fluidio.conversion.tools import merge

    with show_progress(args.files):
        made = merge(args.files, args.output, args.shards)
    return _made(made)


def _run_sort(args: argparse.Namespace) -> int:
    from fluidio.conversion.tools import sorted_by

    memory = max(1, args.memory) << 20
    with show_progress(args.files):
        made = sorted_by(args.files, args.by, args.output, args.shards, reverse=args.reverse, memory=memory)
    return _made(made)


def _run_diff(args: argparse.Namespace) -> int:
    from fluidio.conversion.looking import plain, row_of_record, short
    from fluidio.conversion.tools import diff
    from fluidio.recordio.files.notes import slots_of

    one, other = expand(args.one), expand(args.other)
    with show_progress(one):
        differing, first = diff(one, other)
    slots = slots_of(one), slots_of(other)
    for number, *records in first:
        rows = [None if r is None else row_of_record(r, theirs) for r, theirs in zip(records, slots)]
        if args.json:
            print(json_text({"record": number, "one": plain(rows[0]), "other": plain(rows[1])}))
        else:
            texts = ["nothing" if row is None else one_line(short(row, 200)) for row in rows]
            print(f"record {number}:\n  - {texts[0]}\n  + {texts[1]}")
    if not args.json:
        shown = f", the first {len(first)} are shown" if differing > len(first) else ""
        some = "1 record differs" if differing == 1 else f"{differing} records differ"
        print(f"{some}{shown}" if differing else "all records are equal")
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


def show_progress(paths: list[str]) -> contextlib.AbstractContextManager[None]:
    """Show how many of the records of some files were read, on a terminal."""
    from fluidio.conversion.progress import showing
    from fluidio.conversion.tools import count

    return showing(lambda: sum(count(paths)))


def run_verb(args: argparse.Namespace) -> int:
    """Run the requested verb."""
    if getattr(args, "shards", 1) < 1:
        print("fluidio records: --shards is at least 1", file=sys.stderr)
        return 2
    if hasattr(args, "files") and not getattr(args, "follow", False):
        args.files = expand(args.files)  # once: a pipe has nothing to say the second time
    try:
        return VERBS[args.action](args)
    except UnicodeDecodeError as error:
        raise ConversionError(f"the manifest says text, but a record is not UTF-8: {error}") from error
