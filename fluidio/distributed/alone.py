"""Was this process started by itself? A script that names other trainers, run without anything that says which it is.

Processes of one job differ by their environment or by their arguments. Where neither says what this one is, it is most
likely an old script that somebody just runs: it waits for the others for some seconds only, and then trains alone.
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
    """Tell whether the environment or the arguments of the script may say which process of a job this is.

    Arguments do unless all of them are options about something else, such as `--batch_size 32`.
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
