"""Two trainers against one, compared with PyTorch's DistributedDataParallel, in one run, one maths thread each.

Run: python -m benchmarks.distributed   (needs the extra `torch`; --reference COMMAND adds the real Fluid 1.8.5, with
two parameter servers)

For each model: samples/s of one and of two trainers with batches of 256 each, their ratio, the same for DDP, and the
same for fluidio started by mpiexec (if the extra `mpi` is installed). The rounds alternate; medians are shown. Also the
bytes a trainer sends in a step relative to the bytes of its gradients, counted at the loopback device of a separate
network namespace if one can be created, and the milliseconds that the exchange adds to a step: two trainers alternate
between steps with it and steps without. The ratio depends on how fast an engine computes, the milliseconds do not.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

BATCH, CLASSES = 256, 10
MODELS = ("mlp", "resnet")
_HERE = Path(__file__).resolve()


def data(model: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    shape = (BATCH, 784) if model == "mlp" else (BATCH, 3, 16, 16)
    return {"x": rng.random(shape).astype("float32"), "y": rng.integers(0, CLASSES, (BATCH, 1))}


def fluidio_steps(model: str, rank: int, size: int, endpoints: str) -> Any:
    """Build the model with fluidio; return a function that trains one step, and one that does so without the others."""
    import fluidio as fluid

    L = fluid.layers
    batch = data(model)
    x = L.data("x", list(batch["x"].shape[1:]))
    y = L.data("y", [1], dtype="int64")
    if model == "mlp":
        out = L.fc(L.fc(x, 512, act="relu"), 512, act="relu")
    else:
        out = L.conv2d(x, 16, 3, padding=1, act="relu")
        for _ in range(3):
            inner = L.conv2d(L.conv2d(out, 16, 3, padding=1, act="relu"), 16, 3, padding=1)
            out = L.relu(L.elementwise_add(out, inner))
        out = L.pool2d(out, global_pooling=True, pool_type="avg")
    loss = L.mean(L.softmax_with_cross_entropy(L.fc(out, CLASSES), y))
    fluid.optimizer.SGD(0.01).minimize(loss)
    main, startup = fluid.default_main_program(), fluid.default_startup_program()
    own = main.clone()
    if size > 1:
        config = fluid.DistributeTranspilerConfig()
        config.mode = "nccl2"
        fluid.DistributeTranspiler(config).transpile(rank, trainers=endpoints)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    return tuple(partial(exe.run, program, feed=batch, fetch_list=[loss.name]) for program in (main, own))


def torch_steps(model: str, rank: int, size: int, endpoints: str) -> Any:
    """Build the same model with PyTorch; return the same two functions."""
    import torch
    import torch.distributed as dist
    from torch import nn

    torch.set_num_threads(1)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Conv2d(16, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)

        def forward(self, x: Any) -> Any:
            return torch.relu(x + self.b(torch.relu(self.a(x))))

    if model == "mlp":
        net: Any = nn.Sequential(
            nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, CLASSES)
        )
    else:
        head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, CLASSES)]
        net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), *(Block() for _ in range(3)), *head)
    if size > 1:
        host, port = endpoints.split(",")[0].split(":")
        dist.init_process_group("gloo", init_method=f"tcp://{host}:{port}", rank=rank, world_size=size)
        net = nn.parallel.DistributedDataParallel(net)
    optimizer, criterion = torch.optim.SGD(net.parameters(), 0.01), nn.CrossEntropyLoss()
    batch = data(model)
    x, y = torch.from_numpy(batch["x"]), torch.from_numpy(batch["y"].reshape(-1))

    def step() -> None:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()

    def own_step() -> None:
        with net.no_sync() if size > 1 else contextlib.nullcontext():
            step()

    return step, own_step


def worker(args: argparse.Namespace) -> None:
    """Train and print the seconds of the measured steps."""
    rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", args.rank))
    make = torch_steps if args.engine == "torch" else fluidio_steps
    step, own_step = make(args.model, rank, args.size, args.endpoints)
    for _ in range(5):
        step()
    sent = _sent()
    began = time.perf_counter()
    for _ in range(args.steps):
        step()
    found = {"seconds": time.perf_counter() - began, "sent": _sent() - sent}
    found["added"] = _added(step, own_step, args.steps) if args.size > 1 else 0.0
    print(json.dumps(found), flush=True)


def _added(step: Any, own_step: Any, pairs: int) -> float:
    """Return the milliseconds that the exchange adds to a step."""
    differences = []
    for _ in range(pairs):
        step()  # the trainers are level after it
        began = time.perf_counter()
        own_step()
        between = time.perf_counter()
        step()
        differences.append((time.perf_counter() - between) - (between - began))
    return 1000 * statistics.median(differences)


def _sent() -> int:
    """Return the bytes that the loopback device has sent: those of all processes."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "lo":
            return int(numbers.split()[8])
    return 0


