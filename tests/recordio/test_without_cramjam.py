"""A Python for which cramjam has no wheel: everything but snappy and zstd works."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import sys
sys.modules["cramjam"] = None
import numpy as np
import fluidio
from fluidio import recordio

for compressor in ("none", "gzip", "snappy", "zstd"):
    try:
        with recordio.Writer("a.recordio", compressor) as writer:
            writer.write_block([np.arange(3)[:, None]])
        print(compressor, len(recordio.load("a.recordio")[0].data))
    except ImportError as error:
        print(compressor, error)
"""


def test_what_needs_cramjam_says_so_and_the_rest_works(tmp_path: object) -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, cwd=str(tmp_path))
    lines = done.stdout.splitlines()
    assert lines[:2] == ["none 3", "gzip 3"], done.stderr
    assert [line.split()[0] for line in lines if "pip install cramjam" in line] == ["snappy", "zstd"]
