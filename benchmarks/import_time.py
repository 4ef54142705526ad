"""Print the time `import fluidio` adds to `import numpy`, and the first layer to that: best of several processes.

Run: python benchmarks/import_time.py
"""

from __future__ import annotations

import subprocess
import sys
import time


def seconds(statement: str, repeats: int = 7) -> float:
    """Return the shortest time of a process that runs `statement`."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Measure and print."""
    numpy, both = seconds("import numpy"), seconds("import numpy, fluidio")
    print(f"import numpy            {numpy * 1000:6.0f} ms")
    print(f"import numpy, fluidio   {both * 1000:6.0f} ms")
    print(f"fluidio adds            {(both - numpy) * 1000:6.0f} ms   (at most 100)")
    layer = seconds("import fluidio as fluid; fluid.layers.fc(fluid.layers.data('x', [3]), 2)")
    print(f"the first layers.fc     {(layer - both) * 1000:6.0f} ms more   (at most 150)")


if __name__ == "__main__":
    main()
