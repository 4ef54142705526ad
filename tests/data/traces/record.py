"""Run one of the scripts beside this file with given seeds and write down everything it fetches.

    python -m fluidio run record.py CASE DATA OUT

CASE is a JSON object with script, args and seeds; DATA a folder with Paddle's data files; OUT the file to write.
"""

import json
import os
import random
import runpy
import sys

import numpy as np
import paddle.dataset.common as common
import paddle.fluid as fluid

case, data, out = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
common.DATA_HOME = data
common.download = lambda url, module, *rest, **more: os.path.join(data, module, url.split("/")[-1])
make = fluid.Program.__init__


def seeded(self, *args, **kwargs):
    make(self, *args, **kwargs)
    self.random_seed = case["program_seed"]


fluid.Program.__init__ = seeded
fluid.default_main_program().random_seed = case["program_seed"]
fluid.default_startup_program().random_seed = case["program_seed"]
runs = []
inside = []


def recorded(run):
    def wrapper(*args, **kwargs):
        if inside:  # ParallelExecutor calls Executor
            return run(*args, **kwargs)
        inside.append(True)
        try:
            found = run(*args, **kwargs)
        except fluid.core.EOFException:
            runs.append("EOF")
            raise
        finally:
            inside.pop()
        if found:
            runs.append([np.array(value).ravel().astype("float64").tolist() for value in found])
        return found

    return wrapper


fluid.Executor.run = recorded(fluid.Executor.run)
fluid.ParallelExecutor.run = recorded(fluid.ParallelExecutor.run)
random.seed(case["py_seed"])
np.random.seed(case["np_seed"])
script = os.path.join(os.path.dirname(os.path.abspath(__file__)), case["script"])
sys.argv = [script] + case["args"]
runpy.run_path(script, run_name="__main__")
with open(out, "w") as file:
    json.dump(runs, file)
