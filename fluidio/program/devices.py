"""The intended device of ops, stored on them as `op_device`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from fluidio.era import era
from fluidio.program.block import Block, op_device

__all__ = ["device_guard", "devices_of_readers", "switch_device"]


@contextlib.contextmanager
def device_guard(device: str | None = None) -> Iterator[None]:
    """Set the device attribute of ops built in the block; the whole program still runs on the executor's place.

    Fluid: such ops ran on that device.
    """
    name = device if era().checks_layer_arguments else str(device or "").split(":")[0]
    if name not in (None, "", "cpu", "gpu"):
        raise ValueError(f"device_guard takes 'cpu', 'gpu' or None, got {device!r}")
    with op_device.guard(device or ""):
        yield


def switch_device(device: str | None) -> str | None:
    """Set the device attribute of ops built from now on, and return the previous one."""
    return op_device.switch(device or "") or None


def devices_of_readers(block: Block) -> dict[str, str]:
    """Return the device of the first op that reads each variable, as far as any op of the block has one."""
    marked = any(op.attrs.get("op_device") for op in block.ops)
    readers = {name: op for op in reversed(block.ops) for name in op.input_arg_names} if marked else {}
    return {name: op.attrs.get("op_device", "") for name, op in readers.items()}
