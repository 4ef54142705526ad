"""Saved models: look inside, take the weights out and bring them in, run, compare, export.

`fluidio model` is the command; what it does is here.
"""

from fluidio.models.describe import describe
from fluidio.models.importing import Imported, import_weights
from fluidio.models.open_model import Model, open_model
from fluidio.models.weights import FORMATS, read_mapping, read_weights, write_weights

__all__ = [
    "FORMATS",
    "Imported",
    "Model",
    "describe",
    "import_weights",
    "open_model",
    "read_mapping",
    "read_weights",
    "write_weights",
]
