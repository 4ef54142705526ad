"""`fluid.contrib.slim`: the Compressor trains and evaluates; nothing here shrinks a network."""

from __future__ import annotations

from fluidio.contrib.slim.compressor import Compressor

__all__ = ["Compressor"]


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    from fluidio.errors import not_supported

    not_supported(f"fluid.contrib.slim.{name}", "train the network with fluid.Executor directly, without compression")