def rate(engine: str, model: str, size: int, args: argparse.Namespace) -> tuple[float, float, float]:
    """Return samples/s of all trainers together, what one sends in a step, and what the exchange adds to it."""
    words = ["--job", "--engine", engine, "--model", model, "--size", str(size), "--steps", str(args.steps)]
    command = [*_private_network(), sys.executable, str(_HERE), *words, "--reference", args.reference]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(_HERE.parent.parent)}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, timeout=600, check=True)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    slowest = max(one["seconds"] for one in found)
    sent, added = (max(one.get(key, 0) for one in found) for key in ("sent", "added"))
    return BATCH * size * args.steps / slowest, sent / args.steps / size, added


def _private_network() -> list[str]:
    """Return a command prefix that gives a process its own loopback device, so that only its bytes count."""
    words = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    try:
        works = subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        works = False
    if not works:
        print("(no network namespace: bytes of other programs on the loopback device count, too)", flush=True)
    return words if works else []


def job(args: argparse.Namespace) -> None:
    """Run the processes of one job and print each trainer's measurements."""
    from tests.distributed.jobs import endpoints

    names = endpoints(2)
    if args.engine == "fluid":
        print(json.dumps(_reference_job(args, names)))
        return
    words = ["--worker", "--engine", args.engine, "--model", args.model, "--size", str(args.size)]
    words += ["--endpoints", ",".join(names[: args.size]), "--steps", str(args.steps)]
    if args.engine == "mpi" and args.size > 1:
        print(json.dumps(_mpi_job([sys.executable, str(_HERE), *words], args.size)))
        return
    commands = [[sys.executable, str(_HERE), *words, "--rank", str(rank)] for rank in range(args.size)]
    print(json.dumps(_results([subprocess.Popen(one, stdout=subprocess.PIPE, text=True) for one in commands])))


def _mpi_job(command: list[str], size: int) -> list[Any]:
    from tests.distributed.jobs import mpiexec

    whole = [*mpiexec(), "--bind-to", "none", "-n", str(size), *command]
    done = subprocess.run(whole, stdout=subprocess.PIPE, text=True, timeout=500, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _reference_job(args: argparse.Namespace, names: list[str]) -> list[Any]:
    script = str(_HERE.with_name("distributed_reference.py"))
    words = ["--model", args.model, "--size", str(args.size), "--servers", ",".join(names), "--steps", str(args.steps)]

    def start(role: str, rank: int) -> subprocess.Popen[str]:
        own = ["--role", role, "--rank", str(rank), "--endpoint", names[rank]]
        command = [*args.reference.split(), script, *words, *own]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    servers = [start("pserver", rank) for rank in range(2 if args.size > 1 else 0)]
    try:
        return _results([start("trainer", rank) for rank in range(args.size)])
    finally:
        for server in servers:
            server.kill()
            server.communicate()


def _results(started: list[subprocess.Popen[str]]) -> list[Any]:
    return [json.loads(process.communicate(timeout=500)[0].strip().splitlines()[-1]) for process in started]


def gradient_bytes(model: str) -> int:
    """Return the bytes of all gradients of a model."""
    import fluidio as fluid

    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        fluid.unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
    ):
        fluidio_steps(model, 0, 1, "")
        return sum(4 * int(np.prod(p.shape)) for p in fluid.default_main_program().all_parameters())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--reference", default="", help="a command that runs Python with PaddlePaddle 1.8.5")
    parser.add_argument("--job", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--engine", default="fluidio", help=argparse.SUPPRESS)
    parser.add_argument("--model", default="mlp", help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--endpoints", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        worker(args)
    elif args.job:
        job(args)
    else:
        compare(args)


def compare(args: argparse.Namespace) -> None:
    """Print a line for each model and engine: medians of rounds in which the engines alternated."""
    from tests.distributed.jobs import MPIEXEC

    engines = ["fluidio", *(["mpi"] if MPIEXEC else []), "torch", *(["fluid"] if args.reference else [])]
    for model in args.models:
        size = gradient_bytes(model)
        rounds = [{engine: _both(engine, model, args) for engine in engines} for _ in range(args.rounds)]
        for engine in engines:
            one, two, sent, added = (statistics.median(found[engine][n] for found in rounds) for n in range(4))
            ratio = statistics.median(found[engine][1] / found[engine][0] for found in rounds)
            rates = f"1 trainer {one:9,.0f}/s   2 trainers {two:9,.0f}/s   ratio {ratio:.2f}"
            share = f"   sent by each / gradient {sent / size:.2f}" if sent else ""
            share += f"   exchange adds {added:.1f} ms" if added else ""
            print(f"{model:7} {_NAMES.get(engine, engine):13} {rates}{share}", flush=True)


_NAMES = {"fluidio": "fluidio, Gloo", "mpi": "fluidio, MPI", "torch": "PyTorch DDP", "fluid": "Fluid 1.8.5"}


def _both(engine: str, model: str, args: argparse.Namespace) -> tuple[float, ...]:
    """Return samples/s of one trainer and of two, what each of the two sends, and what the exchange adds to a step."""
    return rate(engine, model, 1, args)[0], *rate(engine, model, 2, args)


if __name__ == "__main__":
    main()
