"""`fluid.DatasetFactory`: files of slot text for `exe.train_from_dataset`."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import warnings
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from fluidio.io.page_views import page_views
from fluidio.io.slot_desc import FeedDesc
from fluidio.io.slot_text import Sample, batch_feed, drop_zeros, samples_of
from fluidio.program import Variable

__all__ = ["BoxPSDataset", "DatasetFactory", "InMemoryDataset", "QueueDataset"]


class _SlotDataset:
    """Files, variables and a batch size; `batches()` yields feeds."""

    _feed = "MultiSlotDataFeed"

    def __init__(self) -> None:
        self.filelist: list[str] = []
        self.thread_num = 1
        self._extra: dict[str, str | int] = {}
        self._command = "cat"
        self._batch_size: int | None = None
        self._variables: list[Variable] = []

    def set_filelist(self, filelist: Sequence[str]) -> None:
        self.filelist = [os.fspath(path) for path in filelist]

    def set_use_var(self, var_list: Sequence[Variable]) -> None:
        """Name the variables of the slots, in the order of the text."""
        for variable in var_list:
            if variable.dtype.name not in ("FP32", "INT64"):
                raise ValueError(
                    f"Dataset: {variable.name} is {variable.dtype.name}, but slots must be float32 or int64"
                )
        self._variables = list(var_list)

    def set_batch_size(self, batch_size: int) -> None:
        self._batch_size = int(batch_size)

    def set_pipe_command(self, pipe_command: str) -> None:
        """Set the shell command that each file's text goes through."""
        self._command = pipe_command

    def set_thread(self, thread_num: int) -> None:
        """Store the number; files are read in order, so that runs are reproducible."""
        self.thread_num = int(thread_num)

    def set_hdfs_config(self, fs_name: str, fs_ugi: str) -> None:
        """Do nothing: files are read where they are; copy those of hdfs: with `hadoop fs -get`."""

    def set_rank_offset(self, rank_offset: str) -> None:
        """Store the name of the variable for `desc()`; it matters only on parameter servers."""
        self._extra["rank_offset"] = rank_offset

    def set_pv_batch_size(self, pv_batch_size: int) -> None:
        """Store the number for `desc()`; it matters only on parameter servers."""
        self._extra["pv_batch_size"] = int(pv_batch_size)

    def set_download_cmd(self, download_cmd: str) -> None:
        """Do nothing: files are read where they are."""

    def set_fea_eval(self, record_candidate_size: int, fea_eval: bool = True) -> None:
        """Do nothing: slots_shuffle uses the samples in memory."""

    def slots_shuffle(self, slots: Sequence[str]) -> None:
        """Do nothing: samples are not in memory."""

    def desc(self) -> str:
        """Return the description of files and slots as protobuf text."""
        return str(FeedDesc(self._feed, self._batch_size, self._variables, self._command, self._extra))

    def finish_pass(self) -> None:
        """Record the end of a pass."""

    @property
    def batch_size(self) -> int:
        """Return how many samples make a batch."""
        return 1 if self._batch_size is None else self._batch_size

    @property
    def variables(self) -> list[Variable]:
        """Return the variables of the slots."""
        if not self._variables:
            raise ValueError("Dataset: call set_use_var() with the Variables of the slots first")
        return self._variables

    def _heads(self) -> int:
        """Return how many words precede the slots of a line."""
        return 0

    def _samples(self, paths: Sequence[str]) -> Generator[Sample, None, None]:
        variables = self.variables
        for path in paths:
            yield from samples_of(path, self._command, variables, self._heads())

    def sample_lists(self, part: int = 0, parts: int = 1) -> Generator[list[Sample], None, None]:
        """Yield lists with the samples of one batch, from every `parts`-th file; the last list may be short."""
        with contextlib.closing(self._samples(self.filelist[part::parts])) as samples:
            while chunk := list(itertools.islice(samples, self.batch_size)):
                yield chunk

    def batches(self) -> Iterator[dict[str, Any]]:
        """Yield the feeds of one pass; the last batch may be short."""
        for samples in self.sample_lists():
            yield batch_feed(samples, self._variables)


