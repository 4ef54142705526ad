"""Which gradient ops the body of a loop has in Fluid 1.8.5, and which gradients they take from outside.

It makes the gradient ops of all ops of a body, whether anything asks for them or not. Then it leaves out those that
hang together and read no value of the forward pass, unless these are all there are: a state that is only scaled and
assigned loses its gradient that way.

Only names matter here, so the ops are sketched, not appended.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from fluidio.program import Block, Operator
from fluidio.program.op_def import EMPTY, GRAD_SUFFIX, grad_name

__all__ = ["Inside", "LoopPath", "loop_path"]


@dataclass(frozen=True)
class Inside:
    """Where a body stands: a body runs several times, so that outer variables change between runs.

    Attributes:
        as_fluid: whether it is, or stands in, a loop whose gradients are those of Fluid 1.8.5.
        taken: variables whose gradients that loop takes from outside; branches in it lose their part of these.
    """

    as_fluid: bool = False
    taken: frozenset[str] = frozenset()


@dataclass
class _Node:
    """A value between gradient ops; a name that is written again is another one."""

    readers: list[_Sketch] = field(default_factory=list)


@dataclass(eq=False)
class _Sketch:
    """The names that a gradient op reads and writes."""

    forward: Operator | None
    inputs: list[str]
    outputs: list[str]
    reads: list[_Node] = field(default_factory=list)
    writes: list[_Node] = field(default_factory=list)


@dataclass(frozen=True)
class LoopPath:
    """The backward pass of a loop.

    Attributes:
        ops: the forward ops of the body that have gradient ops.
        taken: variables whose gradients the body takes from outside.
        given: inputs of the loop whose gradients it computes, or would compute if anything asked for them.
        idle: inputs of the loop that have None for a gradient, as 1.8.5 drops the loop's gradient op after it has built
            the body's.
        fails: whether 1.8.5 builds a program that fails when it runs: a gradient that comes from outside has no value.
    """

    ops: frozenset[int]
    taken: frozenset[str]
    given: frozenset[str]
    idle: frozenset[str] = frozenset()
    fails: bool = False

    def has(self, op: Operator) -> bool:
        return id(op) in self.ops


def loop_path(loop: Operator, alive: Collection[str], no_grad: Collection[str]) -> LoopPath:
    """Return the backward pass that Fluid 1.8.5 builds for a loop.

    Args:
        alive: outputs of the loop that have a gradient.
        no_grad: variables outside of the body that are constants; their gradients from outside are zeros.
    """
    body: Block = loop.attrs["sub_block"]
    kept, taken, given = _body(loop, body)
    outside = {name for name in taken if name in alive or name in no_grad}
    around = {name for name in taken & given if name not in no_grad}
    nothing: frozenset[str] = frozenset()
    if taken and taken.issubset(no_grad):
        return LoopPath(frozenset(), nothing, nothing)
    if not outside:
        kept = _fed(kept, {grad_name(name) for name in (*alive, *around)})
        written = {name for sketch in kept for name in sketch.outputs}
        return LoopPath(frozenset(), nothing, nothing, frozenset(x for x in given if grad_name(x) in written))
    kept = _fed(kept, {grad_name(name) for name in outside | around})
    return LoopPath(
        frozenset(id(sketch.forward) for sketch in kept if sketch.forward is not None),
        frozenset(outside | around),
        frozenset(given),
        fails=not around <= outside,
    )


def _body(loop: Operator, body: Block) -> tuple[list[_Sketch], set[str], set[str]]:
    """Return a body's gradient ops, what they take from outside, and the inputs of the loop they have gradients for."""
    constants = {name for name, variable in body.vars.items() if variable.stop_gradient}
    made = [sketch for op in reversed(body.ops) for sketch in _gradients(op, constants)]
    kept = _without_islands([one for one in _with_sums(made) if not _is_constant(one, constants)], body)
    known = {*_names(body), *loop.input_arg_names, *loop.output_arg_names}
    taken: set[str] = set()
    for sketch in kept:
        taken.update(name for name in sketch.inputs if name not in known)
        known.update(sketch.outputs)
    written = {name for sketch in kept for name in sketch.outputs}
    given = {name for name in loop.input_arg_names if grad_name(name) in written}
    return kept, {name.removesuffix(GRAD_SUFFIX) for name in taken if name.endswith(GRAD_SUFFIX)}, given


def _names(body: Block) -> set[str]:
    return {name for op in body.ops for name in (*op.input_arg_names, *op.output_arg_names)}


def _fed(sketches: list[_Sketch], existing: set[str]) -> list[_Sketch]:
    """Leave out ops that take gradients, of which none exists."""
    kept = []
    for sketch in sketches:
        taken = [name for name in sketch.inputs if GRAD_SUFFIX in name]
        if not taken or existing.intersection(taken):
            kept.append(sketch)
            existing.update(sketch.outputs)
    return kept


