"""Results as Markdown: a table for each workload, and one of targets met and missed."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.field.targets import MORE_MEMORY, TARGETS, TITLES, UNITS, Target

__all__ = ["put", "render"]

_MARKS = ("promises", "workloads")

Key = tuple[str, str, str]  # workload, peer, variant
Rows = dict[Key, list[dict[str, Any]]]


def render(results: Iterable[dict[str, Any]], machine: str) -> str:
    """Return the whole report."""
    rows: Rows = {}
    failed: dict[Key, str] = {}
    for result in results:
        key = (result["workload"], result["peer"], result["variant"])
        if "error" in result:
            failed[key] = result["error"]
        else:
            rows.setdefault(key, []).append(result)
    rounds = sorted({len(found) for found in rows.values()})
    times = " - ".join(map(str, dict.fromkeys((rounds[0], rounds[-1])))) if rounds else "0"
    parts = [f"{machine}; {times} rounds.", "", _promises(rows)]
    for workload, title in TITLES.items():
        if any(key[0] == workload for key in rows):
            parts += ["", f"### {title}", "", _workload(rows, workload)]
    if failed:
        parts += ["", "Not measured:", *(f"- {' '.join(key)}: {why}" for key, why in sorted(failed.items()))]
    return "\n".join(parts)


def put(path: Path, report: str) -> None:
    """Put a report between the markers of a document: the promises between the first pair, then the workloads."""
    promises, _, workloads = report.partition("\n\n###")
    text = path.read_text()
    for name, part in zip(_MARKS, (promises, "###" + workloads)):
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
        before, rest = text.split(begin)
        text = before + begin + part.strip() + "\n" + end + rest.split(end)[1]
    path.write_text(text)


def _per_record(rows: list[dict[str, Any]]) -> float:
    return min(float(row["seconds"]) / row["records"] for row in rows)


def _median(rows: list[dict[str, Any]]) -> float:
    return statistics.median(float(row["seconds"]) / row["records"] for row in rows)


def _speed(workload: str, seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} {UNITS[workload]}" if workload in UNITS else f"{1 / seconds:,.0f} rec/s"


def _workload(rows: Rows, workload: str) -> str:
    chosen = {key: found for key, found in rows.items() if key[0] == workload}
    ours = [_per_record(found) for key, found in chosen.items() if key[1] == "fluidio"]
    best_of_ours = min(ours) if ours else None
    lines = ["| peer | variant | best | median | peak MB | fluidio is |", "|---|---|---|---|---|---|"]
    for key, found in sorted(chosen.items(), key=lambda item: _per_record(item[1])):
        seconds = _per_record(found)
        ratio = "" if best_of_ours is None or key[1] == "fluidio" else f"{seconds / best_of_ours:.2f} x as fast"
        peak = max(row["peak_mb"] for row in found)
        best, median = _speed(workload, seconds), _speed(workload, _median(found))
        lines.append(f"| {key[1]} | {key[2]} | {best} | {median} | {peak:.0f} | {ratio} |")
    return "\n".join(lines)


def _promises(rows: Rows) -> str:
    lines = ["| promise | at least | measured | |", "|---|---|---|---|"]
    ran = {workload for workload, _, _ in rows}
    for target in TARGETS:
        if target.workload not in ran:
            continue
        ratio, against = _ratio(rows, target)
        if ratio is None:
            lines.append(f"| {target.text} | {target.ratio:.2f} x | not measured | |")
        else:
            verdict = "kept" if ratio >= target.ratio else "MISSED"
            lines.append(f"| {target.text} | {target.ratio:.2f} x | {ratio:.2f} x {against} | {verdict} |")
    return "\n".join([*lines, *([_memory(rows)] if "w8" in ran else [])])


def _memory(rows: Rows) -> str:
    """Return the memory target, the only one that is not a ratio."""
    peaks = [[row["peak_mb"] for row in rows.get(("w8", "fluidio", size), [])] for size in ("0.1GB", "4GB")]
    text = f"| W8: 4 GB against 0.1 GB, peak memory | + {MORE_MEMORY} MB at most |"
    if not all(peaks):
        return f"{text} not measured | |"
    small, large = map(max, peaks)
    return f"{text} {small:.0f} - {large:.0f} MB | {'kept' if large <= small + MORE_MEMORY else 'MISSED'} |"


def _ratio(rows: Rows, target: Target) -> tuple[float | None, str]:
    ours = rows.get((target.workload, "fluidio", target.variant))
    others = {key: found for key, found in rows.items() if _matches(key, target)}
    if not ours or not others:
        return None, ""
    pick = _median if target.workload == "w5" else _per_record
    key, fastest = min(((key, pick(found)) for key, found in others.items()), key=lambda pair: pair[1])
    return fastest / pick(ours), f"{key[1]} {key[2]}"


def _matches(key: Key, target: Target) -> bool:
    for other in target.others:
        words = other.split(":")
        if len(words) == 3:
            peer, workload, variant = words
        else:
            peer, workload, variant = words[0], target.workload, words[1] if len(words) == 2 else ""
        if key[1] == peer and key[0] == workload and variant in ("", key[2]):
            return True
    return False
