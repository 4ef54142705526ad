"""Detect a process started on its own: a script that names other trainers, without anything saying which it is.

Processes of one job differ in their environment or their arguments. If neither identifies this one, it is most likely
an old script run on its own: it waits only a few seconds for the others, then trains alone.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence

from fluidio.distributed.environment import find_launch

__all__ = ["is_told_its_part"]

_VARIABLES = re.compile(r"PADDLE_|.*(TRAINER|TRAINING_ROLE|PSERVER|ENDPOINT)|POD_IP$|RANK$|.*WORLD_SIZE$")
_OPTIONS = re.compile(
    r"role|rank|train|server|worker|endpoint|node|(^|[_-])id|index|(^|[_-])ip|host|port|dist|local|cloud|cluster|num"
)


def is_told_its_part(env: Mapping[str, str] = os.environ, words: Sequence[str] | None = None) -> bool:
    """Return whether the environment or the script's arguments may identify this process within a job.

    Arguments may, unless all of them are unrelated options such as `--batch_size 32`.
    """
    if find_launch(env) is not None or any(_VARIABLES.match(name) and value for name, value in env.items()):
        return True
    value_of_an_option = False
    for word in sys.argv[1:] if words is None else words:
        if word.startswith("-"):
            name, equals, _ = word.lstrip("-").lower().partition("=")
            if _OPTIONS.search(name):
                return True
            value_of_an_option = not equals
        elif not value_of_an_option:
            return True
        else:
            value_of_an_option = False
    return False
