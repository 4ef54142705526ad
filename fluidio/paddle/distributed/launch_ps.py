"""`python -m paddle.distributed.launch_ps`: start trainers and parameter servers."""

from __future__ import annotations

import argparse
import sys
from argparse import REMAINDER
from collections.abc import Sequence
from pathlib import Path

from fluidio.distributed import parse_endpoints
from fluidio.paddle.distributed.processes import Started, python_command, run_all

__all__ = ["REMAINDER", "launch", "parse_args", "start_procs"]


def parse_args(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of a command line."""
    parser = argparse.ArgumentParser(prog="paddle.distributed.launch_ps", description="Distributed training")
    parser.add_argument("--cluster_node_ips", default="127.0.0.1", help="addresses of all nodes, 192.168.0.16,...")
    parser.add_argument("--node_ip", default="127.0.0.1", help="the address of this node")
    parser.add_argument("--start_port", type=int, default=6170, help="the port of the first server of a node")
    parser.add_argument("--print_config", default="True", help="say what is started")
    parser.add_argument("--endpoints", default="", help="the servers' endpoints, instead of those from --start_port")
    parser.add_argument("--worker_num", type=int, default=2, help="trainers of this node")
    parser.add_argument("--server_num", type=int, default=2, help="parameter servers of this node")
    parser.add_argument("--log_dir", default="logs", help="a folder for workerlog.N and serverlog.N")
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=REMAINDER)
    return parser.parse_args(words)


def start_procs(args: argparse.Namespace) -> int:
    """Start the servers and trainers of this node and wait for the trainers; return 0 if all have succeeded."""
    nodes = [word.strip() for word in args.cluster_node_ips.split(",") if word.strip()]
    if args.node_ip not in nodes:
        print(f"paddle.distributed.launch_ps: --node_ip {args.node_ip} is not in {nodes}", file=sys.stderr)
        return 2
    servers = parse_endpoints(args.endpoints) if args.endpoints else _servers(nodes, args)
    first = nodes.index(args.node_ip) * args.worker_num
    common = {
        "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(servers),
        "PADDLE_TRAINERS_NUM": str(args.worker_num * len(nodes)),
    }
    if args.print_config.lower() in ("true", "1", "yes"):
        print(f"servers at {','.join(servers)}; trainers: {common['PADDLE_TRAINERS_NUM']}", flush=True)
    command = python_command(args.training_script, args.training_script_args)
    logs = Path(args.log_dir) if args.log_dir else None
    started, trainers = [], []
    for i, server in enumerate(own for own in servers if own.rpartition(":")[0] == args.node_ip):
        host, _, port = server.rpartition(":")
        env = {**common, "TRAINING_ROLE": "PSERVER", "POD_IP": host, "PADDLE_PORT": port}
        env["PADDLE_CURRENT_ENDPOINT"] = server
        started.append(Started(f"server {server}", command, env, logs and logs / f"serverlog.{i}"))
    for i in range(args.worker_num):
        env = {**common, "TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(first + i)}
        trainers.append(Started(f"trainer {first + i}", command, env, logs and logs / f"workerlog.{i}"))
    return run_all([*started, *trainers])


def _servers(nodes: Sequence[str], args: argparse.Namespace) -> tuple[str, ...]:
    return tuple(f"{node}:{args.start_port + i}" for node in nodes for i in range(args.server_num))


def launch(words: Sequence[str] | None = None) -> int:
    """Start the processes that a command line requests."""
    return start_procs(parse_args(words))


if __name__ == "__main__":
    sys.exit(launch())
