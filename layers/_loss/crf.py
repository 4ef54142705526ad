"""Conditional random fields, chunk evaluation, CTC and edit distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import as_list
from fluidio.param_attr import AttrLike
from fluidio.program import Variable

__all__ = [
    "chunk_eval",
    "crf_decoding",
    "ctc_greedy_decoder",
    "edit_distance",
    "linear_chain_crf",
    "warpctc",
]


def linear_chain_crf(
    input: Variable, label: Variable, param_attr: AttrLike = None, length: Variable | None = None
) -> Variable:
    """Return the cost of each label sequence under a linear-chain CRF.

    Args:
        input: emission scores: rows of sequences, or [batch, time, tags] with `length`.
        param_attr: of the transition weights [tags + 2, tags]; give crf_decoding the same name.
    """
    helper = LayerHelper("linear_chain_crf", **locals())
    size = input.shape[-1]
    transition = helper.create_parameter(helper.param_attr, [size + 2, size], helper.input_dtype())
    dtype = helper.input_dtype()
    alpha, weights, moves, cost = [helper.create_variable_for_type_inference(dtype) for _ in range(4)]
    inputs: dict[str, Any] = {"Emission": [input], "Transition": transition, "Label": [label]}
    if length is not None:
        inputs["Length"] = [length]
    helper.append_op(
        type="linear_chain_crf",
        inputs=inputs,
        outputs={
            "Alpha": [alpha],
            "EmissionExps": [weights],
            "TransitionExps": moves,
            "LogLikelihood": cost,
        },
    )
    return cost


def crf_decoding(
    input: Variable, param_attr: AttrLike, label: Variable | None = None, length: Variable | None = None
) -> Variable:
    """Return the best tags under a CRF; with `label`, 1 where they match it."""
    helper = LayerHelper("crf_decoding", **locals())
    transition = helper.get_parameter(helper.param_attr.name)
    path = helper.create_variable_for_type_inference("int64")
    inputs: dict[str, Any] = {"Emission": [input], "Transition": transition, "Label": label}
    if length is not None:
        inputs["Length"] = length
    helper.append_op(type="crf_decoding", inputs=inputs, outputs={"ViterbiPath": [path]})
    return path


def chunk_eval(
    input: Variable,
    label: Variable,
    chunk_scheme: str,
    num_chunk_types: int,
    excluded_chunk_types: Sequence[int] | None = None,
    seq_length: Variable | None = None,
) -> tuple[Variable, Variable, Variable, Variable, Variable, Variable]:
    """Return precision, recall, F1 and the numbers of inferred, labelled and correct chunks."""
    helper = LayerHelper("chunk_eval", **locals())
    precision, recall, f1 = (helper.create_variable_for_type_inference("float32") for _ in range(3))
    inferred, labelled, correct = (helper.create_variable_for_type_inference("int64") for _ in range(3))
    found = (precision, recall, f1, inferred, labelled, correct)
    inputs: dict[str, Any] = {"Inference": [input], "Label": [label]}
    if seq_length is not None:
        inputs["SeqLength"] = [seq_length]
    names = ("Precision", "Recall", "F1-Score", "NumInferChunks", "NumLabelChunks", "NumCorrectChunks")
    helper.append_op(
        type="chunk_eval",
        inputs=inputs,
        outputs={name: [v] for name, v in zip(names, found)},
        attrs={
            "num_chunk_types": num_chunk_types,
            "chunk_scheme": chunk_scheme,
            "excluded_chunk_types": [] if excluded_chunk_types is None else as_list(excluded_chunk_types),
        },
    )
    return found


def warpctc(
    input: Variable,
    label: Variable,
    blank: int = 0,
    norm_by_times: bool = False,
    input_length: Variable | None = None,
    label_length: Variable | None = None,
) -> Variable:
    """Return the CTC loss of each sequence of unscaled scores; softmax is part of it.

    Args:
        norm_by_times: divide the gradient (not the loss) by the number of steps.
        input_length, label_length: for padded inputs [time, batch, classes] and labels [batch, longest].
    """
    helper = LayerHelper("warpctc", **locals())
    loss = helper.create_variable_for_type_inference(input.dtype)
    grad = helper.create_variable_for_type_inference(input.dtype)
    inputs: dict[str, Any] = {"Logits": [input], "Label": [label]}
    if input_length is not None and label_length is not None:
        inputs["LogitsLength"] = [input_length]
        inputs["LabelLength"] = [label_length]
    helper.append_op(
        type="warpctc",
        inputs=inputs,
        outputs={"WarpCTCGrad": [grad], "Loss": [loss]},
        attrs={"blank": blank, "norm_by_times": norm_by_times},
    )
    return loss


def ctc_greedy_decoder(
    input: Variable, blank: int, input_length: Variable | None = None, padding_value: int = 0, name: str | None = None
) -> Any:
    """Take the best class of each step, merge repeats and drop blanks."""
    from fluidio.layers import squeeze, topk

    helper = LayerHelper("ctc_greedy_decoder", **locals())
    _, best = topk(input, k=1)
    out = helper.create_variable_for_type_inference("int64")
    if input_length is None:
        helper.append_op(
            type="ctc_align",
            inputs={"Input": [best]},
            outputs={"Output": [out]},
            attrs={"merge_repeated": True, "blank": blank},
        )
        return out
    length = helper.create_variable_for_type_inference("int64")
    helper.append_op(
        type="ctc_align",
        inputs={"Input": [squeeze(best, [2])], "InputLength": [input_length]},
        outputs={"Output": [out], "OutputLength": [length]},
        attrs={"merge_repeated": True, "blank": blank, "padding_value": padding_value},
    )
    return out, length


def edit_distance(
    input: Variable,
    label: Variable,
    normalized: bool = True,
    ignored_tokens: Sequence[int] | None = None,
    input_length: Variable | None = None,
    label_length: Variable | None = None,
) -> tuple[Variable, Variable]:
    """Return the number of edits between each pair of sequences (by label length) and the number of pairs."""
    helper = LayerHelper("edit_distance", **locals())
    if ignored_tokens is not None and len(ignored_tokens) > 0:
        erased = []
        for variable in (input, label):
            out = helper.create_variable_for_type_inference("int64")
            helper.append_op(
                type="sequence_erase",
                inputs={"X": [variable]},
                outputs={"Out": [out]},
                attrs={"tokens": list(ignored_tokens)},
            )
            erased.append(out)
        input, label = erased
    inputs: dict[str, Any] = {"Hyps": [input], "Refs": [label]}
    if input_length is not None and label_length is not None:
        inputs["HypsLength"] = [input_length]
        inputs["RefsLength"] = [label_length]
    distance = helper.create_variable_for_type_inference("int64")
    count = helper.create_variable_for_type_inference("int64")
    helper.append_op(
        type="edit_distance",
        inputs=inputs,
        outputs={"Out": [distance], "SequenceNum": [count]},
        attrs={"normalized": normalized},
    )
    return distance, count
