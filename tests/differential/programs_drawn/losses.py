"""End a program with a loss on a matrix."""

from __future__ import annotations

from collections.abc import Callable

from tests.differential.programs_drawn.attributes import parameter
from tests.differential.programs_drawn.base import ProgramDraw, Value, var

__all__ = ["loss"]


def loss(d: ProgramDraw, x: Value) -> str:
    """Return the handle of a loss that grows out of `x`, a "flat" value."""
    return d.rng.choice(_LOSSES)(d, x)


def _mean(d: ProgramDraw, x: Value) -> str:
    return d.call(d.pick("mean", "reduce_mean", "reduce_sum"), x)


def _classes(d: ProgramDraw, x: Value) -> str:
    classes = d.size(2, 4)
    label = d.feed_ids("flat_ids", classes)
    kw = {"param_attr": parameter(d)}
    if d.chance():
        prob = d.call("fc", x, classes, act="softmax", **kw)
        cost = d.call("cross_entropy", {"var": prob}, label, **d.some(ignore_index=[0]))
        if d.chance(0.3):
            d.call("accuracy", {"var": prob}, label, **d.some(k=[1, 2]))
    else:
        logits = d.call("fc", x, classes, **kw)
        more = d.some(ignore_index=[0], numeric_stable_mode=[False], return_softmax=[False])
        cost = d.call("softmax_with_cross_entropy", {"var": logits}, label, **more)
    return d.call("mean", {"var": cost})


def _regression(d: ProgramDraw, x: Value) -> str:
    target = d.feed("flat", (1,))
    guess = {"var": d.call("fc", x, 1)}
    way = d.pick("square_error_cost", "smooth_l1", "huber_loss", "mse_loss", "squares")
    if way == "huber_loss":
        cost = d.call(way, guess, target, d.pick(0.5, 1.0))
    elif way == "smooth_l1":
        cost = d.call(way, guess, target, **d.some(sigma=[2.0]))
    elif way == "squares":
        difference = d.operate("-", guess, var(target))
        cost = d.operate("*", {"var": difference}, {"var": difference})
    else:
        cost = d.call(way, guess, target)
    return d.call("mean", {"var": cost})


def _yes_or_no(d: ProgramDraw, x: Value) -> str:
    target = d.feed("flat", (1,), 0.0, 1.0)
    logit = {"var": d.call("fc", x, 1)}
    if d.chance():
        more = d.some(normalize=[True])
        return d.call("mean", {"var": d.call("sigmoid_cross_entropy_with_logits", logit, target, **more)})
    prob = {"var": d.call("sigmoid", logit)}
    return d.call("mean", {"var": d.call("log_loss", prob, target, **d.some(epsilon=[1e-3]))})


def _pairs(d: ProgramDraw, x: Value) -> str:
    target = d.feed("flat", (1,), 0.0, 1.0)
    left, right = {"var": d.call("fc", x, 1)}, {"var": d.call("fc", x, 1)}
    way = d.pick("rank_loss", "margin_rank_loss")
    args = (target, left, right)
    return d.call("mean", {"var": d.call(way, *args, **(d.some(margin=[0.2]) if way != "rank_loss" else {}))})


def _soft(d: ProgramDraw, x: Value) -> str:
    classes = d.size(2, 4)
    label = d.feed_ids("flat_ids", classes)
    hot = {"var": d.call("one_hot", label, classes)}
    smooth = {"var": d.call("label_smooth", hot, **d.some(epsilon=[0.2]))}
    prob = {"var": d.call("fc", x, classes, act="softmax")}
    if d.chance(0.3):
        return d.call("dice_loss", prob, label)
    return d.call("mean", {"var": d.call("cross_entropy", prob, smooth, soft_label=True)})


def _many_classes(d: ProgramDraw, x: Value) -> str:
    classes = d.size(3, 7)
    label = d.feed_ids("flat_ids", classes)
    cost = d.call("hsigmoid", x, label, classes, param_attr=parameter(d), **d.some(bias_attr=[False]))
    return d.call("mean", {"var": cost})


_LOSSES: list[Callable[[ProgramDraw, Value], str]] = [
    _mean,
    _classes,
    _classes,
    _regression,
    _yes_or_no,
    _pairs,
    _soft,
    _many_classes,
]
