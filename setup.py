"""What setup.cfg cannot say: wheels serve all Pythons from 3.11 on, but for the free-threaded ones."""

import sysconfig

from setuptools import setup

free_threaded = sysconfig.get_config_var("Py_GIL_DISABLED")
setup(options={} if free_threaded else {"bdist_wheel": {"py_limited_api": "cp311"}})
