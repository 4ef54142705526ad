"""Write down what the real 1.8.5 gives: `FLUID185 tests/data/seen/record.py`, from the root of the repository."""

from __future__ import annotations

import json
import os
import sys

os.environ["SEEN"] = "real"
os.environ["CPU_NUM"] = "2"
sys.path[0] = os.getcwd()

MODULES = sys.argv[1:] or sorted(
    name[:-3]
    for name in os.listdir("tests/data/seen")
    if name.endswith(".py") and name[:-3] not in ("seen", "record")
)


def recorded(case):
    """Run a case in a child, as some end the process."""
    from tests.data.seen.seen import result

    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        try:
            text = json.dumps(result(case))
        except Exception as error:
            text = json.dumps("FAILED %r" % error)
        with os.fdopen(writing, "w") as pipe:
            pipe.write(text)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text or '"DIED"')


for module in MODULES:
    from tests.data.seen.seen import cases

    found = {name: recorded(case) for name, case in cases(module).items()}
    for name, value in found.items():
        if isinstance(value, str):
            print(module, name, value[-300:])
    with open("tests/data/seen/%s.json" % module, "w") as file:
        lines = ["%s: %s" % (json.dumps(name), json.dumps(value, sort_keys=True)) for name, value in found.items()]
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
