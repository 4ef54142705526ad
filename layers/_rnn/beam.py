"""Beam search over LoD rows, as in the book's machine translation, and tracing paths back through parents."""

from __future__ import annotations

from typing import Any

from fluidio.layer_helper import LayerHelper
from fluidio.program import Variable

__all__ = ["beam_search", "beam_search_decode", "gather_tree"]


def beam_search(
    pre_ids: Variable,
    pre_scores: Variable,
    ids: Variable | None,
    scores: Variable,
    beam_size: int,
    end_id: int,
    level: int = 0,
    is_accumulated: bool = True,
    name: str | None = None,
    return_parent_idx: bool = False,
) -> tuple[Variable, ...]:
    """Return the ids and scores of the best continuations of each source sentence (and the rows they continue)."""
    helper = LayerHelper("beam_search", **locals())
    inputs: dict[str, Any] = {"pre_ids": pre_ids, "pre_scores": pre_scores, "scores": scores}
    if ids is not None:
        inputs["ids"] = ids
    best_scores = helper.create_variable_for_type_inference(pre_scores.dtype)
    best_ids = helper.create_variable_for_type_inference(pre_ids.dtype)
    parents = helper.create_variable_for_type_inference("int32")
    helper.append_op(
        type="beam_search",
        inputs=inputs,
        outputs={"selected_ids": best_ids, "selected_scores": best_scores, "parent_idx": parents},
        attrs={"level": level, "beam_size": beam_size, "end_id": end_id, "is_accumulated": is_accumulated},
    )
    return (best_ids, best_scores, parents) if return_parent_idx else (best_ids, best_scores)


def beam_search_decode(
    ids: Variable, scores: Variable, beam_size: int, end_id: int, name: str | None = None
) -> tuple[Variable, Variable]:
    """Return the sentences found by beam_search, and their scores, from the arrays of all steps."""
    helper = LayerHelper("beam_search_decode", **locals())
    sentences = helper.create_variable_for_type_inference(ids.dtype)
    sentence_scores = helper.create_variable_for_type_inference(scores.dtype)
    helper.append_op(
        type="beam_search_decode",
        inputs={"Ids": ids, "Scores": scores},
        outputs={"SentenceIds": sentences, "SentenceScores": sentence_scores},
        attrs={"beam_size": beam_size, "end_id": end_id},
    )
    return sentences, sentence_scores


def gather_tree(ids: Variable, parents: Variable) -> Variable:
    """Return full paths [time, batch, beam] from the ids of each step and the beams they came from."""
    helper = LayerHelper("gather_tree", **locals())
    out = helper.create_variable_for_type_inference(ids.dtype)
    helper.append_op(type="gather_tree", inputs={"Ids": ids, "Parents": parents}, outputs={"Out": out})
    return out
