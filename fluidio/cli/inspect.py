"""`fluidio inspect FILE...`: show what RecordIO files hold, and how to open them."""

from __future__ import annotations

import argparse
import dataclasses
import glob
import itertools

from fluidio.cli.json_output import json_text
from fluidio.cli.terminal import bytes_text, one_line, span
from fluidio.conversion import storage
from fluidio.conversion.inspecting import as_json, names_and_rows
from fluidio.conversion.progress import BYTES, note, showing
from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.pipes import piped
from fluidio.recordio.files.shard_sets import shard_of
from fluidio.recordio.files.survey import SlotSurvey, Survey, survey

_FEW = 4  # files that are shown one by one
HELP = "show what RecordIO files hold: dialect, chunks, slots, first records, damage"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: fluidio inspect 'data/part-*.recordio'"
    parser.add_argument("files", nargs="+", metavar="FILE", help="a path, URL or glob")
    parser.add_argument("--verify", action="store_true", help="read and decode everything, including inner checksums")
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    parser.add_argument("--preview", type=int, default=3, metavar="N", help="show N records (default 3)")


def run(args: argparse.Namespace) -> int:
    paths = expand(args.files)
    total, unit = (lambda: sum(map(storage.size, paths)), BYTES) if args.verify else (lambda: len(paths), "files")
    with showing(total, unit, if_long=True):
        found = [_survey(path, args) for path in paths]
    if args.json:
        print(json_text(as_json(found), indent=2))
    else:
        for group in grouped(found):
            lines = [*describe(group[0], names_and_rows(group[0], args.preview)), *together(group)]
            print("\n".join(map(one_line, lines)))
            print()
        print("\n".join(opening(found)))
    return int(any(each.damage for each in found))


def _survey(path: str, args: argparse.Namespace) -> Survey:
    found = survey(path, verify=args.verify, preview=args.preview, report=note)
    if not args.verify:
        note(1)
    return found


def grouped(surveys: list[Survey]) -> list[list[Survey]]:
    """Group good files with the same kind of records to show together: those of a shard set, or many of a folder."""
    alike: dict[object, list[Survey]] = {}
    for number, found in enumerate(surveys):
        layout = [(slot.dtype, slot.dims, slot.lod_levels) for slot in found.slots]
        alone = found.damage or not found.same_layout or (found.notes and not found.peeked)
        kind = (_set_of(found.path), found.content, str(layout), tuple(found.dialects))
        alike.setdefault(number if alone else kind, []).append(found)
    groups: list[list[Survey]] = []
    for group in alike.values():
        together = shard_of(group[0].path) is not None or len(group) > _FEW
        groups += [group] if together else [[found] for found in group]
    order = {found.path: number for number, found in enumerate(surveys)}
    return sorted(groups, key=lambda group: order[group[0].path])


def _set_of(path: str) -> tuple[str, int]:
    """Return what the files of a set share: the prefix and the last number of shards, the folder of others."""
    shard = shard_of(path)
    return (storage.parent(path), -1) if shard is None else (shard.prefix, shard.last)


def together(group: list[Survey]) -> list[str]:
    """Return the line about all shards of a set, if there are several."""
    if len(group) == 1:
        return []
    records, size = sum(each.records for each in group), sum(each.size for each in group)
    each_has = span(min(each.records for each in group), max(each.records for each in group))
    counted = f"{records} records ({each_has} in each), {bytes_text(size)}"
    kind = "files" if shard_of(group[0].path) is None else "shards"
    return [f"  total    {len(group)} {kind} like this one: {counted}", f"           the last is {group[-1].path}"]


def describe(found: Survey, noted: tuple[list[str], list[str]] = ([], [])) -> list[str]:
    """Return the lines about one file.

    Args:
        noted: names of its slots, and its first records by these names, if known.
    """
    lines = [piped(found.path) or found.path]
    names, texts = noted
    compressors = ", ".join(f"{count} {name}" for name, count in sorted(found.compressors.items()))
    facts = [
        ("dialect", ", ".join(found.dialects) or ("none (no good chunk)" if found.size else "none (an empty file)")),
        ("chunks", f"{found.chunks} ({compressors})" if compressors else str(found.chunks)),
        ("records", str(found.records) + ("" if found.verified else " announced (--verify reads them)")),
        (
            "size",
            bytes_text(found.size) + (f", {bytes_text(found.payload_bytes)} unpacked" if found.payload_bytes else ""),
        ),
        ("content", found.content),
    ]
    lines += [f"  {name:<8} {value}" for name, value in facts]
    if names and not found.slots:
        lines.append(f"  columns  {', '.join(names)}, as the manifest says")
    for number, slot in enumerate(found.slots):
        lines.append(f"  slot {number:<3} {names[number] + ': ' if names else ''}{_slot(slot)}")
        if slot.lengths and slot.fewest_rows < slot.most_rows:
            lines.append(f"           {_lengths(slot, found.verified)}")
    if not found.same_layout and not found.peeked:
        lines.append("  layouts  differ between records: they cannot be batched together")
    lines += [f"  record {number}: {text}" for number, text in enumerate(texts or found.preview)]
    lines += [f"  note     {note}" for note in found.notes]
    if not found.damage:
        lines.append("  damage   none" + ("" if found.verified else " seen in the headers"))
    for damage in found.damage:
        where = "" if damage.chunk is None else f"chunk {damage.chunk} at byte {damage.offset}: "
        lines.append(f"  DAMAGE   {where}{damage.problem}")
    return lines


