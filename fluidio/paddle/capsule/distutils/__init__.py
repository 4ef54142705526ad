"""The parts of distutils that training scripts use; Python 3.12 removed the package."""

from fluidio.paddle.capsule.distutils import dir_util, file_util, spawn, util, version

__all__ = ["dir_util", "file_util", "spawn", "util", "version"]
