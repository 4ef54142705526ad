"""`fluid.AsyncExecutor`: trains on files of slot text; `Executor.train_from_dataset` replaced it in 1.5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.data_feed_desc import DataFeedDesc
from fluidio.dtypes import VarType
from fluidio.executor import Executor
from fluidio.io.slot_dataset import QueueDataset
from fluidio.places import CPUPlace, Place
from fluidio.program import Program, Variable, default_main_program

__all__ = ["AsyncExecutor"]


class AsyncExecutor:
    """Run a program over files, as a `DataFeedDesc` describes them.

    Fluid: each thread trained on its own files without waiting for the others; here files are read in order.

    Example:
        >>> executor = fluid.AsyncExecutor(fluid.CPUPlace())         # doctest: +SKIP
        >>> executor.run(main, desc, ["part-0"], 1, [acc])           # doctest: +SKIP
    """

    def __init__(self, place: Place | None = None, run_mode: str = "") -> None:
        if place is not None and not isinstance(place, CPUPlace):
            raise ValueError("AsyncExecutor runs on the CPU only: pass fluid.CPUPlace()")
        self._executor = Executor(CPUPlace())

    def run(
        self,
        program: Program | None,
        data_feed: DataFeedDesc,
        filelist: str | Sequence[str],
        thread_num: int,
        fetch: Variable | Sequence[Variable] | None = None,
        mode: str = "",
        debug: bool = False,
    ) -> None:
        """Train on the files once.

        Args:
            thread_num: accepted; batches are run in order.
            fetch: variables whose last dim is 1; with `debug`, they are printed at every step.
        """
        if data_feed is None:
            raise ValueError("AsyncExecutor.run needs a data_feed: fluid.DataFeedDesc(path)")
        if filelist is None:
            raise ValueError("AsyncExecutor.run needs a filelist")
        if not isinstance(thread_num, int):
            raise TypeError(f"AsyncExecutor.run: thread_num must be a whole number above 0, got {thread_num!r}")
        program = program or default_main_program()
        wanted = [fetch] if isinstance(fetch, Variable) else list(fetch or [])
        for variable in wanted:
            if variable.shape[-1:] != (1,):
                raise AssertionError(
                    f"AsyncExecutor.run: the last dim of {variable.name}, a variable to fetch, must be 1; its "
                    f"shape is {variable.shape}"
                )
        names = [filelist] if isinstance(filelist, str) else filelist
        dataset = _dataset(data_feed.proto_desc, program, names)
        self._executor.train_from_dataset(program, dataset, fetch_list=wanted if debug else None, print_period=1)


def _dataset(desc: Any, program: Program, filelist: Sequence[str]) -> QueueDataset:
    """Return the files as a dataset; unused slots get variables that nothing reads."""
    block, unused = program.global_block(), Program().global_block()
    variables = []
    for slot in desc.multi_slot_desc.slots:
        if slot.is_used:
            variables.append(block.var(slot.name))
        else:
            dtype = VarType.INT64 if slot.type.startswith("uint64") else VarType.FP32
            variables.append(unused.create_var(name=slot.name, shape=[-1, 1], dtype=dtype, lod_level=1))
    dataset = _UsedSlots([bool(slot.is_used) for slot in desc.multi_slot_desc.slots])
    dataset.set_filelist(filelist)
    dataset.set_use_var(variables)
    dataset.set_batch_size(desc.batch_size)
    dataset.set_pipe_command(desc.pipe_command)
    return dataset


class _UsedSlots(QueueDataset):
    """A dataset that feeds some of its slots."""

    def __init__(self, used: Sequence[bool]) -> None:
        super().__init__()
        self._used = used

    def batches(self) -> Any:
        names = [variable.name for variable, used in zip(self.variables, self._used) if used]
        for feed in super().batches():
            yield {name: feed[name] for name in names}
