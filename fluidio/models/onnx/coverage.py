"""List the ops of inference programs that map to ONNX, and why the others do not."""

from __future__ import annotations

from fluidio.models.onnx.table import load_table
from fluidio.ops import OP_TABLE

__all__ = ["REASONS", "mapped", "unmapped"]

_TRAINING = (".optimize.", ".trainers.", ".io.", ".readers.", ".anchor_targets", ".proposal_labels", ".mask_labels")
_TRAINING_OPS = frozenset(
    [
        "mine_hard_examples",
        "target_assign",
        "bipartite_match",
        "sample_logits",
        "nce",
        "yolov3_loss",
        "warpctc",
        "center_loss",
        "cross_entropy_grad2",
        "average_accumulates",
        "feed",
        "fetch",
        "listen_and_serv",
        "tdm_sampler",
    ]
)
REASONS = {
    "py_func": "calls a Python function",
}


def _is_for_training(name: str) -> bool:
    kernel = OP_TABLE[name].kernel
    module = f"{getattr(kernel, '__module__', '')}."
    return name in _TRAINING_OPS or any(part in module for part in _TRAINING) or kernel is None


def _of_inference() -> list[str]:
    names = [name for name in OP_TABLE if not (name.endswith("_grad") and name.removesuffix("_grad") in OP_TABLE)]
    return sorted(name for name in names if not _is_for_training(name))


def mapped() -> list[str]:
    """Return the ops that have a mapping."""
    table = load_table()
    return [name for name in sorted(OP_TABLE) if name in table and not _draws(name)]


def unmapped() -> dict[str, str]:
    """Return the ops of inference programs that have none, with the reason."""
    table = load_table()
    found = {}
    for name in _of_inference():
        if _draws(name):
            found[name] = "draws random numbers"
        elif name not in table:
            found[name] = REASONS.get(name, "no mapping")
    return found


def _draws(name: str) -> bool:
    return "random" in getattr(load_table().get(name), "__qualname__", "")
