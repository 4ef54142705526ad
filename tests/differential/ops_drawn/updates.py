"""Updates of optimizers, by dense and by sparse gradients."""

from __future__ import annotations

from tests.differential.draw import OpDraw, draws
from tests.differential.ops_drawn.sparse import sparse_update

_SPARSE = {"sgd", "momentum", "adam", "adagrad", "rmsprop", "ftrl", "lamb"}  # they take sparse gradients


def _param(d: OpDraw, *like: str, low: float = 0.0, high: float = 1.0) -> None:
    if d.op in _SPARSE and d.chance(0.3):
        sparse_update(d, *like, low=low, high=high)
        return
    shape = d.shape(1, 3)
    d.put("Param", d.floats(shape), fixed=True)
    d.put("Grad", d.floats(shape), fixed=True)
    for slot in like:
        d.put(slot, d.floats(shape, low, high), fixed=True)


def _rate(d: OpDraw) -> None:
    d.put("LearningRate", d.floats([1], 0.01, 0.5), fixed=True)


@draws("sgd", grad=False)
def sgd(d: OpDraw) -> None:
    _param(d)
    _rate(d)
    d.same(ParamOut="Param")


@draws("momentum", grad=False)
def momentum(d: OpDraw) -> None:
    _param(d, "Velocity")
    _rate(d)
    d.attrs["mu"] = d.pick(0.9, 0.5)
    d.attr("use_nesterov", False, True)
    d.same(ParamOut="Param", VelocityOut="Velocity")


@draws("lars_momentum", grad=False)
def lars_momentum(d: OpDraw) -> None:
    _param(d, "Velocity")
    _rate(d)
    d.attrs["mu"] = d.pick(0.9, 0.5)
    d.real("lars_coeff", 0.001, 0.01, 0.5)
    d.real("lars_weight_decay", 0.0005, 0.001, 0.1)
    d.same(ParamOut="Param", VelocityOut="Velocity")


@draws("adagrad", "decayed_adagrad", grad=False)
def adagrad(d: OpDraw) -> None:
    _param(d, "Moment")
    _rate(d)
    d.real("epsilon", 1e-06, 0.001, 0.1)
    if d.op == "decayed_adagrad":
        d.real("decay", 0.95, 0.5, 0.99)
    d.same(ParamOut="Param", MomentOut="Moment")


@draws("adadelta", grad=False)
def adadelta(d: OpDraw) -> None:
    _param(d, "AvgSquaredGrad", "AvgSquaredUpdate")
    d.real("epsilon", 1e-06, 0.001, 0.1)
    d.real("rho", 0.95, 0.5, 0.99)
    if d.chance(0.7):
        d.same(ParamOut="Param", AvgSquaredGradOut="AvgSquaredGrad", AvgSquaredUpdateOut="AvgSquaredUpdate")


def _powers(d: OpDraw, *slots: str) -> None:
    for slot in slots:
        d.put(slot, d.floats([1], 0.5, 0.95), fixed=True)


@draws("adam", grad=False)
def adam(d: OpDraw) -> None:
    _param(d, "Moment1", "Moment2")
    _rate(d)
    _powers(d, "Beta1Pow", "Beta2Pow")
    d.real("beta1", 0.9, 0.1, 0.95)
    d.real("beta2", 0.999, 0.5, 0.99)
    if d.chance(0.2):
        for slot in ("Beta1Tensor", "Beta2Tensor"):
            d.put(slot, d.floats([1], 0.1, 0.9).astype("float32"), fixed=True)
    d.real("epsilon", 1e-08, 0.001, 0.1)
    d.attr("lazy_mode", False, True)
    d.same(ParamOut="Param", Moment1Out="Moment1", Moment2Out="Moment2", Beta1PowOut="Beta1Pow", Beta2PowOut="Beta2Pow")


