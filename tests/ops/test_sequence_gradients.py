"""Gradients of the sequence ops: ragged, with empty sequences, two levels, and one sequence alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops.rnn.lstm import ALL_GATES
from tests.ops.gradcheck import Ragged, check_gradient

LENGTHS = [[2, 0, 3], [4], [0, 1], [1, 1, 1]]


def wave(*shape: int, phase: float = 0.3, scale: float = 1.0) -> Any:
    return scale * np.sin(np.arange(np.prod(shape, dtype=int)) * 0.77 + phase).reshape(shape)


@pytest.mark.parametrize("kind", ["SUM", "AVERAGE", "SQRT", "MAX", "FIRST", "LAST"])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_sequence_pool(kind: str, lengths: list[int]) -> None:
    x = Ragged(wave(sum(lengths), 3), lengths)
    attrs = {"pooltype": kind, "pad_value": 0.5}
    check_gradient("sequence_pool", {"X": x}, ["Out", "MaxIndex"], attrs, wrt=["X"], unchecked=["MaxIndex"])


def test_sequence_pool_of_long_sequences_takes_the_other_path() -> None:
    x = Ragged(wave(40, 2), [23, 0, 17])
    for kind in ("SUM", "MAX"):
        check_gradient(
            "sequence_pool", {"X": x}, ["Out", "MaxIndex"], {"pooltype": kind}, wrt=["X"], unchecked=["MaxIndex"]
        )


def test_sequence_pool_of_two_levels_keeps_the_outer() -> None:
    x = Ragged(wave(6, 2), [1, 2], [2, 1, 3])
    check_gradient("sequence_pool", {"X": x}, ["Out"], {"pooltype": "AVERAGE"}, wrt=["X"])


@pytest.mark.parametrize("lengths", LENGTHS)
def test_one_input_ops(lengths: list[int]) -> None:
    rows = sum(lengths)
    check_gradient("sequence_softmax", {"X": Ragged(wave(rows, 1), lengths)}, ["Out"], wrt=["X"])
    check_gradient("sequence_reverse", {"X": Ragged(wave(rows, 2), lengths)}, ["Y"], wrt=["X"])
    check_gradient("sequence_reshape", {"X": Ragged(wave(rows, 4), lengths)}, ["Out"], {"new_dim": 2}, wrt=["X"])
    check_gradient("lod_reset", {"X": Ragged(wave(rows, 2), lengths)}, ["Out"], {"target_lod": [0, 1, rows]}, wrt=["X"])
    check_gradient(
        "sequence_pad",
        {"X": Ragged(wave(rows, 2), lengths), "PadValue": np.array([0.25])},
        ["Out", "Length"],
        {"padded_length": -1},
        wrt=["X"],
        unchecked=["Length"],
    )


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(("start", "length"), [(-1, 3), (0, 2), (-2, 1), (1, 2), (-2, 4)])
def test_sequence_conv(lengths: list[int], start: int, length: int) -> None:
    check_gradient(
        "sequence_conv",
        {"X": Ragged(wave(sum(lengths), 2), lengths), "Filter": wave(2 * length, 3, phase=0.9)},
        ["Out"],
        {"contextStart": start, "contextLength": length},
        wrt=["X", "Filter"],
    )


@pytest.mark.parametrize("lengths", LENGTHS)
def test_row_conv(lengths: list[int]) -> None:
    inputs = {"X": Ragged(wave(sum(lengths), 2), lengths), "Filter": wave(3, 2, phase=0.9)}
    check_gradient("row_conv", inputs, ["Out"], wrt=["X", "Filter"])


def test_row_conv_of_a_padded_batch() -> None:
    check_gradient("row_conv", {"X": wave(2, 3, 2), "Filter": wave(2, 2)}, ["Out"], wrt=["X", "Filter"])


def test_expand_and_gather_ops() -> None:
    y = Ragged(wave(5, 1), [2, 0, 3])
    check_gradient("sequence_expand", {"X": wave(3, 2), "Y": y}, ["Out"], {"ref_level": -1}, wrt=["X"])
    two = Ragged(wave(8, 1), [2, 2], [3, 3, 1, 1])
    check_gradient("sequence_expand", {"X": Ragged(wave(4, 1), [1, 3]), "Y": two}, ["Out"], {"ref_level": 0}, wrt=["X"])
    check_gradient("sequence_expand_as", {"X": wave(3, 2), "Y": y}, ["Out"], wrt=["X"])
    parts = [Ragged(wave(5, 2), [2, 0, 3]), Ragged(wave(3, 2, phase=1.0), [0, 2, 1])]
    check_gradient("sequence_concat", {"X": parts}, ["Out"], wrt=["X"])
    check_gradient(
        "sequence_slice",
        {"X": Ragged(wave(5, 2), [2, 3]), "Offset": np.array([[1], [0]]), "Length": np.array([[1], [2]])},
        ["Out"],
        wrt=["X"],
    )
    check_gradient("sequence_unpad", {"X": wave(3, 4, 2), "Length": np.array([2, 0, 4])}, ["Out"], wrt=["X"])
    check_gradient(
        "sequence_scatter",
        {"X": wave(2, 4), "Ids": Ragged(np.array([[0], [2], [2]]), [1, 2]), "Updates": Ragged(wave(3, 1), [1, 2])},
        ["Out"],
        wrt=["X", "Updates"],
    )


def test_expand_and_gather_ops_of_one_sequence() -> None:
    y = Ragged(wave(3, 1), [3])
    check_gradient("sequence_expand", {"X": wave(1, 2), "Y": y}, ["Out"], {"ref_level": -1}, wrt=["X"])
    check_gradient("sequence_expand_as", {"X": wave(1, 2), "Y": y}, ["Out"], wrt=["X"])
    parts = [Ragged(wave(1, 2), [1]), Ragged(wave(2, 2, phase=1.0), [2])]
    check_gradient("sequence_concat", {"X": parts}, ["Out"], wrt=["X"])
    check_gradient("sequence_unpad", {"X": wave(1, 4, 2), "Length": np.array([3])}, ["Out"], wrt=["X"])
    cut = {"X": Ragged(wave(1, 2), [1]), "Offset": np.array([[0]]), "Length": np.array([[1]])}
    check_gradient("sequence_slice", cut, ["Out"], wrt=["X"])
    ids, updates = Ragged(np.array([[2]]), [1]), Ragged(wave(1, 1), [1])
    check_gradient("sequence_scatter", {"X": wave(1, 4), "Ids": ids, "Updates": updates}, ["Out"], wrt=["X", "Updates"])


def test_a_sequence_of_no_updates_scatters_nothing() -> None:
    ids, updates = Ragged(np.array([[0], [2]]), [0, 2]), Ragged(wave(2, 1), [0, 2])
    check_gradient("sequence_scatter", {"X": wave(2, 4), "Ids": ids, "Updates": updates}, ["Out"], wrt=["X", "Updates"])


@pytest.mark.parametrize("batch", [2, 1])
def test_im2sequence(batch: int) -> None:
    attrs = {"kernels": [2, 3], "strides": [1, 2], "paddings": [1, 0, 0, 1]}
    check_gradient("im2sequence", {"X": wave(batch, 2, 4, 5)}, ["Out"], attrs, wrt=["X"])


def _lstm(lengths: list[int], peepholes: bool, states: bool) -> dict[str, Any]:
    size = 2
    inputs: dict[str, Any] = {
        "Input": Ragged(wave(sum(lengths), 4 * size), lengths),
        "Weight": wave(size, 4 * size, phase=0.1, scale=0.5),
        "Bias": wave(1, (7 if peepholes else 4) * size, phase=0.7, scale=0.5),
    }
    if states:
        inputs["H0"] = wave(len(lengths), size, phase=0.2)
        inputs["C0"] = wave(len(lengths), size, phase=1.2)
    return inputs


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("peepholes", [True, False])
@pytest.mark.parametrize("states", [True, False])
@pytest.mark.parametrize("reverse", [True, False])
def test_lstm(lengths: list[int], peepholes: bool, states: bool, reverse: bool) -> None:
    inputs = _lstm(lengths, peepholes, states)
    check_gradient(
        "lstm",
        inputs,
        ["Hidden", "Cell", "BatchGate", "BatchCellPreAct"],
        {"use_peepholes": peepholes, "is_reverse": reverse, ALL_GATES: True},
        wrt=list(inputs),
        unchecked=["BatchGate", "BatchCellPreAct"],
    )


def test_lstm_with_other_activations() -> None:
    inputs = _lstm([3, 1], True, False)
    attrs: dict[str, Any] = {
        "gate_activation": "tanh",
        "cell_activation": "identity",
        "candidate_activation": "sigmoid",
        ALL_GATES: True,
    }
    check_gradient(
        "lstm",
        inputs,
        ["Hidden", "Cell", "BatchGate", "BatchCellPreAct"],
        attrs,
        wrt=list(inputs),
        unchecked=["BatchGate", "BatchCellPreAct"],
    )


@pytest.mark.parametrize("lengths", LENGTHS)
def test_lstmp(lengths: list[int]) -> None:
    size, projected = 3, 2
    inputs = {
        "Input": Ragged(wave(sum(lengths), 4 * size), lengths),
        "Weight": wave(projected, 4 * size, phase=0.1, scale=0.5),
        "ProjWeight": wave(size, projected, phase=0.4),
        "Bias": wave(1, 7 * size, phase=0.7, scale=0.5),
        "H0": wave(len(lengths), projected),
        "C0": wave(len(lengths), size),
    }
    check_gradient(
        "lstmp",
        inputs,
        ["Projection", "Cell", "BatchGate", "BatchCellPreAct", "BatchHidden"],
        {ALL_GATES: True},
        wrt=list(inputs),
        unchecked=["BatchGate", "BatchCellPreAct", "BatchHidden"],
    )


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("origin", [True, False])
@pytest.mark.parametrize("reverse", [True, False])
def test_gru(lengths: list[int], origin: bool, reverse: bool) -> None:
    inputs = {
        "Input": Ragged(wave(sum(lengths), 6), lengths),
        "Weight": wave(2, 6, phase=0.1, scale=0.5),
        "Bias": wave(1, 6, phase=0.7),
        "H0": wave(len(lengths), 2, phase=0.2),
    }
    check_gradient(
        "gru",
        inputs,
        ["BatchGate", "BatchResetHiddenPrev", "BatchHidden", "Hidden"],
        {"origin_mode": origin, "is_reverse": reverse},
        wrt=list(inputs),
        unchecked=["BatchGate", "BatchResetHiddenPrev", "BatchHidden"],
    )


def test_single_steps() -> None:
    inputs = {"Input": wave(3, 6), "HiddenPrev": wave(3, 2, phase=0.2), "Weight": wave(2, 6), "Bias": wave(1, 6)}
    check_gradient(
        "gru_unit",
        inputs,
        ["Gate", "ResetHiddenPrev", "Hidden"],
        {},
        wrt=list(inputs),
        unchecked=["Gate", "ResetHiddenPrev"],
    )
    check_gradient(
        "lstm_unit", {"X": wave(1, 8), "C_prev": wave(1, 2)}, ["C", "H"], {"forget_bias": 0.3}, wrt=["X", "C_prev"]
    )


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("layers", [1, 2])
def test_stacked_lstm_over_padded_tensors(both: bool, layers: int) -> None:
    from fluidio.ops.rnn.cudnn_lstm import weight_size

    size, width, states = 2, 3, layers * (2 if both else 1)
    inputs = {
        "Input": wave(3, 2, width),
        "InitH": wave(states, 2, size, phase=0.2),
        "InitC": wave(states, 2, size, phase=1.2),
        "W": wave(weight_size(width, size, layers, 2 if both else 1), phase=0.1, scale=0.5),
    }
    check_gradient(
        "cudnn_lstm",
        inputs,
        ["Out", "last_h", "last_c", "Reserve"],
        {"hidden_size": size, "num_layers": layers, "is_bidirec": both},
        wrt=list(inputs),
        unchecked=["Reserve"],
    )


def test_crf() -> None:
    for lengths in ([3, 0, 2], [4], [1, 1], [1]):
        rows = sum(lengths)
        inputs = {
            "Emission": Ragged(wave(rows, 3, phase=0.4), lengths),
            "Transition": wave(5, 3, phase=0.9),
            "Label": Ragged((np.arange(rows) * 2 % 3).reshape(-1, 1), lengths),
        }
        check_gradient(
            "linear_chain_crf",
            inputs,
            ["Alpha", "EmissionExps", "TransitionExps", "LogLikelihood"],
            wrt=["Emission", "Transition"],
            unchecked=["Alpha", "EmissionExps", "TransitionExps"],
        )


@pytest.mark.parametrize(
    ("times", "labels"), [([4, 2, 3], [2, 1, 2]), ([1], [1]), ([3, 2], [0, 2]), ([2, 1, 2], [1, 0, 1])]
)
def test_ctc(times: list[int], labels: list[int]) -> None:
    logits = Ragged(wave(sum(times), 4, phase=0.4, scale=2.0), times)
    label = Ragged(np.array([[1], [1], [3], [2], [1]])[: sum(labels)], labels)
    check_gradient(
        "warpctc",
        {"Logits": logits, "Label": label},
        ["WarpCTCGrad", "Loss"],
        {"blank": 0},
        wrt=["Logits"],
        unchecked=["WarpCTCGrad"],
    )


@pytest.mark.parametrize("batch", [3, 1])
def test_hierarchical_sigmoid(batch: int) -> None:
    label = np.array([[0], [4], [2]])[:batch]
    inputs = {"X": wave(batch, 2), "W": wave(4, 2, phase=0.7), "Bias": wave(4, 1), "Label": label}
    check_gradient(
        "hierarchical_sigmoid",
        inputs,
        ["Out", "PreOut"],
        {"num_classes": 5},
        wrt=["X", "W", "Bias"],
        unchecked=["PreOut"],
    )


@pytest.mark.parametrize("batch", [3, 1])
@pytest.mark.parametrize("sampler", [0, 1])
def test_noise_contrastive_estimation(sampler: int, batch: int) -> None:
    inputs = {
        "Input": wave(batch, 2),
        "Weight": wave(6, 2, phase=0.7),
        "Bias": wave(6, 1),
        "Label": np.array([[0], [4], [2]])[:batch],
    }
    attrs = {"num_total_classes": 6, "num_neg_samples": 2, "custom_neg_classes": [1, 5], "sampler": sampler}
    check_gradient(
        "nce",
        inputs,
        ["Cost", "SampleLogits", "SampleLabels"],
        attrs,
        wrt=["Input", "Weight", "Bias"],
        unchecked=["SampleLogits", "SampleLabels"],
    )


@pytest.mark.parametrize("kind", ["sum", "average", "sqrt", "max", "last", "first"])
def test_only_the_gradient_of_a_maximum_takes_the_rows_that_held_it(kind: str) -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x = fluid.layers.data("x", shape=[3], lod_level=1, stop_gradient=False)
        pooled = fluid.layers.sequence_pool(x, kind)
        fluid.backward.append_backward(fluid.layers.mean(pooled), parameter_list=["x"])
        back = next(op for op in x.block.ops if op.type == "sequence_pool_grad")
    assert ("MaxIndex" in back.input_names) == (kind == "max")
