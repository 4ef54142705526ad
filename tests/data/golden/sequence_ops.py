"""LoD ops: sequence_pool (sum, average, sqrt, max, last, first; with an empty sequence and pad_value; two-level LoD), sequence_softmax,
sequence_expand (ref_level), sequence_expand_as, sequence_concat, sequence_reverse, sequence_pad / unpad, sequence_mask, sequence_slice,
sequence_enumerate, sequence_erase, sequence_reshape, sequence_first/last_step, lod_reset: values, resulting LoD (as lengths) and input gradients."""

import numpy as np
import paddle.fluid as fluid
from goldenlib import Log, finish, ints, wave

L = fluid.layers
place = fluid.CPUPlace()
exe = fluid.Executor(place)
log = Log()


def lod(array, lengths):
    return fluid.create_lod_tensor(array, lengths, place)


def keep(prefix, tensor):
    log.put(prefix, np.array(tensor))
    for level, lens in enumerate(tensor.recursive_sequence_lengths()):
        log.put("%s/lengths%d" % (prefix, level), np.array(lens, "int64"))


def case(tag, build, feed, wrt="x", lod_levels=None, shapes=None):
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()), fluid.unique_name.guard():
        d = {}
        for name, value in feed.items():
            arr = np.array(value)
            d[name] = L.data(
                name=name,
                shape=list(arr.shape[1:]),
                dtype=str(arr.dtype),
                lod_level=len(value.recursive_sequence_lengths())
                if hasattr(value, "recursive_sequence_lengths")
                else 0,
                stop_gradient=arr.dtype != np.float32,
            )
        outs = build(d)
        outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
        grads = []
        if wrt:
            ramp = L.scale(L.cumsum(L.ones_like(outs[0]), axis=-1), scale=0.5)
            ramp.stop_gradient = True
            grads = fluid.gradients([L.reduce_sum(outs[0] * ramp)], [d[wrt]])
    got = exe.run(main, feed=feed, fetch_list=outs + grads, return_numpy=False)
    for i, t in enumerate(got[: len(outs)]):
        keep("%s/out%d" % (tag, i), t)
    if grads:
        keep(tag + "/gx", got[-1])


x = wave([9, 3], 0.77, 0.3)


def one():
    return lod(x, [[2, 4, 3]])


for kind in ("sum", "average", "sqrt", "max", "last", "first"):
    case("pool_" + kind, lambda d: L.sequence_pool(d["x"], kind), {"x": one()})
    case("pool_empty_" + kind, lambda d: L.sequence_pool(d["x"], kind, pad_value=0.25), {"x": lod(x, [[2, 0, 4, 3]])})
    case("pool_2level_" + kind, lambda d: L.sequence_pool(d["x"], kind), {"x": lod(x, [[2, 1], [2, 4, 3]])})
case("first_step", lambda d: L.sequence_first_step(d["x"]), {"x": one()})
case("last_step", lambda d: L.sequence_last_step(d["x"]), {"x": one()})
case("softmax", lambda d: L.sequence_softmax(d["x"], use_cudnn=False), {"x": lod(wave([9, 1], 0.77, 0.3), [[2, 4, 3]])})
case("reverse", lambda d: L.sequence_reverse(d["x"]), {"x": one()})
case(
    "expand_dense_by_lod",
    lambda d: L.sequence_expand(d["x"], d["y"], ref_level=0),
    {"x": wave([3, 2], 0.5, 0.1), "y": lod(wave([6, 1]), [[2, 1, 3]])},
)
case(
    "expand_lod_ref0",
    lambda d: L.sequence_expand(d["x"], d["y"], ref_level=0),
    {"x": lod(wave([4, 1], 0.5, 0.1), [[2, 2]]), "y": lod(wave([8, 1]), [[2, 2], [3, 3, 1, 1]])},
)
case(
    "expand_lod_zero",
    lambda d: L.sequence_expand(d["x"], d["y"], ref_level=-1),
    {"x": wave([3, 1], 0.5, 0.1), "y": lod(wave([5, 1]), [[2, 0, 3]])},
)
case(
    "expand_as",
    lambda d: L.sequence_expand_as(d["x"], d["y"]),
    {"x": wave([3, 2], 0.5, 0.1), "y": lod(wave([6, 1]), [[2, 1, 3]])},
)
case("concat", lambda d: L.sequence_concat([d["x"], d["y"]]), {"x": one(), "y": lod(wave([6, 3], 0.2), [[1, 2, 3]])})
case("pad", lambda d: L.sequence_pad(d["x"], L.fill_constant([1], "float32", -1.5)), {"x": one()})
case("pad_maxlen", lambda d: L.sequence_pad(d["x"], L.fill_constant([1], "float32", 0.0), maxlen=6), {"x": one()})
case(
    "unpad", lambda d: L.sequence_unpad(d["x"], d["n"]), {"x": wave([3, 4, 2], 0.3), "n": np.array([2, 4, 1], "int64")}
)
case(
    "slice",
    lambda d: L.sequence_slice(d["x"], d["o"], d["n"]),
    {"x": one(), "o": np.array([[0], [1], [2]], "int64"), "n": np.array([[1], [3], [1]], "int64")},
)
case("reshape", lambda d: L.sequence_reshape(d["x"], new_dim=6), {"x": lod(wave([10, 3], 0.5), [[2, 4, 4]])})
case(
    "mask",
    lambda d: L.sequence_mask(d["n"], maxlen=5, dtype="float32"),
    {"n": np.array([2, 4, 1, 0], "int64")},
    wrt=None,
)
case(
    "enumerate",
    lambda d: L.sequence_enumerate(d["i"], win_size=2, pad_value=0),
    {"i": lod(ints([6, 1], 9), [[2, 1, 3]])},
    wrt=None,
)
case("lod_reset_target", lambda d: L.lod_reset(d["x"], target_lod=[0, 4, 9]), {"x": one()})
case("lod_reset_y", lambda d: L.lod_reset(d["x"], y=d["y"]), {"x": one(), "y": lod(wave([9, 1]), [[5, 4]])})
case("scale_keeps_lod", lambda d: L.scale(d["x"], 2.0), {"x": one()})
case("concat_keeps_lod", lambda d: L.concat([d["x"], d["x"]], axis=1), {"x": one()})
finish(__file__, __doc__, log)
