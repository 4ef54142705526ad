"""Calls of layers: networks, images, losses, metrics."""

from __future__ import annotations

import numpy as np

from tests.differential.programs_drawn.calls import CallDraw, call

__all__: list[str] = []


@call("fc")
def fc(c: CallDraw) -> None:
    x = c.f(2, 3, 4, fixed=True)
    many = [x, c.f(2, 3, 2, fixed=True)] if c.chance(0.3) else x
    c.out(many, 3, **c.some(num_flatten_dims=[2], act=["relu"], bias_attr=[False], name=["own"]))


@call("embedding")
def embedding(c: CallDraw) -> None:
    c.out(c.i(5, 3, 1), [5, 2], **c.some(padding_idx=[0, -1], is_sparse=[True], dtype=["float64"]))


_CONV = {"bias_attr": [False], "act": ["relu"], "use_cudnn": [False], "groups": [2], "name": ["own"]}


@call("conv2d", "conv3d", "conv2d_transpose", "conv3d_transpose")
def conv(c: CallDraw) -> None:
    spatial = 3 if "3" in c.name else 2
    x = c.f(2, 4, *[4] * spatial)
    kw = c.some(stride=[2, [1] * spatial], padding=[1, "SAME", "VALID", [1] * (2 * spatial)], dilation=[1], **_CONV)
    if "transpose" in c.name:
        if c.chance(0.3):
            c.out(x, 2, output_size=[9] * spatial, stride=2, **c.some(bias_attr=[False], act=["relu"]))
            return
        kw["filter_size"] = c.pick(2, [3] * spatial)
        c.out(x, 2, **kw)
    else:
        c.out(x, 2, c.pick(2, [3] * spatial), **kw)


@call("pool2d", "pool3d")
def pool(c: CallDraw) -> None:
    spatial = 3 if "3" in c.name else 2
    kw = c.some(
        pool_type=["avg", "max"],
        pool_stride=[2],
        pool_padding=[1, "SAME", "VALID"],
        global_pooling=[True],
        ceil_mode=[True],
        exclusive=[False],
        use_cudnn=[False],
    )
    c.out(c.apart(2, 2, *[5] * spatial), c.pick(2, [2] * spatial), **kw)


@call("adaptive_pool2d", "adaptive_pool3d")
def adaptive_pool(c: CallDraw) -> None:
    spatial = 3 if "3" in c.name else 2
    kind = c.pick("max", "avg")
    index = c.some(require_index=[True]) if kind == "max" else {}
    c.out(c.apart(2, 2, *[5] * spatial), c.pick(2, [3] * spatial), kind, **index)


@call("batch_norm", "instance_norm", "layer_norm", "group_norm", "data_norm", "inplace_abn")
def norms(c: CallDraw) -> None:
    x = c.f(3, 4, 2, 2, fixed=True)
    if c.name == "batch_norm":
        kw = {"is_test": [True], "momentum": [0.5], "epsilon": [1e-3], "act": ["relu"], "use_global_stats": [True]}
        c.out(x, **c.some(data_layout=["NHWC"], do_model_average_for_mean_and_var=[False], **kw))
    elif c.name == "instance_norm":
        c.out(x, **c.some(epsilon=[1e-3]))
    elif c.name == "layer_norm":
        c.out(x, **c.some(scale=[False], shift=[False], begin_norm_axis=[2, 3], epsilon=[1e-3], act=["relu"]))
    elif c.name == "group_norm":
        c.out(x, 2, **c.some(epsilon=[1e-3], act=["relu"], bias_attr=[False]))
    elif c.name == "data_norm":
        c.out(c.f(3, 4), **c.some(epsilon=[1e-3], act=["relu"]))
    else:
        c.no_grad()  # it writes over what is fetched
        c.out(x, **c.some(act=["leaky_relu", "elu"], act_alpha=[0.3], momentum=[0.5]))


