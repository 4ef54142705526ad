"""`fluid.layers.sequence_lod`: layers on sequences."""

from fluidio.layers._sequence.sequences import *
