"""Arguments that 1.8.5 reads in its own way, and the programs that layers build from them."""

from __future__ import annotations

import numpy as np

from tests.data.seen.seen import CPU, core, fluid, layers, numbers, ops, run, started, tryit


def _index(places, dtype="int32"):
    return layers.assign(np.array(places, dtype))


def slice_by_a_lone_variable_step():
    x = fluid.data("x", [4, 3], "float32")
    x.stop_gradient = False
    step = _index([2])
    out = x[::step]
    gradient = fluid.gradients([layers.reduce_sum(layers.square(out))], [x])
    return [out, ops(), run([out, *gradient], {"x": numbers(4, 3)})]


def slice_from_zero_by_a_variable_step():
    x = fluid.data("x", [4, 3], "float32")
    return run([x[0 :: _index([2])]], {"x": numbers(4, 3)})


def strides_in_one_tensor():
    x = fluid.data("x", [4, 3], "float32")
    out = layers.strided_slice(x, [0, 1], [0, 0], [4, 3], _index([2, 1]))
    return [out, out.op.attr("infer_flags"), run([out], {"x": numbers(4, 3)})]


def bounds_of_slices_have_no_gradient():
    x = fluid.data("x", [4, 3], "float32")
    low = _index([2]) - 1
    before = low.stop_gradient
    out = x[low:]
    return [before, low.stop_gradient, out, run([out], {"x": numbers(4, 3)})]


def cross_along_dim_0():
    x, y = fluid.data("x", [2, 3], "float32"), fluid.data("y", [2, 3], "float32")
    out = layers.cross(x, y, dim=0)
    return [out.op.attr("dim"), run([out], {"x": numbers(2, 3), "y": numbers(2, 3) ** 2})]


def maxout_along_the_last_dim():
    out = layers.maxout(fluid.data("x", [1, 4, 4, 4], "float32"), 2, axis=-1)
    return [out, out.op.attr("axis")]


def seeds_of_numpy():
    x = fluid.data("x", [4, 3, 5], "float32")
    np.random.seed(5)
    layers.randn([2, 3])
    out = layers.random_crop(x, [2, 2])
    shuffled = fluid.contrib.layers.shuffle_batch(fluid.data("y", [4, 3], "float32"))
    block = fluid.default_main_program().global_block()
    seeds = [op.attr(name) for op in block.ops for name in ("seed", "startup_seed") if op.has_attr(name)]
    return [seeds, out, shuffled]


def random_crop_with_a_seed_below_zero():
    x = fluid.data("x", [4, 3, 5], "float32")
    feed = {"x": np.arange(60.0).reshape(4, 3, 5).astype("float32")}
    return run([layers.random_crop(x, [2, 2], seed=seed) for seed in (-5, -30000, 7)], feed)


def uniform_random_with_a_variable_size():
    out = layers.uniform_random([_index([2]), 3], seed=5)
    return [ops(), out, [out.block.var(name) for name in out.op.input("ShapeTensorList")], run([out])]


def hsigmoid_that_cannot_be_sparse():
    x, y = fluid.data("x", [3, 4], "float32"), fluid.data("y", [3, 1], "int64")
    x.stop_gradient = False
    weight = fluid.ParamAttr("w", initializer=fluid.initializer.Constant(0.25))
    cost = layers.hsigmoid(x, y, 6, param_attr=weight, is_sparse=True)
    attrs = [cost.op.attr("is_sparse"), cost.op.attr("remote_prefetch")]
    grads = fluid.backward.append_backward(layers.mean(cost))
    feed = {"x": numbers(3, 4), "y": np.array([[0], [3], [5]])}
    return [attrs, run([cost] + [grad for _, grad in grads], feed)]


def smooth_l1_with_an_outside_weight_alone():
    x, y, w = (fluid.data(name, [3, 2], "float32") for name in "xyw")
    x.stop_gradient = False
    loss = layers.smooth_l1(x, y, None, w)
    feed = {"x": numbers(3, 2), "y": numbers(3, 2) ** 2, "w": 2 * numbers(3, 2)}
    return run([loss, *fluid.gradients([loss], [x])], feed)


