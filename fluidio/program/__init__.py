"""The static graph: Program, Block, Operator, Variable, names and guards."""

from fluidio.program import unique_name
from fluidio.program.block import Block
from fluidio.program.data_feeder import DataFeeder
from fluidio.program.guards import (
    default_main_program,
    default_startup_program,
    program_guard,
    switch_main_program,
    switch_startup_program,
)
from fluidio.program.name_scopes import name_scope
from fluidio.program.op_roles import OpRole
from fluidio.program.operator import Operator
from fluidio.program.program import Program
from fluidio.program.variable import Parameter, Variable

__all__ = [
    "Block",
    "DataFeeder",
    "OpRole",
    "Operator",
    "Parameter",
    "Program",
    "Variable",
    "default_main_program",
    "default_startup_program",
    "name_scope",
    "program_guard",
    "switch_main_program",
    "switch_startup_program",
    "unique_name",
]
