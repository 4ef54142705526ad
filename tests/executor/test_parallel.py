"""Data parallel on CPU places: the same numbers as one place with the whole batch."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from tests.executor.readers.subjects import SLOTS, write_files

layers = fluid.layers


def samples(steps: int, rows: int) -> list[tuple[Any, Any]]:
    rng = np.random.RandomState(7)
    found = []
    for _ in range(steps):
        x = rng.rand(rows, 3).astype("float32")
        found.append((x, x.sum(1, keepdims=True)))
    return found


class Net:
    """A linear regression, trained on `places` places."""

    def __init__(self, places: int, iterable: bool | None = None, strategy: Any = None, optimizer: Any = None) -> None:
        self.main, self.startup = fluid.Program(), fluid.Program()
        self.main.random_seed = self.startup.random_seed = 5
        self.loader: Any = None
        with fluid.program_guard(self.main, self.startup), fluid.unique_name.guard():
            x, y = fluid.data("x", [None, 3]), fluid.data("y", [None, 1])
            if iterable is not None:
                self.loader = fluid.io.DataLoader.from_generator([x, y], 4, iterable=iterable)
            self.out = layers.fc(x, size=1)
            self.loss = layers.mean(layers.square_error_cost(self.out, y))
            (optimizer or fluid.optimizer.SGD(0.1)).minimize(self.loss)
        self.places = fluid.cpu_places(places)
        self.exe = fluid.Executor(fluid.CPUPlace())
        self.exe.run(self.startup)
        self.program = fluid.CompiledProgram(self.main).with_data_parallel(
            loss_name=self.loss.name, places=self.places, build_strategy=strategy
        )

    def run(self, feed: Any = None, **options: Any) -> Any:
        return self.exe.run(self.program, feed=feed, fetch_list=[self.loss], **options)[0]

    def weights(self) -> Any:
        held: Any = fluid.global_scope().find_var("fc_0.w_0")
        return np.array(held.get_tensor())


def trained_on_one(batches: list[tuple[Any, Any]], optimizer: Any = None) -> Any:
    with fluid.scope_guard(fluid.Scope()):
        net = Net(1, optimizer=optimizer)
        for x, y in batches:
            net.run({"x": x, "y": y})
        return net.weights()


def test_a_fed_batch_is_divided_and_gradients_are_averaged() -> None:
    batches = samples(4, 8)
    net = Net(2)
    for x, y in batches:
        assert net.run({"x": x, "y": y}).shape == (2,)
    np.testing.assert_allclose(net.weights(), trained_on_one(batches), rtol=1e-5)


def test_adam_moments_are_updated_once_a_step() -> None:
    batches = samples(5, 8)
    net = Net(4, optimizer=fluid.optimizer.Adam(0.05))
    for x, y in batches:
        net.run({"x": x, "y": y})
    np.testing.assert_allclose(net.weights(), trained_on_one(batches, fluid.optimizer.Adam(0.05)), rtol=1e-4)


def test_a_list_of_dicts_gives_each_place_its_own() -> None:
    net = Net(2)
    (a, b), (c, d) = samples(2, 4)
    out = net.exe.run(net.program, feed=[{"x": a, "y": b}, {"x": c, "y": d}], fetch_list=[net.out])
    assert out[0].shape == (8, 1)
    with pytest.raises(ValueError, match="one dict for each place"):
        net.run([{"x": a, "y": b}] * 3)
    with pytest.raises(fluid.core.EnforceNotMet, match="drop_last=True"):
        net.run([{"x": a, "y": b}])
    with pytest.raises(TypeError, match="must be a dict"):
        net.run([a, b])


def test_a_shorter_list_is_the_last_step_of_a_test() -> None:
    x = fluid.data("x", [None, 3])
    doubled = fluid.layers.scale(x, 2.0)
    program = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(places=fluid.cpu_places(4))
    feed = [{"x": np.full((2, 3), value, "float32")} for value in (1, 2)]
    (out,) = fluid.Executor(fluid.CPUPlace()).run(program, feed=feed, fetch_list=[doubled])
    assert out[:, 0].tolist() == [2, 2, 4, 4]


def test_fewer_rows_than_places_are_refused() -> None:
    net = Net(4)
    x, y = samples(1, 3)[0]
    with pytest.raises(fluid.core.EnforceNotMet, match="too few for"):
        net.run({"x": x, "y": y})


@pytest.mark.parametrize(("era", "rows"), [("1.5", [2, 3]), ("1.8", [3, 2])])
def test_the_era_decides_who_gets_the_odd_row(era: str, rows: list[int]) -> None:
    net = Net(2)
    x, y = samples(1, 5)[0]
    with fluid.use_era(era):
        parts = net.exe.run(net.program, feed={"x": x, "y": y}, fetch_list=[net.out], return_merged=False)
    assert [len(part) for part in parts[0]] == rows


def test_an_iterable_loader_gives_one_batch_to_each_place() -> None:
    halves = samples(6, 4)
    net = Net(2, iterable=True)
    net.loader.set_batch_generator(lambda: iter(halves), places=net.places)
    steps = 0
    for data in net.loader():
        assert len(data) == 2
        net.run(data)
        steps += 1
    whole = [(np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])) for a, b in zip(halves[::2], halves[1::2])]
    assert steps == 3
    np.testing.assert_allclose(net.weights(), trained_on_one(whole), rtol=1e-5)


@pytest.mark.parametrize(("count", "steps", "drops"), [(6, 3, False), (7, 3, True)])
def test_a_reader_gives_one_batch_to_each_place_and_drops_the_rest(count: int, steps: int, drops: bool) -> None:
    net = Net(2, iterable=False)
    net.loader.set_batch_generator(lambda: iter(samples(count, 4)))
    for epoch in range(2):
        net.loader.start()
        found = 0
        with pytest.raises(fluid.core.EOFException):
            if drops and epoch == 0:
                with pytest.warns(UserWarning, match="the last 1 batches"):
                    while True:
                        found += len(net.run()) // 2
            while True:
                found += len(net.run()) // 2
        assert found == steps
        net.loader.reset()


def test_data_balance_divides_the_last_batches() -> None:
    strategy = fluid.BuildStrategy()
    strategy.enable_data_balance = True
    net = Net(2, iterable=False, strategy=strategy)
    batches = samples(3, 4)
    net.loader.set_batch_generator(lambda: iter(batches))
    net.loader.start()
    steps = 0
    with pytest.raises(fluid.core.EOFException):
        while True:
            assert net.run().shape == (2,)
            steps += 1
    net.loader.reset()
    assert steps == 2
    whole = [
        (np.concatenate([batches[0][0], batches[1][0]]), np.concatenate([batches[0][1], batches[1][1]])),
        batches[2],
    ]
    np.testing.assert_allclose(net.weights(), trained_on_one(whole), rtol=1e-5)


def test_gradients_can_be_summed_instead_of_averaged() -> None:
    strategy = fluid.BuildStrategy()
    strategy.gradient_scale_strategy = fluid.BuildStrategy.GradientScaleStrategy.One
    x, y = samples(1, 8)[0]
    net = Net(2, strategy=strategy)
    before = net.weights()
    net.run({"x": x, "y": y})
    summed = net.weights() - before
    with fluid.scope_guard(fluid.Scope()):
        other = Net(2)
        before = other.weights()
        other.run({"x": x, "y": y})
        np.testing.assert_allclose(summed, 2 * (other.weights() - before), rtol=1e-4)


def test_a_file_chain_gives_item_s_n_plus_p_to_place_p(tmp_path: Path) -> None:
    paths = write_files(tmp_path, [12, 6, 18])
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        source = layers.open_files(paths, thread_num=1, **SLOTS)
        _, number = layers.read_file(layers.double_buffer(layers.batch(source, 3)))
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    program = fluid.CompiledProgram(main).with_data_parallel(places=fluid.cpu_places(2))
    for _ in range(2):
        found: list[int] = []
        with pytest.raises(fluid.core.EOFException):
            while True:
                found += exe.run(program, fetch_list=[number])[0].ravel().tolist()
        assert found == list(range(36))
        source.reset()


def test_each_place_has_its_own_moving_statistics() -> None:
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        x = fluid.data("x", [None, 2])
        total = layers.create_global_var([1], 0.0, "float32", persistable=True, name="count")
        main.global_block().append_op(
            type="elementwise_add",
            inputs={"X": [total], "Y": [layers.mean(x)]},
            outputs={"Out": [total]},
        )
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    program = fluid.CompiledProgram(main).with_data_parallel(places=fluid.cpu_places(2))
    feed = [{"x": np.full((1, 2), v, "float32")} for v in (1, 10)]
    for step in (1, 2, 3):
        (counts,) = exe.run(program, feed=feed, fetch_list=[total])
        assert counts.tolist() == [step, 10 * step]
    held: Any = fluid.global_scope().find_var("count")
    assert np.array(held.get_tensor()).tolist() == [3.0]  # place 0's


def test_an_error_on_one_place_is_raised_and_the_next_run_works() -> None:
    net = Net(2)
    x, y = samples(1, 4)[0]
    bad = {"x": x, "y": np.zeros((5, 1), "float32")}
    with pytest.raises(fluid.core.EnforceNotMet):
        net.run([{"x": x, "y": y}, bad])
    assert net.run([{"x": x, "y": y}, {"x": x, "y": y}]).shape == (2,)


def test_a_test_program_shares_the_variables_of_the_training_program() -> None:
    net = Net(2)
    test = net.main.clone(for_test=True)
    shared = fluid.CompiledProgram(test).with_data_parallel(share_vars_from=net.program, places=net.places)
    x, y = samples(1, 4)[0]
    with pytest.raises(ValueError, match="run that program first"):
        net.exe.run(shared, feed={"x": x, "y": y}, fetch_list=[net.out])
    net.run({"x": x, "y": y})
    shared = fluid.CompiledProgram(net.main.clone(for_test=True)).with_data_parallel(
        share_vars_from=net.program, places=net.places
    )
    assert net.exe.run(shared, feed={"x": x, "y": y}, fetch_list=[net.out.name])[0].shape == (4, 1)


def test_compiling_wrongly_is_refused() -> None:
    with pytest.raises(TypeError, match="takes a Program"):
        fluid.CompiledProgram("main")
    program = fluid.CompiledProgram(fluid.Program()).with_data_parallel()
    with pytest.raises(AssertionError, match="already called"):
        program.with_data_parallel()
    net = Net(2)
    x, y = samples(1, 4)[0]
    net.run({"x": x, "y": y})
    with pytest.raises(ValueError, match="another scope"):
        net.run({"x": x, "y": y}, scope=fluid.Scope())


def test_without_data_parallel_it_runs_like_a_plain_program() -> None:
    net = Net(1)
    x, y = samples(1, 4)[0]
    plain = fluid.CompiledProgram(net.main)
    assert net.exe.run(plain, feed={"x": x, "y": y}, fetch_list=[net.loss])[0].shape == (1,)


def test_parallel_executor_counts_places_from_cpu_num(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPU_NUM", "3")
    net = Net(1)
    runner = fluid.ParallelExecutor(use_cuda=False, loss_name=net.loss.name, main_program=net.main)
    assert runner.device_count == 3
    x, y = samples(1, 6)[0]
    assert runner.run([net.loss.name], feed={"x": x, "y": y})[0].shape == (3,)
    assert runner.run(fetch_list=[net.loss], feed_dict={"x": x, "y": y})[0].shape == (3,)
    other = fluid.ParallelExecutor(use_cuda=False, main_program=net.main, share_vars_from=runner)
    assert other.run([net.out], feed={"x": x, "y": y})[0].shape == (6, 1)
    with pytest.raises(AssertionError, match="another ParallelExecutor"):
        fluid.ParallelExecutor(use_cuda=False, share_vars_from="x")  # type: ignore[arg-type]


def test_places_really_run_in_threads() -> None:
    names: set[str] = set()

    def watch() -> Iterator[Any]:
        yield from samples(4, 4)

    net = Net(2, iterable=True)
    net.loader.set_batch_generator(watch, places=net.places)
    for data in net.loader():
        net.run(data)
        names |= {thread.name for thread in threading.enumerate()}
    assert any(name.startswith("fluidio-place") for name in names)


@pytest.mark.parametrize("numpy", [True, False])
def test_fetched_arrays_of_tensors_are_merged_entry_by_entry(numpy: bool) -> None:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        x = fluid.data("x", [None, 2])
        index = layers.zeros([1], "int64")
        array = layers.array_write(x, index)
        layers.array_write(layers.mean(x), layers.increment(index), array)
    program = fluid.CompiledProgram(main).with_data_parallel(places=[fluid.CPUPlace()] * 2)
    exe = fluid.Executor(fluid.CPUPlace())
    feed = {"x": np.arange(8, dtype="float32").reshape(4, 2)}
    (merged,) = exe.run(program, feed=feed, fetch_list=[array], return_numpy=numpy)
    assert type(merged) is list
    assert [np.array(entry).shape for entry in merged] == [(4, 2), (2,)]
    np.testing.assert_array_equal(merged[1], [1.5, 5.5])
    (apart,) = exe.run(program, feed=feed, fetch_list=[array], return_numpy=numpy, return_merged=False)
    assert [[np.array(entry).shape for entry in entries] for entries in apart] == [[(2, 2), (1,)]] * 2


def test_a_batch_smaller_than_the_places_runs_if_nothing_is_trained() -> None:
    with fluid.use_era("1.8"):
        doubled = fluid.layers.scale(fluid.layers.data("x", [1]), 2.0)
        program = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(places=fluid.cpu_places(4))
        exe = fluid.Executor(fluid.CPUPlace())
        for rows in (1, 2, 3, 5):
            x = np.arange(rows, dtype="float32").reshape(rows, 1)
            (found,) = exe.run(program, feed={"x": x}, fetch_list=[doubled])
            assert found.tolist() == (x * 2).tolist()
