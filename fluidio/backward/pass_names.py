"""Name the gradients of several backward passes over one program."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator

from fluidio.program import Block, Program, unique_name
from fluidio.program.op_def import GRAD_SUFFIX, grad_name

__all__ = ["put_away_earlier", "restored_on_error", "take_back_earlier"]

_EARLIER = "@EARLIER"
_RENAME = "@RENAME@"  # parts of a gradient that are summed


def put_away_earlier(block: Block) -> dict[str, str]:
    """Free the gradient names of earlier passes for this one; return {name: its temporary name}."""
    _count_pass(block.program)
    earlier = {name: name + _EARLIER for name in block.vars if GRAD_SUFFIX in name}
    if earlier:
        block.rename_vars(earlier, everywhere=True)
    return earlier


def take_back_earlier(block: Block, earlier: dict[str, str], targets: Collection[str] = ()) -> dict[str, str]:
    """Restore the gradient names of earlier passes; this pass's get a prefix, those of its targets a number (1.8)."""
    prefix = "grad/" * block.program._backward_passes
    again = {name for name in block.vars if name.partition(_RENAME)[0] in earlier and _EARLIER not in name}
    numbered = {grad_name(name) for name in targets}
    renamed = {name: unique_name.generate(name) if name in numbered else prefix + name for name in sorted(again)}
    for name in block.vars.keys() - earlier.values():
        if _EARLIER in name:  # the gradient of a gradient
            plain = name.replace(_EARLIER, "")
            renamed[name] = prefix + plain if plain in earlier else plain
    if renamed:
        block.rename_vars(renamed, everywhere=True)
    if earlier:
        block.rename_vars({away: name for name, away in earlier.items()}, everywhere=True)
    return renamed


@contextlib.contextmanager
def restored_on_error(block: Block, earlier: dict[str, str]) -> Iterator[None]:
    """Restore the gradient names of earlier passes if this pass fails."""
    try:
        yield
    except BaseException:
        take_back_earlier(block, earlier)
        raise


def _count_pass(program: Program) -> None:
    """Count a backward pass: the names of its gradients depend on the number."""
    program._backward_passes += 1
