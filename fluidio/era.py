"""Which version of Fluid to follow where versions contradict each other.

Every API of every version exists in every era; the era decides only the few places listed in `ERAS`. What belongs
to one API follows that API (a DataLoader is always 1.8's). `strict` brings back the original's plain bugs.

    >>> with use_era("0.14"):
    ...     era().keep_leftover_batch
    True
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

__all__ = ["ERAS", "Era", "era", "set_era", "use_era"]


@dataclass(frozen=True)
class Era:
    """One version of Fluid, as far as versions differ."""

    name: str
    strict: bool = False
    keep_leftover_batch: bool = False
    """Graph `batch` delivers the short last batch (<= 0.14); later versions drop it."""
    paddle_batch_drops_last: bool = False
    """`paddle.batch(drop_last=...)` defaults to True (0.14 only)."""
    open_files_eighth_is_for_parallel: bool = False
    """The 8th positional of `open_files` is `for_parallel` (<= 0.14), then `is_test`."""
    lod_constructor_takes_offsets: bool = False
    """`LoDTensor(lod)` takes offsets, unvalidated (0.12); then lengths."""
    tensor_set_casts_to_float32: bool = True
    """`LoDTensor.set` turns lists and odd dtypes into float32 (<= 1.5; int16 and float16 too, if strict); then not."""
    uint16_holds_bits: bool = True
    """A uint16 array that becomes a tensor holds the bits of float16 (<= 1.5); then its numbers become float16."""
    pyreader_iterable: bool = True
    """`fluid.io.PyReader(iterable=...)` default: False in 1.4, True from 1.5."""
    return_list_place0_only: bool = True
    """`return_list=True` yields place 0's tensors only (<= 1.5); then a list for each place."""
    per_param_accumulator_names: bool = True
    """`fc_0.w_0_moment1_0` (>= 1.3); before, `moment1_0`."""
    adam_updates_beta_pow_inside: bool = False
    """The adam op updates the beta powers itself (1.8); before, `scale` ops did."""
    clone_for_test_prunes: bool = False
    """`clone(for_test=True)` removes backward and optimizer ops (>= 1.6)."""
    clone_keeps_seed: bool = True
    """`clone` keeps random_seed (>= 0.15)."""
    numbers_scale: bool = False
    """`x + 2`, `2 - x`, `x / 2` are one `scale` op (>= 1.6); before, a constant and an elementwise op."""
    parts_name_their_block: bool = False
    """Parts of a gradient that will be summed are `x@GRAD@RENAME@block0@1` (1.8); before, `x@GRAD@RENAME@1`."""
    auc_counts_batches: bool = False
    """The statistics of a sliding `auc` are one row that ends with the number of batches (1.8)."""
    auc_reset_keeps_counts: bool = False
    """`metrics.Auc.reset()` leaves the counts as they are (1.8)."""
    rows_keep_fractions: bool = False
    """`Bilinear()` divides rows as Python 3 does (1.8); before, as Python 2, which gives the even kernel."""
    feed_split_ceil: bool = False
    """Data parallel splits a fed batch in ceil(n / places) rows (1.8); before, floor with the rest to the last."""
    unknown_feed_warns: bool = False
    """An unknown feed name is a warning (1.8); before, a ValueError."""
    random_generator_min_max: bool = False
    """Attributes of the random generator op are `min`/`max` (0.12), then `low`/`high`."""
    inference_scale_ops: bool = True
    """`save_inference_model` appends a `scale` op per target (>= 1.4)."""
    clips_all_or_none: bool = False
    """`set_gradient_clip` for some parameters clips none (1.8); before, those that it names."""
    load_checks_shape: bool = False
    """A loaded parameter must have the program's shape (1.8)."""
    checks_layer_arguments: bool = False
    """Layers check types and dtypes of their arguments, ops dims and attributes, when a program is built (1.8)."""
    repr_is_text: bool = False
    """repr() of a program and its parts is their whole text; one line elsewhere, where new code is written."""
    gradients_read_last_values: bool = False
    """Outside loops, gradients read a variable that is overwritten as it is at last (1.8), not as it was."""
    loops_lose_state_gradients: bool = False
    """The gradient of a tensor that a loop reads and overwrites ends in the loop's last round (1.8)."""
    pads_mix_gradients: bool = False
    """On the CPU, gradients of the padding behind a row reach elements of the next row (1.8)."""
    empty_fetches_hold_nothing: bool = False
    """A fetched tensor without numbers is None, or a LoDTensor of dims [0] that keeps its LoD (1.8)."""
    load_combine_ignores_rest: bool = False
    """Bytes behind the last variable of a combined file are ignored (<= 1.2); then they are an error."""