def _gradients(op: Operator, constants: set[str]) -> list[_Sketch]:
    """Sketch the gradient ops of an op."""
    if op.type == "increment":  # its gradient op counts back
        return [_Sketch(op, list(op.output_arg_names), list(op.input_arg_names))]
    inner = op.attrs.get("sub_block")
    if isinstance(inner, Block):
        return [_of_block(op, inner, constants)]
    maker = op.definition.grad
    found = []
    for made in [] if maker is None else maker(op, constants):
        inputs = [name for names in made.inputs.values() for name in names if name != EMPTY]
        outputs = [name for names in made.outputs.values() for name in names if name != EMPTY]
        found.append(_Sketch(op, inputs, outputs))
    return found


def _of_block(op: Operator, inner: Block, constants: set[str]) -> _Sketch:
    _, taken, given = _body(op, inner)
    if op.type != "while":
        taken = set(op.output("Out"))
    inputs = [name for name in (*op.input_arg_names, *op.output_arg_names) if name != EMPTY]
    names = [name for name in op.input_arg_names if name in given and name not in constants]
    return _Sketch(op, [*inputs, *map(grad_name, sorted(taken))], [grad_name(name) for name in names])


def _is_constant(sketch: _Sketch, constants: set[str]) -> bool:
    """Return whether a gradient op has nothing to do; what it would have written is then constant, too."""
    if not sketch.outputs:
        return True
    gradients = [name.removesuffix(GRAD_SUFFIX) for name in sketch.inputs if name.endswith(GRAD_SUFFIX)]
    if gradients and constants.issuperset(gradients):
        constants.update(name.removesuffix(GRAD_SUFFIX) for name in sketch.outputs)
        return True
    return False


def _with_sums(sketches: list[_Sketch]) -> list[_Sketch]:
    """Give the parts of a gradient names of their own, and add them up where they are read, or at the end."""
    parts: defaultdict[str, list[str]] = defaultdict(list)
    first: dict[str, int] = {}
    count: Counter[str] = Counter()
    found: list[_Sketch] = []

    def add_up(name: str) -> None:
        if len(parts[name]) > 1:
            found.append(_Sketch(None, list(parts[name]), [name]))
            parts[name] = [name]

    def part(name: str) -> str:
        count[name] += 1
        return f"{name}@RENAME@{count[name] - 1}"

    for sketch in sketches:
        for name in sketch.inputs:
            if name in parts:
                add_up(name)
        for at, name in enumerate(sketch.outputs):
            if not name.endswith(GRAD_SUFFIX) or name in sketch.inputs:
                continue
            if not parts[name]:
                parts[name], first[name] = [name], len(found)
                continue
            if len(parts[name]) == 1:
                parts[name] = [part(name)]
                _rename(found[first[name] :], name, parts[name][0])
                sketch.outputs[:at] = [parts[name][0] if one == name else one for one in sketch.outputs[:at]]
            sketch.outputs[at] = part(name)
            parts[name].append(sketch.outputs[at])
        found.append(sketch)
    for name in list(parts):
        add_up(name)
    return found


def _rename(sketches: list[_Sketch], old: str, new: str) -> None:
    for sketch in sketches:
        sketch.inputs = [new if name == old else name for name in sketch.inputs]
        sketch.outputs = [new if name == old else name for name in sketch.outputs]


def _without_islands(sketches: list[_Sketch], body: Block) -> list[_Sketch]:
    """Leave out ops that start from gradients alone and lead to nothing that reads a forward value."""
    latest: dict[str, _Node] = {}
    forward = _names(body)
    made: set[str] = set()
    heads = []
    for sketch in sketches:
        if not set(sketch.inputs) & (forward | made):
            heads.append(sketch)
        made.update(sketch.outputs)
        for name in sketch.inputs:
            sketch.reads.append(latest.setdefault(name, _Node()))
            sketch.reads[-1].readers.append(sketch)
        for name in sketch.outputs:
            latest[name] = _Node()
            sketch.writes.append(latest[name])
    islands = {id(one) for head in heads for one in _island(head)}
    if all(id(sketch) in islands for sketch in sketches):
        return sketches
    return [sketch for sketch in sketches if id(sketch) not in islands]


def _island(head: _Sketch) -> list[_Sketch]:
    """Return what an op leads to, if all of it can be computed from the op's inputs; else nothing."""
    found, ready = [head], {id(node) for node in head.reads}
    for sketch in found:
        if not all(id(node) in ready for node in sketch.reads):
            return []
        found.extend(reader for node in sketch.writes for reader in node.readers)
        ready.update(id(node) for node in sketch.writes)
    return found
