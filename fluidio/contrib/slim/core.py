"""`contrib.slim.core`: what a compression is made of: strategies, the context they share, and their configuration."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Mapping
from typing import Any

from fluidio.contrib.slim.compressor import Compressor
from fluidio.contrib.slim.distillers import FSPDistiller, L2Distiller, SoftLabelDistiller
from fluidio.contrib.slim.prune import StructurePruner
from fluidio.contrib.slim.searching import SAController
from fluidio.contrib.slim.strategies import DistillationStrategy, QuantizationStrategy
from fluidio.pickles import loads
from fluidio.places import PlaceLike
from fluidio.tensor import Scope

__all__ = ["Compressor", "ConfigFactory", "Context", "Strategy"]


class Strategy:
    """Base class of strategies: hooks around a compression, its epochs and batches."""

    def __init__(self, start_epoch: int = 0, end_epoch: int = 0) -> None:
        self.start_epoch, self.end_epoch = start_epoch, end_epoch

    def __getstate__(self) -> dict[str, Any]:
        """Return what a checkpoint keeps: the epochs belong to the configuration."""
        return {key: value for key, value in self.__dict__.items() if key not in ("start_epoch", "end_epoch")}

    def on_compression_begin(self, context: Any) -> None:
        pass

    def on_epoch_begin(self, context: Any) -> None:
        pass

    def on_epoch_end(self, context: Any) -> None:
        pass

    def on_batch_begin(self, context: Any) -> None:
        pass

    def on_batch_end(self, context: Any) -> None:
        pass

    def on_compression_end(self, context: Any) -> None:
        pass

    def restore_from_checkpoint(self, context: Any) -> None:
        pass


class Context:
    """What strategies share."""

    def __init__(
        self,
        place: PlaceLike,
        scope: Scope,
        train_graph: Any = None,
        train_reader: Any = None,
        eval_graph: Any = None,
        eval_reader: Any = None,
        teacher_graphs: Any = None,
        train_optimizer: Any = None,
        distiller_optimizer: Any = None,
        search_space: Any = None,
    ) -> None:
        self.epoch = self.epoch_id = self.batch_id = 0
        self.k_v: dict[str, Any] = {}
        self.place, self.scope = place, scope
        self.train_graph, self.train_reader = train_graph, train_reader
        self.eval_graph, self.eval_reader = eval_graph, eval_reader
        self.executor: Any = None
        self.teacher_graphs = teacher_graphs
        self.train_optimizer, self.distiller_optimizer = train_optimizer, distiller_optimizer
        self.optimize_graph: Any = None
        self.cache_path = "./eval_cache"
        self.eval_results: dict[str, list[float]] = {}
        self.skip_training = False
        self.search_space = search_space

    def put(self, key: str, value: object) -> None:
        self.k_v[key] = value

    def get(self, key: str) -> Any:
        return self.k_v.get(key)

    def eval_converged(self, metric_name: str, delta: float = 0.001) -> bool:
        """Return whether the last two results of a metric are close to each other."""
        results = self.eval_results.get(metric_name, [])
        return len(results) > 1 and abs(results[-1] - results[-2]) / results[-2] < delta

    def to_file(self, file_name: str) -> None:
        """Keep the epoch and the results."""
        with open(file_name, "wb") as file:
            pickle.dump({"epoch_id": self.epoch_id, "eval_results": self.eval_results}, file, protocol=2)

    def from_file(self, file_name: str) -> None:
        """Take the epoch and the results from a file."""
        with open(file_name, "rb") as file:
            kept = loads(file.read())
        self.epoch_id, self.eval_results = kept["epoch_id"], kept["eval_results"]


_CLASSES: dict[str, type[Any]] = {
    each.__name__: each
    for each in (
        DistillationStrategy,
        FSPDistiller,
        L2Distiller,
        QuantizationStrategy,
        SAController,
        SoftLabelDistiller,
        StructurePruner,
    )
}


class ConfigFactory:
    """The objects of a YAML configuration; options that name another object of it get that object.

    Raises:
        KeyError: a class that is not here, such as those of pruning strategies.
    """

    def __init__(self, config: str) -> None:
        yaml: Any = importlib.import_module("yaml")
        with open(config, encoding="utf-8") as file:
            content = yaml.safe_load(file)
        self.instances: dict[str, Any] = {}
        self.compressor: dict[str, Any] = {}
        self.version: int | None = None
        if "version" in content:
            self.version = int(content.pop("version"))
        self._sections = {name: options for group in content.values() for name, options in group.items()}
        self.compressor = dict(content.get("compressor") or {})
        for group, entries in content.items():
            if group != "compressor":
                for name, options in entries.items():
                    self._new_instance(name, options)
        names = self.compressor.get("strategies") or []
        if names:
            self.compressor["strategies"] = [self.instance(name) for name in names]

    def instance(self, name: str) -> Any:
        """Return the object of a name, None if there is none."""
        return self.instances.get(name)

    def _new_instance(self, name: str, attrs: Mapping[str, Any]) -> Any:
        if name not in self.instances:
            options = {key: self._resolved(value) for key, value in attrs.items() if key != "class"}
            self.instances[name] = _CLASSES[attrs["class"]](**options)
        return self.instances[name]

    def _resolved(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._resolved(each) for each in value]
        known = isinstance(value, str) and isinstance(self._sections.get(value), Mapping)
        return self._new_instance(value, self._sections[value]) if known else value
