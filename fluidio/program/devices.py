"""The intended device of ops, stored on them as `op_device`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from fluidio.era import era
from fluidio.program.block import op_device

__all__ = ["device_guard", "switch_device"]


@contextlib.contextmanager
def device_guard(device: str | None = None) -> Iterator[None]:
    """Set the device attribute of ops built in the block; the whole program still runs on the executor's place.

    Fluid: such ops ran on that device.
    """
    name = device if era().checks_layer_arguments else str(device or "").split(":")[0]
    if name not in (None, "", "cpu", "gpu"):
        raise ValueError(
            f"The Attr(device) should be 'cpu' or 'gpu', and it can also be empty string or None, got {device!r}"
        )
    with op_device.guard(device or ""):
        yield


def switch_device(device: str | None) -> str | None:
    """Set the device attribute of ops built from now on, and return the previous one."""
    return op_device.switch(device or "") or None
