"""What setup.cfg cannot say: wheels serve all Pythons from 3.11 on, but for the free-threaded ones; C is optional."""

import sysconfig
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.build_ext import build_ext


class BuildCompiled(build_ext):
    """Build the C parts; one that fails leaves no part of an older fluidio behind, neither here nor in a checkout."""

    def build_extension(self, ext: Any) -> None:
        try:
            super().build_extension(ext)
        except Exception:
            built = Path(self.get_ext_fullpath(ext.name))
            for old in (built, Path(*ext.name.split(".")[:-1], built.name)):
                old.unlink(missing_ok=True)
            raise


free_threaded = sysconfig.get_config_var("Py_GIL_DISABLED")
setup(
    cmdclass={"build_ext": BuildCompiled},
    options={} if free_threaded else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
