"""Tables divided among trainers give the numbers of whole ones, and are saved and loaded as one table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.distributed import Group, Membership, process
from fluidio.distributed.table import Table, deliver_rows, divide, settle
from fluidio.errors import EnforceNotMet
from tests.distributed.jobs import Job, endpoints, fluidio_run, mpiexec, needs_mpi, needs_torch, paddle_variables
from tests.distributed.threads import Threads, together

OPTIMIZERS = ("sgd", "momentum", "adagrad", "adam", "lazy", "decay")
BOTH = ",".join(f"{name},{name}-whole" for name in OPTIMIZERS)


# -- tables between threads -------------------------------------------------------------------------------------------


def whole_table(height: int) -> Any:
    return np.arange(height * 3, dtype=np.float32).reshape(height, 3)


def shared(trainer: Threads, height: int) -> tuple[Group, Table]:
    group = Group(trainer)
    part = whole_table(height)[trainer.rank :: len(trainer.members)].copy()
    return group, divide("t", height, part, group).table


@pytest.mark.parametrize("trainers", [1, 2, 3, 4])
@pytest.mark.parametrize("height", [1, 2, 7, 12])
def test_trainers_find_the_rows_that_others_hold(trainers: int, height: int) -> None:
    def work(trainer: Threads) -> None:
        _, table = shared(trainer, height)
        rows = np.random.default_rng(trainer.rank).integers(0, height, 5 * trainer.rank)  # the first asks for none
        np.testing.assert_array_equal(table.look_up(rows, together=True), whole_table(height)[rows])
        assert len(table.part) <= -(-height // trainers)

    together(trainers, work)


@pytest.mark.parametrize("trainers", [2, 3])
def test_one_trainer_reads_the_table_while_the_others_train(trainers: int) -> None:
    def work(trainer: Threads) -> None:
        _, table = shared(trainer, 11)
        if trainer.rank == trainers - 1:
            np.testing.assert_array_equal(table.whole(), whole_table(11))
            np.testing.assert_array_equal(
                table.look_up(np.array([3, 3, 10]), together=False), whole_table(11)[[3, 3, 10]]
            )
        np.testing.assert_array_equal(table.look_up(np.array([5]), together=True), whole_table(11)[[5]])

    together(trainers, work)


def test_rows_of_gradients_go_to_who_holds_them() -> None:
    def work(trainer: Threads) -> Any:
        rows = np.array([[0, 4, 4], [1, 4, 0]][trainer.rank])
        return deliver_rows(trainer, rows, np.full((3, 2), 1.0 + trainer.rank))

    (mine, values), (yours, others) = together(2, work)
    assert mine.tolist() == [0, 2, 2, 2, 0] and values[:, 0].tolist() == [1, 1, 1, 2, 2]
    assert yours.tolist() == [0] and others[:, 0].tolist() == [2]


def test_who_leaves_hands_its_rows_over_and_cannot_read_any_more() -> None:
    def work(trainer: Threads) -> None:
        group, table = shared(trainer, 10)
        if trainer.rank == 1:
            group.leave()
            with pytest.raises(EnforceNotMet, match="has left them"):
                table._own()
            return
        np.testing.assert_array_equal(table.look_up(np.arange(10), together=True), whole_table(10))
        assert table.parts == 2 and len(table.part) == 5
        if trainer.rank == 2:
            group.leave()
        else:
            np.testing.assert_array_equal(table.look_up(np.arange(10), together=True), whole_table(10))
            np.testing.assert_array_equal(table.whole(), whole_table(10))

    together(3, work)


def test_what_one_trainer_loads_all_have() -> None:
    def work(trainer: Threads) -> None:
        _, table = shared(trainer, 9)
        if trainer.rank == 1:
            table.load(whole_table(9) + 100)
            np.testing.assert_array_equal(table.whole(), whole_table(9) + 100)
        settle(trainer, [table])
        np.testing.assert_array_equal(table.look_up(np.arange(9), together=True), whole_table(9) + 100)
        with pytest.raises(EnforceNotMet, match=r"has shape \[9, 3\], but the array has \[8, 3\]"):
            table.load(whole_table(8))

    together(3, work)


# -- programs ---------------------------------------------------------------------------------------------------------


def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_membership", Membership(0, 2, ("127.0.0.1:1",)))
    monkeypatch.setattr(process, "_group", None)


def transpiled(optimizer: Any, **options: Any) -> Any:
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        ids = fluid.layers.data("ids", [1], dtype="int64")
        attr = fluid.ParamAttr(name="t", regularizer=options.pop("regularizer", None))
        loss = fluid.layers.mean(fluid.layers.embedding(ids, [10, 4], param_attr=attr, **options))
        optimizer().minimize(loss)
        fluid.DistributeTranspiler().transpile(0, main, trainers=2, startup_program=startup)
    return [op.type for op in main.global_block().ops]


def test_distributed_and_large_sparse_tables_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    declared(monkeypatch)
    sgd = lambda: fluid.optimizer.SGD(0.1)  # noqa: E731
    assert "exchange_parts" in transpiled(sgd, is_sparse=True, is_distributed=True)
    assert "exchange_parts" not in transpiled(sgd, is_sparse=True)
    monkeypatch.setenv("FLUIDIO_DIVIDE_TABLES", "160")
    assert "exchange_parts" in transpiled(sgd, is_sparse=True)
    monkeypatch.setenv("FLUIDIO_DIVIDE_TABLES", "161")
    assert "exchange_parts" not in transpiled(sgd, is_sparse=True)
    monkeypatch.setenv("FLUIDIO_DIVIDE_TABLES", "many")
    with pytest.raises(ValueError, match="FLUIDIO_DIVIDE_TABLES='many'"):
        transpiled(sgd, is_sparse=True)


def test_a_table_whose_update_needs_all_of_it_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    declared(monkeypatch)
    decay = fluid.regularizer.L2Decay(0.1)
    with pytest.warns(UserWarning, match="embedding t: every trainer holds the whole table, as"):
        assert "exchange_parts" not in transpiled(
            lambda: fluid.optimizer.SGD(0.1), is_sparse=True, is_distributed=True, regularizer=decay
        )
    with pytest.warns(UserWarning, match="lars_momentum needs all of it"):
        transpiled(lambda: fluid.optimizer.LarsMomentum(0.1, 0.9), is_sparse=True, is_distributed=True)


# -- processes --------------------------------------------------------------------------------------------------------


def run(out: Path, trainers: int, cases: str) -> None:
    out.mkdir(exist_ok=True)
    names = endpoints(trainers)
    with Job() as job:
        for trainer in range(trainers):
            variables = paddle_variables(trainer, names) if trainers > 1 else {}
            job.start(fluidio_run("tables.py", out, cases), variables)
        for ended in job.wait():
            assert ended.status == 0, ended.output


def check_bits(out: Path, trainers: int) -> None:
    """Compare runs with a divided table with those in which every trainer holds all of it."""
    for name in OPTIMIZERS:
        for trainer in range(trainers):
            found, expected = (np.load(out / f"{case}-{trainer}.npz") for case in (name, f"{name}-whole"))
            assert len(found["part"]) == len(range(trainer, 23, trainers))
            for key in set(expected.files) - {"part"}:
                np.testing.assert_array_equal(found[key], expected[key], err_msg=f"{name}: {key}")


@needs_torch
@pytest.mark.timeout(300)
@pytest.mark.parametrize("trainers", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_divided_tables_train_as_whole_ones(trainers: int, tmp_path: Path) -> None:
    more = "adam-save,adam-load,adam-evaluate"
    run(tmp_path / "alone", 1, f"adam,{more}")
    run(tmp_path / "all", trainers, f"{BOTH},{more},adam-uneven")
    check_bits(tmp_path / "all", trainers)
    for case in ("adam", *more.split(","), "adam-uneven"):
        found = np.load(tmp_path / "all" / f"{case}-0.npz")
        same = "adam-evaluate" if case == "adam-evaluate" else "adam"  # all others end with the same values
        expected = np.load(tmp_path / "alone" / f"{same}-0.npz")
        for key in set(found.files) - {"part"}:
            np.testing.assert_allclose(found[key], expected[key], rtol=1e-5, atol=1e-6, err_msg=f"{case}: {key}")
    assert len(np.load(tmp_path / "all" / "adam-uneven-0.npz")["part"]) == len(range(0, 23, trainers - 1))
    for name in ("saved/big", "saved/big_moment1_0", "one/params"):  # in Fluid's format, as one process saves it
        assert (tmp_path / "all" / name).stat().st_size == (tmp_path / "alone" / name).stat().st_size


@needs_torch
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_checkpoint_of_three_trainers_is_resumed_by_two_and_by_one(tmp_path: Path) -> None:
    run(tmp_path, 3, "adam-begin,adam")
    expected = dict(np.load(tmp_path / "adam-0.npz"))
    for trainers in (2, 1):
        run(tmp_path, trainers, "adam-resume")
        found = np.load(tmp_path / "adam-resume-0.npz")
        for key in set(expected) - {"part"}:
            np.testing.assert_allclose(found[key], expected[key], rtol=1e-5, atol=1e-6, err_msg=key)


@needs_mpi
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_divided_tables_train_with_mpi(tmp_path: Path) -> None:
    with Job() as job:
        job.start([*mpiexec(), "-n", "2", *fluidio_run("tables.py", tmp_path, BOTH)])
        (ended,) = job.wait()
    assert ended.status == 0, ended.output
    check_bits(tmp_path, 2)


@needs_torch
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_divided_tables_train_with_torchrun(tmp_path: Path) -> None:
    run = fluidio_run("tables.py", tmp_path, BOTH)[1:]
    with Job() as job:
        job.start([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *run])
        (ended,) = job.wait()
    assert ended.status == 0, ended.output
    check_bits(tmp_path, 2)
