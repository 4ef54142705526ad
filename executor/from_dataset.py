"""Run a program over the batches of a dataset, printing fetched values periodically."""

from __future__ import annotations

from typing import Any

from fluidio.executor.fetch_handler import FetchHandler, Monitor
from fluidio.program.arguments import FetchList

__all__ = ["run_dataset"]


def run_dataset(
    executor: Any,
    program: Any,
    dataset: Any,
    scope: Any,
    fetch_list: FetchList,
    fetch_info: Any,
    print_period: int,
    fetch_handler: FetchHandler | None = None,
) -> None:
    """Run a program once for each batch; every `print_period` steps print the fetched values."""
    if dataset is None or not hasattr(dataset, "batches"):
        raise RuntimeError(
            "train_from_dataset and infer_from_dataset need a dataset: fluid.DatasetFactory().create_dataset(...)"
        )
    wanted = list(fetch_list or [])
    names = [getattr(v, "name", v) for v in wanted]
    titles = list(fetch_info) if fetch_info else names
    if len(titles) != len(names):
        raise ValueError(f"fetch_info has {len(titles)} entries, but fetch_list has {len(names)}: give one for each")
    monitor = Monitor(fetch_handler)
    watched: list[Any] = []
    for step, feed in enumerate(dataset.batches(), 1):
        shown = wanted if wanted and step % max(print_period, 1) == 0 else []
        fetched = [*shown, *monitor.variables]
        values = executor.run(program, feed=feed, fetch_list=fetched, scope=scope, return_numpy=False)
        for title, name, value in zip(titles, names, values[: len(shown)]):
            print(f"{title}\t{name}\t\t{str(value).lstrip()}\t")
        watched = values[len(shown) :]
        monitor.step(watched)
    monitor.step(watched, last=True)
    dataset.finish_pass()
