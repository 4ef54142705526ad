"""Compare an ONNX model with fluidio on random inputs."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fluidio.errors import FluidioError, missing_dependency
from fluidio.models.onnx.export import lod_name
from fluidio.models.open_model import Model
from fluidio.models.running import Runner, random_feed
from fluidio.tensor import LoDTensor

__all__ = ["Comparison", "can_verify", "compare", "onnx_feed", "session_of"]

_SHARE = 1e-4  # relative to the largest value: each side adds float32 numbers in its own order
_SMALLEST = 1e-2  # below this, the remainder of larger values is mostly rounding
_ROWS = (1, 3)


@dataclass
class Comparison:
    """The error of one output, relative to its largest value."""

    name: str
    rows: int
    far: float
    problem: str = ""

    @property
    def agrees(self) -> bool:
        return not self.problem

    @property
    def text(self) -> str:
        return f"{self.name} (batch of {self.rows}): {self.problem or f'off by {self.far:.1e} of the largest value'}"


def can_verify() -> bool:
    return importlib.util.find_spec("onnxruntime") is not None


def session_of(data: bytes) -> Any:
    """Return an ONNX Runtime session for a model's bytes."""
    try:
        import onnxruntime
    except ImportError:
        raise missing_dependency("onnxruntime", "onnx", "comparing with ONNX Runtime") from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def onnx_feed(feed: dict[str, LoDTensor]) -> dict[str, Any]:
    """Return inputs as ONNX models take them: data and offsets."""
    found: dict[str, Any] = {}
    for name, tensor in feed.items():
        found[name] = np.array(tensor)
        for level, offsets in enumerate(tensor.lod()):
            found[lod_name(name, level)] = np.asarray(offsets, np.int64)
    return found


def compare(model: Model, proto: Any, feeds: Sequence[str], targets: Sequence[str]) -> tuple[list[Comparison], str]:
    """Return the error of each output for a few batches, or why it could not be determined."""
    runner = Runner(model, feeds, targets)
    session = session_of(proto.SerializeToString())
    names = {value.name for value in session.get_inputs()}
    found: list[Comparison] = []
    failed = ""
    for rows in _ROWS:
        feed = random_feed(runner.program, runner.feeds, rows, seed=rows)
        try:
            ours = runner.run(feed)
        except (FluidioError, ValueError, TypeError) as error:
            failed = f"fluidio cannot run it on random inputs: {str(error).splitlines()[0]}"
            continue
        given = {name: array for name, array in onnx_feed(feed).items() if name in names}
        try:
            theirs = session.run(None, given)
        except Exception as error:
            found.append(Comparison(", ".join(targets), rows, np.inf, f"ONNX Runtime: {str(error).splitlines()[0]}"))
            continue
        for name, mine, other in zip(targets, ours, theirs):
            found.append(_compared(name, rows, np.array(mine), other))
    return found, "" if found else failed


def _compared(name: str, rows: int, mine: Any, other: Any) -> Comparison:
    if mine.size == 0 and other.size == 0:
        return Comparison(name, rows, 0.0)
    if mine.shape != other.shape or mine.dtype != other.dtype:
        problem = f"{other.dtype}{list(other.shape)}, fluidio has {mine.dtype}{list(mine.shape)}"
        return Comparison(name, rows, np.inf, problem)
    if mine.dtype.kind != "f":
        differ = int(np.count_nonzero(mine != other))
        return Comparison(name, rows, float(differ), f"{differ} of {mine.size} values differ" if differ else "")
    finite = np.isfinite(mine)
    if not np.array_equal(finite, np.isfinite(other)):
        return Comparison(name, rows, np.inf, "NaN or infinite in other places")
    if not finite.any():
        return Comparison(name, rows, 0.0)
    largest = max(float(np.abs(mine[finite]).max()), _SMALLEST)
    far = float(np.abs(mine[finite].astype(np.float64) - other[finite]).max()) / largest
    return Comparison(name, rows, far, f"off by {far:.1e} of the largest value" if far > _SHARE else "")
