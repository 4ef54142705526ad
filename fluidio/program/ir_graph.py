"""`core.Graph` and `fluid.framework.IrGraph`: a program that passes may change, apart from the one it came from."""

from __future__ import annotations

from typing import Any

from fluidio.errors import not_supported
from fluidio.program import Program
from fluidio.program.desc import ProgramDesc

__all__ = ["Graph", "IrGraph"]


class Graph:
    """A copy of a program. Fluid: a graph of nodes in C++; here the ops stay in their order."""

    def __init__(self, desc: ProgramDesc | Program) -> None:
        source = desc if isinstance(desc, Program) else desc._program
        self.program = _copy(source)

    def clone(self) -> Graph:
        return Graph(self.program)


def _copy(program: Program) -> Program:
    copy = program.clone()
    copy.random_seed = program.random_seed
    return copy


class IrGraph:
    """A graph for passes: `pass.apply(graph)` changes it, `to_program()` gives the program."""

    def __init__(self, graph: Graph, for_test: bool = False) -> None:
        if not isinstance(graph, Graph):
            raise TypeError(f"graph must be the instance of core.Graph, it is {graph!r}")
        self.graph = graph
        self._for_test = for_test

    @property
    def program(self) -> Program:
        """Return the program that passes change."""
        return self.graph.program

    def is_test(self) -> bool:
        return self._for_test

    def clone(self) -> IrGraph:
        return IrGraph(self.graph.clone(), self._for_test)

    def to_program(self) -> Program:
        """Return a copy of the program as it is now."""
        return _copy(self.program)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        not_supported(f"fluid.IrGraph.{name}", "work on the ops of graph.program, and draw with fluid.debugger")
