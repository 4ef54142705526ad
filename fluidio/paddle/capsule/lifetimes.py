"""Restore older lifetimes, of names and of StopIteration in generators, by changing the syntax tree only.

A name bound by `except ... as e` or by a list comprehension stays bound after it in Python 2; a StopIteration that
leaves a generator's body ended the generator before Python 3.7.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["keep_lifetimes"]

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp)


def keep_lifetimes(tree: ast.Module, python2: bool) -> None:
    """Change the tree of one of the user's modules."""
    for scope in [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))]:
        own = list(_own(scope))
        if python2:
            _keep_caught(own)
            _keep_counted(own)
        if isinstance(scope, ast.FunctionDef) and _may_stop(own):
            _end_quietly(scope)
    ast.fix_missing_locations(tree)


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of one scope, without those of the scopes in it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, _SCOPES):
            yield from _own(child)


def _keep_caught(own: list[ast.AST]) -> None:
    handlers = [node for node in own if isinstance(node, ast.ExceptHandler) and node.name]
    inside = {id(node) for handler in handlers for node in ast.walk(handler)}
    used = {node.id for node in own if isinstance(node, ast.Name) and id(node) not in inside}
    for handler in handlers:
        if handler.name in used:
            hidden = f"fluidio_{handler.name}"
            kept = ast.Assign([ast.Name(handler.name, ast.Store())], ast.Name(hidden, ast.Load()))
            handler.body.insert(0, ast.copy_location(kept, handler.body[0]))
            handler.name = hidden


def _keep_counted(own: list[ast.AST]) -> None:
    """Bind the names of list comprehensions that are read outside them in their scope, too."""
    iterated = {id(node) for part in own if isinstance(part, ast.comprehension) for node in ast.walk(part.iter)}
    loads = [node for node in own if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    for node in own:
        if not isinstance(node, ast.ListComp) or id(node) in iterated:
            continue
        inside = {id(part) for part in ast.walk(node)}
        read = {part.id for part in loads if id(part) not in inside}
        for clause in node.generators:
            targets = [part for part in ast.walk(clause.target) if isinstance(part, ast.Name) and part.id in read]
            kept: list[ast.expr] = []
            for target in targets:
                name, target.id = target.id, f"fluidio_{target.id}"
                kept.append(ast.NamedExpr(ast.Name(name, ast.Store()), ast.Name(target.id, ast.Load())))
            if kept:
                clause.ifs.insert(0, ast.copy_location(ast.Tuple(kept, ast.Load()), clause.target))


def _may_stop(own: list[ast.AST]) -> bool:
    """Return whether a function is a generator that calls `next` on an iterator or raises StopIteration."""
    if not any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in own):
        return False
    return any(map(_asks, own)) or any(map(_raises, own))


def _asks(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        return node.func.id == "next" and len(node.args) == 1
    return isinstance(node.func, ast.Attribute) and node.func.attr in ("next", "__next__", "next_of")


def _raises(node: ast.AST) -> bool:
    error = node.exc if isinstance(node, ast.Raise) else None
    error = error.func if isinstance(error, ast.Call) else error
    return isinstance(error, ast.Name) and error.id == "StopIteration"


def _end_quietly(function: ast.FunctionDef) -> None:
    first = function.body[0]
    has_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    head, body = function.body[:has_text], function.body[has_text:]
    if body:
        end = ast.ExceptHandler(ast.Name("StopIteration", ast.Load()), None, [ast.Return(None)])
        function.body = [*head, ast.copy_location(ast.Try(body, [end], [], []), body[0])]
