"""Op types of Fluid that fluidio does not have on purpose, and what to do about a program that holds one."""

from __future__ import annotations

__all__ = ["why_absent"]

_SERVERS = (
    "It talks to parameter servers, which fluidio does not have: run the program as it was before it was transpiled "
    "(docs/distributed.md says how trainers work together)."
)
_IMPERATIVE = "It runs a program inside imperative mode, which fluidio does not have: run that program itself."
_OPTIMISED = (
    "Optimising the model for one kind of device put it there: load the model as save_inference_model wrote it, before "
    "it was optimised."
)
_WHY = {
    _SERVERS: """
        checkpoint_notify distributed_lookup_table fetch_barrier fl_listen_and_serv prefetch pull_box_sparse pull_sparse
        pull_sparse_v2 push_box_sparse push_dense push_sparse push_sparse_v2 recv recv_save send send_barrier""",
    _IMPERATIVE: "run_program",
    _OPTIMISED: """
        anakin_engine conv2d_fusion conv2d_inception_fusion fused_embedding_eltwise_layernorm
        fused_fc_elementwise_layernorm fusion_conv_inception fusion_group fusion_transpose_flatten_concat lite_engine
        multihead_matmul ngraph_engine skip_layernorm tensorrt_engine""",
}


def why_absent(type: str) -> str:
    """Return why fluidio has no such op and what to do, or "" if nothing is known of it."""
    return next((why for why, types in _WHY.items() if type in types.split()), "")
