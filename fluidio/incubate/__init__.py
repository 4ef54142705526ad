"""`fluid.incubate`: fleet with one worker, and the generators of slot data."""

from fluidio.incubate import data_generator, fleet

__all__ = ["data_generator", "fleet"]
