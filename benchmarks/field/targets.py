"""The contents of the comparison table: the rows it compares, and the target ratios."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MORE_MEMORY", "TARGETS", "TITLES", "UNITS", "Target"]

TITLES = {
    "w1": "W1: 60,000 x (784 float32, int64) into batches of 128",
    "w2": "W2: 20,000 x about 10 KB and a label into batches of 128",
    "w3": "W3: 200,000 ragged int64 sequences and a label into batches of 64",
    "w4": "W4: writing W1",
    "w5": "W5: one step of a trivial program",
    "w6": "W6: random reads after first touch",
    "w7": "W7: one epoch of an MLP 784-100-10 with Adam, one maths thread",
    "w8": "W8: growth",
    "floor": "The floor: warm read + checksum + one copy (+ decompression)",
}
UNITS = {"w5": "µs/step", "w6": "µs/get"}
_CONTAINERS = ("arrayrecord", "mindspore", "mxnet", "pyrecordio", "tensorflow")


@dataclass(frozen=True)
class Target:
    """fluidio's case must be at least `ratio` times as fast as the fastest of the others."""

    text: str
    workload: str
    variant: str
    ratio: float
    others: tuple[str, ...]
    """peer, or peer:variant."""


TARGETS = [
    Target("W1 against containers", "w1", "none", 5.0, _CONTAINERS),
    Target("W1 with zlib's CRC", "w1", "none_zlib", 3.0, _CONTAINERS),
    Target("W1 snappy", "w1", "snappy", 2.5, _CONTAINERS),
    Target("W2 against containers", "w2", "none", 2.0, _CONTAINERS),
    Target("W3 against containers", "w3", "none", 1.2, _CONTAINERS),
    Target("W4 from a generator", "w4", "generator", 1.0, (*_CONTAINERS, "webdataset")),
    Target("W4 from arrays", "w4", "arrays", 3.0, (*_CONTAINERS, "webdataset")),
    Target("W5 start/EOF against Fluid 1.8.5, cached", "w5", "start_eof", 2.0, ("fluid185:start_eof_cached",)),
    Target("W5 start/EOF against Fluid 1.8.5", "w5", "start_eof", 10.0, ("fluid185:start_eof",)),
    Target("W5 feed against Fluid 1.8.5, cached", "w5", "feed", 2.0, ("fluid185:feed_cached",)),
    Target("W5 feed against Fluid 1.8.5", "w5", "feed", 10.0, ("fluid185:feed",)),
    Target("W5 feed against PaddlePaddle 3", "w5", "feed", 4.0, ("paddle3:feed",)),
    Target("W6 against containers", "w6", "get", 1 / 0.7, _CONTAINERS),
    Target("W7 against Fluid 1.8.5", "w7", "mlp", 1 / 0.6, ("fluid185:mlp",)),
    Target("W7 against Fluid 1.8.5, cached", "w7", "mlp", 1 / 0.6, ("fluid185:mlp_cached",)),
    Target("W7 against PyTorch", "w7", "mlp", 1.0, ("torch",)),
    Target("W1 against the floor", "w1", "none", 0.85, ("fluidio:floor:w1_none",)),
    Target("W2 against the floor", "w2", "none", 0.75, ("fluidio:floor:w2_none",)),
    Target("W8: 4 GB against 0.1 GB, per byte", "w8", "4GB", 1 / 1.1, ("fluidio:w8:0.1GB",)),
]
MORE_MEMORY = 20
"""MB of memory that reading 4 GB may take beyond reading 0.1 GB."""
