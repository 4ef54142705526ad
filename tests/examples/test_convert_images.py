"""examples/convert_images.py goes all the way from a folder of images to the end of an epoch."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.house.repository import ROOT


def test_every_image_is_seen_and_learned() -> None:
    done = subprocess.run(
        [sys.executable, "examples/convert_images.py", "--images", "60"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert first == "240 records in 2 shards"
    found = re.fullmatch(r"240 records in the last epoch, accuracy (0\.\d+|1\.0+)", second)
    assert found
    assert float(found[1]) > 0.9
