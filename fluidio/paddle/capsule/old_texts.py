"""Source texts that Python 2 modules pass to `exec`, `eval` and `compile`, which are Python 2, too."""

from __future__ import annotations

import ast
import functools
from types import CodeType
from typing import Any

from fluidio.paddle.capsule.modules import renew
from fluidio.paddle.capsule.old_strings import ByteText

__all__ = ["compile_text", "old_code"]


def old_code(source: object, mode: str) -> object:
    """Return the code of a text; return code objects and the code of files unchanged."""
    if isinstance(source, ByteText):
        source = str(source)
    return _compiled(source, "<string>", mode) if isinstance(source, str) else source


def compile_text(source: object, filename: str, mode: str, *args: object, **kwargs: object) -> CodeType:
    """Return compile(source, filename, mode)."""
    if not isinstance(source, (str, ByteText)) or args or kwargs:
        plain: Any = compile
        code: CodeType = plain(source, filename, mode, *args, **kwargs)
        return code
    return _compiled(str(source), filename, mode)


@functools.lru_cache(maxsize=256)
def _compiled(source: str, filename: str, mode: str) -> CodeType:
    renewed = renew(source.strip() if mode == "eval" else source, filename, forced=2)
    tree: Any = ast.parse(renewed.text.strip() if mode == "eval" else renewed.text, filename, mode)
    helpers = dict(map(_bound, renewed.imports))
    code: CodeType = compile(
        ast.fix_missing_locations(_Inliner(helpers).visit(tree)), filename, mode, dont_inherit=True
    )
    return code


def _bound(line: str) -> tuple[str, str]:
    """Return the name that an import binds and an expression for it, so that nothing is added to the text's names."""
    words = line.split()
    if words[0] == "from":
        return words[-1], f"__import__('{words[1]}.{words[3]}', fromlist=('x',))"
    if len(words) == 4:
        return words[-1], f"__import__('{words[1]}', fromlist=('x',))"
    return words[1].partition(".")[0], f"__import__('{words[1]}')"


class _Inliner(ast.NodeTransformer):
    def __init__(self, helpers: dict[str, str]) -> None:
        self.helpers = helpers

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.helpers or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(ast.parse(self.helpers[node.id], mode="eval").body, node)
