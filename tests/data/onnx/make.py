"""Make the models of this folder with the real PaddlePaddle Fluid 1.8.5 (Python 3.7): python make.py [NAME...]

Each becomes NAME.zip: the program, all parameters in one file, and data.npz with inputs and what 1.8.5 computed for
them, for 1 and for 7 examples. Weights are random, from fixed seeds.
"""
import io
import os
import shutil
import sys
import tempfile
import zipfile

import numpy as np
import paddle.fluid as fluid

import more_networks  # noqa: F401  (adds to the table)
from networks import NETWORKS

HERE = os.path.dirname(os.path.abspath(__file__))


def weights(program, scope, seed):
    """Give every parameter values that show mistakes: biases are not 0, statistics of batch norms not 0 and 1."""
    rng = np.random.RandomState(seed)
    for var in sorted(program.list_vars(), key=lambda v: v.name):
        if not var.persistable or var.name in ("feed", "fetch") or int(var.type) != 7:
            continue
        tensor = scope.find_var(var.name).get_tensor()
        old = np.array(tensor)
        if old.dtype.kind != "f":
            continue
        if var.name.endswith(".w_2") and "batch_norm" in var.name:
            new = rng.uniform(0.5, 1.5, old.shape)
        else:
            new = old + 0.1 * rng.randn(*old.shape)
        tensor.set(new.astype(old.dtype), fluid.CPUPlace())


def fed(value):
    if not isinstance(value, tuple):
        return value
    tensor = fluid.LoDTensor()
    tensor.set(value[0], fluid.CPUPlace())
    tensor.set_recursive_sequence_lengths(value[1])
    return tensor


def make(name, build):
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.core.Scope()
    main.random_seed = startup.random_seed = 11
    exe = fluid.Executor(fluid.CPUPlace())
    stored = {}
    with fluid.scope_guard(scope), fluid.program_guard(main, startup), fluid.unique_name.guard():
        feeds, targets, draw = build(fluid)
        exe.run(startup)
        weights(main, scope, 5)
        for block in main.blocks:
            for op in block.ops:
                op._remove_attr("op_callstack")  # paths of this machine
        folder = tempfile.mkdtemp()
        fluid.io.save_inference_model(folder, feeds, targets, exe, main, "model", "params")
    scope = fluid.core.Scope()
    with fluid.scope_guard(scope):
        has_params = os.path.exists(os.path.join(folder, "params"))
        program, feeds, fetch = fluid.io.load_inference_model(folder, exe, "model", "params" if has_params else None)
        for rows in (1, 7):
            drawn = draw(np.random.RandomState(rows), rows)
            found = exe.run(program, {n: fed(v) for n, v in drawn.items()}, fetch, return_numpy=False)
            for key, value in drawn.items():
                array, lod = value if isinstance(value, tuple) else (value, [])
                stored["%d/in/%s" % (rows, key)] = array
                for level, lengths in enumerate(lod):
                    stored["%d/in_lod%d/%s" % (rows, level, key)] = np.array(lengths, np.int64)
            for index, value in enumerate(found):
                stored["%d/out/%d" % (rows, index)] = np.array(value)
                for level, lengths in enumerate(value.recursive_sequence_lengths()):
                    stored["%d/out_lod%d/%d" % (rows, level, index)] = np.array(lengths, np.int64)
    data = io.BytesIO()
    np.savez(data, **stored)
    with zipfile.ZipFile(os.path.join(HERE, name + ".zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        for part in ("model", "params"):
            if os.path.exists(os.path.join(folder, part)):
                with open(os.path.join(folder, part), "rb") as file:
                    archive.writestr(zipfile.ZipInfo(part), file.read(), zipfile.ZIP_DEFLATED)
        archive.writestr(zipfile.ZipInfo("data.npz"), data.getvalue(), zipfile.ZIP_DEFLATED)
    shutil.rmtree(folder)
    outs = [v.shape for k, v in sorted(stored.items()) if k.startswith("7/out/")]
    print(name, os.path.getsize(os.path.join(HERE, name + ".zip")), outs)


if __name__ == "__main__":
    for chosen in sys.argv[1:] or sorted(NETWORKS):
        make(chosen, NETWORKS[chosen])
