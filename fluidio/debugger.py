"""Show programs as text or as a Graphviz drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.dtypes import VarType, to_numpy
from fluidio.program import Block, Operator, Parameter, Program, Variable
from fluidio.program.op_def import EMPTY

__all__ = ["draw_block_graphviz", "pprint_block_codes", "pprint_program_codes"]


def draw_block_graphviz(block: Block, highlights: Sequence[object] | None = None, path: str = "./temp.dot") -> None:
    """Write a block as a Graphviz file: ops as boxes, variables as ellipses, parameters filled.

    Args:
        highlights: names of variables to draw in red.

    Fluid: it also made a PDF; here you do: `dot -Tpdf temp.dot -o temp.pdf`.
    """
    marked = {str(getattr(name, "name", name)) for name in highlights or ()}
    lines = ["digraph G {", "  rankdir=TB;", '  node [fontname="Helvetica"];']
    drawn: set[str] = set()
    for index, op in enumerate(block.ops):
        lines.append(f'  op_{index} [label="{_text(op.type)}", shape=box, style=rounded];')
        for name in dict.fromkeys([*op.input_arg_names, *op.output_arg_names]):
            if name != EMPTY and name not in drawn:
                drawn.add(name)
                lines.append(_variable(block, name, name in marked))
        lines += [f'  "{_text(name)}" -> op_{index};' for name in op.input_arg_names if name != EMPTY]
        lines += [f'  op_{index} -> "{_text(name)}";' for name in op.output_arg_names if name != EMPTY]
    lines.append("}")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def _variable(block: Block, name: str, marked: bool) -> str:
    variable = block._find_var_recursive(name)
    label = _text(name)
    if variable is not None:
        label += f"\\n{variable.dtype.name.lower()} {list(variable.shape)}"
    style = ["shape=ellipse"]
    if isinstance(variable, Parameter):
        style.append('style=filled, fillcolor="lightgrey"')
    if marked:
        style.append('color="red"')
    return f'  "{_text(name)}" [label="{label}", {", ".join(style)}];'


def _text(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')


def pprint_program_codes(program_desc: Any) -> str:
    """Return a program (or its desc, or its bytes) as short lines of code, one for each variable and op."""
    if isinstance(program_desc, (bytes, bytearray)):
        program_desc = Program.parse_from_string(bytes(program_desc))
    program: Program = getattr(program_desc, "_program", program_desc)
    return "\n".join(pprint_block_codes(block) for block in program.blocks)


def pprint_block_codes(block_desc: Any, show_backward: bool = False) -> str:
    """Return a block (or its desc) as short lines of code; gradient ops too with `show_backward`."""
    block: Block = getattr(block_desc, "_block", block_desc)
    shown = [op for op in block.ops if show_backward or not op.type.endswith("_grad")]
    names = {name for op in shown for name in (*op.input_arg_names, *op.output_arg_names)}
    lines = [f"// block-{block.idx}  parent-{block.parent_idx}", "// variables"]
    lines += [_declaration(variable) for name, variable in block.vars.items() if name in names or show_backward]
    lines += ["", "// operators", *map(_call, shown)]
    return "\n".join(lines) + "\n"


def _declaration(variable: Variable) -> str:
    kind = to_numpy(variable.dtype).name if variable.type is VarType.LOD_TENSOR else variable.type.name.lower()
    return f"Tensor {variable.name} (tensor(type={kind}, shape={list(variable.shape)}))"


def _call(op: Operator) -> str:
    given = [f"{slot}={op.input(slot)}" for slot in op.input_names if op.input(slot)]
    hidden = ("op_callstack", "op_device", "op_namescope", "op_role", "op_role_var")
    attrs = [f"{name}={value}" for name, value in sorted(op.all_attrs().items()) if name not in hidden]
    made = ", ".join(f"{slot}={op.output(slot)}" for slot in op.output_names)
    return f"{made} = {op.type}(inputs={{{', '.join(given)}}}) [{', '.join(attrs)}]"
