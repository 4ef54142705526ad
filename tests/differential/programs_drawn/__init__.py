"""Programs of layers: those that train, and single calls of each layer."""

from tests.differential.programs_drawn import calls_made, calls_math, calls_nn, calls_sequence
from tests.differential.programs_drawn.calls import CALLS, draw_call
from tests.differential.programs_drawn.training import FAMILIES, draw_program

__all__ = ["CALLS", "FAMILIES", "calls_made", "calls_math", "calls_nn", "calls_sequence", "draw_call", "draw_program"]