@call("spectral_norm")
def spectral_norm(c: CallDraw) -> None:
    c.out(c.f(2, 4, fixed=True), **c.some(dim=[1], power_iters=[2], eps=[1e-8]))


@call(
    "resize_bilinear", "resize_nearest", "resize_trilinear", "image_resize", "image_resize_short", "interpolate",
)  # fmt: skip
def resize(c: CallDraw) -> None:
    spatial = 3 if "tri" in c.name else 2
    x = c.f(2, 2, *[4] * spatial)
    if c.name == "image_resize_short":
        c.out(x, 3, **c.some(resample=["NEAREST"]))
        return
    kw = c.some(align_corners=[False])
    if c.name in ("image_resize", "interpolate"):
        kw.update(c.some(resample=["NEAREST", "BICUBIC"] if c.name == "interpolate" else ["NEAREST"]))
    if c.chance(0.6):
        kw["out_shape"] = c.pick([3] * spatial, [6] * spatial, [c.number(3), *[5] * (spatial - 1)])
    else:
        kw["scale"] = c.number(1.5, "float32")
    c.out(x, **kw)


@call(
    "shuffle_channel", "space_to_depth", "pixel_shuffle", "temporal_shift", "affine_channel", "grid_sampler",
    "affine_grid", "unfold", "im2sequence", "similarity_focus", "add_position_encoding", "roi_pool", "roi_align",
    "prroi_pool", "psroi_pool", "deformable_conv", "deformable_roi_pooling", "row_conv",
)  # fmt: skip
def images(c: CallDraw) -> None:
    x = c.apart(2, 4, 4, 4)
    if c.name == "shuffle_channel" or c.name == "space_to_depth" or c.name == "pixel_shuffle":
        c.out(x, 2)
    elif c.name == "temporal_shift":
        c.out(x, 2, **c.some(shift_ratio=[0.25]))
    elif c.name == "affine_channel":
        c.out(x, c.f(4, fixed=True), c.f(4, fixed=True), **c.some(act=["relu"]))
    elif c.name == "grid_sampler":
        c.out(x, c.f(2, 4, 4, 2, low=-0.9, high=0.9))
    elif c.name == "affine_grid":
        c.out(c.f(2, 2, 3), c.pick([2, 3, 4, 4], c.put(np.array([2, 3, 4, 4], "int32"), fixed=True)))
    elif c.name == "unfold":
        c.out(x, c.pick(2, [2, 3]), **c.some(strides=[2], paddings=[1, [1, 0, 1, 0]], dilations=[1]))
    elif c.name == "im2sequence":
        c.out(x, c.pick(2, [2, 3]), **c.some(stride=[2], padding=[1, [1, 0, 1, 0]]))
    elif c.name == "similarity_focus":
        c.no_grad()
        c.out(x, c.pick(1, 2), [0, 1])
    elif c.name == "add_position_encoding":
        c.out(c.f(2, 3, 4), c.pick(1.0, 0.5), c.pick(1.0, 0.3))
    elif c.name == "row_conv":
        lengths = c.lengths()
        c.out(c.f(sum(lengths), 3, lod=[lengths]), 2, **c.some(act=["relu"]))
    else:
        _rois(c, x)


