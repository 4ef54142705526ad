"""Run cases from standard input, one JSON per line, and answer each with one JSON line.

`FLUID185 server.py real` imports the real 1.8.5, `python server.py ours` fluidio. A child does the work; when a case
kills it (the real one may abort), the parent answers {"crash": signal} and forks another, so a run goes on.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main() -> None:
    sys.path[0] = ROOT
    fluid = _fluid(sys.argv[1])
    from tests.differential.interpret import run_case

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what ops print must not mix with the answers
    while _serve(fluid, run_case, answers):
        pass


def _fluid(side: str) -> Any:
    ours, _, setting = side.partition(":")
    if ours == "ours":
        if setting:
            from tests.differential.ways import prepare

            prepare(setting)
        import fluidio

        fluidio.use_era("1.8")
        return fluidio
    import importlib

    return importlib.import_module("paddle.fluid")


def _serve(fluid: Any, run_case: Any, answers: Any) -> bool:
    """Let a child answer until the input ends (False) or a case kills it (True)."""
    child = os.fork()
    if child == 0:
        for line in iter(sys.stdin.readline, ""):
            answers.write(json.dumps(run_case(fluid, json.loads(line))) + "\n")
            answers.flush()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status == 0:
        return False
    answers.write(json.dumps({"crash": status}) + "\n")
    answers.flush()
    return True


if __name__ == "__main__":
    main()