_OLD = Era(
    "0.14",
    keep_leftover_batch=True,
    open_files_eighth_is_for_parallel=True,
    pyreader_iterable=False,
    per_param_accumulator_names=False,
    clone_keeps_seed=False,
    inference_scale_ops=False,
    load_combine_ignores_rest=True,
)
_V015 = replace(
    _OLD,
    name="0.15",
    keep_leftover_batch=False,
    open_files_eighth_is_for_parallel=False,
    clone_keeps_seed=True,
)
_V15 = Era("1.5")
ERAS: dict[str, Era] = {
    "0.12": replace(_OLD, name="0.12", lod_constructor_takes_offsets=True, random_generator_min_max=True),
    "0.14": replace(_OLD, paddle_batch_drops_last=True),
    "0.15": _V015,
    "1.2": replace(_V015, name="1.2"),
    "1.4": replace(_V15, name="1.4", pyreader_iterable=False),
    "1.5": _V15,
    "1.8": replace(
        _V15,
        name="1.8",
        tensor_set_casts_to_float32=False,
        uint16_holds_bits=False,
        return_list_place0_only=False,
        adam_updates_beta_pow_inside=True,
        clone_for_test_prunes=True,
        numbers_scale=True,
        parts_name_their_block=True,
        auc_counts_batches=True,
        auc_reset_keeps_counts=True,
        rows_keep_fractions=True,
        feed_split_ceil=True,
        unknown_feed_warns=True,
        clips_all_or_none=True,
        load_checks_shape=True,
        checks_layer_arguments=True,
        empty_fetches_hold_nothing=True,
        gradients_read_last_values=True,
        loops_lose_state_gradients=True,
        pads_mix_gradients=True,
        repr_is_text=True,
    ),
}
DEFAULT = "1.5"  # the last era with both RecordIO and EOFException


def nearest(version: str) -> str:
    """Return the era of a version: "1.3" belongs to "1.2"; 1.6 and 1.7 behave like "1.8"."""
    try:
        parts = tuple(int(p) for p in version.split(".")[:2])
    except ValueError:
        raise ValueError(f"unknown Fluid version {version!r}: choose one of {', '.join(ERAS)}") from None
    if parts >= (1, 6):
        return "1.8"
    known = [name for name in ERAS if tuple(int(p) for p in name.split(".")) <= parts]
    return known[-1] if known else next(iter(ERAS))


_current: Era | None = None


def era() -> Era:
    """Return the era in force: `use_era`, else FLUIDIO_FLUID, else 1.5."""
    global _current
    if _current is None:
        asked = os.environ.get("FLUIDIO_FLUID")
        try:
            _current = ERAS[nearest(asked or DEFAULT)]
        except ValueError as error:
            raise ValueError(f"FLUIDIO_FLUID={asked}: {error}") from None
    return _current


def set_era(version: str, *, strict: bool = False) -> Era:
    """Follow `version` from now on and return the era that was in force."""
    global _current
    previous = era()
    _current = replace(ERAS[nearest(version)], strict=strict)
    return previous


class use_era:
    """Follow another version of Fluid: at once when called, until the block ends when used with `with`.

    Args:
        version: "0.12" ... "1.8".
        strict: bring back plain bugs of the original (lost tails, wrong LoD merges).
    """

    def __init__(self, version: str, *, strict: bool = False) -> None:
        self._previous = set_era(version, strict=strict)

    def __enter__(self) -> Era:
        return era()

    def __exit__(self, *_: object) -> None:
        global _current
        _current = self._previous


@contextlib.contextmanager
def keep_era() -> Iterator[None]:
    """Restore the era at the end of the block (for tests)."""
    global _current
    previous = _current
    try:
        yield
    finally:
        _current = previous
