"""Dispatch the records of FILE to workers of Dask, one of which dies with its first task: dask_tasks.py FILE FOLDER."""

import os
import signal
import sys
from pathlib import Path

import distributed

from fluidio.distributed.dispatch import Ledger, dispatch
from fluidio.recordio import Task, load, tasks


class Total:
    """Sums the records of a task; the first worker to come is killed."""

    def __init__(self, grave: Path) -> None:
        self.grave = grave

    def __call__(self, task: Task) -> int:
        try:
            self.grave.touch(exist_ok=False)
        except FileExistsError:
            return int(load(task)[0].data.sum())
        os.kill(os.getpid(), signal.SIGKILL)
        return 0


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        work = Total(folder / "grave")
        found = list(dispatch(client.get_executor(), work, tasks(name, 8), ledger=Ledger(folder / "done")))
    print("tasks", len(found), "sum", sum(result for _, result in found))


if __name__ == "__main__":
    main()