@draws("adamax", grad=False)
def adamax(d: OpDraw) -> None:
    _param(d, "Moment", "InfNorm")
    _rate(d)
    _powers(d, "Beta1Pow")
    d.real("beta1", 0.9, 0.1, 0.95)
    d.real("beta2", 0.999, 0.5, 0.99)
    d.real("epsilon", 1e-08, 0.001, 0.1)
    d.same(ParamOut="Param", MomentOut="Moment", InfNormOut="InfNorm")


@draws("lamb", grad=False)
def lamb(d: OpDraw) -> None:
    _param(d, "Moment1", "Moment2")
    _rate(d)
    _powers(d, "Beta1Pow", "Beta2Pow")
    d.real("beta1", 0.9, 0.1, 0.95)
    d.real("beta2", 0.999, 0.5, 0.99)
    d.real("epsilon", 1e-06, 0.001, 0.1)
    d.attrs["weight_decay"] = d.pick(0.0, 0.01, 0.1)
    d.same(ParamOut="Param", Moment1Out="Moment1", Moment2Out="Moment2")


@draws("rmsprop", grad=False)
def rmsprop(d: OpDraw) -> None:
    _param(d, "MeanSquare", "Moment", low=0.5)
    _rate(d)
    shape = d.inputs["in_Param"]["values"][0]["shape"]
    centered = d.attr("centered", False, True)
    d.put("MeanGrad", d.floats(shape, 0.0, 0.3), fixed=True)
    d.real("decay", 0.9, 0.5, 0.99)
    d.real("epsilon", 1e-10, 0.001, 0.1)
    d.real("momentum", 0.0, 0.1, 0.9)
    d.same(ParamOut="Param", MomentOut="Moment", MeanSquareOut="MeanSquare", MeanGradOut="MeanGrad")
    if not centered and d.chance():
        d.attrs["centered"] = False


@draws("ftrl", grad=False)
def ftrl(d: OpDraw) -> None:
    _param(d, "SquaredAccumulator", "LinearAccumulator", low=0.1)
    _rate(d)
    d.real("l1", 0.0, 0.01, 0.5)
    d.real("l2", 0.0, 0.01, 0.5)
    d.attr("lr_power", -0.5, -0.3)
    d.same(ParamOut="Param", SquaredAccumOut="SquaredAccumulator", LinearAccumOut="LinearAccumulator")


@draws("proximal_gd", grad=False)
def proximal_gd(d: OpDraw) -> None:
    _param(d)
    _rate(d)
    d.real("l1", 0.0, 0.01, 0.5)
    d.real("l2", 0.0, 0.01, 0.5)
    d.same(ParamOut="Param")


@draws("proximal_adagrad", grad=False)
def proximal_adagrad(d: OpDraw) -> None:
    _param(d, "Moment", low=0.1)
    _rate(d)
    d.real("l1", 0.0, 0.01, 0.5)
    d.real("l2", 0.0, 0.01, 0.5)
    d.same(ParamOut="Param", MomentOut="Moment")


@draws("average_accumulates", grad=False)
def average_accumulates(d: OpDraw) -> None:
    shape = d.shape(1, 2)
    d.put("param", d.floats(shape), fixed=True)
    for number in "123":
        d.put(f"in_sum_{number}", d.floats(shape), fixed=True)
    for name in ("num_accumulates", "old_num_accumulates", "num_updates"):
        d.put(f"in_{name}", d.ids([1], 20), fixed=True)
    d.attrs.update(average_window=d.pick(0.0, 0.15, 0.5), max_average_window=d.pick(10, 20, 20000))
    d.attr("min_average_window", 10000, 2, 10, always=d.attrs["max_average_window"] < 10000)
    if d.attrs["max_average_window"] < 10000:
        d.attrs["min_average_window"] = d.pick(2, 10)
    names = ("sum_1", "sum_2", "sum_3", "num_accumulates", "old_num_accumulates", "num_updates")
    d.same(**{f"out_{name}": f"in_{name}" for name in names})
