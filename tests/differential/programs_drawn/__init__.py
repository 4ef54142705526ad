"""Programs of layers that train."""

from tests.differential.programs_drawn.training import FAMILIES, draw_program

__all__ = ["FAMILIES", "draw_program"]
