"""Build the steps of a case that hold blocks: loops, branches, recurrent networks. Read by Python 3.7 as well.

A block's steps are written like those of the case; `_inner` builds them where they stand.
"""

from __future__ import annotations

from typing import Any

__all__ = ["BlockSteps"]


class BlockSteps:
    """The kinds of steps with blocks; `Builder` brings the rest."""

    fluid: Any
    handles: dict[str, Any]

    def steps(self, steps: list[dict[str, Any]]) -> None:
        raise NotImplementedError

    def _inner(self, steps: list[dict[str, Any]], result: str) -> Any:
        self.steps(steps)
        return self.handles[result]

    def _while(self, step: dict[str, Any]) -> None:
        """Run the steps `times` times; each time the `result` is assigned to `state`."""
        layers = self.fluid.layers
        state = self.handles[step["out"]] = layers.assign(self.handles[step["state"]])
        state.stop_gradient = True  # 1.8.5 loses the gradient of a state that the loop overwrites; ours has it
        at = layers.fill_constant([1], "int64", 0)
        limit = layers.fill_constant([1], "int64", step["times"])
        goes_on = layers.less_than(at, limit)
        loop = layers.While(goes_on)
        with loop.block():
            layers.assign(self._inner(step["steps"], step["result"]), state)
            layers.increment(at, in_place=True)
            layers.less_than(at, limit, cond=goes_on)

    def _while_loop(self, step: dict[str, Any]) -> None:
        layers = self.fluid.layers
        at = layers.fill_constant([1], "int64", 0)
        limit = layers.fill_constant([1], "int64", step["times"])

        def body(number: Any, state: Any) -> list[Any]:
            self.handles[step["inside"]] = state
            return [number + 1, self._inner(step["steps"], step["result"])]

        state = layers.assign(self.handles[step["state"]])
        state.stop_gradient = True  # see `_while`
        made = layers.while_loop(lambda number, _: layers.less_than(number, limit), body, [at, state])
        self.handles[step["out"]] = made[1]

    def _loop(self, step: dict[str, Any]) -> None:
        """Carry states through a loop that overwrites them; write one value of each round to an array."""
        layers = self.fluid.layers
        at = layers.fill_constant([1], "int64", 0)
        limit = layers.fill_constant([1], "int64", step["times"])
        states = [self.handles[name] for name in step["states"]]
        if step["copied"]:
            states = [layers.assign(state) for state in states]
        array = layers.create_array("float32") if step["array"] else None

        def round_of(number: Any, states: Any) -> list[Any]:
            self.handles.update(zip(step["inside"], states))
            self.steps(step["steps"])
            if array is not None:
                layers.array_write(self.handles[step["written"]], number, array)
            return [self.handles[name] for name in step["results"]]

        if step["with"] == "while_loop":
            layers.while_loop(
                lambda number, *_: layers.less_than(number, limit),
                lambda number, *states: [number + 1, *round_of(number, states)],
                [at, *states],
            )
        else:
            goes_on = layers.less_than(at, limit)
            with layers.While(goes_on).block():
                results = round_of(at, states)
                for result, state in zip(results, states) if not step["early"] else ():
                    layers.assign(result, state)
                layers.increment(at, in_place=True)
                layers.less_than(at, limit, cond=goes_on)
        self.handles.update(zip(step["out"], states))
        if array is not None:
            self.handles[step["array"]] = layers.tensor_array_to_tensor(array, axis=1)[0]

    def _assign(self, step: dict[str, Any]) -> None:
        self.fluid.layers.assign(self.handles[step["from"]], self.handles[step["to"]])

    def _array_loop(self, step: dict[str, Any]) -> None:
        """Write what each round computes to an array, and join the parts along an axis.

        The state has an array of its own, unless they are `shared`; it may be read `again` in each round.
        """
        layers = self.fluid.layers
        at = layers.fill_constant([1], "int64", 0)
        limit = layers.fill_constant([1], "int64", step["times"])
        states = layers.array_write(self.handles[step["state"]], at)
        array = states if step["shared"] else layers.array_write(self.handles[step["state"]], at)
        goes_on = layers.less_than(at, limit)
        loop = layers.While(goes_on)
        with loop.block():
            self.handles[step["inside"]] = layers.array_read(states, at)
            result = self._inner(step["steps"], step["result"])
            if step["again"]:
                result = layers.elementwise_add(result, layers.array_read(states, at))
            layers.increment(at, in_place=True)
            layers.array_write(result, at, states)
            if array is not states:
                layers.array_write(result, at, array)
            layers.less_than(at, limit, cond=goes_on)
        self.handles[step["out"]] = layers.tensor_array_to_tensor(array, axis=step["axis"])[0]

    def _cond(self, step: dict[str, Any]) -> None:
        branches = [lambda part=part: self._inner(part["steps"], part["result"]) for part in step["branches"]]
        self.handles[step["out"]] = self.fluid.layers.cond(self.handles[step["condition"]], *branches)

    def _case(self, step: dict[str, Any]) -> None:
        branches = [lambda part=part: self._inner(part["steps"], part["result"]) for part in step["branches"]]
        pairs = [(self.handles[name], branch) for name, branch in zip(step["conditions"], branches)]
        self.handles[step["out"]] = self.fluid.layers.case(pairs, default=branches[-1])

    def _switch_case(self, step: dict[str, Any]) -> None:
        branches = [lambda part=part: self._inner(part["steps"], part["result"]) for part in step["branches"]]
        chosen = self.handles[step["condition"]]
        pairs = dict(enumerate(branches[:-1]))
        self.handles[step["out"]] = self.fluid.layers.switch_case(chosen, pairs, default=branches[-1])

    def _switch(self, step: dict[str, Any]) -> None:
        layers = self.fluid.layers
        target = self.handles[step["out"]] = layers.create_global_var([1], 0.0, "float32", persistable=True)
        with layers.Switch() as switch:
            for name, value in zip(step["conditions"], step["values"]):
                with switch.case(self.handles[name]):
                    layers.assign(layers.fill_constant([1], "float32", value), target)
            with switch.default():
                layers.assign(layers.fill_constant([1], "float32", step["values"][-1]), target)

    def _if_else(self, step: dict[str, Any]) -> None:
        chosen = self.fluid.layers.IfElse(self.handles[step["condition"]])
        for block, part in zip((chosen.true_block, chosen.false_block), step["branches"]):
            with block():
                self.handles[part["inside"]] = chosen.input(self.handles[step["of"]])
                chosen.output(self._inner(part["steps"], part["result"]))
        self.handles[step["out"]] = chosen()[0]

    def _static_rnn(self, step: dict[str, Any]) -> None:
        rnn = self.fluid.layers.StaticRNN()
        with rnn.step():
            self.handles["word"] = rnn.step_input(self.handles[step["of"]])
            memory = rnn.memory(shape=[-1, step["size"]], batch_ref=self.handles["word"], init_value=step["value"])
            self.handles["memory"] = memory
            hidden = self._inner(step["steps"], step["result"])
            rnn.update_memory(memory, hidden)
            rnn.step_output(hidden)
        self.handles[step["out"]] = rnn()

    def _dynamic_rnn(self, step: dict[str, Any]) -> None:
        rnn = self.fluid.layers.DynamicRNN()
        with rnn.block():
            self.handles["word"] = rnn.step_input(self.handles[step["of"]])
            if step["init"] is None:
                memory = rnn.memory(shape=[step["size"]], value=step["value"])
            else:
                memory = rnn.memory(init=self.handles[step["init"]], need_reorder=step["reorder"])
            self.handles["memory"] = memory
            hidden = self._inner(step["steps"], step["result"])
            rnn.update_memory(memory, hidden)
            rnn.output(hidden)
        self.handles[step["out"]] = rnn()