def _rois(c: CallDraw, x: object) -> None:
    corner = c.numpy.uniform(0, 1.5, (3, 2))
    boxes = np.round(np.concatenate([corner, corner + c.numpy.uniform(0.6, 2, (3, 2))], 1), 3).astype("float32")
    rois = c.put(boxes, [[2, 1]])
    c.inputs[rois["var"]]["stop_gradient"] = c.name != "prroi_pool"  # whose regions must take gradients in 1.8.5
    if c.name in ("roi_pool", "roi_align"):
        more = c.some(sampling_ratio=[2]) if c.name == "roi_align" else {}
        c.out(x, rois, **c.some(pooled_height=[2], pooled_width=[2], spatial_scale=[0.5]), **more)
    elif c.name == "prroi_pool":
        c.out(x, rois, **c.some(spatial_scale=[0.5], pooled_height=[2], pooled_width=[2]))
    elif c.name == "psroi_pool":
        c.out(c.apart(2, 8, 4, 4), rois, 2, 1.0, 2, 2)
    elif c.name == "deformable_conv":
        c.out(
            x,
            c.f(2, 8, 3, 3, low=-0.5, high=0.5),
            c.f(2, 4, 3, 3, low=0, high=1),
            2,
            2,
            im2col_step=1,
            **c.some(bias_attr=[False]),
        )
    else:
        trans = c.f(3, 2, 2, 2, low=-0.5, high=0.5)
        c.out(x, rois, trans, pooled_height=2, pooled_width=2, part_size=[2, 2], sample_per_part=2, **c.some(
            no_trans=[True], trans_std=[0.2], spatial_scale=[0.5]))  # fmt: skip


@call(
    "cross_entropy", "softmax_with_cross_entropy", "bpr_loss", "square_error_cost", "smooth_l1", "huber_loss",
    "kldiv_loss", "log_loss", "mse_loss", "npair_loss", "rank_loss", "margin_rank_loss", "dice_loss", "center_loss",
    "sigmoid_cross_entropy_with_logits", "sigmoid_focal_loss", "teacher_student_sigmoid_loss", "nce", "hsigmoid",
    "sampled_softmax_with_cross_entropy",
)  # fmt: skip
def losses(c: CallDraw) -> None:
    probs = c.numpy.uniform(0.1, 1, (3, 4))
    label = c.i(4, 3, 1)
    if c.name == "cross_entropy":
        soft = c.chance(0.3)
        x = c.put(np.round(probs / probs.sum(1, keepdims=True), 4).astype("float32"))
        c.out(x, c.f(3, 4, low=0.1, high=0.3) if soft else label, soft_label=soft, **c.some(ignore_index=[1]))
    elif c.name == "softmax_with_cross_entropy":
        c.out(c.f(3, 4), label, **c.some(ignore_index=[1], return_softmax=[True], axis=[-1, 1]))
    elif c.name == "bpr_loss":
        c.out(c.f(3, 4), label)
    elif c.name in ("square_error_cost", "mse_loss"):
        c.out(c.f(3, 2), c.f(3, 2))
    elif c.name == "smooth_l1":
        kw = {"inside_weight": c.f(3, 4), "outside_weight": c.f(3, 4)} if c.chance() else {}
        c.out(c.f(3, 4), c.f(3, 4), **kw, **c.some(sigma=[2.0]))
    elif c.name == "huber_loss":
        c.out(c.f(3, 1), c.f(3, 1), 0.7)
    elif c.name == "kldiv_loss":
        c.out(c.f(3, 4), c.f(3, 4, low=0.1), **c.some(reduction=["sum", "none", "batchmean"]))
    elif c.name == "log_loss":
        c.out(c.f(3, 1, low=0.1, high=0.9), c.f(3, 1, low=0.0, high=1.0), **c.some(epsilon=[1e-3]))
    elif c.name == "npair_loss":
        c.open = False
        c.out(c.f(3, 4), c.f(3, 4), c.put(np.array([1.0, 2.0, 1.0], "float32")), **c.some(l2_reg=[0.01]))
    elif c.name == "rank_loss":
        c.out(c.f(3, 1, low=0, high=1), c.f(3, 1), c.f(3, 1))
    elif c.name == "margin_rank_loss":
        c.out(c.f(3, 1, low=0, high=1), c.f(3, 1), c.f(3, 1), **c.some(margin=[0.3]))
    elif c.name == "dice_loss":
        c.out(c.f(3, 2, low=0.1, high=0.9), c.i(2, 3, 1), **c.some(epsilon=[1e-2]))
    elif c.name == "center_loss":
        c.out(c.f(3, 2), label, 4, c.pick(0.1, 0.5), **c.some(update_center=[False]), param_attr=None)
    elif c.name == "sigmoid_cross_entropy_with_logits":
        c.out(c.f(3, 2), c.f(3, 2, low=0, high=1), **c.some(ignore_index=[0], normalize=[True]))
    elif c.name == "sigmoid_focal_loss":
        c.out(c.f(3, 3), c.i(4, 3, 1, dtype="int32"), c.i(4, 1, low=1, dtype="int32", fixed=True), **c.some(
            gamma=[1.0], alpha=[0.5]))  # fmt: skip
    elif c.name == "teacher_student_sigmoid_loss":
        c.out(c.f(3, 1), c.f(3, 1), **c.some(soft_max_up_bound=[5.0], soft_max_lower_bound=[-5.0]))
    elif c.name == "nce":
        kinds = c.some(sampler=["log_uniform"], bias_attr=[False], is_sparse=[False])
        c.out(c.f(3, 2), label, 4, num_neg_samples=2, seed=c.size(1, 9), **kinds)
    elif c.name == "hsigmoid":
        c.out(c.f(3, 2), label, 4, **c.some(bias_attr=[False]))
    else:
        c.out(c.f(3, 8), label, 3, seed=c.size(1, 9), **c.some(num_true=[1], remove_accidental_hits=[False]))


