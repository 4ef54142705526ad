"""`fluid.contrib.layers.search_pyramid_hash`: embeddings of runs of words, assembled from one long parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.dtypes import DTypeLike
from fluidio.layer_helper import LayerHelper
from fluidio.param_attr import AttrLike
from fluidio.program import Variable

__all__ = ["search_pyramid_hash"]


def search_pyramid_hash(
    input: Variable,
    num_emb: int,
    space_len: int,
    pyramid_layer: int,
    rand_len: int,
    drop_out_percent: float,
    is_training: bool,
    use_filter: bool,
    white_list_len: int,
    black_list_len: int,
    seed: int,
    lr: float,
    param_attr: AttrLike = None,
    param_attr_wl: AttrLike = None,
    param_attr_bl: AttrLike = None,
    name: str | None = None,
    distribute_update_vars: Sequence[str] | None = None,
    dtype: DTypeLike = "float32",
) -> Variable:
    """A row for each run of two to `pyramid_layer` words of a sequence, assembled from pieces of a parameter.

    Args:
        num_emb: width of a row.
        space_len, rand_len: the parameter holds space_len + rand_len numbers; a piece has rand_len of them.
        white_list_len, black_list_len: sizes of the Bloom filters of runs to keep, and of runs to leave out.
        lr: the rate at which the op itself updates the parameter, which has no gradient.
    """
    helper = LayerHelper("search_pyramid_hash", **locals())
    inputs: dict[str, Any] = {"X": input}
    lists = (
        ("W", param_attr, space_len + rand_len, True),
        ("WhiteList", param_attr_wl, white_list_len, white_list_len > 0),
        ("BlackList", param_attr_bl, black_list_len, black_list_len >= 0),
    )
    for slot, attr, length, is_there in lists:
        if is_there:
            inputs[slot] = helper.create_parameter(attr, [length, 1], dtype, is_bias=False)
            inputs[slot].stop_gradient = True
    names = [getattr(attr, "name", None) for attr in (param_attr, param_attr_wl, param_attr_bl) if attr]
    for shared in distribute_update_vars or ():
        if shared not in names:
            raise ValueError(
                f"search_pyramid_hash: distribute_update_vars names {shared!r}, which none of param_attr, "
                "param_attr_wl and param_attr_bl does"
            )
    out, drops, words = (helper.create_variable_for_type_inference(dtype) for _ in range(3))
    helper.append_op(
        type="pyramid_hash",
        inputs=inputs,
        outputs={"Out": out, "X_Temp_Out": words, "DropPos": drops},
        attrs={
            "num_emb": num_emb,
            "space_len": space_len,
            "pyramid_layer": pyramid_layer,
            "rand_len": rand_len,
            "drop_out_percent": drop_out_percent,
            "is_training": is_training,
            "use_filter": use_filter,
            "white_list_len": white_list_len,
            "black_list_len": black_list_len,
            "seed": seed,
            "lr": lr,
            "distribute_update_vars": ",".join(distribute_update_vars or ()),
        },
    )
    return out
