"""Conversion at scale: shards, parallel workers, other formats.

`fluidio.convert` is the function `convert` of this package. (The package has a different name because a package and a
function cannot share one.)
"""

from fluidio.conversion.columns import Columns
from fluidio.conversion.generate import generate
from fluidio.conversion.reading import read_rows
from fluidio.conversion.shards import convert, shard_name
from fluidio.recordio.files.notes import read_manifest

__all__ = ["Columns", "convert", "generate", "read_manifest", "read_rows", "shard_name"]
