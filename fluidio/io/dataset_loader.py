"""DatasetLoader: returned by `DataLoader.from_dataset`; iterates over the files of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fluidio.flow.feed_queue import Tensors
from fluidio.io.generator_loader import GeneratorLoader
from fluidio.io.loader_iterator import as_places
from fluidio.io.slot_dataset import InMemoryDataset, QueueDataset
from fluidio.io.slot_text import Sample, batch_feed
from fluidio.places import PlaceLike
from fluidio.tensor import LoDTensor

__all__ = ["DatasetLoader"]

_AHEAD = 16  # maximum number of waiting batches per place


class DatasetLoader(GeneratorLoader):
    """Yields a list with a dict {name: LoDTensor} for each place; each place reads its own files.

    Fluid: an epoch ended when the first place ran out of files; here the remaining batches are distributed to all.

    Args:
        dataset: an InMemoryDataset (loaded) or a QueueDataset.
        places: one place or a list of them; there must be as many files.
        drop_last: drop short batches, and a last step without a batch for every place.
    """

    def __init__(
        self, dataset: QueueDataset | InMemoryDataset, places: Sequence[PlaceLike] | PlaceLike, drop_last: bool = True
    ) -> None:
        assert isinstance(dataset, (QueueDataset, InMemoryDataset)), (
            f"DataLoader.from_dataset takes a dataset of fluid.DatasetFactory, got {type(dataset).__name__}"
        )
        count = len(as_places(places))
        assert len(dataset.filelist) >= count, (
            f"DataLoader.from_dataset: the dataset has {len(dataset.filelist)} files for {count} places; each "
            "place needs at least one"
        )
        super().__init__(dataset.variables, _AHEAD * count, drop_last=drop_last)
        dataset.set_thread(count)
        self._dataset = dataset
        self._set(self._batches, places)

    def _batches(self) -> Iterator[Tensors]:
        dropped = 0
        for samples in self._dealt():
            if self._drop_last and len(samples) < self._dataset.batch_size:
                dropped += len(samples)
            else:
                yield [_pair(value) for value in batch_feed(samples, self._feed_list).values()]
        if dropped:
            self._note_dropped(dropped)
        self._dataset.finish_pass()

    def _dealt(self) -> Iterator[list[Sample]]:
        """Yield a batch from each place's files in turn."""
        assert self._places is not None
        count = len(self._places)
        streams = [self._dataset.sample_lists(part, count) for part in range(count)]
        try:
            while streams:
                for stream in list(streams):
                    samples = next(stream, None)
                    if samples is None:
                        streams.remove(stream)
                    else:
                        yield samples
        finally:
            for stream in streams:
                stream.close()  # ends its pipe command


def _pair(value: object) -> tuple[Any, Any]:
    tensor = value if isinstance(value, LoDTensor) else LoDTensor.wrap(value, ())
    return tensor.array, tensor.levels
