"""`fluid.io.PyReader`: the DataLoader of Fluid 1.4 and 1.5."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fluidio.era import era
from fluidio.io.generator_loader import GeneratorLoader
from fluidio.places import PlaceLike
from fluidio.program import Variable

__all__ = ["PyReader"]


class PyReader(GeneratorLoader):
    """A loader fed by a generator; see DataLoader.from_generator.

    Fluid: `iterable` was False by default in 1.4 and True from 1.5; `return_list` gave the first place's tensors only
    until 1.5. The era decides.
    """

    _kind = "PyReader"

    def __init__(
        self,
        feed_list: Sequence[Variable] | None = None,
        capacity: int | None = None,
        use_double_buffer: bool = True,
        iterable: bool | None = None,
        return_list: bool = False,
    ) -> None:
        if iterable is None:
            iterable = era().pyreader_iterable
        self._place0_only = era().return_list_place0_only
        super().__init__(feed_list, capacity, use_double_buffer, iterable, return_list)

    @property
    def _loader(self) -> GeneratorLoader:
        return self  # Fluid: a loader inside; here the reader is one

    def decorate_sample_generator(
        self,
        sample_generator: Callable[[], object],
        batch_size: int,
        drop_last: bool = True,
        places: Sequence[PlaceLike] | PlaceLike | None = None,
    ) -> None:
        """Take single samples."""
        self.set_sample_generator(sample_generator, batch_size, drop_last, places)

    def decorate_sample_list_generator(
        self, reader: Callable[[], object], places: Sequence[PlaceLike] | PlaceLike | None = None
    ) -> None:
        """Take lists of samples."""
        self.set_sample_list_generator(reader, places)

    def decorate_batch_generator(
        self, reader: Callable[[], object], places: Sequence[PlaceLike] | PlaceLike | None = None
    ) -> None:
        """Take whole batches."""
        self.set_batch_generator(reader, places)

    decorate_paddle_reader = decorate_sample_list_generator
    decorate_tensor_provider = decorate_batch_generator
