"""Saved models: inspect, export and import weights, run, compare, convert to ONNX.

The command `fluidio model` is built on this package.
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