class QueueDataset(_SlotDataset):
    """Reads the files while training."""

    def local_shuffle(self) -> None:
        raise NotImplementedError(
            "QueueDataset does not hold its samples, so it cannot shuffle them: use InMemoryDataset"
        )

    def global_shuffle(self, fleet: object = None, thread_num: int = 12) -> None:
        raise NotImplementedError(
            "QueueDataset does not hold its samples, so it cannot shuffle them: use InMemoryDataset"
        )


class FileInstantDataset(QueueDataset):
    """Reads the files while training, as QueueDataset does; Fluid read them by memory map."""


class InMemoryDataset(_SlotDataset):
    """Reads the files once and shuffles in memory.

    Fluid: samples were shuffled by threads in an unreproducible order; here by Python's `random`, so that `random.seed`
    reproduces it. As in Fluid, zeros are dropped from slots with a LoD level (QueueDataset keeps them), and a slot with
    nothing else holds a single 0. `keep_zeros = True`, a fluidio extension, keeps them.
    """

    _feed = "MultiSlotInMemoryDataFeed"

    def __init__(self) -> None:
        super().__init__()
        self.keep_zeros = False
        self.fleet_send_batch_size: int | None = None
        self.fleet_send_sleep_seconds: int | None = None
        self.is_user_set_queue_num = False
        self.queue_num: int | None = None
        self.parse_ins_id = False
        self.parse_content = False
        self.parse_logkey = False
        self.merge_by_sid = True
        self.enable_pv_merge = False
        self.merge_by_lineid = False
        self._held: list[Sample] | None = None
        self._views: list[list[Sample]] = []
        self._passed = False

    def _heads(self) -> int:
        return self.parse_ins_id + self.parse_content + self.parse_logkey

    def load_into_memory(self) -> None:
        held = list(self._samples(self.filelist))
        dropped = 0 if self.keep_zeros else drop_zeros(held, self.variables)
        if dropped:
            warnings.warn(
                f"InMemoryDataset: like Fluid, fluidio left out {dropped} zeros in slots with a LoD level; "
                "dataset.keep_zeros = True keeps them, as QueueDataset does",
                stacklevel=2,
            )
        self._held = held
        self._passed = False

    def finish_pass(self) -> None:
        """Count the samples as delivered from now on."""
        self._passed = True

    def preload_into_memory(self, thread_num: int | None = None) -> None:
        """Load now; wait_preload_done has nothing to wait for."""
        self.load_into_memory()

    def wait_preload_done(self) -> None:
        """Do nothing: preload_into_memory has loaded."""

    def _loaded(self) -> list[Sample]:
        if self._held is None:
            raise RuntimeError("InMemoryDataset: call load_into_memory() first")
        return self._held

    def local_shuffle(self) -> None:
        random.shuffle(self._loaded())

    def global_shuffle(self, fleet: object = None, thread_num: int = 12) -> None:
        """Shuffle locally: this single worker has all samples."""
        self.local_shuffle()

    def slots_shuffle(self, slots: Sequence[str]) -> None:
        """Shuffle the values of some slots among the samples, to measure how much a feature matters."""
        held = self._loaded()
        for place, variable in enumerate(self.variables):
            if variable.name in slots:
                values = [sample[place] for sample in held]
                random.shuffle(values)
                for sample, value in zip(held, values):
                    sample[place] = value

    def release_memory(self) -> None:
        self._held = None

    def get_memory_data_size(self, fleet: object = None) -> int:
        """Return how many samples wait for a first pass. Fluid: after a pass they count as shuffled."""
        return 0 if self._passed else len(self._loaded())

    def get_shuffle_data_size(self, fleet: object = None) -> int:
        """Return how many samples have been delivered."""
        return len(self._loaded()) if self._passed else 0

    def set_queue_num(self, queue_num: int) -> None:
        """Store the number; there is one queue."""
        self.is_user_set_queue_num = True
        self.queue_num = queue_num

    def set_fleet_send_batch_size(self, fleet_send_batch_size: int = 1024) -> None:
        """Store the number; nothing is sent."""
        self.fleet_send_batch_size = fleet_send_batch_size

    def set_fleet_send_sleep_seconds(self, fleet_send_sleep_seconds: int = 0) -> None:
        """Store the number; nothing is sent."""
        self.fleet_send_sleep_seconds = fleet_send_sleep_seconds

    def set_feed_type(self, data_feed_type: str) -> None:
        """Set the class of the feed that `desc()` names."""
        self._feed = data_feed_type

    def set_generate_unique_feasigns(self, generate_uni_feasigns: bool, shard_num: int) -> None:
        """Do nothing: only parameter servers use feature keys."""

    def set_merge_by_lineid(self, merge_size: int = 2) -> None:
        """Expect an id before the slots of each line. Fluid: one worker alone merges no lines."""
        self.merge_by_lineid = True
        self.parse_ins_id = True

    def set_parse_ins_id(self, parse_ins_id: bool) -> None:
        """Say whether `1 ID` precedes the slots of each line."""
        self.parse_ins_id = parse_ins_id

    def set_parse_content(self, parse_content: bool) -> None:
        """Say whether `1 CONTENT` precedes the slots of each line, behind the id."""
        self.parse_content = parse_content

    def set_parse_logkey(self, parse_logkey: bool) -> None:
        """Say whether `1 LOGKEY` precedes the slots of each line, behind id and content."""
        self.parse_logkey = parse_logkey

    def set_merge_by_sid(self, merge_by_sid: bool) -> None:
        """Say whether page views join samples of one search id; without, each sample is one."""
        self.merge_by_sid = merge_by_sid

    def set_enable_pv_merge(self, enable_pv_merge: bool) -> None:
        """Say whether preprocess_instance joins samples to page views."""
        self.enable_pv_merge = enable_pv_merge

    def set_current_phase(self, current_phase: int) -> None:
        """Do nothing: only a BoxPS feed tells joining from updating."""

    def preprocess_instance(self) -> None:
        """Join the samples to page views, which get_pv_data_size counts; without pv merging, shuffle them.

        Fluid: samples in page views are not delivered; postprocess_instance puts them back.
        """
        if not self.enable_pv_merge:
            self.local_shuffle()
            return
        self._views = page_views(self._loaded(), self.merge_by_sid)
        self._held = []

    def postprocess_instance(self) -> None:
        """Put the samples of the page views back, in their order."""
        if self.enable_pv_merge:
            self._held = [sample for view in self._views for sample in view]
            self._passed = False

    def get_pv_data_size(self) -> int:
        """Return how many page views there are."""
        return len(self._views)

    def sample_lists(self, part: int = 0, parts: int = 1) -> Generator[list[Sample], None, None]:
        """Yield lists with the samples of one batch, from one of `parts` stretches; the last list may be short."""
        held, size = self._loaded(), self.batch_size
        stretch = len(held) // parts + 1  # as Fluid divides them among threads
        held = held[part * stretch : (part + 1) * stretch]
        for start in range(0, len(held), size):
            yield held[start : start + size]


class BoxPSDataset(InMemoryDataset):
    """An InMemoryDataset with passes.

    Fluid: a pass loaded its features into BoxPS, a parameter server on GPUs; here the program holds the tables.
    """

    def begin_pass(self) -> None:
        """Do nothing: the program holds the parameters."""

    def end_pass(self, need_save_delta: bool = False) -> None:
        """Do nothing: the program holds the parameters."""


class DatasetFactory:
    """Creates datasets by class name."""

    def create_dataset(self, datafeed_class: str = "QueueDataset") -> QueueDataset | InMemoryDataset:
        kinds: dict[str, type[QueueDataset | InMemoryDataset]] = {
            "FileInstantDataset": FileInstantDataset,
            "QueueDataset": QueueDataset,
            "InMemoryDataset": InMemoryDataset,
            "BoxPSDataset": BoxPSDataset,
        }
        try:
            return kinds[datafeed_class]()
        except KeyError:
            raise ValueError(
                f"create_dataset: there is no dataset {datafeed_class!r}: use {' or '.join(kinds)}"
            ) from None
