"""Build and run one drawn case, on the real 1.8.5 (Python 3.7) or on fluidio: the same code for both.

A case is code that makes `outs` from the variables of its feeds:

    case("addmm", "outs = L.addmm(a, b, c, alpha=2.0)", {"a": ..., "b": ..., "c": ...}, wrt="a b c")

A feed is an array, or (array, lengths...) with a LoD. `run` returns arrays, LoDs, gradients, the ops and the names.
To record a group again: `python record.py GROUP` with the real one.
"""
import numpy as np

HIDDEN = {"op_role", "op_role_var", "op_namescope", "op_callstack", "op_device", "use_cudnn", "use_mkldnn",
          "@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@", "with_quant_attr", "mkldnn_data_type", "is_test"}


def case(name, code, feeds, wrt="", batch=(), exact=True, **more):
    """Describe a case; `batch` are feeds declared with -1 in front, those with a LoD always are."""
    fixed = {k: v if isinstance(v, tuple) else (v,) for k, v in feeds.items()}
    return dict(name=name, code=code, feeds=fixed, wrt=wrt.split(), batch=list(batch), **more)


def _declare(fluid, name, value, batch):
    array, lengths = value[0], value[1:]
    shape = list(array.shape)
    if lengths or batch:
        shape[0] = -1
    return fluid.layers.data(name=name, shape=shape, dtype=str(array.dtype), lod_level=len(lengths),
                             append_batch_size=False)


def _fed(fluid, value):
    array, lengths = value[0], [list(map(int, level)) for level in value[1:]]
    if not lengths:
        return array
    return fluid.create_lod_tensor(array, lengths, fluid.CPUPlace())


def _plain(value):
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return float(np.float32(value))
    return str(value)


def describe(program):
    """Return [type, inputs, outputs, attrs] of each op of the main block."""
    found = []
    for op in program.global_block().ops:
        attrs = {}
        for name in op.attr_names:
            if name not in HIDDEN and not name.endswith("_block"):
                attrs[name] = _plain(op.attr(name))
        ins = {n: list(op.input(n)) for n in op.input_names if op.input(n)}
        outs = {n: list(op.output(n)) for n in op.output_names if op.output(n)}
        found.append([op.type, ins, outs, attrs])
    return found


def _result(value):
    array = np.array(value)
    lod = value.recursive_sequence_lengths() if hasattr(value, "recursive_sequence_lengths") else []
    return array, [list(map(int, level)) for level in lod]


def run(fluid, c):
    """Return {"outs": [(array, lod)], "grads": {name: array}, "ops": [...], "declared": [...], "params": [...]}."""
    L = fluid.layers
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.core.Scope()
    main.random_seed = startup.random_seed = 7
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(scope), fluid.program_guard(main, startup), fluid.unique_name.guard():
        space = {"fluid": fluid, "L": L, "np": np, "main": main, "startup": startup}
        for name, value in c["feeds"].items():
            space[name] = _declare(fluid, name, value, name in c["batch"])
            space[name].stop_gradient = name not in c["wrt"]
        exec(c["code"], space)
        outs = space["outs"]
        outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
        ops = describe(main)
        declared = [[o.name, list(o.shape), str(o.dtype).rsplit(".", 1)[-1], o.lod_level, bool(o.stop_gradient)]
                    for o in outs if not c.get("hollow")]
        params = [[p.name, list(p.shape)] for p in main.all_parameters()]
        feed = {k: _fed(fluid, v) for k, v in c["feeds"].items()}
        exe.run(startup)
        for name, array in c.get("scope", {}).items():
            scope.find_var(name).get_tensor().set(array, fluid.CPUPlace())
        found = [_result(v) for v in exe.run(main, feed=feed, fetch_list=outs, return_numpy=False)]
        grads = {}
        if c["wrt"]:
            wanted = space.get("wrt") or [space[n] for n in c["wrt"] if n != "params"]
            if "params" in c["wrt"]:
                wanted = list(wanted) + [p for p in main.all_parameters() if p.trainable]
            chosen = [i for i, (a, _) in enumerate(found) if a.dtype.kind == "f" and not outs[i].stop_gradient]
            chosen = [i for i in chosen if i in c.get("through", chosen)]
            weights = []
            for i in chosen:
                shape = list(found[i][0].shape)
                w = np.sin(np.arange(found[i][0].size) * 1.3 + i + 0.5).reshape(shape).astype(found[i][0].dtype)
                feed["weight_%d" % i] = w if not found[i][1] else fluid.create_lod_tensor(w, found[i][1], fluid.CPUPlace())
                weights.append(main.global_block().create_var(
                    name="weight_%d" % i, shape=outs[i].shape, dtype=str(w.dtype), lod_level=len(found[i][1]),
                    is_data=True, stop_gradient=True))
            made = fluid.gradients([outs[i] for i in chosen], wanted, target_gradients=weights) if chosen else []
            for variable, gradient in zip(wanted, made):
                if gradient is not None:
                    exe_out = exe.run(main, feed=feed, fetch_list=[gradient], return_numpy=False)[0]
                    if hasattr(exe_out, "rows"):
                        exe_out = exe_out.get_tensor()
                    grads[variable.name] = np.array(exe_out)
    return {"outs": found, "grads": grads, "ops": ops, "declared": declared, "params": params,
            "grad_types": [op.type for op in main.global_block().ops[len(ops):]]}
