"""Pass settings of `fluidio run` (era, device, fake data) to the processes it starts, through the environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from fluidio.distributed import export_paddle_variables
from fluidio.era import set_era
from fluidio.paddle.hook import install_as_paddle
from fluidio.paddle.sources import install_capsule
from fluidio.places import use_cpu_for_cuda

__all__ = ["environment", "install"]

_SITE = str(Path(__file__).parent / "site")


def environment(*, fluid: str | None, device: str | None) -> dict[str, str]:
    """Return the variables that make child Pythons behave like this one."""
    # The folder with fluidio goes last on the path: a checkout is found, and nothing installed is shadowed.
    home = str(Path(__file__).parent.parent.parent)
    before = os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.environ.get("PYTHONPATH") else []
    path = [_SITE, *(p for p in before if p not in (_SITE, home)), home]
    found = {"FLUIDIO_RUN": "1", "PYTHONPATH": os.pathsep.join(path), "PATH": _path_with_this_python()}
    if fluid:
        found["FLUIDIO_FLUID"] = fluid
    if device:
        found["FLUIDIO_DEVICE"] = device
    return found


def _path_with_this_python() -> str:
    """Return PATH with this Python's folder first: commands such as `python generator.py` mean this one."""
    folder = str(Path(sys.executable).parent)
    rest = [part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if part != folder]
    return os.pathsep.join([folder, *rest])


def install() -> None:
    """Set up this process from its environment."""
    if os.environ.get("FLUIDIO_FLUID"):
        set_era(os.environ["FLUIDIO_FLUID"])
    if os.environ.get("FLUIDIO_DEVICE", "").startswith("cpu"):
        use_cpu_for_cuda(True)
    if _SITE in sys.path:
        sys.path.remove(_SITE)
    export_paddle_variables()
    install_as_paddle()
    install_capsule()
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        np.set_printoptions(legacy="1.25")  # numbers print as numbers, not as np.float32(...)
