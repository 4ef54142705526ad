"""Saved models as ONNX: one table of mappings, one file per theme."""

from fluidio.models.onnx.export import lod_name, to_onnx
from fluidio.models.onnx.table import TABLE, load_table
from fluidio.models.onnx.write import Exported, export_onnx

__all__ = ["TABLE", "Exported", "export_onnx", "load_table", "lod_name", "to_onnx"]