def opening(surveys: list[Survey]) -> list[str]:
    """Return the call that opens the files in a Fluid program, or a line about what reads them."""
    readable = [found for found in surveys if found.content == "tensors" and found.slots]
    if readable and all(found.peeked and not found.same_layout for found in readable):
        return ["Huge records of which only the beginning was read: --verify prints the call that opens them."]
    if not readable:
        if any(found.content == "pickles" for found in surveys):
            return ["Pickled samples: read them with paddle.reader.creator.recordio(paths) or recordio.sample_reader."]
        if all(found.content == "nothing" and not found.damage for found in surveys):
            return ["There are no records."]
        if all(found.content == "nothing" for found in surveys):
            return ["No chunk is good, so there is nothing to read."]
        return ["No tensor records: read the bytes with recordio.File(path)."]
    if any(piped(found.path) for found in readable):
        return ["This came through a pipe: save it to a file to open it in a program."]
    first = readable[0]
    kind = [(slot.dtype, slot.lod_levels, len(slot.dims)) for slot in first.slots]
    alike = [f for f in readable if [(s.dtype, s.lod_levels, len(s.dims)) for s in f.slots] == kind]
    slots = [dataclasses.replace(slot) for slot in first.slots]
    for other in alike[1:]:
        for slot, another in zip(slots, other.slots):
            slot.merge(another)
    lines = []
    if len(alike) < len(readable):
        lines.append(f"# {len(readable) - len(alike)} files have another layout and are left out")
    files = _file_names([found.path for found in alike])
    lines += [*(["import glob", ""] if files.startswith("sorted") else []), *_about_rows(slots)]
    lines.append("reader = fluid.layers.open_files(")
    shapes = ", ".join(_shape(slot) for slot in slots)
    lines += [
        f"    filenames={files},",
        f"    shapes=[{shapes}],",
        f"    lod_levels={[slot.lod_levels for slot in slots]},",
        f"    dtypes={[slot.dtype for slot in slots]})",
    ]
    return lines


def _file_names(paths: list[str]) -> str:
    """Return the list of files as Python: the glob that gives just these for a shard set or many files."""
    pattern = _pattern(paths)
    if pattern is not None and sorted(glob.glob(pattern)) == paths:
        return f"sorted(glob.glob({pattern!r}))"
    lines = [f"        {path!r}," for path in paths]
    return repr(paths) if len(paths) == 1 else "\n".join(["[", *lines, "    ]"])


def _pattern(paths: list[str]) -> str | None:
    """Return a glob that may stand for the shards of a set, or for many files; None for a few others."""
    shard = shard_of(paths[0])
    if shard is not None and shard.last:
        return f"{glob.escape(shard.prefix)}-*-of-{shard.last:05d}{glob.escape(shard.suffix)}"
    if len(paths) <= _FEW:
        return None
    start = _shared(paths)
    end = _shared([path[len(start) :][::-1] for path in paths])[::-1]
    return f"{glob.escape(start)}*{glob.escape(end)}"


def _shared(texts: list[str]) -> str:
    """Return the characters that all texts begin with."""
    same = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*texts))
    return "".join(letters[0] for letters in same)


def _about_rows(slots: list[SlotSurvey]) -> list[str]:
    """Return a note if a record is not one row, because `batch` counts records."""
    plain = [slot for slot in slots if not slot.lod_levels]
    fewest = min((slot.fewest_rows for slot in plain), default=1)
    most = max((slot.most_rows for slot in plain), default=1)
    if (fewest, most) == (1, 1):
        return []
    rows = f"{most} rows" if fewest == most else f"{fewest} to {most} rows"
    return [f"# A record holds {rows}. batch(reader, batch_size) counts records, so a batch has more rows than that."]


def _shape(slot: SlotSurvey) -> str:
    dims = ["-1", *("-1" if dim is None else str(dim) for dim in slot.dims)]
    return f"({', '.join(dims)}{',' if len(dims) == 1 else ''})"


def _slot(slot: SlotSurvey) -> str:
    rows = str(slot.most_rows) if slot.fewest_rows == slot.most_rows else f"{slot.fewest_rows}..{slot.most_rows}"
    dims = ", ".join([rows, *("?" if dim is None else str(dim) for dim in slot.dims)])
    return f"{slot.dtype} ({dims})" + (f", lod_level {slot.lod_levels}" if slot.lod_levels else "")


def _lengths(slot: SlotSurvey, verified: bool) -> str:
    """Describe the distribution of record lengths."""
    quartiles = ", ".join(f"{length:,}" for length in slot.quantiles())
    whose = "" if verified else f" (first {sum(slot.lengths.values()):,} records)"
    return f"lengths {slot.fewest_rows:,} to {slot.most_rows:,}, quartiles {quartiles}{whose}"
