"""What dense layers do beside the numbers that the golden programs compare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers as L
from fluidio.tensor import SelectedRows


def run(fetch: Any, feed: Any = None) -> Any:
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe.run(feed=feed, fetch_list=list(fetch), return_numpy=False)


def test_layers_are_seen_under_nn_too() -> None:
    for name in ("fc", "conv2d", "relu", "reduce_sum", "embedding", "dropout", "reshape"):
        assert getattr(L.nn, name) is getattr(L, name)


def test_parameters_are_named_as_in_fluid() -> None:
    image = L.data("image", [3, 8, 8])
    L.batch_norm(L.conv2d(image, 4, 3))
    L.fc(L.embedding(L.data("words", [1], dtype="int64"), [7, 5]), 2)
    names = [p.name for p in fluid.default_main_program().all_parameters()]
    assert names == [
        "conv2d_0.w_0",
        "conv2d_0.b_0",
        "batch_norm_0.w_0",
        "batch_norm_0.b_0",
        "batch_norm_0.w_1",
        "batch_norm_0.w_2",
        "embedding_0.w_0",
        "fc_0.w_0",
        "fc_0.b_0",
    ]


@pytest.mark.parametrize("layer", [L.embedding, fluid.embedding])
def test_a_sparse_embedding_has_rows_as_its_gradient(layer: Any) -> None:
    ids = L.data("ids", [1], dtype="int64")
    rows = layer(ids, [6, 2], is_sparse=True, param_attr="table")
    fluid.backward.append_backward(L.mean(rows))
    (gradient,) = run(["table@GRAD"], {"ids": np.array([[4], [1], [4]])})
    assert isinstance(gradient, SelectedRows)
    assert gradient.rows() == [4, 1, 4]
    assert gradient.height() == 6
    np.testing.assert_allclose(np.array(gradient.get_tensor()), np.full((3, 2), 1 / 6), rtol=1e-6)


def test_a_sparse_and_a_dense_embedding_train_alike() -> None:
    feeds = [{"ids": np.array([[4], [1], [4]])}, {"ids": np.array([[0], [1], [2]])}]
    found = []
    for is_sparse in (False, True):
        main, startup = fluid.Program(), fluid.Program()
        startup.random_seed = 3
        with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
            rows = L.embedding(L.data("ids", [1], dtype="int64"), [6, 2], is_sparse=is_sparse, param_attr="table")
            fluid.optimizer.SGD(0.5).minimize(L.mean(L.square(rows)))
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(startup)
            for feed in feeds:
                exe.run(main, feed=feed)
            found.append(np.array(fluid.global_scope().find_var("table").get_tensor()))  # type: ignore[union-attr]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_batch_norm_keeps_its_statistics_when_testing() -> None:
    x = L.data("x", [3, 2, 2])
    out = L.batch_norm(x, moving_mean_name="mean", moving_variance_name="variance", momentum=0.5)
    test = fluid.default_main_program().clone(for_test=True)
    image = np.arange(24, dtype="float32").reshape(2, 3, 2, 2)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    exe.run(feed={"x": image}, fetch_list=[out])
    mean = np.array(fluid.global_scope().find_var("mean").get_tensor())  # type: ignore[union-attr]
    np.testing.assert_allclose(mean, 0.5 * image.mean(axis=(0, 2, 3)), rtol=1e-6)
    exe.run(test, feed={"x": image}, fetch_list=[out.name])
    np.testing.assert_array_equal(np.array(fluid.global_scope().find_var("mean").get_tensor()), mean)  # type: ignore[union-attr]


def test_reshape_in_place_passes_its_gradient_on() -> None:
    x = L.data("x", [2, 3], append_batch_size=False, stop_gradient=False)
    y = L.reshape(L.scale(x, 2.0), [3, 2], inplace=True)
    (gradient,) = fluid.gradients([L.reduce_sum(L.square(y))], [x])
    value = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_allclose(np.array(run([gradient], {"x": value})[0]), 8 * value)


def test_print_prints_values_and_gradients(capsys: pytest.CaptureFixture[str]) -> None:
    x = L.data("x", [2], append_batch_size=False, stop_gradient=False)
    out = L.reduce_sum(L.square(L.Print(x, message="look", summarize=1)))
    gradients = fluid.gradients([out], [x])
    run([out, *gradients], {"x": np.array([1.5, 2.5], "f4")})
    text = capsys.readouterr().out
    assert text.count("look") == 2
    assert "Variable: x" in text
    assert "data: [1.5 ...]" in text


def test_print_stops_after_first_n(capsys: pytest.CaptureFixture[str]) -> None:
    out = L.Print(L.fill_constant([1], "float32", 1.0), first_n=2, print_phase="forward")
    exe = fluid.Executor(fluid.CPUPlace())
    for _ in range(4):
        exe.run(fetch_list=[out])
    assert capsys.readouterr().out.count("Variable") == 2


def test_py_func_calls_python_both_ways() -> None:
    x = L.data("x", [2, 2], append_batch_size=False, stop_gradient=False)
    out = fluid.default_main_program().current_block().create_var(name="out", dtype="float32", shape=[2, 2])

    def forward(a: Any) -> Any:
        return np.array(a) ** 3

    def backward(a: Any, d: Any) -> Any:
        return 3 * np.array(a) ** 2 * np.array(d)

    L.py_func(forward, x, out, backward_func=backward, skip_vars_in_backward_input=out)
    (gradient,) = fluid.gradients([L.reduce_sum(out)], [x])
    value = np.arange(4, dtype="float32").reshape(2, 2)
    found = [np.array(v) for v in run([out, gradient], {"x": value})]
    np.testing.assert_allclose(found[0], value**3)
    np.testing.assert_allclose(found[1], 3 * value**2)


@pytest.mark.parametrize("backwards", [False, True])
def test_an_exception_of_the_users_function_reaches_the_user(backwards: bool) -> None:
    def fail(*_: Any) -> Any:
        raise KeyError("mine")

    x = L.data("x", [2, 2], append_batch_size=False, stop_gradient=False)
    out = fluid.default_main_program().current_block().create_var(name="out", dtype="float32", shape=[2, 2])
    L.py_func(np.array if backwards else fail, x, out, backward_func=fail)
    (gradient,) = fluid.gradients([L.reduce_sum(out)], [x])
    with pytest.raises(KeyError, match="mine") as caught:
        run([out, gradient], {"x": np.ones((2, 2), "f4")})
    assert "built at" in "".join(caught.value.__notes__)


def test_more_of_the_largest_than_there_are_is_refused_when_it_runs() -> None:
    top, _ = L.topk(L.data("x", [3]), 5)
    assert top.shape == (-1, 5)
    with pytest.raises(fluid.core.EnforceNotMet, match="k is 5"):
        run([top], {"x": np.ones((2, 3), "f4")})


def test_py_func_with_too_few_results_is_said() -> None:
    block = fluid.default_main_program().current_block()
    outs = [block.create_var(name=f"out{i}", dtype="float32", shape=[1]) for i in range(2)]
    L.py_func(lambda a: a, L.fill_constant([1], "float32", 1.0), outs)
    with pytest.raises(fluid.core.EnforceNotMet, match="1 results, 2 outputs"):
        run(outs)


def test_weight_norm_starts_with_the_weight_itself() -> None:
    x = L.data("x", [3])
    out = L.fc(x, 4, param_attr=fluid.WeightNormParamAttr(dim=1, name="w"), bias_attr=False)
    (found,) = run([out], {"x": np.eye(3, dtype="f4")})
    scope = fluid.global_scope()
    v, g = (np.array(scope.find_var(n).get_tensor()) for n in ("w_v", "w_g"))  # type: ignore[union-attr]
    np.testing.assert_allclose(np.array(found), v, rtol=1e-5)
    np.testing.assert_allclose(g.reshape(-1), np.linalg.norm(v, axis=0), rtol=1e-5)


def test_a_batch_of_one_and_a_batch_of_many_convolve_alike() -> None:
    image = L.data("image", [3, 9, 9])
    out = L.conv2d(image, 5, 3, padding=1, stride=2)
    value = np.random.default_rng(0).random((37, 3, 9, 9), "f4")
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    together = exe.run(feed={"image": value}, fetch_list=[out])[0]
    alone = [exe.run(feed={"image": value[i : i + 1]}, fetch_list=[out])[0] for i in range(3)]
    np.testing.assert_allclose(together[:3], np.concatenate(alone), rtol=2e-5, atol=1e-6)


def test_a_large_image_is_convolved_in_bands() -> None:
    image = L.data("image", [8, 96, 96])
    out = L.conv2d(image, 2, 3, padding=1, bias_attr=False, param_attr="w")
    value = np.random.default_rng(0).random((1, 8, 96, 96), "f4")
    (found,) = run([out], {"image": value})
    w = np.array(fluid.global_scope().find_var("w").get_tensor())  # type: ignore[union-attr]
    padded = np.pad(value, [(0, 0), (0, 0), (1, 1), (1, 1)])
    wanted = sum(
        np.einsum("fc,nchw->nfhw", w[:, :, i, j], padded[:, :, i : i + 96, j : j + 96])
        for i in range(3)
        for j in range(3)
    )
    np.testing.assert_allclose(np.array(found), wanted, rtol=1e-4, atol=1e-5)


def test_dims_may_be_variables() -> None:
    x = L.data("x", [2, 6], append_batch_size=False)
    rows = L.slice(L.shape(x), [0], [0], [1])
    out = L.reshape(x, [rows, 3, -1])
    times = L.expand(L.fill_constant([1, 1], "float32", 2.0), [rows, 2])
    found = run([out, times], {"x": np.zeros((2, 6), "f4")})
    assert [np.array(v).shape for v in found] == [(2, 3, 2), (2, 2)]


def test_lod_survives_ops_that_keep_the_rows() -> None:
    x = L.data("x", [2], lod_level=1)
    outs = [
        L.relu(x),
        L.reshape(x, [-1, 2, 1]),
        L.reduce_sum(x, dim=1),
        L.concat([x, x], axis=1),
        L.reduce_sum(x, dim=0),
    ]
    tensor = fluid.create_lod_tensor(np.ones((3, 2), "f4"), [[1, 2]], fluid.CPUPlace())
    found = run(outs, {"x": tensor})
    assert [v.recursive_sequence_lengths() for v in found] == [[[1, 2]]] * 4 + [[]]


def test_auc_counts_on_over_batches() -> None:
    prob, label = L.data("p", [2]), L.data("l", [1], dtype="int64")
    whole, recent, states = L.auc(prob, label, num_thresholds=100, slide_steps=1)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    good = {"p": np.array([[0.9, 0.1], [0.2, 0.8]], "f4"), "l": np.array([[0], [1]])}
    bad = {"p": np.array([[0.1, 0.9], [0.8, 0.2]], "f4"), "l": np.array([[0], [1]])}
    first = [float(v[0]) for v in exe.run(feed=good, fetch_list=[whole, recent])]
    second = [float(v[0]) for v in exe.run(feed=bad, fetch_list=[whole, recent])]
    assert first == [1.0, 1.0]
    assert second == [0.5, 0.0]
    assert len(states) == 4


def test_auc_without_sliding_keeps_one_row_of_counts() -> None:
    prob, label = L.data("p", [2]), L.data("l", [1], dtype="int64")
    _, recent, states = L.auc(prob, label, num_thresholds=15, slide_steps=0)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    exe.run(feed={"p": np.array([[0.9, 0.1], [0.2, 0.8]], "f4"), "l": np.array([[0], [1]])}, fetch_list=[recent])
    # As in 1.8.5, which declares 17 numbers for the first two: so they are in the files of a checkpoint.
    found = [np.array(fluid.global_scope().var(state.name).get_tensor()) for state in states]
    assert [counts.shape for counts in found] == [(1, 16)] * 4
    assert [counts.argmax() for counts in found] == [12, 1, 12, 1]


def test_whole_numbers_divide_as_in_c() -> None:
    a, b = (L.data(n, [4], append_batch_size=False, dtype="int64") for n in "ab")
    outs = [L.elementwise_floordiv(a, b), L.elementwise_mod(a, b), L.elementwise_div(a, b)]
    found = run(outs, {"a": np.array([-7, 7, -7, 7]), "b": np.array([2, -2, -2, 2])})
    assert [np.array(v).tolist() for v in found] == [[-3, -3, 3, 3], [-1, 1, -1, 1], [-3, -3, 3, 3]]


def test_activations_bear_large_numbers() -> None:
    x = L.data("x", [4], append_batch_size=False)
    value = np.array([-1e4, -60.0, 60.0, 1e4], "f4")
    layers: list[Any] = [L.sigmoid, L.softplus, L.logsigmoid, L.swish, L.gelu, L.elu, L.softmax, L.tanh, L.mish]
    for layer, found in zip(layers, run([layer(x) for layer in layers], {"x": value})):
        assert np.isfinite(np.array(found)).all(), layer.__name__


def test_a_piece_of_a_parameter_is_that_of_before_the_update() -> None:
    x = L.data("x", [3])
    loss = L.mean(L.fc(x, 2, param_attr="w", bias_attr=False))
    w = fluid.default_main_program().global_block().var("w")
    pieces = [
        L.reshape(w, [2, 3]),
        L.transpose(w, [1, 0]),
        L.slice(w, [0], [0], [2]),
        L.split(w, 3, dim=0)[1],
        w[0],
        L.unsqueeze(w, [0]),
        L.reverse(w, [0]),
        L.unstack(w)[0],
    ]
    fluid.optimizer.SGD(1.0).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    before = np.array(fluid.global_scope().find_var("w").get_tensor())  # type: ignore[union-attr]
    found = exe.run(feed={"x": np.ones((1, 3), "f4")}, fetch_list=pieces)
    wanted = [before.reshape(2, 3), before.T, before[:2], before[1:2], before[0], before[None], before[::-1], before[0]]
    for piece, value in zip(found, wanted):
        np.testing.assert_array_equal(piece, value)
