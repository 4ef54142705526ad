"""The `fluidio` command: one module for each subcommand, and the dispatcher that finds them."""

from fluidio.cli.dispatch import COMMANDS, main

__all__ = ["COMMANDS", "main"]
