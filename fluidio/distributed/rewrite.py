"""Make a program one of many trainers: exchange gradients before their use, share initial parameters."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from fluidio.distributed.divide import divide_tables, divided_names, tables_of
from fluidio.distributed.environment import is_switched_off
from fluidio.distributed.group import signature_of
from fluidio.distributed.membership import Membership
from fluidio.distributed.process import declare, membership
from fluidio.dtypes import VarType, to_numpy
from fluidio.errors import DistributedError
from fluidio.program import Block, OpRole, Program, Variable, unique_name
from fluidio.program.op_def import EMPTY, GRAD_SUFFIX

__all__ = [
    "average_parameters",
    "changed_gradients",
    "clipped_gradients",
    "divide_large_tables",
    "exchange_gradients",
    "gradients_of",
    "share_first_parameters",
    "sharing_program",
    "synchronise_batch_norms",
    "train_together",
]

_BUCKET = 4 << 20  # bytes: large enough for the network, small enough to overlap with backward
_FIRST_BUCKET = 1 << 20
_UPDATES = OpRole.Optimize | OpRole.LRSched
_PLAIN = (VarType.LOD_TENSOR, VarType.SELECTED_ROWS)
_MEETING = ("c_", "sync_", "allreduce", "broadcast", "exchange_parts")  # beginnings of the types of other such ops
_CLIPS = ("clip", "clip_by_norm", "elementwise_mul", "scale")


@dataclass
class _Bucket:
    """Gradients that are sent together: op `after` completes them, op `before` is the first that needs one."""

    names: list[str] = field(default_factory=list)
    size: int = 0
    after: int = 0
    before: int = sys.maxsize

    def add(self, name: str, size: int, ready: int, use: int) -> None:
        self.names.append(name)
        self.size += size
        self.after, self.before = max(self.after, ready), min(self.before, use)


@dataclass
class _Insertion:
    """An op to insert, before the op at `position`; of those at one position, the lowest order comes first."""

    position: int
    order: int
    type: str
    inputs: list[str]
    outputs: list[str]
    attrs: dict[str, object]


_SLOTS = {"exchange_start": ("X", "Handle"), "exchange_wait": ("Handle", "Out"), "exchange_rows": ("X", "Out")}


def exchange_gradients(program: Program, *, half: bool = False, clipped: bool = False) -> None:
    """Insert the ops that replace gradients by their mean over all trainers; once for each program.

    Gradients are sent in buckets as soon as backward has computed them; those of a bucket have arrived before the first
    is used. Clipping, decay and updates come later, so they see the mean. A program may compute and use gradients
    several times, one `minimize` after the other.

    Args:
        half: send float32 gradients as float16, half the bytes.
        clipped: exchange gradients after `set_gradient_clip` has clipped them and the script has changed them: every
            trainer works on its own gradients, as with Fluid's parameter servers.
    """
    if program._is_distributed:
        return
    program._is_distributed = True
    block = program.global_block()
    ready = gradients_of(block)
    ready.update(changed_gradients(block, ready, own=clipped))
    if clipped:
        ready = clipped_gradients(block, ready)
    divided = divided_names(program)
    ready = {name: index for name, index in ready.items() if name not in divided}
    if not ready:
        return
    uses = _first_uses(block, ready, _UPDATES if clipped else 0)
    sparse = _together(block, [name for name in ready if _is_sparse(block.var(name))], ready, uses)
    dense = _buckets(block, [name for name in ready if not _is_sparse(block.var(name))], ready, uses)
    role = {"op_role": int(OpRole.Optimize)}
    signature = signature_of((name, _shape(block.var(name))) for name in ready)
    ops: list[_Insertion] = []
    for bucket in dense:
        handle = _handle(block).name
        shapes = [n for name in bucket.names for n in (len(_shape(block.var(name))), *_shape(block.var(name)))]
        attrs: dict[str, object] = {**role, "half": half, "shapes": shapes}
        ops.append(_Insertion(bucket.after + 1, 0, "exchange_start", bucket.names, [handle], attrs))
        ops.append(_Insertion(bucket.before, 2, "exchange_wait", [handle], bucket.names, dict(role)))
    ops += [_Insertion(rows.before, 1, "exchange_rows", rows.names, rows.names, dict(role)) for rows in sparse]
    ops.sort(key=lambda op: (op.position, op.order))
    for number, op in reversed(list(enumerate(ops))):
        if op.type != "exchange_wait":
            op.attrs.update(signature=signature, is_first=number == 0)
        source, target = _SLOTS[op.type]
        block._insert_op(op.position, op.type, {source: op.inputs}, {target: op.outputs}, op.attrs)
    _announce(block, {**role, "signature": signature})
    _begin_alike(block, role)


def average_parameters(program: Program) -> None:
    """Append the op that replaces parameters by their mean over all trainers after each step; once for each program.

    Every trainer updates its parameters with its own gradients and keeps its own accumulators: local SGD.
    """
    if program._is_distributed:
        return
    program._is_distributed = True
    block = program.global_block()
    updates = [op for op in block.ops if op.attrs.get("op_role", 0) & OpRole.Optimize and "ParamOut" in op.output_names]
    names = sorted({name for op in updates for name in op.output("ParamOut")})
    if names:
        role = {"op_role": int(OpRole.Optimize)}
        signature = signature_of((name, block.var(name).shape) for name in names)
        block.append_op("exchange_mean", {"X": names}, {"Out": names}, {**role, "signature": signature})
        _begin_alike(block, role)


def _announce(block: Block, attrs: dict[str, int]) -> None:
    """Insert the op that lets trainers meet while backward begins; not where ops before the exchange meet, too."""
    ops = [op for one in block.program.blocks for op in one.ops]
    if not any(op.type.startswith(_MEETING) for op in ops):
        backward = [i for i, op in enumerate(block.ops) if op.attrs.get("op_role", 0) & OpRole.Backward]
        block._insert_op(min(backward, default=0), "exchange_announce", {}, {}, attrs)


def _begin_alike(block: Block, role: dict[str, int]) -> None:
    """Insert the op that makes trainers agree on their parameters before using them, if they do not yet."""
    updates = [op for op in block.ops if op.attrs.get("op_role", 0) & _UPDATES]
    names = dict.fromkeys(name for op in updates for name in op.input_arg_names if block.has_var(name))
    names = dict.fromkeys(name for name in names if name not in divided_names(block.program))
    kept = sorted(name for name in names if block.var(name).persistable and block.var(name).type in _PLAIN)
    signature = signature_of((name, block.var(name).shape) for name in kept)
    block._insert_op(0, "exchange_agree", {"X": kept}, {"Out": kept}, {**role, "signature": signature})


def gradients_of(block: Block) -> dict[str, int]:
    """Return the gradients that updates use, with the position of the op that completes each."""
    written: dict[str, int] = {}
    wanted: dict[str, int] = {}
    for index, op in enumerate(block.ops):
        if op.attrs.get("op_role", 0) & _UPDATES:
            for name in op.input_arg_names:
                if name in written:
                    wanted.setdefault(name, written[name])
        else:
            written.update((name, index) for name in op.output_arg_names if GRAD_SUFFIX in name and name != EMPTY)
    return {name: wanted[name] for name in written if name in wanted}


def changed_gradients(block: Block, gradients: dict[str, int], *, own: bool) -> dict[str, int]:
    """Return the further gradients to exchange where a script works on them between `backward` and `apply_gradients`.

    Args:
        gradients: those that updates use as backward has computed them.
        own: return what the script makes of the trainer's own gradients; else those that it begins with.
    """
    roots: dict[str, dict[str, int]] = {}  # of gradients, and of what is made of them: the gradients it begins with
    made: dict[str, int] = {}
    found: dict[str, int] = {}
    for index, op in enumerate(block.ops):
        inputs = set(op.input_arg_names)
        if op.attrs.get("op_role", 0) & _UPDATES:
            for name in inputs.intersection(made).difference(op.input("LearningRate")):
                found.update({name: made[name]} if own else roots[name])
            continue
        pairs = op.attrs.get("op_role_var") or []
        begun = {name: index for name in pairs[1::2] if name in op.output_arg_names}
        follows = {root: at for name in inputs for root, at in roots.get(name, {}).items()}
        for name in op.output_arg_names:
            if name in begun:
                roots[name] = {name: index}
            elif follows and name != EMPTY:
                roots[name], made[name] = follows, index
    return {name: at for name, at in found.items() if name not in gradients}


def clipped_gradients(block: Block, gradients: dict[str, int]) -> dict[str, int]:
    """Return the gradients, with those clipped by `set_gradient_clip` in place of the originals."""
    found = dict(gradients)
    for index, op in enumerate(block.ops):
        gradient = (op.attrs.get("op_role_var") or [""])[-1]
        if op.type in _CLIPS and gradient in found and gradient in op.input_arg_names:
            del found[gradient]
            found[op.output_arg_names[0]] = index
    return found


def _buckets(block: Block, names: Sequence[str], ready: dict[str, int], uses: dict[str, int]) -> list[_Bucket]:
    """Divide gradients into buckets of one type, in the order in which backward completes them."""
    done: list[_Bucket] = []
    for dtype in sorted({str(to_numpy(block.var(name).dtype)) for name in names}):
        alike = [name for name in names if str(to_numpy(block.var(name).dtype)) == dtype]
        done += _together(block, alike, ready, uses, first=_FIRST_BUCKET, full=_BUCKET)
    return sorted(done, key=lambda bucket: bucket.after)


def _together(
    block: Block,
    names: Sequence[str],
    ready: dict[str, int],
    uses: dict[str, int],
    first: float = math.inf,
    full: float = math.inf,
) -> list[_Bucket]:
    """Divide gradients into buckets of some size, each complete before one of its gradients is used."""
    found: list[_Bucket] = []
    for name in sorted(names, key=lambda name: ready[name]):
        limit = full if len(found) > 1 else first
        if not found or found[-1].size >= limit or found[-1].before <= ready[name]:
            found.append(_Bucket())
        variable = block.var(name)
        size = math.prod(_shape(variable)) * to_numpy(variable.dtype).itemsize
        found[-1].add(name, size, ready[name], uses[name])
    return found


def _first_uses(block: Block, ready: dict[str, int], roles: int) -> dict[str, int]:
    """Return the position of the first op of some roles (0: of any) that uses each gradient once it is complete."""
    found: dict[str, int] = {}
    for index, op in enumerate(block.ops):
        if not roles or op.attrs.get("op_role", 0) & roles:
            for name in op.input_arg_names:
                if name in ready and ready[name] < index:
                    found.setdefault(name, index)
    return found


def _is_sparse(gradient: Variable) -> bool:
    return gradient.type is VarType.SELECTED_ROWS


def _shape(gradient: Variable) -> tuple[int, ...]:
    """Return the shape of a gradient: that of its parameter, whose name clipping may lose."""
    base = gradient.name.partition(GRAD_SUFFIX)[0]
    parameter = gradient.block._find_var_recursive(base)
    return tuple(int(n) for n in (parameter or gradient).shape)


def _handle(block: Block) -> Variable:
    return block.create_var(name=unique_name.generate("exchange"), type=VarType.RAW)


def share_first_parameters(startup: Program) -> None:
    """Append the op that gives every trainer the first one's initial values; once for each program."""
    if startup._is_distributed:
        return
    startup._is_distributed = True
    block = startup.global_block()
    divided = {name for op in block.ops if op.type == "divide_table" for name in op.output_arg_names}
    names = [name for name in _initialised(block) if block.var(name).persistable and name not in divided]
    if names:
        signature = signature_of((name, block.var(name).shape) for name in names)
        block.append_op("exchange_first", {"X": names}, {"Out": names}, {"signature": signature})


