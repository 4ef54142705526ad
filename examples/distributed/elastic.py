"""Trainers that come and go: a run that is begun by some and ended by others, in the middle of an epoch.

Run: python examples/distributed/elastic.py --jobs 2 3 1

Each job goes on from the last checkpoint for a part of the steps. The parameters at the end are those of a run in one
piece (--jobs 1), up to rounding.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np

import fluidio as fluid
from fluidio.paddle.distributed.launch import launch
from fluidio.recordio import Writer

GLOBAL_BATCH = 24


def write_file(path: Path) -> None:
    """Write records of three numbers and their sum."""
    rng = np.random.default_rng(0)
    with Writer(path, max_num_records=40) as writer:
        for _ in range(480):
            x = rng.random((1, 3)).astype("float32")
            writer.write_tensors([(x, ()), (x.sum(1, keepdims=True), ())])


def train(folder: Path, stop: int) -> None:
    """Go on from the last checkpoint until step `stop`, as one of the trainers of this job."""
    trainer, trainers = int(os.environ["PADDLE_TRAINER_ID"]), int(os.environ["PADDLE_TRAINERS_NUM"])
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 1
    with fluid.program_guard(main, startup):
        reader = fluid.layers.open_files(
            str(folder / "data.recordio"), [(-1, 3), (-1, 1)], [0, 0], ["float32"] * 2, trainers="env"
        )
        reader = fluid.layers.batch(fluid.layers.shuffle(reader, 100), GLOBAL_BATCH // trainers, drop_last=True)
        x, y = fluid.layers.read_file(reader)
        loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
        fluid.optimizer.Momentum(0.05, 0.9).minimize(loss)
    config = fluid.DistributeTranspilerConfig()
    config.mode = "nccl2"
    fluid.DistributeTranspiler(config).transpile(
        trainer, program=main, trainers=os.environ["PADDLE_TRAINER_ENDPOINTS"], startup_program=startup
    )
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    checkpoints = fluid.io.Checkpoints(exe, folder / "checkpoints", main, readers=[reader])
    saved = checkpoints.resume()
    step = saved.step if saved else 0
    while step < stop:
        try:
            exe.run(main, fetch_list=[loss])
            step += 1
        except fluid.core.EOFException:
            reader.reset()
    checkpoints.save(step)
    if trainer == 0:
        weights = fluid.global_scope().find_var("fc_0.w_0")
        assert weights is not None
        text = " ".join(f"{value:.4f}" for value in np.array(weights.get_tensor()).reshape(-1))
        print(f"{trainers} trainers, after step {step}: {text}", flush=True)
    exe.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, nargs="+", default=[2, 3, 1], help="trainers of each part of the run")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--port", type=int, default=6170, help="where the trainers meet")
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train:
        train(args.train, args.steps)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        write_file(Path(folder) / "data.recordio")
        for number, trainers in enumerate(args.jobs, 1):
            stop = args.steps * number // len(args.jobs)
            words = ["--nproc_per_node", str(trainers), "--started_port", str(args.port), "--print_config", "False"]
            if launch([*words, __file__, "--train", folder, "--steps", str(stop)]):
                return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
