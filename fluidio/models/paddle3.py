"""Write a model that current PaddlePaddle can load: PREFIX.pdmodel and PREFIX.pdiparams.

Paddle 3 still reads Fluid's ProgramDesc and combined parameter file, but lacks some ops. The list is that of 3.3.1
(CPU).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from fluidio.era import era, use_era
from fluidio.errors import ModelError
from fluidio.executor import Executor
from fluidio.io.inference_model import save_inference_model
from fluidio.models.open_model import Model
from fluidio.models.running import Runner
from fluidio.ops.io.whole_files import saving_together, write_whole
from fluidio.places import CPUPlace
from fluidio.recordio.format.tensor_codec import tensor_prefix
from fluidio.tensor import Scope, scope_guard

__all__ = ["GONE", "export_paddle"]

GONE = frozenset(
    [
        "array_to_lod_tensor",
        "bicubic_interp",
        "box_decoder_and_assign",
        "bpr_loss",
        "center_loss",
        "conv_shift",
        "cos_sim",
        "data_norm",
        "deformable_psroi_pooling",
        "density_prior_box",
        "detection_map",
        "diag",
        "expand_as",
        "fill_zeros_like",
        "fill_zeros_like2",
        "filter_by_instag",
        "flatten",
        "fsp",
        "fused_embedding_seq_pool",
        "fusion_seqexpand_concat_fc",
        "gaussian_random_batch_size_like",
        "generate_mask_labels",
        "generate_proposal_labels",
        "inplace_abn",
        "iou_similarity",
        "isfinite",
        "isinf",
        "isnan",
        "linear_chain_crf",
        "locality_aware_nms",
        "lod_rank_table",
        "lod_tensor_to_array",
        "lstm_unit",
        "lstmp",
        "margin_rank_loss",
        "max_sequence_len",
        "mean_iou",
        "merge_lod_tensor",
        "merge_lod_tensor_infer",
        "mine_hard_examples",
        "minus",
        "modified_huber_loss",
        "multiclass_nms2",
        "one_hot",
        "pad2d",
        "pad_constant_like",
        "polygon_box_transform",
        "positive_negative_pair",
        "precision_recall",
        "prroi_pool",
        "random_crop",
        "rank_loss",
        "recurrent",
        "reorder_lod_tensor_by_rank",
        "retinanet_detection_output",
        "retinanet_target_assign",
        "rnn_memory_helper",
        "roi_perspective_transform",
        "rpn_target_assign",
        "sample_logits",
        "sampling_id",
        "sequence_concat",
        "sequence_enumerate",
        "sequence_erase",
        "sequence_expand_as",
        "sequence_pad",
        "sequence_reshape",
        "sequence_reverse",
        "sequence_scatter",
        "sequence_slice",
        "sequence_topk_avg_pooling",
        "sequence_unpad",
        "shrink_rnn_memory",
        "sigmoid_focal_loss",
        "similarity_focus",
        "smooth_l1_loss",
        "soft_relu",
        "space_to_depth",
        "split_byref",
        "split_lod_tensor",
        "spp",
        "squared_l2_distance",
        "squeeze",
        "sync_batch_norm",
        "target_assign",
        "teacher_student_sigmoid_loss",
        "tree_conv",
        "trilinear_interp",
        "unique_with_counts",
        "unsqueeze",
        "var_conv_2d",
    ]
)
"""Ops of Fluid that Paddle 3.3.1 does not register."""


def export_paddle(
    model: Model,
    prefix: str,
    *,
    feeds: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    tell: Callable[[int], None] = lambda size: None,
) -> list[str]:
    """Write PREFIX.pdmodel and PREFIX.pdiparams, both or none; return their paths.

    The program of `save_inference_model` is copied unchanged; a training program is pruned to the targets.

    Raises:
        ModelError: with one line for each op that current Paddle lacks.
    """
    model.raise_problems()
    program = model.needed_program()
    is_saved_for_inference = any(op.type == "fetch" for op in program.global_block().ops)
    runner = None if is_saved_for_inference and not feeds and not targets else Runner(model, feeds, targets)
    used = program if runner is None else runner.program
    counts: dict[str, int] = {}
    for block in used.blocks:
        for op in block.ops:
            counts[op.type] = counts.get(op.type, 0) + 1
    missing = [f"{name}: Paddle 3 has no such op ({counts[name]} of them)" for name in sorted(counts) if name in GONE]
    if missing:
        raise ModelError(f"{model.path}: today's Paddle cannot run it; try --to onnx", missing)
    if runner is None:
        _copy(model, prefix, tell)
    else:
        _save(model, runner, prefix)
    return [f"{prefix}.pdmodel", f"{prefix}.pdiparams"]


def _copy(model: Model, prefix: str, tell: Callable[[int], None]) -> None:
    """Write the program's own bytes, and the parameters sorted by name in one file."""
    with open(model.program_path, "rb") as file:
        program = file.read()
    tensors = [model.tensors[name] for name in sorted(model.persistables)]
    with saving_together(*os.path.split(prefix)):
        with write_whole(f"{prefix}.pdmodel") as file:
            file.write(program)
        with write_whole(f"{prefix}.pdiparams") as file:
            for tensor in tensors:
                file.write(tensor_prefix(tensor.dtype.newbyteorder("="), tensor.shape))
                for piece in tensor.pieces():
                    file.write(piece)
                    tell(len(piece))


def _save(model: Model, runner: Runner, prefix: str) -> None:
    """Write a pruned program as 1.8 would."""
    scope, before = Scope(), era().name
    for name, tensor in model.tensors.items():
        scope.var(name).get_tensor().set(tensor.array(), CPUPlace())
    folder, name = os.path.split(prefix)
    use_era("1.8")
    try:
        with scope_guard(scope):
            found = [runner.program.global_block()._var_recursive(target) for target in runner.targets]
            save_inference_model(
                folder or ".",
                runner.feeds,
                found,
                Executor(CPUPlace()),
                runner.program,
                f"{name}.pdmodel",
                f"{name}.pdiparams",
            )
    finally:
        use_era(before)
