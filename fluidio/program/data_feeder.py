"""DataFeeder: lists of samples in, a dict of LoDTensors out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import to_numpy, to_vartype
from fluidio.era import era
from fluidio.places import CPUPlace, PlaceLike, cpu_places, cuda_places, unwrap
from fluidio.program.guards import default_main_program
from fluidio.program.program import Program
from fluidio.program.type_checks import check_dtype, check_type, check_variable_and_dtype, convert_dtype
from fluidio.program.variable import Variable
from fluidio.tensor import LoDTensor
from fluidio.tensor.lod import from_lengths

__all__ = [
    "DataFeeder",
    "DataToLoDTensorConverter",
    "check_dtype",
    "check_type",
    "check_variable_and_dtype",
    "convert_dtype",
]


class _Converter:
    """Turn one column of samples into a tensor for one variable."""

    def __init__(self, name: str, dtype: Any, shape: Sequence[int], lod_level: int) -> None:
        self.name = name
        self.dtype = to_numpy(to_vartype(dtype))
        self.shape = tuple(shape)
        self.lod_level = lod_level
        self.reshapes = sum(d < 0 for d in self.shape) <= 1

    def __call__(self, values: Sequence[Any]) -> LoDTensor:
        if self.lod_level == 0:
            return LoDTensor.wrap(self._fit(self._array(values)))
        lengths: list[list[int]] = [[] for _ in range(self.lod_level)]
        leaves: Sequence[Any] = values
        for level in range(self.lod_level):
            lengths[level] = [len(value) for value in leaves]
            if level == self.lod_level - 1 and leaves and all(isinstance(v, np.ndarray) for v in leaves):
                array = np.concatenate(leaves).astype(self.dtype, copy=False)
                return LoDTensor.wrap(self._fit(array), from_lengths(lengths))
            leaves = list(itertools.chain.from_iterable(leaves))
        return LoDTensor.wrap(self._fit(self._array(leaves)), from_lengths(lengths))

    def _array(self, values: Sequence[object]) -> Any:
        try:
            return np.array(values, dtype=self.dtype)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"DataFeeder: the values for {self.name!r} do not form one {self.dtype} array ({error}); "
                "samples of different lengths need a variable with lod_level >= 1, this one has lod_level "
                f"{self.lod_level}"
            ) from error

    def _fit(self, array: Any) -> Any:
        same_rank = array.ndim == len(self.shape)
        if not self.reshapes or (same_rank and not era().keep_leftover_batch):
            return array  # Fluid >= 1.4 reshapes only if the ranks differ
        try:
            return array.reshape(self.shape)
        except ValueError:
            raise ValueError(
                f"DataFeeder: values of shape {list(array.shape)} cannot take the shape {list(self.shape)}, "
                f"which {self.name!r} was declared with"
            ) from None


class DataToLoDTensorConverter:
    """Collects the values of one variable, sample by sample; `done` converts them to a tensor."""

    def __init__(self, place: PlaceLike, lod_level: int, shape: Sequence[int], dtype: Any) -> None:
        self.place = place
        self.lod_level = lod_level
        self.shape = tuple(-1 if dim is None else dim for dim in shape)
        self.dtype = dtype
        self._convert = _Converter("data", dtype, self.shape, lod_level)
        self.data: list[Any] = []

    def feed(self, data: object) -> None:
        """Add a sample."""
        self.data.append(data)

    def done(self) -> LoDTensor:
        """Return the samples so far as a tensor, and start over."""
        tensor = self._convert(self.data)
        self.data = []
        return tensor


class DataFeeder:
    """Converts samples (tuples with one field per variable) to a feed for `Executor.run(feed=...)`.

    Example:
        >>> import fluidio as fluid
        >>> x = fluid.layers.data("x", [2])
        >>> feeder = fluid.DataFeeder([x], fluid.CPUPlace())
        >>> feeder.feed([([1.0, 2.0],), ([3.0, 4.0],)])["x"].shape()
        [2, 2]
    """

    def __init__(
        self, feed_list: Sequence[Any], place: PlaceLike | None = None, program: Program | None = None
    ) -> None:
        block = (program or default_main_program()).block(0)
        variables = [block.var(v) if isinstance(v, str) else v for v in feed_list]
        if not all(isinstance(v, Variable) for v in variables):
            raise TypeError("DataFeeder: feed_list must hold Variables or their names")
        self.feed_names = [v.name for v in variables]
        self.feed_dtypes = [v.dtype for v in variables]
        self.feed_shapes = [v.shape for v in variables]
        self.feed_lod_level = [v.lod_level for v in variables]
        self.place = place
        self._on_host = place is None or isinstance(unwrap(place), CPUPlace)
        self._converters = [_Converter(v.name, v.dtype, v.shape, v.lod_level) for v in variables]

    def feed(self, iterable: Iterable[Sequence[Any]]) -> dict[str, LoDTensor]:
        """Return {variable name: LoDTensor} of all samples."""
        samples = iterable if isinstance(iterable, (list, tuple)) else list(iterable)
        expected = len(self._converters)
        for sample in samples:
            if len(sample) != expected:
                raise AssertionError(
                    f"DataFeeder: a sample has {len(sample)} fields, but feed_list has {expected} variables: "
                    f"{', '.join(self.feed_names)}"
                )
        columns = list(zip(*samples)) if samples else [()] * expected
        fed = {c.name: c(column) for c, column in zip(self._converters, columns)}
        return fed if self._on_host else {name: tensor._copy(self.place) for name, tensor in fed.items()}

    def _places(self, num_places: int | None) -> int:
        if num_places is not None:
            return int(num_places)
        return len(cpu_places()) if self._on_host else len(cuda_places())

    def feed_parallel(self, iterable: Iterable[Any], num_places: int | None = None) -> Iterator[dict[str, LoDTensor]]:
        """Yield one feed dict per place from a list with one batch per place."""
        batches = list(iterable)
        places = self._places(num_places)
        if len(batches) != places:
            raise ValueError(f"feed_parallel takes one batch for each of the {places} places, got {len(batches)}")
        for batch in batches:
            yield self.feed(batch)

    def decorate_reader(
        self,
        reader: Callable[[], Iterable[Any]],
        multi_devices: bool,
        num_places: int | None = None,
        drop_last: bool = True,
    ) -> Callable[[], Iterator[Any]]:
        """Return a reader creator that yields feed dicts, or lists of one dict for each place."""

        def single() -> Iterator[Any]:
            for batch in reader():
                yield self.feed(batch)

        def grouped() -> Iterator[Any]:
            places = self._places(num_places)
            group: list[Any] = []
            for batch in reader():
                group.append(batch)
                if len(group) == places:
                    yield list(self.feed_parallel(group, places))
                    group = []
            if group and not drop_last:
                raise ValueError(
                    f"DataFeeder: {len(group)} batches are left at the end for {places} places; pass "
                    "drop_last=True to drop them"
                )

        return grouped if multi_devices else single
