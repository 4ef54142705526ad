"""The meaning of names in a module: modules it imports, and names it binds itself."""

from __future__ import annotations

import ast

__all__ = ["Bindings"]

# The usual names of these modules, assumed if a star import hides the real import.
_HABITS = {
    "np": "numpy",
    "numpy": "numpy",
    "pd": "pandas",
    "plt": "matplotlib.pyplot",
    "yaml": "yaml",
    "math": "math",
    "Image": "PIL.Image",
    "cv2": "cv2",
    "sys": "sys",
    "os": "os",
    "string": "string",
    "itertools": "itertools",
    "collections": "collections",
    "random": "random",
    "time": "time",
    "json": "json",
    "pickle": "pickle",
}


class Bindings(ast.NodeVisitor):
    """The imports of a module by the names they bind, and every name that it binds in another way."""

    def __init__(self, tree: ast.AST) -> None:
        self.modules: dict[str, str] = {}
        self.bound: set[str] = set()
        self.texts: set[str] = set()
        self.futures: set[str] = set()
        self._has_star = False
        self.visit(tree)
        if self._has_star:
            for name, module in _HABITS.items():
                if name not in self.bound:
                    self.modules.setdefault(name, module)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            root = alias.name.partition(".")[0]
            self.modules[alias.asname or root] = alias.name if alias.asname else root

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module == "__future__":
            self.futures.update(alias.name for alias in node.names)
            return
        for alias in node.names:
            if alias.name == "*":
                self._has_star = True
            elif node.level:
                self.bound.add(alias.asname or alias.name)
            else:
                self.modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.bound.add(node.id)

    def visit_arg(self, node: ast.arg) -> None:
        self.bound.add(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._binds(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.bound.add(node.name)
        # Methods are attributes: `def next(self)` hides no builtin of that name.
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                self.generic_visit(child)
            else:
                self.visit(child)

    def _binds(self, node: ast.FunctionDef) -> None:
        self.bound.add(node.name)
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.bound.add(node.name)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            self.texts.update(target.id for target in node.targets if isinstance(target, ast.Name))
        self.generic_visit(node)

    def dotted(self, node: ast.AST) -> tuple[str, str]:
        """Return the full name behind an expression such as `np.random.rand`, and its first name; or two ""."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.modules or node.id in self.bound:
            return "", ""
        return ".".join([self.modules[node.id], *reversed(parts)]), node.id

    def is_builtin(self, name: str) -> bool:
        """Return whether the module leaves a builtin name alone."""
        return name not in self.bound and name not in self.modules
