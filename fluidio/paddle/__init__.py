"""The `paddle` package: `from fluidio import paddle`, or `import paddle` under `fluidio run`."""

import fluidio as fluid
from fluidio import reader
from fluidio.paddle import compat, version
from fluidio.paddle.hook import install_as_paddle
from fluidio.paddle.modes import disable_static, enable_static, in_dynamic_mode
from fluidio.reader import batch
from fluidio.version import FLUID_VERSION as __version__

__all__ = [
    "__version__",
    "batch",
    "compat",
    "disable_static",
    "enable_static",
    "fluid",
    "in_dynamic_mode",
    "install_as_paddle",
    "reader",
    "version",
]