@call("accuracy", "auc", "mean_iou", "chunk_eval", "edit_distance", grad=False)
def metrics(c: CallDraw) -> None:
    if c.name == "accuracy":
        c.out(c.apart(4, 3, low=0.1, high=0.9), c.i(3, 4, 1), **c.some(k=[2]))
    elif c.name == "auc":
        c.out(c.f(4, 2, low=0, high=1), c.i(2, 4, 1), **c.some(curve=["PR"], num_thresholds=[63], slide_steps=[2]))
    elif c.name == "mean_iou":
        c.out(c.i(3, 4, 2, dtype="int32"), c.i(3, 4, 2, dtype="int32"), 3)
    elif c.name == "chunk_eval":
        lengths = c.lengths()
        x, y = (c.i(5, sum(lengths), 1, lod=[lengths]) for _ in range(2))
        c.out(x, y, c.pick("IOB", "IOE"), 2, **c.some(excluded_chunk_types=[[1]]))
    else:
        one, two = c.lengths(2), c.lengths(2)
        x, y = c.i(5, sum(one), 1, lod=[one]), c.i(5, sum(two), 1, lod=[two])
        c.out(x, y, **c.some(normalized=[False], ignored_tokens=[[0], [1, 2]]))


@call("dropout", "mean", "softmax")
def others(c: CallDraw) -> None:
    if c.name == "dropout":
        c.out(c.f(3, 4), c.pick(0.3, 0.7), seed=c.size(1, 9), **c.some(
            is_test=[True], dropout_implementation=["upscale_in_train"]))  # fmt: skip
    elif c.name == "softmax":
        c.out(c.f(2, 3, 2), **c.some(axis=[1, 0, -1]))
    else:
        c.out(c.f(2, 3))


@call("nets.simple_img_conv_pool", "nets.img_conv_group", "nets.glu", "nets.scaled_dot_product_attention")
def nets(c: CallDraw) -> None:
    if c.name == "nets.simple_img_conv_pool":
        c.out(c.f(2, 1, 6, 6), 2, 3, 2, 2, **c.some(act=["relu"], pool_type=["avg"], conv_padding=[1]))
    elif c.name == "nets.img_conv_group":
        more = c.some(conv_act=["relu"], conv_with_batchnorm=[True], pool_type=["avg"], conv_padding=[0])
        c.out(c.f(2, 1, 8, 8), [2, 3], 2, **more)
    elif c.name == "nets.glu":
        c.out(c.f(2, 4), **c.some(dim=[1, -1]))
    else:
        q, k, v = c.f(2, 3, 4), c.f(2, 5, 4), c.f(2, 5, 6)
        c.out(q, k, v, **c.some(num_heads=[2]))