def divide_large_tables(program: Program, startup: Program) -> None:
    """Divide large tables, or those marked for it, among the trainers; call it before `exchange_gradients`."""
    if not program._is_distributed and not startup._is_distributed:
        divide_tables(program, startup, tables_of(program))


def train_together(
    program: Program, trainer: int, trainers: int, endpoints: Sequence[str] = (), *, local: bool = False
) -> None:
    """Make a program one of many trainers, as ParallelExecutor and BuildStrategy specify.

    DistributeTranspiler may already have declared the trainers; its declaration must then match. With `local` they
    exchange parameters after each step, not gradients before it.
    """
    if is_switched_off():
        return
    declared = membership()
    if declared is None:
        own = endpoints[trainer] if 0 <= trainer < len(endpoints) else ""
        declare(Membership(trainer, trainers, tuple(endpoints), own))
    elif (declared.trainer, declared.trainers) != (trainer, trainers):
        raise DistributedError(
            f"num_trainers={trainers}, trainer_id={trainer} contradict DistributeTranspiler, which was told "
            f"that this is trainer {declared.trainer} of {declared.trainers}"
        )
    if local:
        average_parameters(program)
    else:
        exchange_gradients(program)


def synchronise_batch_norms(program: Program) -> None:
    """Make batch norms take their statistics from the batches of all trainers."""
    for block in program.blocks:
        for op in list(block.ops):
            if op.type == "exchange_announce":
                block._remove_op(block.ops.index(op))
            if op.type in ("batch_norm", "batch_norm_grad"):
                op.type = f"sync_{op.type}"
    program.note_change()


def sharing_program(program: Program, names: Sequence[str]) -> Program:
    """Return a program that gives every trainer the first one's values of some variables of another program."""
    sharing = Program()
    block = sharing.global_block()
    names = [name for name in names if name not in divided_names(program)]
    for name in names:
        block._clone_variable(program.global_block().var(name))
    signature = signature_of((name, block.var(name).shape) for name in names)
    block.append_op("exchange_first", {"X": list(names)}, {"Out": list(names)}, {"signature": signature})
    return sharing


def _initialised(block: Block) -> list[str]:
    found = dict.fromkeys(name for op in block.ops for name in op.output_arg_names if name != EMPTY)
    return sorted(name for name in found if block.has_var(name) and block.var(name).type in _PLAIN)
