"""Describe the contents of a saved model: as plain data for JSON, and as text."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fluidio.dtypes import VarType
from fluidio.models.open_model import Model
from fluidio.models.statistics import statistics
from fluidio.program import Program, Variable

__all__ = ["describe", "ends", "inputs_of", "outputs_of", "text_of"]


def ends(program: Program, op_type: str, slot: str) -> list[str]:
    """Return the names in the feed or fetch ops of a saved model, by column."""
    ops = [op for op in program.global_block().ops if op.type == op_type]
    ops.sort(key=lambda op: int(op.attrs.get("col", 0)))
    return [(op.output(slot) if op_type == "feed" else op.input(slot))[0] for op in ops]


def inputs_of(program: Program) -> list[str]:
    """Return what must be fed: listed by the feed ops or, without any, the data variables that ops read."""
    fed = ends(program, "feed", "Out")
    if fed:
        return fed
    read = {name for block in program.blocks for op in block.ops for name in op.input_arg_names}
    made = {name for block in program.blocks for op in block.ops for name in op.output_arg_names}
    variables = program.global_block().vars.values()
    tensors = [var for var in variables if var.type is VarType.LOD_TENSOR and not var.persistable]
    return [var.name for var in tensors if var.name in read and var.name not in made]


def outputs_of(program: Program) -> list[str]:
    """Return what is fetched: listed by the fetch ops or, without any, the results that no op reads."""
    fetched = ends(program, "fetch", "X")
    if fetched:
        return fetched
    block = program.global_block()
    read = {name for each in program.blocks for op in each.ops for name in op.input_arg_names}
    last: dict[str, None] = {}
    for op in block.ops:
        for name in op.output_arg_names[:1]:
            var = block._find_var_recursive(name)
            if name not in read and var is not None and not var.persistable:
                last[name] = None
    return list(last)


def describe(model: Model, numbers: bool = True) -> dict[str, Any]:
    """Return everything about a model as plain data.

    Args:
        numbers: read all tensors for their statistics.
    """
    program = model.program
    found: dict[str, Any] = {
        "path": model.path,
        "form": model.form,
        "written_by": model.raw.writer if model.raw else None,
        "version": model.raw.version if model.raw else None,
        "problems": model.problems,
        "other_files": model.extra,
        "inputs": [],
        "outputs": [],
        "ops": {},
        "unknown_ops": [],
    }
    if model.raw is not None:
        ends_left_out = {name: count for name, count in model.raw.ops.items() if name not in ("feed", "fetch")}
        found["ops"] = dict(Counter(ends_left_out).most_common())
        found["blocks"] = model.raw.blocks
        found["unknown_ops"] = model.raw.unknown
    if program is not None:
        find = program.global_block()._find_var_recursive
        found["inputs"] = [_variable(name, find(name)) for name in inputs_of(program)]
        found["outputs"] = [_variable(name, find(name)) for name in outputs_of(program)]
        found["missing"] = model.missing
    found["parameters"] = [_tensor(tensor, numbers) for tensor in model.tensors.values()]
    found["parameter_count"] = sum(tensor.count for tensor in model.tensors.values())
    found["parameter_bytes"] = model.size
    return found


def _variable(name: str, var: Variable | None) -> dict[str, Any]:
    if var is None:
        return {"name": name}
    return {"name": name, "shape": list(var.shape), "dtype": var.dtype.name.lower(), "lod_level": var.lod_level}


def _tensor(tensor: Any, numbers: bool) -> dict[str, Any]:
    about = {
        "name": tensor.name,
        "shape": list(tensor.shape),
        "dtype": tensor.dtype.newbyteorder("=").name,
        "bytes": tensor.nbytes,
    }
    if not numbers:
        return about
    found = statistics(tensor)
    return about | {"statistics": found.as_dict(), "remarks": found.remarks}


def text_of(found: dict[str, Any], parameters: bool = True) -> list[str]:
    """Return the result of `describe` as lines of text."""
    lines = [found["path"], f"  form        {found['form']}"]
    if found["written_by"]:
        lines.append(f"  written by  {found['written_by']}")
    for what in ("inputs", "outputs"):
        for number, var in enumerate(found[what]):
            lines.append(f"  {what if not number else '':<11} {_shown(var)}")
    if found["ops"]:
        counted = ", ".join(f"{name} {count}" for name, count in found["ops"].items())
        lines.append(f"  ops         {sum(found['ops'].values())} in {found['blocks']} blocks: {counted}")
    size = found["parameter_bytes"]
    lines.append(
        f"  parameters  {len(found['parameters'])} tensors, {found['parameter_count']:,} numbers, {size:,} bytes"
    )
    if parameters:
        lines += _table(found["parameters"])
    for name in found["other_files"]:
        lines.append(f"  other file  {name}")
    for tensor in found["parameters"]:
        if tensor.get("remarks"):
            lines.append(f"  look at     {tensor['name']}: {', '.join(tensor['remarks'])}")
    lines += [f"  PROBLEM     {problem}" for problem in found["problems"]]
    return lines


def _shown(var: dict[str, Any]) -> str:
    if "shape" not in var:
        return f"{var['name']}"
    dims = ", ".join("?" if dim < 0 else str(dim) for dim in var["shape"])
    level = f", lod_level {var['lod_level']}" if var["lod_level"] else ""
    return f"{var['name']} {var['dtype']} ({dims}){level}"


def _table(tensors: list[dict[str, Any]]) -> list[str]:
    width = max((len(tensor["name"]) for tensor in tensors), default=0)
    lines = []
    for tensor in tensors:
        shape = "x".join(map(str, tensor["shape"])) or "scalar"
        line = f"    {tensor['name']:<{width}}  {tensor['dtype']:<8} {shape:<16} {tensor['bytes']:>12,}"
        numbers = tensor.get("statistics")
        if numbers and numbers["mean"] is not None:
            line += f"  {numbers['least']:.4g} to {numbers['most']:.4g}, mean {numbers['mean']:.4g}"
        lines.append(line.rstrip())
    return lines
