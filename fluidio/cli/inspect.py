"""`fluidio inspect FILE...`: show what RecordIO files hold, and how to open them."""

from __future__ import annotations

import argparse
import dataclasses

from fluidio.cli.json_output import json_text
from fluidio.cli.terminal import bytes_text, one_line
from fluidio.conversion import storage
from fluidio.conversion.inspecting import as_json, names_and_rows
from fluidio.conversion.progress import BYTES, note, showing
from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.shard_sets import shard_of
from fluidio.recordio.files.survey import SlotSurvey, Survey, survey

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
    """Group the files to show together: good shards of one set with the same kind of records; others alone."""
    groups: dict[object, list[Survey]] = {}
    for number, found in enumerate(surveys):
        shard = shard_of(found.path)
        layout = [(slot.dtype, slot.dims, slot.lod_levels) for slot in found.slots]
        alone = shard is None or found.damage or not found.same_layout or (found.notes and not found.peeked)
        key = number if shard is None or alone else (shard.prefix, shard.last, found.content, str(layout))
        groups.setdefault(key, []).append(found)
    return list(groups.values())


def together(group: list[Survey]) -> list[str]:
    """Return the line about all shards of a set, if there are several."""
    if len(group) == 1:
        return []
    records, size = sum(each.records for each in group), sum(each.size for each in group)
    fewest, most = min(each.records for each in group), max(each.records for each in group)
    counted = f"{records} records ({fewest} to {most} in each), {bytes_text(size)}"
    return [f"  total    {len(group)} shards like this one: {counted}", f"           the last is {group[-1].path}"]


def describe(found: Survey, noted: tuple[list[str], list[str]] = ([], [])) -> list[str]:
    """Return the lines about one file.

    Args:
        noted: names of its slots, and its first records by these names, if known.
    """
    lines = [found.path]
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
        return ["No tensor records: read the bytes with recordio.File(path)."]
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
    lines += [*_about_rows(slots), "reader = fluid.layers.open_files("]
    names = ", ".join(repr(found.path) for found in alike)
    shapes = ", ".join(_shape(slot) for slot in slots)
    lines += [
        f"    filenames=[{names}],",
        f"    shapes=[{shapes}],",
        f"    lod_levels={[slot.lod_levels for slot in slots]},",
        f"    dtypes={[slot.dtype for slot in slots]})",
    ]
    return lines


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
    quarter, half, most = (f"{length:,}" for length in slot.quantiles())
    whose = "" if verified else f" (of the first {sum(slot.lengths.values()):,} records; --verify reads all)"
    ends = f"{slot.fewest_rows:,} to {slot.most_rows:,}"
    return f"lengths {ends}: a quarter up to {quarter}, half up to {half}, three quarters up to {most}{whose}"
