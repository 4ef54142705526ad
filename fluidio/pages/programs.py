"""The program page: the graph from readers to fetches, of programs, saved models and scripts."""

from __future__ import annotations

import gc
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fluidio.errors import ModelError
from fluidio.flow.observer import Observer, Step, observing
from fluidio.models.open_model import open_model
from fluidio.paddle.runner import run_script
from fluidio.pages import page as pages
from fluidio.pages.graph import Costs, graph_of, role_of
from fluidio.program import Program, default_main_program, default_startup_program

__all__ = ["costs_of_trace", "program_page", "programs_of_model", "programs_of_script"]

_PROGRAMS = 6
_OPS = 12_000
_PROBLEMS = 3


def program_page(
    programs: Program | Sequence[tuple[str, Program]], *, title: str = "program", costs: Costs | None = None
) -> str:
    """Return the HTML page about a program, or about several with their names.

    Args:
        costs: seconds of ops by type and first output, from `costs_of_trace`.
    """
    named = [("main", programs)] if isinstance(programs, Program) else list(programs)
    described: list[dict[str, Any]] = []
    room = _OPS
    for name, program in named[:_PROGRAMS]:
        others = [other for _, other in named if other is not program] or [default_startup_program()]
        graph = graph_of(program, readers_from=others, costs=costs)
        if len(graph["ops"]) <= room or not described:
            room -= len(graph["ops"])
            described.append({"name": name, **graph})
    return pages.page("program", title, {"programs": described})


def costs_of_trace(path: str) -> dict[tuple[str, str], tuple[int, float]]:
    """Return the time of each op in a Chrome trace that `fluid.profiler` wrote.

    Raises:
        ModelError: the file is not such a trace.
    """
    try:
        events = json.loads(Path(path).read_text("utf-8"))["traceEvents"]
        costs: dict[tuple[str, str], tuple[int, float]] = {}
        for event in events:
            key = (str(event["name"]), str(event.get("args", {}).get("output", "")))
            runs, seconds = costs.get(key, (0, 0.0))
            costs[key] = (runs + 1, seconds + float(event["dur"]) / 1e6)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"{path} is not a trace of fluid.profiler ({error!r})") from error
    return costs


def programs_of_model(path: str) -> list[tuple[str, Program]]:
    """Return the program of a saved model in any format; its bytes are parsed, not run.

    Raises:
        ModelError: there is no program, or it holds ops that fluidio does not have.
    """
    model = open_model(path)
    if model.program is None:
        problems = list(model.problems)
        if os.path.isdir(path) and any("RecordIO data" in problem for problem in problems):
            raise ModelError(f"{path}: this folder holds no saved model; to look at records: fluidio view '{path}/*'")
        more = [f"and {len(problems) - _PROBLEMS} more files"] if len(problems) > _PROBLEMS else []
        raise ModelError(f"{path}: there is no program to show", problems[:_PROBLEMS] + more)
    return [(os.path.basename(model.program_path), model.program)]


class _StopAtFirstRun(Observer):
    stopped = False

    def step_began(self, step: Step) -> None:
        self.stopped = True
        raise SystemExit(0)


def programs_of_script(path: str, argv: Sequence[str] = ()) -> list[tuple[str, Program]]:
    """Run a script up to its first `exe.run`, which is not executed, and return the programs it has built.

    Raises:
        ModelError: the script failed (its output is on stderr), or built nothing.
    """
    before = {id(program) for program in _alive()}
    with observing(_StopAtFirstRun()) as watch:
        status = run_script(path, argv)
    if status and not watch.stopped:
        raise ModelError(f"{path}: the script ended with status {status} before its first exe.run")
    defaults = (default_main_program(), default_startup_program())
    built = [program for program in _alive() if id(program) not in before or program in defaults]
    built = [program for program in built if program.global_block().ops]
    if not built:
        raise ModelError(f"{path}: the script built no program before its first exe.run")
    return _named(built)


def _alive() -> list[Program]:
    return [found for found in gc.get_objects() if type(found) is Program]


def _named(programs: list[Program]) -> list[tuple[str, Program]]:
    """Return programs with names: those that train first, then by size."""
    order = sorted(programs, key=lambda program: (not _trains(program), -len(program.global_block().ops)))
    seen: Counter[str] = Counter()
    names: list[tuple[str, Program]] = []
    for program in order:
        name = _name(program)
        seen[name] += 1
        names.append((name if seen[name] == 1 else f"{name} {seen[name]}", program))
    return names


def _name(program: Program) -> str:
    if program is default_main_program():
        return "main"
    if program is default_startup_program() or not any(op.input_arg_names for op in program.global_block().ops):
        return "startup"
    if program.is_for_test:
        return "test"
    return "training" if _trains(program) else "program"


def _trains(program: Program) -> bool:
    return any(role_of(op) == "update" for op in program.global_block().ops)
