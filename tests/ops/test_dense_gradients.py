"""Gradients of the dense ops against finite differences: odd shapes, batches of one, single elements."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from fluidio.ops import OP_TABLE
from tests.ops.gradcheck import Ragged, check_gradient


def wave(*shape: int, k: float = 0.77, phase: float = 0.3, scale: float = 1.0, shift: float = 0.05) -> Any:
    return (scale * np.sin(np.arange(int(np.prod(shape))) * k + phase) + shift).reshape(shape)


def positive(*shape: int) -> Any:
    return wave(*shape, scale=0.4, shift=1.2)


def ids(*values: int, shape: Any = None) -> Any:
    return np.array(values, np.int64).reshape(shape or (len(values), 1))


class Case(NamedTuple):
    """One op with inputs; `wrt` are the slots to differentiate."""

    op: str
    inputs: dict[str, Any]
    outputs: Any = ("Out",)
    attrs: dict[str, Any] = {}
    wrt: tuple[str, ...] = ("X",)
    unchecked: tuple[str, ...] = ()
    name: str = ""


UNARY = [
    "abs", "acos", "asin", "atan", "brelu", "ceil", "cos", "elu", "erf", "exp", "floor", "gelu", "hard_shrink",
    "hard_sigmoid", "hard_swish", "leaky_relu", "logsigmoid", "mish", "relu", "relu6", "round", "selu", "sigmoid",
    "sign", "sin", "soft_relu", "softmax", "softplus", "softshrink", "softsign", "square", "stanh", "swish", "tanh",
    "tanh_shrink", "thresholded_relu"
]  # fmt: skip
POSITIVE = ["log", "log1p", "reciprocal", "rsqrt", "sqrt"]
CASES = [
    *(Case(op, {"X": wave(2, 3, scale=0.9)}) for op in UNARY),
    *(Case(op, {"X": wave(1, 1, 1)}, name=f"{op} of one element") for op in ("relu", "tanh", "softmax", "gelu")),
    *(Case(op, {"X": positive(3, 2)}) for op in POSITIVE),
    Case("gelu", {"X": wave(5)}, attrs={"approximate": True}, name="gelu by tanh"),
    Case("softmax", {"X": wave(2, 3, 4)}, attrs={"axis": 1}, name="softmax along axis 1"),
    Case("pow", {"X": positive(2, 3)}, attrs={"factor": 2.5}),
    Case("clip", {"X": wave(2, 3)}, attrs={"min": -0.3, "max": 0.6}),
    Case("prelu", {"X": wave(2, 3, 2), "Alpha": wave(1)}, attrs={"mode": "all"}, wrt=("X", "Alpha"), name="prelu all"),
    Case(
        "prelu", {"X": wave(1, 3, 2, 2), "Alpha": wave(1, 3, 1, 1)}, attrs={"mode": "channel"}, wrt=("X", "Alpha"),
        name="prelu channel",
    ),
    Case(
        "prelu", {"X": wave(2, 3, 2), "Alpha": wave(1, 3, 2)}, attrs={"mode": "element"}, wrt=("X", "Alpha"),
        name="prelu element",
    ),
    Case("maxout", {"X": wave(2, 6, 2, 1)}, attrs={"groups": 3}),
    *(
        Case(f"elementwise_{op}", {"X": positive(2, 3, 4), "Y": wave(3, scale=0.3, shift=1.7)}, attrs={"axis": 1},
             wrt=("X", "Y"))
        for op in ("add", "sub", "mul", "div", "max", "min", "pow")
    ),
    *(
        Case(f"elementwise_{op}", {"X": positive(1, 3), "Y": positive(1, 3) * 1.3}, wrt=("X", "Y"),
             name=f"elementwise_{op} of equal shapes")
        for op in ("add", "sub", "mul", "div")
    ),
    Case("mul", {"X": wave(3, 2, 2), "Y": wave(4, 5)}, wrt=("X", "Y")),
    Case("matmul", {"X": wave(2, 3, 4), "Y": wave(2, 5, 4)}, attrs={"transpose_Y": True, "alpha": 0.5}, wrt=("X", "Y")),
    Case("matmul", {"X": wave(4, 3), "Y": wave(2, 4, 2)}, attrs={"transpose_X": True}, wrt=("X", "Y"),
         name="matmul 2 3"),
    Case("matmul", {"X": wave(2, 3, 4), "Y": wave(4, 2)}, wrt=("X", "Y"), name="matmul 3 2"),
    Case("matmul", {"X": wave(4), "Y": wave(4)}, wrt=("X", "Y"), name="matmul of vectors"),
    Case("bmm", {"X": wave(2, 3, 1), "Y": wave(2, 1, 4)}, wrt=("X", "Y")),
    Case(
        "bilinear_tensor_product",
        {"X": wave(2, 3), "Y": wave(2, 2), "Weight": wave(4, 3, 2), "Bias": wave(1, 4)},
        wrt=("X", "Y", "Weight", "Bias"),
    ),
    Case("mean", {"X": wave(3, 2)}),
    Case("scale", {"X": wave(3)}, attrs={"scale": -2.0, "bias": 1.0}),
    Case("sum", {"X": [wave(2, 3), wave(2, 3, phase=1.0), wave(2, 3, phase=2.0)]}),
    *(
        Case(f"reduce_{op}", {"X": positive(2, 3, 4)}, attrs={"dim": [0, -1], "keep_dim": True})
        for op in ("sum", "mean", "max", "min", "prod")
    ),
    *(
        Case(f"reduce_{op}", {"X": positive(3, 1)}, attrs={"reduce_all": True}, name=f"{op} of all")
        for op in ("sum", "mean")
    ),
    Case("cumsum", {"X": wave(2, 3)}, attrs={"axis": 0, "exclusive": True, "reverse": True}),
    *(
        Case(op, {"X": wave(2, 1, 3)}, out, attrs, unchecked=("XShape",))
        for op, attrs in (
            ("reshape", {"shape": [3, -1]}), ("squeeze", {"axes": [1]}), ("unsqueeze", {"axes": [0, -1]}),
            ("flatten", {"axis": 2}), ("transpose", {"axis": [2, 0, 1]}),
            ("reshape2", {"shape": [0, -1]}), ("squeeze2", {"axes": []}), ("unsqueeze2", {"axes": [2]}),
            ("flatten2", {"axis": 1}), ("transpose2", {"axis": [1, 2, 0]}),
        )
        for out in [("Out", "XShape") if op.endswith("2") else ("Out",)]
    ),
    Case("reverse", {"X": wave(2, 3)}, attrs={"axis": [1]}),
    Case("concat", {"X": [wave(2, 1), wave(2, 3)]}, attrs={"axis": 1}),
    Case("split", {"X": wave(2, 5)}, {"Out": 3}, {"axis": 1, "sections": [1, -1, 2]}),
    Case("stack", {"X": [wave(2, 3), wave(2, 3, phase=2.0)]}, ("Y",), {"axis": -1}),
    Case("unstack", {"X": wave(2, 3)}, {"Y": 3}, {"axis": 1, "num": 3}),
    Case("multiplex", {"Ids": ids(1, 0, 1).astype(np.int32), "X": [wave(3, 2), wave(3, 2, phase=1.0)]}),
    Case("slice", {"Input": wave(3, 4)}, attrs={"axes": [0, 1], "starts": [-2, 1], "ends": [9, 3]}, wrt=("Input",)),
    Case(
        "slice", {"Input": wave(3, 4)}, attrs={"axes": [0], "starts": [1], "ends": [2], "decrease_axis": [0]},
        wrt=("Input",), name="slice that drops a dim",
    ),
    Case(
        "strided_slice", {"Input": wave(4, 5)},
        attrs={"axes": [0, 1], "starts": [3, 0], "ends": [0, 5], "strides": [-2, 2]}, wrt=("Input",),
    ),
    Case("crop", {"X": wave(3, 4)}, attrs={"offsets": [1, 0], "shape": [2, 3]}),
    Case("crop_tensor", {"X": wave(3, 4)}, attrs={"offsets": [1, 0], "shape": [-1, 3]}),
    Case("pad", {"X": wave(2, 3)}, attrs={"paddings": [1, 0, 0, 2], "pad_value": 0.5}),
    *(
        Case("pad2d", {"X": wave(1, 2, 3, 4)}, attrs={"paddings": [1, 2, 2, 1], "mode": mode}, name=f"pad2d {mode}")
        for mode in ("constant", "reflect", "edge")
    ),
    Case("pad_constant_like", {"X": wave(3, 4), "Y": wave(2, 3)}, wrt=("Y",)),
    Case("expand", {"X": wave(2, 1, 3)}, attrs={"expand_times": [2, 3, 1]}),
    Case("expand_as", {"X": wave(2, 3), "target_tensor": wave(4, 3)}),
    Case("gather", {"X": wave(4, 2), "Index": ids(3, 1)}, attrs={"overwrite": True}),
    Case("gather", {"X": wave(4, 2), "Index": ids(3, 1, 3)}, attrs={"overwrite": False}, name="gather that adds up"),
    Case("gather_nd", {"X": wave(3, 2, 2), "Index": ids(0, 1, 2, 0, 0, 1, shape=(3, 2))}),
    Case("scatter_nd_add", {"X": wave(4, 2), "Index": ids(1, 3, 1), "Updates": wave(3, 2)}, wrt=("X", "Updates")),
    Case("scatter", {"X": wave(4, 2), "Ids": ids(1, 3, shape=(2,)), "Updates": wave(2, 2)}, wrt=("Updates",)),
    Case("lookup_table", {"W": wave(5, 3), "Ids": ids(1, 4, 1)}, attrs={"padding_idx": 4}, wrt=("W",)),
    Case("lookup_table_v2", {"W": wave(5, 3), "Ids": ids(1, 4, 1, 0, shape=(2, 2))}, wrt=("W",)),
    Case("argsort", {"X": wave(2, 5)}, ("Out", "Indices"), {"axis": 0, "descending": True}, unchecked=("Indices",)),
    Case("top_k", {"X": wave(2, 5)}, ("Out", "Indices"), {"k": 3}, unchecked=("Indices",)),
    Case("where", {"Condition": np.array([True, False, True]), "X": wave(3), "Y": wave(3, phase=2.0)}, wrt=("X", "Y")),
    Case("cast", {"X": wave(2)}, attrs={"in_dtype": 6, "out_dtype": 6}),
    Case("assign", {"X": wave(2)}),
    Case("dropout", {"X": wave(3, 4)}, ("Out", "Mask"), {"seed": 5, "fix_seed": True}, unchecked=("Mask",)),
    Case(
        "dropout", {"X": wave(3, 4)}, ("Out", "Mask"),
        {"seed": 5, "fix_seed": True, "dropout_implementation": "upscale_in_train"}, unchecked=("Mask",),
        name="upscaled",
    ),
    Case("norm", {"X": wave(2, 3)}, ("Out", "Norm"), {"axis": 1}, unchecked=("Norm",)),
    Case("lrn", {"X": wave(1, 6, 2, 1)}, ("Out", "MidOut"), {"n": 5, "k": 1.0, "alpha": 0.3}, unchecked=("MidOut",)),
    Case("cos_sim", {"X": wave(3, 2), "Y": wave(3, 2, phase=1.0)}, ("Out", "XNorm", "YNorm"), wrt=("X", "Y"),
         unchecked=("XNorm", "YNorm")),
    Case("cos_sim", {"X": wave(3, 2), "Y": wave(1, 2, phase=1.0)}, ("Out", "XNorm", "YNorm"), wrt=("X", "Y"),
         unchecked=("XNorm", "YNorm"), name="cos_sim with one row"),
    Case("cross_entropy", {"X": positive(3, 4), "Label": ids(0, 3, 1)}, ("Y",)),
    Case("cross_entropy", {"X": positive(2, 3), "Label": positive(2, 3)}, ("Y",), {"soft_label": True}, name="soft"),
    Case("cross_entropy2", {"X": positive(3, 4), "Label": ids(0, -100, 1)}, ("Y", "MatchX", "XShape"),
         unchecked=("MatchX", "XShape")),
    Case("softmax_with_cross_entropy", {"Logits": wave(3, 4), "Label": ids(0, 3, 1)}, ("Softmax", "Loss"),
         wrt=("Logits",), unchecked=("Softmax",)),
    Case("softmax_with_cross_entropy", {"Logits": wave(2, 3, 2), "Label": ids(0, 2, 1, 1, shape=(2, 1, 2))},
         ("Softmax", "Loss"), {"axis": 1}, wrt=("Logits",), unchecked=("Softmax",), name="swce along axis 1"),
    Case("softmax_with_cross_entropy", {"Logits": wave(2, 3), "Label": np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])},
         ("Softmax", "Loss"), {"soft_label": True}, wrt=("Logits",), unchecked=("Softmax",), name="swce soft"),
    Case("sigmoid_cross_entropy_with_logits", {"X": wave(2, 3), "Label": np.array([[0.0, 1, -1], [1, 1, 0]])},
         attrs={"ignore_index": -1, "normalize": True}),
    Case("smooth_l1_loss", {"X": wave(3, 2, scale=2.0), "Y": wave(3, 2, phase=2.0), "InsideWeight": positive(3, 2),
                            "OutsideWeight": positive(3, 2)}, ("Diff", "Out"), {"sigma": 1.3}, ("X", "Y"), ("Diff",)),
    Case("huber_loss", {"X": wave(4, 1, scale=2.0), "Y": wave(4, 1, phase=2.0)}, ("Residual", "Out"), {"delta": 0.7},
         ("X", "Y"), ("Residual",)),
    Case("log_loss", {"Predicted": wave(3, 1, scale=0.3, shift=0.5), "Labels": np.array([[0.0], [1], [1]])}, ("Loss",),
         wrt=("Predicted",)),
    *(
        Case("kldiv_loss", {"X": wave(2, 3), "Target": wave(2, 3, phase=1.0)}, ("Loss",), {"reduction": kind},
             name=f"kldiv {kind}")
        for kind in ("none", "mean", "sum", "batchmean")
    ),
    Case("label_smooth", {"X": wave(2, 3), "PriorDist": positive(1, 3)}, attrs={"epsilon": 0.2}),
    Case("rank_loss", {"Label": np.array([[0.0], [1]]), "Left": wave(2, 1), "Right": wave(2, 1, phase=2.0)},
         wrt=("Left", "Right")),
    Case("margin_rank_loss", {"Label": np.array([[1.0], [-1]]), "X1": wave(2, 1), "X2": wave(2, 1, phase=2.0)},
         ("Activated", "Out"), {"margin": 0.2}, ("X1", "X2"), ("Activated",)),
    Case("hinge_loss", {"Logits": wave(4, 1), "Labels": np.array([[0.0], [1], [1], [0]])}, ("Loss",), wrt=("Logits",)),
    Case("bpr_loss", {"X": wave(3, 4), "Label": ids(0, 3, 1)}, ("Y",)),
    Case("layer_norm", {"X": wave(2, 3, 2), "Scale": positive(6), "Bias": wave(6)}, ("Y", "Mean", "Variance"),
         {"begin_norm_axis": 1}, ("X", "Scale", "Bias"), ("Mean", "Variance")),
    Case("layer_norm", {"X": wave(1, 4)}, ("Y", "Mean", "Variance"), {}, ("X",), ("Mean", "Variance"),
         "plain layer_norm"),
    *(
        Case("group_norm", {"X": wave(*shape), "Scale": positive(4), "Bias": wave(4)}, ("Y", "Mean", "Variance"),
             {"groups": 2, "data_layout": layout}, ("X", "Scale", "Bias"), ("Mean", "Variance"), f"group_norm {layout}")
        for layout, shape in (("NCHW", (2, 4, 1, 3)), ("NHWC", (2, 1, 3, 4)))
    ),
    Case("instance_norm", {"X": wave(2, 2, 2, 3), "Scale": positive(2), "Bias": wave(2)},
         ("Y", "SavedMean", "SavedVariance"), {}, ("X", "Scale", "Bias"), ("SavedMean", "SavedVariance")),
    *(
        Case("conv2d", {"Input": wave(2, 4, 5, 4), "Filter": wave(6, 2, 3, 2)}, ("Output",), attrs,
             ("Input", "Filter"), name=f"conv2d {name}")
        for name, attrs in (
            ("groups", {"groups": 2}), ("padding", {"groups": 2, "paddings": [1, 2], "strides": [2, 1]}),
            ("same", {"groups": 2, "padding_algorithm": "SAME", "strides": [2, 2]}),
            ("dilation", {"groups": 2, "dilations": [2, 1], "paddings": [1, 0, 0, 1]}),
        )
    ),
    Case("conv2d", {"Input": wave(1, 3, 18, 17), "Filter": wave(2, 3, 2, 1)}, ("Output",), {}, ("Filter",),
         name="conv2d of long rows"),
    Case("conv2d", {"Input": wave(2, 3, 2, 2), "Filter": wave(2, 3, 1, 1)}, ("Output",), {}, ("Input", "Filter"),
         name="conv2d 1x1"),
    Case("conv2d", {"Input": wave(1, 4, 3, 2), "Filter": wave(2, 2, 2, 2)}, ("Output",), {"data_format": "NHWC"},
         ("Input", "Filter"), name="conv2d NHWC"),
    Case("depthwise_conv2d", {"Input": wave(2, 2, 3, 3), "Filter": wave(4, 1, 2, 2)}, ("Output",), {"groups": 2},
         ("Input", "Filter")),
    Case("conv3d", {"Input": wave(1, 2, 3, 2, 3), "Filter": wave(2, 2, 2, 2, 2)}, ("Output",), {"paddings": [1, 0, 0]},
         ("Input", "Filter")),
    Case("conv2d_transpose", {"Input": wave(2, 4, 2, 3), "Filter": wave(4, 2, 3, 2)}, ("Output",),
         {"groups": 2, "strides": [2, 1], "paddings": [1, 0], "output_size": [4, 4]}, ("Input", "Filter")),
    Case("depthwise_conv2d_transpose", {"Input": wave(1, 2, 2, 2), "Filter": wave(2, 1, 2, 2)}, ("Output",),
         {"groups": 2}, ("Input", "Filter")),
    Case("conv3d_transpose", {"Input": wave(1, 2, 2, 1, 2), "Filter": wave(2, 1, 2, 2, 1)}, ("Output",),
         {"strides": [2, 1, 1]}, ("Input", "Filter")),
    Case("unfold", {"X": wave(1, 2, 4, 3)}, ("Y",),
         {"kernel_sizes": [2, 2], "strides": [1, 2], "paddings": [1, 0, 0, 1], "dilations": [1, 1]}),
    *(
        Case("pool2d", {"X": wave(2, 2, 5, 4)}, attrs={"pooling_type": kind, "ksize": [2, 3], **attrs},
             name=f"pool2d {kind} {name}")
        for kind in ("max", "avg")
        for name, attrs in (
            ("overlapping", {"strides": [1, 2], "paddings": [1, 1]}), ("apart", {"strides": [2, 3]}),
            ("ceil", {"strides": [2, 2], "ceil_mode": True}), ("whole", {"global_pooling": True}),
            ("inclusive", {"strides": [2, 2], "paddings": [1, 1], "exclusive": False}),
        )
    ),
    Case("pool2d", {"X": wave(1, 2, 5, 4)}, attrs={"pooling_type": "avg", "ksize": [3, 2], "adaptive": True},
         name="pool2d adaptive"),
    Case("pool3d", {"X": wave(1, 2, 3, 2, 3)}, attrs={"ksize": [2, 2, 2], "strides": [1, 1, 1]}),
    Case("max_pool2d_with_index", {"X": wave(2, 2, 5, 4)}, ("Out", "Mask"), {"ksize": [2, 3], "adaptive": True},
         unchecked=("Mask",)),
    Case("max_pool3d_with_index", {"X": wave(1, 1, 3, 2, 3)}, ("Out", "Mask"), {"ksize": [2, 1, 2], "adaptive": True},
         unchecked=("Mask",)),
    *(
        Case(f"{method}_interp", {"X": wave(1, 2, 3, 4)}, attrs={"out_h": 5, "out_w": 2, "align_corners": corners,
                                                                 "interp_method": method},
             name=f"{method} {corners}")
        for method in ("nearest", "bilinear")
        for corners in (True, False)
    ),
    Case("trilinear_interp", {"X": wave(1, 1, 2, 3, 2)}, attrs={"out_d": 3, "out_h": 2, "out_w": 4}),
    Case("bicubic_interp", {"X": wave(1, 1, 3, 4)}, attrs={"out_h": 5, "out_w": 3, "interp_method": "bicubic"}),
    *(
        Case(
            "fused_elemwise_activation",
            {"X": wave(2, 3), "Y": wave(3, k=0.7)},
            ("Out", "IntermediateOut"),
            {"functor_list": functors, "scale": 0.7},
            ("X", "Y"),
            ("IntermediateOut",),
            f"fused {functors}",
        )
        for functors in (["elementwise_mul", "tanh"], ["sigmoid", "elementwise_add"], ["scale", "elementwise_mul"])
    ),
    Case("pixel_shuffle", {"X": wave(1, 4, 2, 1)}, attrs={"upscale_factor": 2}),
    Case("shuffle_channel", {"X": wave(1, 4, 2, 1)}, attrs={"group": 2}),
    Case("space_to_depth", {"X": wave(1, 4, 2, 4)}, attrs={"blocksize": 2}),
    Case("temporal_shift", {"X": wave(4, 4, 1, 2)}, attrs={"seg_num": 2}),
    Case("affine_grid", {"Theta": wave(2, 2, 3)}, ("Output",), {"output_shape": [2, 1, 2, 3]}, ("Theta",)),
    Case("grid_sampler", {"X": wave(2, 2, 3, 4), "Grid": wave(2, 2, 3, 2, k=0.53)}, ("Output",), wrt=("X", "Grid")),
    Case("add_position_encoding", {"X": wave(2, 3, 4)}, attrs={"alpha": 0.7, "beta": 0.3}),
    Case("fsp", {"X": wave(2, 3, 1, 2), "Y": wave(2, 2, 1, 2)}, wrt=("X", "Y")),
    Case("teacher_student_sigmoid_loss", {"X": wave(5, 1), "Label": np.array([[-2.0], [-1], [0.3], [1.4], [0]])},
         ("Y",)),
    Case("sigmoid_focal_loss",
         {"X": wave(3, 2), "Label": ids(0, 2, 1).astype(np.int32), "FgNum": np.array([2], np.int32)}),
    Case("center_loss", {"X": wave(3, 2), "Label": ids(0, 2, 0), "Centers": wave(4, 2, phase=2.0),
                         "CenterUpdateRate": np.array([0.1])}, ("CentersOut", "SampleCenterDiff", "Loss"),
         {"need_update": False}, unchecked=("CentersOut", "SampleCenterDiff")),
    Case("yolov3_loss", {"X": wave(1, 14, 2, 2), "GTBox": np.array([[[0.3, 0.7, 0.4, 0.3], [0.9, 0.2, 0.1, 0.2]]]),
                         "GTLabel": np.array([[1, 0]], np.int32)}, ("Loss", "ObjectnessMask", "GTMatchMask"),
         {"anchors": [10, 13, 16, 30], "anchor_mask": [0, 1], "class_num": 2, "ignore_thresh": 0.9},
         unchecked=("ObjectnessMask", "GTMatchMask")),
    *(
        Case(op, {"X": wave(2, 2, 4, 5),
                  "ROIs": Ragged(np.array([[0.0, 0, 3, 2], [1, 1, 4, 3], [-1, 0, 9, 9]]), [1, 2])},
             outputs, {"pooled_height": 2, "pooled_width": 2}, unchecked=("Argmax",))
        for op, outputs in (("roi_pool", ("Out", "Argmax")), ("roi_align", ("Out",)))
    ),
    Case("affine_channel", {"X": wave(2, 3, 1, 2), "Scale": positive(3), "Bias": wave(3)}, wrt=("X", "Scale", "Bias"),
         attrs={"data_layout": "NCHW"}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name or case.op)
def test_the_gradient_is_the_derivative(case: Case) -> None:
    check_gradient(
        case.op, case.inputs, case.outputs, case.attrs, wrt=case.wrt, unchecked=case.unchecked, tolerance=2e-6
    )


PARAMETERS = {"Alpha", "Bias", "Centers", "Filter", "Scale", "W", "Weight"}
"""Slots that do not grow with the batch."""
NOT_BY_ROW = {"crop", "gather", "matmul", "pad_constant_like", "roi_align", "roi_pool", "scatter", "scatter_nd_add",
              "slice", "temporal_shift"}  # fmt: skip
"""Ops whose other inputs or attributes speak of rows that a first row alone does not have."""
OF_ONE = [
    Case("crop", {"X": wave(1, 4)}, attrs={"offsets": [0, 1], "shape": [1, 2]}),
    Case("gather", {"X": wave(1, 2), "Index": ids(0, 0)}, attrs={"overwrite": False}),
    Case("matmul", {"X": wave(1, 1, 4), "Y": wave(1, 4, 1)}, wrt=("X", "Y")),
    Case("pad_constant_like", {"X": wave(1, 4), "Y": wave(1, 3)}, wrt=("Y",)),
    *(
        Case(op, {"X": wave(1, 2, 4, 5), "ROIs": Ragged(np.array([[1.0, 1, 4, 3]]), [1])}, outputs,
             {"pooled_height": 2, "pooled_width": 2}, unchecked=("Argmax",))
        for op, outputs in (("roi_pool", ("Out", "Argmax")), ("roi_align", ("Out",)))
    ),
    Case("scatter", {"X": wave(1, 2), "Ids": np.array([0]), "Updates": wave(1, 2)}, wrt=("Updates",)),
    Case("scatter_nd_add", {"X": wave(1, 2), "Index": ids(0, 0), "Updates": wave(2, 2)}, wrt=("X", "Updates")),
    Case("slice", {"Input": wave(1, 4)}, attrs={"axes": [0], "starts": [0], "ends": [1], "decrease_axis": [0]},
         wrt=("Input",)),
    Case("temporal_shift", {"X": wave(1, 4, 1, 2)}, attrs={"seg_num": 1}),
]  # fmt: skip


def _first_row(case: Case) -> Case:
    """Return the case with the first row of everything that grows with the batch."""
    first = next(iter(case.inputs.values()))
    rows = len(first[0] if isinstance(first, list) else first)

    def cut(slot: str, value: Any) -> Any:
        if isinstance(value, list):
            return [cut(slot, part) for part in value]
        grows = np.ndim(value) > 0 and len(value) == rows and slot not in PARAMETERS
        return value[:1] if grows else value

    return case._replace(inputs={slot: cut(slot, value) for slot, value in case.inputs.items()})


@pytest.mark.parametrize(
    "case",
    [*OF_ONE, *(_first_row(case) for case in CASES if case.op not in NOT_BY_ROW)],
    ids=lambda case: case.name or case.op,
)
def test_the_gradient_of_a_batch_of_one_is_the_derivative(case: Case) -> None:
    test_the_gradient_is_the_derivative(case)


def test_every_dense_op_is_checked_with_a_batch_of_one() -> None:
    assert {case.op for case in OF_ONE} == NOT_BY_ROW


MOVING = {"Mean": np.zeros(3), "Variance": np.ones(3)}


@pytest.mark.parametrize("shape", [(4, 3, 2, 1), (5, 3), (1, 3, 2, 3)], ids=str)
@pytest.mark.parametrize("use_global_stats", [False, True])
def test_the_gradient_of_batch_norm_is_the_derivative(shape: tuple[int, ...], use_global_stats: bool) -> None:
    check_gradient(
        "batch_norm",
        {"X": wave(*shape), "Scale": positive(3), "Bias": wave(3), **MOVING},
        ("Y", "MeanOut", "VarianceOut", "SavedMean", "SavedVariance"),
        {"use_global_stats": use_global_stats},
        wrt=("X", "Scale", "Bias"),
        unchecked=("MeanOut", "VarianceOut", "SavedMean", "SavedVariance"),
        tolerance=5e-6,
    )


NO_DERIVATIVE = {
    "data_norm": "the gradients of its sums are what the batch adds to them",
    "print": "passes its gradient on",
    "py_func": "the user's own",
    "spectral_norm": "as the real one computes it",
}
MODULES = {
    "activation", "batch_norm", "compare", "conv", "conv_transpose", "dropout", "elementwise", "embedding",
    "embedding_loss", "fill", "gather", "grid",
    "join", "loss", "matmul", "metric", "norm", "padding", "pool", "prelu", "ranges", "ranking_loss",
    "rearrange", "reduce", "reduce_dims", "regression_loss", "resize", "roi", "search", "shape", "slicing", "user",
    "vector_norm", "yolo",
}  # fmt: skip


def test_every_dense_op_with_a_gradient_is_checked() -> None:
    checked = {case.op for case in CASES} | {"batch_norm", "sync_batch_norm"} | set(NO_DERIVATIVE)
    with_gradient = {
        name
        for name, record in OP_TABLE.items()
        if record.grad is not None and record.kernel and record.kernel.__module__.rpartition(".")[2] in MODULES
        if not name.endswith("_grad")  # second derivatives: tests/backward/test_second_derivatives.py
    }
    assert with_gradient - checked == set()
