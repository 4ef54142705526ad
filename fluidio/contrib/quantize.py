"""`contrib.QuantizeTranspiler`: train programs with simulated int8."""

from __future__ import annotations

from typing import Any

from fluidio.contrib.int8 import Quantization, freeze, insert, store_int8
from fluidio.places import PlaceLike
from fluidio.program import Program, Variable, default_main_program, default_startup_program
from fluidio.tensor import Scope, global_scope

__all__ = ["QuantizeTranspiler"]


class QuantizeTranspiler:
    """Make convolutions and matrix products read inputs rounded as int8 would."""

    def __init__(
        self,
        weight_bits: int = 8,
        activation_bits: int = 8,
        activation_quantize_type: str = "abs_max",
        weight_quantize_type: str = "abs_max",
        window_size: int = 10000,
        moving_rate: float = 0.9,
    ) -> None:
        self.weight_bits = weight_bits
        self.activation_bits = activation_bits
        self._options: dict[str, Any] = {
            "weight_bits": weight_bits,
            "activation_bits": activation_bits,
            "activation_type": activation_quantize_type,
            "weight_type": weight_quantize_type,
            "window_size": window_size,
            "moving_rate": moving_rate,
            "weights_last": True,
            "marks_ops": False,
        }
        Quantization(**self._options)  # raises for wrong arguments now

    def training_transpile(self, program: Program | None = None, startup_program: Program | None = None) -> None:
        """Insert rounding into a program, after `minimize`; its persistent state goes to the startup program."""
        program = program or default_main_program()
        startup = (startup_program or default_startup_program()).global_block()

        def start(variable: Variable, value: float) -> None:
            copy = startup.create_var(
                name=variable.name, shape=variable.shape, dtype=variable.dtype, persistable=True, stop_gradient=True
            )
            attrs = {"shape": list(variable.shape), "dtype": variable.dtype, "value": value}
            startup._prepend_op(type="fill_constant", outputs={"Out": [copy.name]}, attrs=attrs)

        insert(program, Quantization(**self._options), start)

    def freeze_program(self, program: Program, place: PlaceLike, scope: Scope | None = None) -> None:
        """Convert the weights of a transpiled test program to integers."""
        freeze(program, scope or global_scope(), Quantization(**self._options))

    def convert_to_int8(self, program: Program, place: PlaceLike, scope: Scope | None = None) -> None:
        """Store the weights of a frozen program as int8."""
        store_int8(program, scope or global_scope())