def transposed_convolutions_of_a_given_size():
    x = fluid.data("x", [1, 2, 4, 5], "float32")
    x.stop_gradient = False
    weight = fluid.ParamAttr("w", initializer=fluid.initializer.Constant(0.5))
    out = layers.conv2d_transpose(x, 2, [9, 10], 3, "SAME", 2, param_attr=weight, bias_attr=False)
    grads = fluid.gradients([layers.reduce_sum(layers.square(out))], [x, out.block.var("w")])
    return [out, run([out, *grads], {"x": numbers(1, 2, 4, 5)})]


def interpolate_of_another_rank():
    image, volume = fluid.data("x", [1, 2, 4, 5], "float32"), fluid.data("y", [1, 2, 3, 4, 5], "float32")
    return [
        tryit(layers.interpolate, image, None, 2, None, "TRILINEAR"),
        tryit(layers.interpolate, volume, [6, 7], None, None, "BILINEAR"),
        tryit(layers.interpolate, volume, None, None, None, "NEAREST"),
        tryit(layers.interpolate, volume, None, None, None, "BICUBIC"),
    ]


def nce_of_a_distribution():
    x, y = fluid.data("x", [3, 4], "float32"), fluid.data("y", [3, 1], "int64")
    layers.nce(x, y, 5, num_neg_samples=3, sampler="custom_dist", custom_dist=[0.2] * 5, seed=3)
    parameters = fluid.default_main_program().all_parameters()
    return [[p.name, p.trainable, p.stop_gradient] for p in parameters]


def pad2d_by_a_variable():
    out = layers.pad2d(fluid.data("x", [1, 1, 2, 3], "float32"), _index([1, 0, 2, 0]))
    return [out, out.op.attr("paddings"), run([out], {"x": numbers(1, 1, 2, 3)})]


def attributes_of_later_versions():
    x = fluid.data("x", [2, 3], "float32")
    made = [layers.cumsum(x), layers.layer_norm(x)]
    layers.linear_lr_warmup(0.1, 10, 0.0, 0.1)
    found = {op.type: sorted(op.attr_names) for op in fluid.default_main_program().global_block().ops}
    return [found, [out.op.has_attr("is_test") for out in made]]


def variables_that_matching_layers_make():
    image = [fluid.data(name, [-1, 1], "float32", 1) for name in ("x", "row", "col")]
    fluid.contrib.layers.var_conv_2d(*image, 1, 2, 3)
    fluid.contrib.layers.sequence_topk_avg_pooling(*image, [1, 2], 1)
    variables = fluid.default_main_program().global_block().vars.values()
    return sorted([v.name, str(tuple(v.shape)), v.dtype, v.stop_gradient] for v in variables)


def values_without_dims():
    x, s = fluid.data("x", [3], "float32"), fluid.data("s", [], "float32")
    place = layers.argmax(x)
    fetched = [place + 1, layers.cast(place, "float32"), layers.less_than(place, place), layers.relu(s), s * 2.0]
    feed = {"x": np.array([1, 3, 2], "float32"), "s": np.array(2, "float32")}
    exe = started()
    arrays = exe.run(feed=feed, fetch_list=fetched)
    tensors = exe.run(feed=feed, fetch_list=fetched, return_numpy=False)
    return [[isinstance(a, np.ndarray) for a in arrays], arrays, tensors, [str(t) for t in tensors]]


def a_persistable_without_dims():
    kept = layers.create_global_var([1], 0.0, "float32", persistable=True, name="kept")
    layers.assign(layers.cast(layers.argmax(fluid.data("x", [3], "float32")), "float32"), kept)
    more = kept + 1.0
    found = run([kept, more], {"x": np.array([1, 3, 2], "float32")})
    again = core.Scope().var("t").get_tensor()
    again.set(np.array(fluid.global_scope().find_var("kept").get_tensor()), CPU)
    return [found, again]
