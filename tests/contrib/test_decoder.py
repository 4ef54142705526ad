"""`contrib.decoder`: training and beam search with one cell; the numbers are those of Fluid 1.8.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.contrib.decoder import BeamSearchDecoder, InitState, StateCell, TrainingDecoder

L = fluid.layers
WORDS, WIDTH, SIZE = 12, 6, 5


def _context() -> Any:
    source = L.data("source", shape=[1], dtype="int64", lod_level=1)
    embedded = L.embedding(source, size=[WORDS, WIDTH], dtype="float32", is_sparse=True)
    hidden, _ = L.dynamic_lstm(L.fc(embedded, size=SIZE * 4, act="tanh"), size=SIZE * 4)
    return L.sequence_last_step(hidden)


def _cell(context: Any) -> StateCell:
    state = InitState(init=context, need_reorder=True)
    cell = StateCell(inputs={"x": None}, states={"h": state}, out_state="h")

    @cell.state_updater
    def _update(current: StateCell) -> None:
        both = [current.get_state("h"), current.get_input("x")]
        current.set_state("h", L.fc(input=both, size=SIZE, act="tanh"))

    return cell


def _ragged(values: Any, dtype: str, *lengths: list[int]) -> Any:
    return fluid.create_lod_tensor(np.array(values, dtype).reshape(-1, 1), list(lengths), fluid.CPUPlace())


SOURCE = [1, 2, 3, 4, 5]


def test_training_gives_the_losses_of_fluid() -> None:
    fluid.use_era("1.8")
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 5
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        cell = _cell(_context())
        target = L.data("target", shape=[1], dtype="int64", lod_level=1)
        embedded = L.embedding(target, size=[WORDS, WIDTH], dtype="float32", is_sparse=True)
        decoder = TrainingDecoder(cell)
        with decoder.block():
            decoder.state_cell.compute_state(inputs={"x": decoder.step_input(embedded)})
            decoder.output(L.fc(input=decoder.state_cell.get_state("h"), size=WORDS, act="softmax"))
            decoder.state_cell.update_states()
        label = L.data("label", shape=[1], dtype="int64", lod_level=1)
        loss = L.mean(L.cross_entropy(decoder(), label))
        fluid.optimizer.SGD(0.5).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        feed = {
            "source": _ragged(SOURCE, "int64", [2, 3]),
            "target": _ragged([0, 3, 4, 0, 5], "int64", [3, 2]),
            "label": _ragged([3, 4, 1, 5, 1], "int64", [3, 2]),
        }
        losses = [float(exe.run(main, feed=feed, fetch_list=[loss])[0]) for _ in range(3)]
    np.testing.assert_allclose(losses, [2.6953375, 2.346971, 2.0575101], rtol=1e-5)


def test_beam_search_finds_the_sentences_of_fluid() -> None:
    fluid.use_era("1.8")
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 5
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        cell = _cell(_context())
        ids = L.data("ids", shape=[1], dtype="int64", lod_level=2)
        scores = L.data("scores", shape=[1], dtype="float32", lod_level=2)
        decoder = BeamSearchDecoder(cell, ids, scores, WORDS, WIDTH, {}, topk_size=5, max_len=4, beam_size=3)
        decoder.decode()
        found = decoder()
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        feed = {
            "source": _ragged(SOURCE, "int64", [2, 3]),
            "ids": _ragged([0, 0], "int64", [1, 1], [1, 1]),
            "scores": _ragged([1.0, 1.0], "float32", [1, 1], [1, 1]),
        }
        sentences, values = exe.run(main, feed=feed, fetch_list=list(found), return_numpy=False)
    assert sentences.recursive_sequence_lengths() == [[3, 3], [5] * 6]
    assert np.array(sentences).reshape(6, 5).tolist() == [[0, 9, 0, 9, last] for last in (2, 3, 0, 2, 3, 0)]
    wanted = [-6.310121, -6.389395, -6.457368, -6.413767, -6.513397, -6.556465]
    np.testing.assert_allclose(np.array(values).reshape(6, 5)[:, -1], wanted, rtol=1e-5)


def test_a_cell_says_what_is_wrong_with_it() -> None:
    with pytest.raises(ValueError, match="init_boot"):
        InitState(shape=[-1, 3])
    state = InitState(init=L.data("x", [3]))
    with pytest.raises(ValueError, match="out_state"):
        StateCell(inputs={}, states={"h": state}, out_state="c")
    cell = StateCell(inputs={"x": None}, states={"h": state}, out_state="h")
    with pytest.raises(ValueError, match="state_updater"):
        cell.compute_state({})
    with pytest.raises(ValueError, match="only inside a decoder"):
        cell.get_state("h")
