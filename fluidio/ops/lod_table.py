"""The input that gives each output its LoD, for the ops of 1.8.5 that have a special rule.

A line names an op and its outputs: `Output=Input` takes the LoD of that input, `Output=~Input` only if both have the
same number of rows, `Output=` has none. Ops without a line share the LoD of their first input, or define it
themselves. `PLAIN_GRADIENTS` are gradients without LoD.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["lod_sources"]

_OUTPUTS = """
accuracy Accuracy=Out Correct= Total=
addmm Out=Input
affine_grid Output=Theta
batch_norm SavedMean= SavedVariance= MeanOut=Mean VarianceOut=Variance Y=X
bicubic_interp Out=
bilinear_interp Out=
box_decoder_and_assign DecodeBox=TargetBox OutputAssignBox=PriorBox
center_loss Loss=X SampleCenterDiff=
conv2d Output=Input
conv2d_transpose Output=
conv3d Output=Input
conv3d_transpose Output=
cos_sim Out=X XNorm= YNorm=
crop Out=
crop_tensor Out=
cross_entropy2 MatchX= XShape=X Y=X
data_norm Means= Scales= Y=X
depthwise_conv2d Output=Input
depthwise_conv2d_transpose Output=
dist Out=
dot Out=
dropout Mask= Out=X
equal_reduce Out=X
expand Out=~X
expand_as Out=
fake_channel_wise_quantize_abs_max Out=X OutScale=
fake_quantize_abs_max Out=X OutScale=
fake_quantize_dequantize_abs_max Out=X OutScale=
fake_quantize_dequantize_moving_average_abs_max Out=X OutScale= OutAccum= OutState=
fake_quantize_moving_average_abs_max Out=X OutScale= OutAccum= OutState=
fake_quantize_range_abs_max Out=X OutScale= OutScales=
flatten Out=~X
flatten2 Out=~X XShape=X
fsp Out=X
fusion_repeated_fc_relu Out=X ReluOut=
gather_nd Out=X
gather_tree Out=
grid_sampler Output=X
hierarchical_sigmoid Out=X PreOut=
group_norm Mean= Variance= Y=X
gru_unit Gate= Hidden= ResetHiddenPrev=
hinge_loss Loss=Logits
huber_loss Out=X Residual=
index_sample Out=Index
index_select Out=X
instance_norm SavedMean= SavedVariance= Y=X
kron Out=
layer_norm Mean= Variance= Y=X
log_loss Loss=Predicted
lookup_table Out=Ids
lookup_table_dequant Out=Ids
lookup_table_v2 Out=Ids
lrn MidOut= Out=X
lstm_unit C= H=
margin_rank_loss Activated= Out=
max_pool2d_with_index Mask= Out=
max_pool3d_with_index Mask= Out=
maxout Out=
modified_huber_loss IntermediateVal= Out=
moving_average_abs_max_scale Out=X OutScale= OutAccum= OutState=
multiplex Out=
nearest_interp Out=
norm Norm= Out=
pad Out=~X
partial_concat Out=X
partial_sum Out=X
pixel_shuffle Out=
polygon_box_transform Output=
proximal_adagrad ParamOut=Param MomentOut=Moment
proximal_gd ParamOut=Param
rank_loss Out=
reshape Out=~X
reshape2 Out=~X XShape=X
reverse Out=
sampling_id Out=X
scatter Out=
shuffle_batch Out=X ShuffleIdx= SeedOut=
shuffle_channel Out=
smooth_l1_loss Diff= Out=
softmax_with_cross_entropy Loss=Logits Softmax=Logits
space_to_depth Out=X
spectral_norm Out=Weight
split Out=~X
squared_l2_distance Out=X sub_result=
squeeze Out=~X
squeeze2 Out=~X XShape=X
strided_slice Out=Input
tdm_child Child=X LeafMask=X
transpose Out=
transpose2 Out= XShape=X
trilinear_interp Out=
unbind Out=X
unsqueeze Out=~X
unsqueeze2 Out=~X XShape=X
where Out=X
cross_entropy_grad2 X@GRAD=XShape
cvm_grad X@GRAD=X
pad_constant_like_grad Y@GRAD=Y
hierarchical_sigmoid_grad X@GRAD=X W@GRAD= Bias@GRAD=
gru_grad Input@GRAD= H0@GRAD= Weight@GRAD= Bias@GRAD=
lstm_grad Input@GRAD= H0@GRAD= C0@GRAD= Weight@GRAD= Bias@GRAD=
lstmp_grad Input@GRAD= H0@GRAD= C0@GRAD= Weight@GRAD= Bias@GRAD= ProjWeight@GRAD=
sequence_unpad_grad X@GRAD=X
filter_by_instag_grad Ins@GRAD=Ins
match_matrix_tensor_grad X@GRAD=X Y@GRAD=Y W@GRAD=W
sequence_topk_avg_pooling_grad X@GRAD=X
var_conv_2d_grad X@GRAD=X W@GRAD=W
"""

_PLAIN_GRADIENTS = """
affine_channel affine_grid batch_norm bicubic_interp bilinear_interp bilinear_tensor_product bmm center_loss conv2d
conv2d_transpose conv3d conv3d_transpose cos_sim crop crop_tensor cross data_norm deformable_conv
deformable_conv_v1 depthwise_conv2d depthwise_conv2d_transpose dist expand expand_as fsp grid_sampler group_norm
gru_unit hinge_loss huber_loss index_sample index_select instance_norm kldiv_loss kron l1_norm label_smooth layer_norm
log_loss lrn lstm_unit margin_rank_loss matmul max_pool2d_with_index max_pool3d_with_index maxout meshgrid
modified_huber_loss multiplex nearest_interp norm pad2d pixel_shuffle pool2d pool3d prelu rank_loss
reshape reverse roll scatter scatter_nd_add shuffle_channel sigmoid_cross_entropy_with_logits sigmoid_focal_loss slice
smooth_l1_loss softmax softmax_with_cross_entropy space_to_depth spectral_norm squared_l2_distance stack strided_slice
temporal_shift top_k trace transpose tril_triu trilinear_interp unfold where yolov3_loss
"""


def _read_outputs() -> dict[str, dict[str, str]]:
    rows = (line.split() for line in _OUTPUTS.split("\n") if line)
    return {op: {out: source for out, _, source in (word.partition("=") for word in words)} for op, *words in rows}


_SOURCES = _read_outputs()
_PLAIN = {f"{op}_grad" for op in _PLAIN_GRADIENTS.split()}


def lod_sources(type: str, outputs: Iterable[str]) -> dict[str, str] | None:
    """Return {output: the input that gives it its LoD, or ""}; None for an op without a special rule."""
    return dict.fromkeys(outputs, "") if type in _PLAIN else _SOURCES.get(type)
