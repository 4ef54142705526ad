"""Build the steps of a case with `fluid`, the real one or ours. Read by Python 3.7 as well."""

from __future__ import annotations

import operator
from typing import Any

from tests.differential.blocks import BlockSteps
from tests.differential.tensors import decode

__all__ = ["KINDS", "Builder"]

KINDS = {"rows": "SELECTED_ROWS", "array": "LOD_TENSOR_ARRAY"}  # inputs that cannot be fed

_OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
    "//": operator.floordiv,
    "%": operator.mod,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


class Builder(BlockSteps):
    """Append a case's inputs and steps to the default programs; `handles` maps the case's names to Variables."""

    def __init__(self, fluid: Any, case: dict[str, Any]) -> None:
        self.fluid = fluid
        self.case = case
        self.handles: dict[str, Any] = {}
        self.loader: Any = None
        self.test: Any = None  # a copy of the program for testing

    def build(self) -> None:
        for name, given in self.case["inputs"].items():
            self.handles[name] = self._input(name, given)
        if self.case.get("reader"):
            self.loader = self._loader(**self.case["reader"])
        self.steps(self.case["steps"])

    def steps(self, steps: list[dict[str, Any]]) -> None:
        for step in steps:
            getattr(self, "_" + step["do"])(step)

    @property
    def block(self) -> Any:
        return self.fluid.default_main_program().current_block()

    def _input(self, name: str, given: dict[str, Any]) -> Any:
        facts = {"name": name, "shape": given["shape"], "dtype": given["dtype"], "lod_level": given["lod_level"]}
        if given["how"] in KINDS:  # held by the scope: what is fed is a tensor
            kind = getattr(self.fluid.core.VarDesc.VarType, KINDS[given["how"]])
            del facts["lod_level"]
            if given["how"] == "array":
                del facts["shape"]
            var = self.block.create_var(type=kind, persistable=True, **facts)
        elif given["how"] == "var":
            var = self.block.create_var(**facts)
        elif given["how"] == "data":
            var = self.fluid.data(**facts)
        else:
            var = self.fluid.layers.data(append_batch_size=False, **facts)
        var.stop_gradient = given.get("stop_gradient", "float" not in given["dtype"])
        return var

    def _loader(self, kind: str, **options: Any) -> Any:
        """Return a loader that hands the inputs to the program."""
        inputs = list(self.handles.values())
        if kind == "PyReader":
            return self.fluid.io.PyReader(feed_list=inputs, capacity=2, **options)
        return self.fluid.io.DataLoader.from_generator(feed_list=inputs, capacity=2, **options)

    def value(self, written: Any) -> Any:
        """Return an argument: {"var": handle}, {"new": "ParamAttr", "kw": {}}, {"array": tensor}, or plain data."""
        if isinstance(written, list):
            return [self.value(one) for one in written]
        if not isinstance(written, dict):
            return written
        if "var" in written:
            return self.handles[written["var"]]
        if "tuple" in written:
            return tuple(self.value(written["tuple"]))
        if "slice" in written:
            return slice(*self.value(written["slice"]))
        if "array" in written:
            return decode(written["array"])
        if "method" in written:
            of, name = written["method"]
            return getattr(self.value(of), name)(*self.value(written.get("args", [])), **self._keywords(written))
        if "get" in written:
            return self._find(written["get"])
        return self._find(written["new"])(*self.value(written.get("args", [])), **self._keywords(written))

    def _keywords(self, written: dict[str, Any]) -> dict[str, Any]:
        return {key: self.value(one) for key, one in written.get("kw", {}).items()}

    def _find(self, path: str) -> Any:
        found = self.fluid
        for part in path.split("."):
            found = getattr(found, part)
        return found

    def _keep(self, handles: Any, made: Any) -> None:
        if isinstance(handles, list):
            for handle, one in zip(handles, made):
                self.handles[handle] = one
        elif handles:
            self.handles[handles] = made

    def _op(self, step: dict[str, Any]) -> None:
        outputs: dict[str, list[Any]] = {}
        for slot, names in step["out"].items():
            kind = step.get("types", {}).get(slot, "LOD_TENSOR")
            outputs[slot] = [
                self.handles.get(name) or self._declare(name, step["dtypes"][slot], kind) for name in names
            ]
            self.handles.update(zip(names, outputs[slot]))
        inputs = {slot: [self.handles[name] for name in names] for slot, names in step["in"].items()}
        self.block.append_op(type=step["type"], inputs=inputs, outputs=outputs, attrs=dict(step["attrs"]))

    def _declare(self, name: str, dtype: str, kind: str = "LOD_TENSOR") -> Any:
        held = name in self.case.get("read", ())
        facts: dict[str, Any] = {"name": name, "persistable": held}
        if kind not in ("LOD_RANK_TABLE", "PLACE_LIST"):
            facts["dtype"] = dtype
        if kind != "LOD_TENSOR":
            facts["type"] = getattr(self.fluid.core.VarDesc.VarType, kind)
        return self.block.create_var(**facts)

    def _grad_op(self, step: dict[str, Any]) -> None:
        """Append the gradient op of `like` by hand: it gets all inputs and outputs, and ramps for gradients of outputs.

        `of` are the output slots that have a gradient, `wrt` the inputs that get one.
        """
        like = step["like"]
        inputs = {slot: list(names) for part in ("in", "out") for slot, names in like[part].items()}
        for slot in step["of"]:
            inputs[slot + "@GRAD"] = [self._ramp(self.handles[name], name + "@GRAD").name for name in like["out"][slot]]
        outputs = {}
        for slot, names in like["in"].items():
            if any(name in step["wrt"] for name in names):
                outputs[slot + "@GRAD"] = [name + "@GRAD" if name in step["wrt"] else "@EMPTY@" for name in names]
        for name in step["wrt"]:
            self.handles[name + "@GRAD"] = self._declare(name + "@GRAD", self.case["inputs"][name]["dtype"])
        self.block.append_op(type=like["type"] + "_grad", inputs=inputs, outputs=outputs, attrs=dict(like["attrs"]))

    def _call(self, step: dict[str, Any]) -> None:
        made = self._find(step["name"])(*self.value(step.get("args", [])), **self._keywords(step))
        self._keep(step.get("out"), made)

    def _method(self, step: dict[str, Any]) -> None:
        bound = getattr(self.value(step["of"]), step["name"])
        self._keep(step.get("out"), bound(*self.value(step.get("args", [])), **self._keywords(step)))

    def _clone_for_test(self, step: dict[str, Any]) -> None:
        self.test = self.fluid.default_main_program().clone(for_test=True)

    def _value(self, step: dict[str, Any]) -> None:
        self._keep(step["out"], self.value(step["value"]))

    def _stop(self, step: dict[str, Any]) -> None:
        self.handles[step["of"]].stop_gradient = True

    def _operator(self, step: dict[str, Any]) -> None:
        made = _OPERATORS[step["sign"]](self.value(step["left"]), self.value(step["right"]))
        self._keep(step["out"], made)

    def _index(self, step: dict[str, Any]) -> None:
        index = [self.value(one) for one in step["index"]]
        self._keep(step["out"], self.value(step["of"])[tuple(index) if len(index) > 1 else index[0]])

    def _gradients(self, step: dict[str, Any]) -> None:
        """Sum up softsign of the targets, weighted along the last axis, and ask for gradients of that sum.

        softsign gives each element a gradient of its own without enlarging rounding errors.
        """
        layers = self.fluid.layers
        targets = [one for name in step["of"] for one in self._floats(self.handles[name])]
        loss = [self._weighted(one) for one in targets]
        total = layers.sum(loss) if len(loss) > 1 else loss[0]
        found = self.fluid.gradients([total], [self.handles[name] for name in step["wrt"]])
        for name, gradient in zip(step["wrt"], [*found, None]):  # it is [] where the only one is None
            self.handles[name + "@GRAD"] = gradient
            if gradient is not None and name + "@GRAD" in self.case.get("read", ()):
                gradient.persistable = True

    def _floats(self, made: Any) -> list[Any]:
        """Return the Variables of floats among a result."""
        if isinstance(made, (list, tuple)):
            return [one for part in made for one in self._floats(part)]
        kinds = self.fluid.core.VarDesc.VarType
        return [made] if getattr(made, "dtype", None) in (kinds.FP32, kinds.FP64) else []

    def _weighted(self, out: Any) -> Any:
        flat, weighted = (
            self.block.create_var(name="%s.%s" % (out.name, word), dtype=out.dtype) for word in ("softsign", "weighted")
        )
        self.block.append_op(type="softsign", inputs={"X": [out]}, outputs={"Out": [flat]})
        inputs = {"X": [flat], "Y": [self._ramp(out, out.name + ".ramp")]}
        self.block.append_op(type="elementwise_mul", inputs=inputs, outputs={"Out": [weighted]})
        return self.fluid.layers.reduce_sum(weighted)

    def _ramp(self, out: Any, name: str) -> Any:
        """Return a constant of the shape of `out` that grows along the last axis."""
        one = self.block.create_var(name=out.name + ".like", dtype=out.dtype)
        ramp = self.block.create_var(name=name, dtype=out.dtype)
        add = self.block.append_op
        add(type="fill_any_like", inputs={"X": [out]}, outputs={"Out": [one]}, attrs={"value": 0.25})
        add(type="cumsum", inputs={"X": [one]}, outputs={"Out": [ramp]}, attrs={"axis": -1})
        ramp.stop_gradient = True
        return ramp
