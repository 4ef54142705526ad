"""The parts of distutils that training scripts use; the package left Python with 3.12."""

from fluidio.paddle.capsule.distutils import dir_util, file_util, spawn, util, version

__all__ = ["dir_util", "file_util", "spawn", "util", "version"]
