"""File formats: one module for each, and the table of them."""

from fluidio.conversion.formats.table import FORMATS, Format, of_name, of_path, stem

__all__ = ["FORMATS", "Format", "of_name", "of_path", "stem"]
