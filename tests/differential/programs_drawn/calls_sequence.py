"""Calls of layers: sequences, recurrent networks, decoding, arrays, detection."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.differential.programs_drawn.calls import CallDraw, call

__all__: list[str] = []


def _seq(c: CallDraw, width: int = 3, count: int | None = None, levels: int = 1, least: int = 1) -> tuple[Any, Any]:
    lengths = c.lengths(count, least)
    lod = [lengths]
    if levels == 2:
        lod = [[1] * (len(lengths) - 1) + [1], lengths]
    return c.f(sum(lengths), width, lod=lod), lengths


@call(
    "sequence_pool", "sequence_first_step", "sequence_last_step", "sequence_softmax", "sequence_reverse",
    "sequence_conv", "sequence_reshape", "sequence_pad", "sequence_concat", "sequence_expand", "sequence_expand_as",
    "sequence_slice", "sequence_unpad", "sequence_scatter", "lod_reset", "lod_append",
)  # fmt: skip
def sequences(c: CallDraw) -> None:
    if c.name == "sequence_pool":
        x, _ = _seq(c, levels=c.pick(1, 2))
        kind = c.pick("average", "sum", "sqrt", "max", "last", "first")
        c.out(x, kind, **c.some(pad_value=[0.5]))
    elif c.name in ("sequence_first_step", "sequence_last_step", "sequence_reverse"):
        c.out(_seq(c)[0])
    elif c.name == "sequence_softmax":
        c.out(_seq(c, 1)[0])
    elif c.name == "sequence_conv":
        more = c.some(filter_size=[2, 5], padding_start=[0, -1], act=["relu"], bias_attr=[False])
        c.out(_seq(c)[0], 2, **more)
    elif c.name == "sequence_reshape":
        c.out(_seq(c, 4)[0], 2)
    elif c.name == "sequence_pad":
        c.out(_seq(c)[0], c.before("assign", {"array": {"dtype": "float32", "shape": [1], "data": [0.5]}}), **c.some(
            maxlen=[5]))  # fmt: skip
    elif c.name == "sequence_concat":
        c.out([_seq(c, count=2)[0], _seq(c, count=2)[0]])
    elif c.name == "sequence_expand":
        c.out(c.f(2, 3), _seq(c, count=2)[0], **c.some(ref_level=[0]))
    elif c.name == "sequence_expand_as":
        c.out(c.f(2, 3), _seq(c, count=2)[0])
    elif c.name == "sequence_slice":
        x, lengths = _seq(c, count=2, least=2)
        c.out(x, c.put(np.array([[0], [1]], "int64")), c.put(np.array([[1], [1]], "int64")))
    elif c.name == "sequence_unpad":
        c.out(c.f(2, 4, 3), c.i(5, 2, low=1))
    elif c.name == "sequence_scatter":
        lengths = c.lengths(2)
        c.out(c.f(2, 5), c.i(5, sum(lengths), 1, lod=[lengths]), c.f(sum(lengths), 1, lod=[lengths]))
    elif c.name == "lod_reset":
        c.out(c.f(4, 2), target_lod=[0, 1, 4])
    else:
        c.out(c.f(4, 2), [0, 1, 4])


@call("sequence_enumerate", "sequence_mask", grad=False)
def ids(c: CallDraw) -> None:
    lengths = c.lengths()
    if c.name == "sequence_mask":
        c.out(c.i(5, 3, low=1), **c.some(maxlen=[6], dtype=["float32", "int32"]))
        return
    x = c.i(5, sum(lengths), 1, lod=[lengths], dtype=c.pick("int64", "int32"))
    c.out(x, 2, **c.some(pad_value=[9]))


@call(
    "dynamic_lstm", "dynamic_lstmp", "dynamic_gru", "gru_unit", "lstm_unit", "linear_chain_crf", "warpctc",
    "nets.sequence_conv_pool",
)  # fmt: skip
def recurrent(c: CallDraw) -> None:
    if c.name == "dynamic_lstm":
        c.out(_seq(c, 8)[0], 8, **c.some(use_peepholes=[False], is_reverse=[True], gate_activation=["tanh"]))
    elif c.name == "dynamic_lstmp":
        c.out(_seq(c, 8)[0], 8, 3, **c.some(use_peepholes=[False], is_reverse=[True], proj_activation=["relu"]))
    elif c.name == "dynamic_gru":
        c.out(_seq(c, 6)[0], 2, **c.some(is_reverse=[True], origin_mode=[True], candidate_activation=["relu"]))
    elif c.name == "gru_unit":
        c.out(c.f(3, 6), c.f(3, 2), 6, **c.some(origin_mode=[True], activation=["relu"], bias_attr=[False]))
    elif c.name == "lstm_unit":
        c.out(c.f(3, 4), c.f(3, 2), c.f(3, 2), **c.some(forget_bias=[0.5]))
    elif c.name == "linear_chain_crf":
        lengths = c.lengths()
        x = c.f(sum(lengths), 3, lod=[lengths])
        c.out(x, c.i(3, sum(lengths), 1, lod=[lengths]), {"new": "ParamAttr", "kw": {"name": "crfw"}})
    elif c.name == "warpctc":
        c.out(
            _seq(c, 4, 2, least=3)[0],
            c.i(3, 3, 1, low=1, lod=[[1, 2]], dtype="int32"),
            **c.some(blank=[0], norm_by_times=[True]),
        )
    else:
        c.out(_seq(c)[0], 2, 3, **c.some(act=["tanh"], pool_type=["sum"], bias_attr=[False]))


@call("ctc_greedy_decoder", grad=False)
def ctc_greedy_decoder(c: CallDraw) -> None:
    lengths = c.lengths()
    total = sum(lengths)
    values = c.numpy.permutation(np.linspace(-1, 1, total * 3)).reshape(total, 3).astype("float32")
    c.out(c.put(values, [lengths]), 0)


def _cell(c: CallDraw) -> Any:
    name = c.pick("LSTMCell", "GRUCell")
    return {"new": f"layers.{name}", "args": [3], "kw": {"name": "own"} if c.chance(0.3) else {}}


@call("rnn")
def rnn(c: CallDraw) -> None:
    kw = c.some(is_reverse=[True], time_major=[True])
    if c.chance(0.3):
        kw["sequence_length"] = c.put(np.array([3, 2], "int64")) if not kw.get("time_major") else None
    x = c.f(3, 2, 4, fixed=True) if kw.get("time_major") else c.f(2, 3, 4, fixed=True)
    c.out(_cell(c), x, **{key: value for key, value in kw.items() if value is not None})


@call("array_write", "create_array", "array_length", "tensor_array_to_tensor", "create_tensor", grad=False)
def arrays(c: CallDraw) -> None:
    if c.name in ("create_array", "create_tensor"):
        c.out("float32")
        c.fetched.clear()
        return
    i = c.before("fill_constant", [1], "int64", 0)
    array = c.before("array_write", c.f(2, 3), i)
    if c.name == "array_write":
        c.out(c.f(2, 3), i, array)
        c.fetched.clear()
    elif c.name == "array_length":
        c.out(array)
    else:
        c.out(array, **c.some(axis=[0, 1], use_stack=[True]))


@call("array_read")
def array_read(c: CallDraw) -> None:
    c.values_only = True
    i = c.before("fill_constant", [1], "int64", 0)
    c.out(c.before("array_write", c.f(2, 3), i), i)


def _boxes(c: CallDraw, count: int, size: float = 1.0) -> Any:
    corner = c.numpy.uniform(0, size / 2, (count, 2))
    far = corner + c.numpy.uniform(size / 8, size / 2, (count, 2))
    return np.round(np.concatenate([corner, far], 1), 3).astype("float32")


@call(
    "iou_similarity", "box_coder", "box_clip", "bipartite_match", "target_assign", "polygon_box_transform", grad=False
)
def boxes(c: CallDraw) -> None:
    if c.name == "iou_similarity":
        c.out(c.put(_boxes(c, 3), [[2, 1]]), c.put(_boxes(c, 4)), **c.some(box_normalized=[False]))
    elif c.name == "box_coder":
        prior, variance = c.put(_boxes(c, 3)), c.pick([0.1, 0.1, 0.2, 0.2], c.f(3, 4, low=0.1, high=0.3))
        if c.chance():
            c.out(prior, variance, c.put(_boxes(c, 2), [[2]]))
        else:
            c.out(prior, variance, c.f(2, 3, 4), "decode_center_size", **c.some(box_normalized=[False], axis=[0]))
    elif c.name == "box_clip":
        c.out(c.put(_boxes(c, 3, 20.0), [[3]]), c.put(np.array([[9.0, 9.0, 1.0]], "float32")))
    elif c.name == "bipartite_match":
        c.out(c.put(_boxes(c, 3), [[3]]), **c.some(match_type=["per_prediction"], dist_threshold=[0.3]))
    elif c.name == "target_assign":
        c.out(c.f(3, 2, 4, lod=[[3]]), c.put(np.array([[0, -1]], "int32")), **c.some(mismatch_value=[2]))
    else:
        c.out(c.f(1, 8, 2, 2))


@call(
    "prior_box", "density_prior_box", "anchor_generator", "multiclass_nms", "detection_output", "yolo_box",
    "matrix_nms", "locality_aware_nms", "generate_proposals", "distribute_fpn_proposals", "collect_fpn_proposals",
    "ssd_loss", "multi_box_head", "yolov3_loss", "rpn_target_assign", "retinanet_target_assign",
    "box_decoder_and_assign", "retinanet_detection_output", "roi_perspective_transform", "generate_proposal_labels",
    grad=False,
)  # fmt: skip
def detection(c: CallDraw) -> None:
    c.open = False
    _DETECTION[c.name](c)


def _prior_box(c: CallDraw) -> None:
    more = c.some(
        max_sizes=[[8.0]], aspect_ratios=[[1.0, 2.0]], flip=[True], clip=[True], steps=[[2.0, 2.0]], offset=[0.3]
    )
    c.out(c.f(1, 2, 3, 3), c.f(1, 3, 9, 9), [4.0], **more, **c.some(min_max_aspect_ratios_order=[True]))


def _density(c: CallDraw) -> None:
    kw = c.some(clip=[True], steps=[[2.0, 2.0]], offset=[0.3], flatten_to_2d=[True])
    c.out(c.f(1, 2, 3, 3), c.f(1, 3, 9, 9), densities=[2], fixed_sizes=[4.0], fixed_ratios=[1.0], **kw)


def _anchors(c: CallDraw) -> None:
    more = c.some(variance=[[0.1, 0.1, 0.2, 0.2]], offset=[0.3])
    c.out(c.f(1, 2, 3, 3), anchor_sizes=[16.0, 32.0], aspect_ratios=[1.0, 2.0], stride=[8.0, 8.0], **more)


def _nms(c: CallDraw) -> None:
    one = c.name == "locality_aware_nms"
    bbox = c.put(_boxes(c, 5).reshape(1, 5, 4))
    scores = c.apart(1, 1 if one else 2, 5, low=0.1, high=0.9)
    c.inputs[scores["var"]]["stop_gradient"] = True
    if c.name == "matrix_nms":
        more = c.some(use_gaussian=[True], background_label=[-1], return_index=[True], normalized=[False])
        c.out(bbox, scores, 0.1, 0.05, 5, 4, **more)
    else:
        more = c.some(nms_threshold=[0.5], normalized=[False], nms_eta=[0.9])
        c.out(bbox, scores, 0.1, 5, 4, background_label=-1, **more)


def _detection_output(c: CallDraw) -> None:
    more = c.some(nms_threshold=[0.5], return_index=[True], nms_eta=[0.9])
    prior = c.put(_boxes(c, 4))
    c.out(c.f(1, 4, 4, low=-0.5, high=0.5), c.apart(1, 4, 3), prior, c.f(4, 4, low=0.1, high=0.2), **more)


def _yolo_box(c: CallDraw) -> None:
    size = c.put(np.array([[20, 30]], "int32"))
    c.out(c.f(1, 14, 2, 2), size, [4, 5, 6, 7], 2, 0.1, 8, **c.some(clip_bbox=[False]))


def _yolo_loss(c: CallDraw) -> None:
    c.differentiated = True
    gt = c.put(np.array([[[0.4, 0.4, 0.3, 0.3], [0.7, 0.6, 0.2, 0.4]]], "float32"))
    c.inputs[gt["var"]]["stop_gradient"] = True
    label = c.put(np.array([[0, 1]], "int32"))
    c.out(c.f(1, 14, 2, 2), gt, label, [4, 5, 6, 7], [0, 1], 2, 0.5, 8, **c.some(use_label_smooth=[False]))


def _proposals(c: CallDraw) -> None:
    anchors = c.before("anchor_generator", c.f(1, 2, 2, 2), [8.0], [1.0, 2.0], [0.1] * 4, [4.0, 4.0])
    c.steps[-1]["out"] = ["anchors", "variances"]
    del anchors
    scores, deltas = c.apart(1, 2, 2, 2, low=0.1, high=0.9), c.f(1, 8, 2, 2, low=-0.2, high=0.2)
    info = c.put(np.array([[16.0, 16.0, 1.0]], "float32"))
    more = c.some(nms_thresh=[0.7], min_size=[1.0], return_rois_num=[True], post_nms_top_n=[3], eta=[0.9])
    c.out(scores, deltas, info, {"var": "anchors"}, {"var": "variances"}, **more)


def _distribute(c: CallDraw) -> None:
    c.out(c.put(_boxes(c, 4, 100.0), [[2, 2]]), 2, 4, 3, 50)


def _collect(c: CallDraw) -> None:
    rois = [c.put(_boxes(c, 2), [[1, 1]]) for _ in range(2)]
    scores = [c.put(np.array([[0.3 + n / 7], [0.9 - n / 5]], "float32"), [[1, 1]]) for n in range(2)]
    c.out(rois, scores, 2, 3, 3)


def _ssd_loss(c: CallDraw) -> None:
    c.differentiated = c.open = True  # 1.8.5 compares sizes that are not open
    c.values_only = True  # its shapes at build time then change from build to build
    prior = c.put(_boxes(c, 4), fixed=True)
    variances = c.put(np.full((4, 4), 0.2, "float32"), fixed=True)
    gt = c.put(_boxes(c, 2), [[2]])
    for one in (prior, variances, gt):
        c.inputs[one["var"]]["stop_gradient"] = True
    label = c.i(3, 2, 1, low=1, lod=[[2]], dtype="int32")
    more = c.some(neg_pos_ratio=[1.0], overlap_threshold=[0.3], normalize=[False], conf_loss_weight=[0.5])
    c.out(c.f(1, 4, 4), c.f(1, 4, 3), gt, label, prior, variances, **more)


def _multi_box_head(c: CallDraw) -> None:
    more = c.some(flip=[False], clip=[True], offset=[0.3])
    inputs = [c.f(1, 2, 3, 3), c.f(1, 2, 2, 2)]
    ratios = [[2.0], [2.0]]
    c.out(inputs, c.f(1, 3, 12, 12), 12, 3, ratios, min_sizes=[3.0, 6.0], max_sizes=[6.0, 9.0], **more)


def _rpn(c: CallDraw) -> None:
    anchors = c.put(_boxes(c, 6, 16.0))
    gt = c.put(_boxes(c, 2, 16.0), [[2]])
    crowd = c.put(np.zeros((2, 1), "int32"), [[2]])
    info = c.put(np.array([[16.0, 16.0, 1.0]], "float32"))
    deltas, logits = c.f(1, 6, 4), c.f(1, 6, 1 if c.name[0] == "r" and "rpn" in c.name else 3)
    if c.name == "rpn_target_assign":
        more = c.some(rpn_batch_size_per_im=[4], rpn_positive_overlap=[0.5], rpn_fg_fraction=[0.3])
        c.out(deltas, logits, anchors, c.f(6, 4), gt, crowd, info, use_random=False, **more)
    else:
        label = c.put(np.array([[1], [2]], "int32"), [[2]])
        c.out(deltas, logits, anchors, c.f(6, 4), gt, label, crowd, info, 3, **c.some(positive_overlap=[0.4]))


def _decode_assign(c: CallDraw) -> None:
    c.out(c.put(_boxes(c, 3, 9.0)), c.f(4, low=0.1, high=0.3), c.f(3, 8), c.f(3, 2, low=0.1, high=0.9), 4.1)


def _retina(c: CallDraw) -> None:
    bboxes, scores, anchors = [c.f(1, 4, 4)], [c.f(1, 4, 2, low=0.1, high=0.9)], [c.put(_boxes(c, 4, 9.0))]
    info = c.put(np.array([[16.0, 16.0, 1.0]], "float32"))
    c.out(bboxes, scores, anchors, info, **c.some(score_threshold=[0.2], nms_top_k=[3], keep_top_k=[2]))


def _perspective(c: CallDraw) -> None:
    rois = np.array([[0.2, 0.3, 2.5, 0.4, 2.6, 2.4, 0.3, 2.7]], "float32")
    c.out(c.f(1, 2, 4, 4), c.put(rois, [[1]]), 2, 3, **c.some(spatial_scale=[0.8]))


def _labels(c: CallDraw) -> None:
    rois, gt = c.put(_boxes(c, 5, 9.0), [[5]]), c.put(_boxes(c, 2, 9.0), [[2]])
    classes, crowd = c.i(3, 2, 1, low=1, dtype="int32", lod=[[2]]), c.put(np.zeros((2, 1), "int32"), [[2]])
    info = c.put(np.array([[9.0, 9.0, 1.0]], "float32"))
    more = c.some(batch_size_per_im=[4], fg_fraction=[0.5], is_cls_agnostic=[True], bbox_reg_weights=[[1.0] * 4])
    c.out(rois, classes, crowd, gt, info, class_nums=3, use_random=False, **more)


_DETECTION = {
    "prior_box": _prior_box,
    "density_prior_box": _density,
    "anchor_generator": _anchors,
    "multiclass_nms": _nms,
    "matrix_nms": _nms,
    "locality_aware_nms": _nms,
    "detection_output": _detection_output,
    "yolo_box": _yolo_box,
    "yolov3_loss": _yolo_loss,
    "generate_proposals": _proposals,
    "distribute_fpn_proposals": _distribute,
    "collect_fpn_proposals": _collect,
    "ssd_loss": _ssd_loss,
    "multi_box_head": _multi_box_head,
    "rpn_target_assign": _rpn,
    "retinanet_target_assign": _rpn,
    "box_decoder_and_assign": _decode_assign,
    "retinanet_detection_output": _retina,
    "roi_perspective_transform": _perspective,
    "generate_proposal_labels": _labels,
}


@call("layers.Normal", "layers.Uniform", "layers.Categorical", "layers.MultivariateNormalDiag", grad=False)
def distributions(c: CallDraw) -> None:
    kind = c.name.split(".")[1]
    methods: tuple[str, ...]
    if kind == "Categorical":
        args = [[c.f(2, 3)], [c.f(2, 3)]]
        methods = ("entropy", "kl_divergence")
    elif kind == "MultivariateNormalDiag":
        diagonal = np.diag([0.5, 1.5]).astype("float32")
        args = [
            [c.f(2, fixed=True), c.put(diagonal, fixed=True)],
            [c.f(2, fixed=True), c.put(diagonal * 2, fixed=True)],
        ]
        methods = ("entropy", "kl_divergence")
    else:
        args = [[-1.0, 2.0], [c.f(2, low=-2, high=-1), c.f(2, low=1, high=2)]]
        methods = ("entropy", "log_prob", "sample", *(["kl_divergence"] if kind == "Normal" else []))
    method = c.pick(*methods)
    own = {"new": c.name, "args": c.pick(*args) if method != "kl_divergence" else args[0]}
    given: list[Any] = []
    if method == "kl_divergence":
        given = [{"new": c.name, "args": args[1]}]
    elif method == "log_prob":
        given = [c.f(1, low=-0.5, high=0.5, fixed=True) if own["args"] is args[0] else c.f(2, low=-0.5, high=0.5)]
    elif method == "sample":
        given = [c.shape(1, 2), c.size(1, 50)]
    c.steps.append({"do": "method", "of": own, "name": method, "args": given, "out": "out"})
    c.fetched.append("out")
