"""Train real programs with fluidio, Fluid 1.8.5 and PyTorch alternately, and print the speed ratios.

    python benchmarks/training.py [--rounds 5] [--seconds 1] [--threads 1] [--minutes 11] [--docs FILE] [CASE ...]

Fluid 1.8.5 is included if FLUID185 (or --real) names a Python that has it, PyTorch if it is installed here. For each
program one process of each is started and warmed up; then they train alternately, so that a busy moment affects all.
The table shows medians of the rounds, the ratios of each round's times (medians, too), and the peak of memory beyond
the imports. When `--minutes` are over, the remaining programs get fewer rounds, and the table says so.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

HERE = Path(__file__).resolve().parent
CASES = ["resnet_cifar", "vgg_cifar", "resnet50", "transformer", "gru_seq", "ctr_deepfm", "lstm_text", "lstm_all_gates"]
SMALL = ["mlp", "lenet", "lstm", "text_conv"]
LEGACY = [
    "ner_crf",
    "tagspace",
    "word2vec",
    "ssd",
    "bert",
    "bert_classifier",
    "image_gan",
    "decoder",
    "ctc",
    "startup",
]
MORE = ["mobilenet", "darknet", "unet", "text_image"]
GROUPS = {"models": CASES, "more": MORE, "small": SMALL, "legacy": LEGACY}
BEGIN, END = "<!-- training: begin -->\n", "<!-- training: end -->"
OURS, REAL, TORCH = "fluidio", "Fluid 1.8.5", "PyTorch"
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass
class Peer:
    """A process that trains one program."""

    name: str
    process: subprocess.Popen[str]
    errors: IO[str]
    times: list[float] = field(default_factory=list)
    peak: float = 0.0

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self, word: str) -> list[str]:
        """Return the rest of the line that starts with a word, once the process prints it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.split()[:1] == [word]:
                return line.split()[1:]
        self.process.wait()
        self.errors.seek(0)
        raise SystemExit(f"{self.name} failed:\n{self.errors.read()[-2000:]}")

    def train(self, seconds: float) -> None:
        self.say(f"run {seconds}")
        self.times.append(float(self.hear("ms")[0]))

    def end(self) -> None:
        self.say("end")
        self.peak = float(self.hear("peak")[0])
        self.process.communicate(timeout=60)
        self.errors.close()


def start(name: str, case: str, options: argparse.Namespace) -> Peer:
    """Start a process that trains one program; it is warm when this returns."""
    env = {**os.environ, **dict.fromkeys(THREADS, str(options.threads)), "CPU_NUM": "1", "GLOG_minloglevel": "1"}
    env["FLUID_UNDER_TEST"] = "paddle" if name == REAL else "fluidio"
    if name != REAL:
        env["PYTHONPATH"] = str(HERE.parent)
    python = options.real if name == REAL else sys.executable
    script = HERE / ("training_torch.py" if name == TORCH else "training_cases.py")
    pipe, errors = subprocess.PIPE, tempfile.TemporaryFile("w+")
    process = subprocess.Popen([python, str(script), case], env=env, stdin=pipe, stdout=pipe, stderr=errors, text=True)
    peer = Peer(name, process, errors)
    peer.hear("ready")
    return peer


def names(case: str, options: argparse.Namespace) -> list[str]:
    """Return the names of the peers that train a case."""
    found = [OURS]
    if options.real and case != "lstm_all_gates":  # 1.8.5 has no such switch
        found.append(REAL)
    if importlib.util.find_spec("torch") is not None and case in [*CASES, *MORE] and not options.no_torch:
        found.append(TORCH)
    return found


def measure(case: str, options: argparse.Namespace, stop: float) -> list[Peer]:
    """Train one program, alternating between the peers."""
    peers = [start(name, case, options) for name in names(case, options)]
    for number in range(options.rounds):
        if number and time.monotonic() > stop:
            break
        for peer in peers[number % len(peers) :] + peers[: number % len(peers)]:
            peer.train(options.seconds)
    for peer in peers:
        peer.end()
    return peers


def ratio(peers: list[Peer], name: str) -> str:
    """Return fluidio's speed relative to a peer: the median over rounds."""
    ours, other = peers[0], next((peer for peer in peers if peer.name == name), None)
    if other is None:
        return "-"
    return f"{statistics.median(b / a for a, b in zip(ours.times, other.times)):.2f} x"


def cell(peers: list[Peer], name: str, memory: bool = False) -> str:
    for peer in peers:
        if peer.name == name:
            return f"{peer.peak:,.0f}" if memory else f"{statistics.median(peer.times):,.1f}"
    return "-"


HEADER = f"""\
| program | {OURS}, ms | {REAL}, ms | {TORCH}, ms | against {REAL} | against {TORCH} | MB | {TORCH}, MB | rounds |
|---|---|---|---|---|---|---|---|---|"""


def row(case: str, peers: list[Peer]) -> str:
    cells = [
        case,
        *(cell(peers, name) for name in (OURS, REAL, TORCH)),
        ratio(peers, REAL),
        ratio(peers, TORCH),
        cell(peers, OURS, True),
        cell(peers, TORCH, True),
        str(len(peers[0].times)),
    ]
    return "| " + " | ".join(cells) + " |"


def put(path: Path, table: str) -> None:
    """Insert a table between the markers of a document."""
    before, rest = path.read_text().split(BEGIN)
    path.write_text(before + BEGIN + table + END + rest.split(END)[1])


def main() -> None:
    """Measure each case and print the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    everything = ", ".join([*GROUPS, *CASES, *MORE, *SMALL, *LEGACY])
    parser.add_argument("cases", nargs="*", default=["models"], help=f"of {everything}")
    parser.add_argument("--real", default=os.environ.get("FLUID185"), help="a Python with paddlepaddle 1.8.5")
    parser.add_argument("--no-torch", action="store_true", help="leave PyTorch out")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each turn; a step at least")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=11.0)
    parser.add_argument("--docs", metavar="FILE", help="put the table into docs/benchmarks.md, too")
    options = parser.parse_args()
    cases = [case for word in options.cases for case in GROUPS.get(word, [word])]
    begun = time.monotonic()
    lines = [HEADER]
    print(HEADER, flush=True)
    for number, case in enumerate(cases):
        left = begun + options.minutes * 60 - time.monotonic()
        stop = time.monotonic() + left / (len(cases) - number)
        lines.append(row(case, measure(case, options, stop)))
        print(lines[-1], flush=True)
    if options.docs:
        put(Path(options.docs), "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
