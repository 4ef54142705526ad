"""`python -m paddle.distributed.launch`: start trainers that exchange gradients with each other."""

from __future__ import annotations

import argparse
import sys
from argparse import REMAINDER
from collections.abc import Sequence
from pathlib import Path

from fluidio.paddle.distributed.processes import Started, python_command, run_all
from fluidio.places import get_cuda_device_count

__all__ = ["REMAINDER", "launch"]


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="paddle.distributed.launch", description="Start a trainer for each GPU of this node, or some on its CPUs."
    )
    parser.add_argument("--cluster_node_ips", default="127.0.0.1", help="addresses of all nodes, 192.168.0.16,...")
    parser.add_argument("--node_ip", default="127.0.0.1", help="the address of this node")
    parser.add_argument("--use_paddlecloud", action="store_true", help="accepted; the variables of the cloud count")
    parser.add_argument("--started_port", type=int, default=6170, help="the port of the first trainer of a node")
    parser.add_argument("--print_config", type=_truth, default=True, help="say what is started")
    parser.add_argument("--selected_gpus", help="GPUs, one trainer for each: 0,1 (default: all; on CPUs one trainer)")
    parser.add_argument("--nproc_per_node", type=int, help="trainers of this node, on CPUs")
    parser.add_argument("--log_level", type=int, default=20, help="accepted")
    parser.add_argument("--log_dir", help="a folder for workerlog.N of each trainer (default: output is passed on)")
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=REMAINDER)
    return parser.parse_args(words)


def _truth(text: str) -> bool:
    return text.lower() in ("true", "1", "yes")


def launch(words: Sequence[str] | None = None) -> int:
    """Start the trainers of this node and wait for them; return 0 if all have succeeded."""
    args = _arguments(words)
    nodes = [word.strip() for word in args.cluster_node_ips.split(",") if word.strip()]
    if args.node_ip not in nodes:
        print(f"paddle.distributed.launch: --node_ip {args.node_ip} is not in {nodes}", file=sys.stderr)
        return 2
    devices = [word for word in (args.selected_gpus or "").split(",") if word]
    count = args.nproc_per_node or len(devices) or get_cuda_device_count() or 1
    endpoints = [f"{node}:{args.started_port + i}" for node in nodes for i in range(count)]
    first = nodes.index(args.node_ip) * count
    if args.print_config:
        print(f"{len(endpoints)} trainers at {','.join(endpoints)}; started here: {count}", flush=True)
    started = []
    for i in range(count):
        env = {
            "FLAGS_selected_gpus": devices[i] if i < len(devices) else str(i),
            "PADDLE_TRAINER_ID": str(first + i),
            "PADDLE_CURRENT_ENDPOINT": endpoints[first + i],
            "PADDLE_TRAINERS_NUM": str(len(endpoints)),
            "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
        }
        log = Path(args.log_dir) / f"workerlog.{i}" if args.log_dir else None
        command = python_command(args.training_script, args.training_script_args)
        started.append(Started(f"trainer {first + i}", command, env, log))
    return run_all(started)


if __name__ == "__main__":
    sys.exit(launch())
