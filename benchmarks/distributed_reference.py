"""The models of benchmarks.distributed on PaddlePaddle Fluid itself, with its own trainers and parameter servers.

Started by `python -m benchmarks.distributed --reference COMMAND`, with a Python of Fluid's time (3.7).
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from typing import Any

import numpy as np

fluid: Any = importlib.import_module("paddle.fluid")
BATCH, CLASSES = 256, 10


def build(model: str) -> tuple[Any, dict[str, Any]]:
    L = fluid.layers
    rng = np.random.RandomState(0)
    shape = (BATCH, 784) if model == "mlp" else (BATCH, 3, 16, 16)
    batch = {"x": rng.rand(*shape).astype("float32"), "y": rng.randint(0, CLASSES, (BATCH, 1)).astype("int64")}
    x = L.data("x", list(shape[1:]))
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
    return loss, batch


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="mlp")
    parser.add_argument("--role", default="trainer")
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--size", type=int, default=1)
    parser.add_argument("--servers", default="")
    parser.add_argument("--endpoint", default="")
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    loss, batch = build(args.model)
    exe = fluid.Executor(fluid.CPUPlace())
    program = fluid.default_main_program()
    if args.size > 1:
        transpiler = fluid.DistributeTranspiler()
        transpiler.transpile(args.rank, pservers=args.servers, trainers=args.size, current_endpoint=args.endpoint)
        if args.role == "pserver":
            server = transpiler.get_pserver_program(args.endpoint)
            exe.run(transpiler.get_startup_program(args.endpoint, server))
            exe.run(server)
            return
        program = transpiler.get_trainer_program()
    exe.run(fluid.default_startup_program())
    for _ in range(5):
        exe.run(program, feed=batch, fetch_list=[loss])
    began = time.time()
    for _ in range(args.steps):
        exe.run(program, feed=batch, fetch_list=[loss])
    print(json.dumps({"seconds": time.time() - began, "sent": 0}), flush=True)
    exe.close()


if __name__ == "__main__":
    main()
