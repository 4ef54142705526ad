"""Attack one parser guided by coverage; needs `pip install atheris`.

python -m tests.fuzz.guided TARGET [-runs=100000] [-max_total_time=60]
"""

from __future__ import annotations

import importlib
import sys
from typing import Any


def main() -> None:
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["fluidio"]):
        targets = importlib.import_module("tests.fuzz.targets").TARGETS
    target = targets[sys.argv[1]]

    def attack(data: bytes) -> None:
        target.attack(bytes(data))

    atheris.Setup([sys.argv[0], *sys.argv[2:]], attack)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
