"""The strategies of a Compressor's configuration: quantisation and distillation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fluidio.contrib.slim.distillers import FSPDistiller, L2Distiller, SoftLabelDistiller
from fluidio.contrib.slim.graph import GraphWrapper
from fluidio.contrib.slim.passes import (
    ConvertToInt8Pass,
    QuantizationFreezePass,
    QuantizationTransformPass,
    TransformForMobilePass,
)
from fluidio.contrib.slim.teachers import append_constants
from fluidio.executor import Executor
from fluidio.io import save_inference_model
from fluidio.places import PlaceLike
from fluidio.program import Program, program_guard, unique_name
from fluidio.program.ir_graph import Graph, IrGraph
from fluidio.tensor import Scope

__all__ = ["Strategy", "Work", "strategies_of"]


@dataclass
class Work:
    """What a Compressor works on; strategies replace its programs.

    `student` is the training program without an optimizer, `trained` the one that runs and whose variables are saved.
    `fetch` has the name of the variable behind each key.
    """

    exe: Executor
    place: PlaceLike
    scope: Scope
    student: Program
    trained: Program
    fetch: dict[str, str]
    evaluated: Program | None
    eval_feeds: list[str]
    eval_fetches: list[str]
    teachers: Sequence[Program]
    distiller_optimizer: Any


class Strategy(Protocol):
    """Base class: hooks called around epochs."""

    def begin(self, work: Work, epoch: int) -> None:
        """An epoch is about to begin."""

    def resume(self, work: Work, epoch: int) -> None:
        """Training resumes with this epoch; earlier ones are in a checkpoint."""

    def end(self, work: Work, epoch: int) -> None:
        """An epoch has ended and is saved."""


class QuantizationStrategy:
    """Simulate int8 from one epoch on, and save integer models after another."""

    def __init__(
        self,
        start_epoch: int = 0,
        end_epoch: int = 0,
        float_model_save_path: str | None = None,
        mobile_model_save_path: str | None = None,
        int8_model_save_path: str | None = None,
        activation_bits: int = 8,
        weight_bits: int = 8,
        activation_quantize_type: str = "abs_max",
        weight_quantize_type: str = "abs_max",
        save_in_nodes: Sequence[str] | None = None,
        save_out_nodes: Sequence[str] | None = None,
    ) -> None:
        self.start_epoch, self.end_epoch = start_epoch, end_epoch
        self._paths = (float_model_save_path, int8_model_save_path, mobile_model_save_path)
        self._bits: dict[str, Any] = {"weight_bits": weight_bits, "activation_bits": activation_bits}
        self._bits["weight_quantize_type"] = weight_quantize_type
        self._activations = activation_quantize_type
        self._feeds, self._fetches = save_in_nodes, save_out_nodes
        self._tested: IrGraph | None = None

    def begin(self, work: Work, epoch: int) -> None:
        if epoch == self.start_epoch:
            self._round(work)

    def resume(self, work: Work, epoch: int) -> None:
        if epoch > self.start_epoch:
            self._round(work)

    def end(self, work: Work, epoch: int) -> None:
        if epoch != self.end_epoch or self._tested is None:
            return
        graph = self._tested
        QuantizationFreezePass(work.scope, work.place, **self._bits).apply(graph)
        work.evaluated = graph.to_program()
        float_path, int8_path, mobile_path = self._paths
        self._save(work, float_path)
        if int8_path:
            ConvertToInt8Pass(work.scope, work.place).apply(graph)
            self._save(work, int8_path)
        if mobile_path:
            if not int8_path:
                ConvertToInt8Pass(work.scope, work.place).apply(graph)
            TransformForMobilePass().apply(graph)
            self._save(work, mobile_path)

    def _round(self, work: Work) -> None:
        change = QuantizationTransformPass(
            scope=work.scope, place=work.place, activation_quantize_type=self._activations, **self._bits
        )
        train = IrGraph(Graph(work.trained.clone().desc), for_test=False)
        change.apply(train)
        work.trained = train.to_program()
        if work.evaluated is not None:
            self._tested = IrGraph(Graph(work.evaluated.clone().desc), for_test=True)
            change.apply(self._tested)
            work.evaluated = self._tested.to_program()

    def _save(self, work: Work, path: str | None) -> None:
        if not path or self._tested is None:
            return
        program = self._tested.to_program()
        fetches = [program.global_block().var(name) for name in self._fetches or work.eval_fetches]
        feeds = list(self._feeds or work.eval_feeds)
        save_inference_model(path, feeds, fetches, work.exe, program, model_filename="model", params_filename="weights")


Distiller = FSPDistiller | L2Distiller | SoftLabelDistiller


class DistillationStrategy:
    """Let the network also learn from a teacher in some epochs."""

    def __init__(self, distillers: Sequence[Distiller], start_epoch: int = 0, end_epoch: int = 0) -> None:
        self.distillers = distillers
        self.start_epoch, self.end_epoch = start_epoch, end_epoch
        self._alone: tuple[Program, dict[str, str]] | None = None

    def begin(self, work: Work, epoch: int) -> None:
        if epoch == self.start_epoch:
            self._join(work)

    def resume(self, work: Work, epoch: int) -> None:
        if self.start_epoch < epoch < self.end_epoch:
            self._join(work)

    def end(self, work: Work, epoch: int) -> None:
        if epoch == self.end_epoch - 1 and self._alone is not None:
            work.trained, work.fetch = self._alone

    def _join(self, work: Work) -> None:
        if not work.teachers or work.distiller_optimizer is None:
            raise ValueError("DistillationStrategy: pass teacher_programs and distiller_optimizer to Compressor")
        self._alone = work.trained, work.fetch
        program, startup = work.student.clone(), Program()
        append_constants(program, work.teachers[0])
        fetch = dict(work.fetch)
        if "loss" in fetch:
            fetch["student_loss"] = fetch["loss"]
        with program_guard(program, startup), unique_name.guard("distillation_"):
            graph = GraphWrapper(program, (), fetch)
            for distiller in self.distillers:
                distiller.distiller_loss(graph)
            fetch = dict(graph.out_nodes)
            work.distiller_optimizer.minimize(program.global_block().var(fetch["loss"]))
        work.exe.run(startup)
        work.trained, work.fetch = program, fetch


_DISTILLERS: dict[str, type[Any]] = {each.__name__: each for each in (FSPDistiller, L2Distiller, SoftLabelDistiller)}


def strategies_of(config: Mapping[str, Any], names: Sequence[str]) -> tuple[list[Strategy], list[str]]:
    """Return the strategies with these names in a configuration, and the names of the unsupported ones."""
    found: list[Strategy] = []
    left_out: list[str] = []
    for name in names:
        options = dict((config.get("strategies") or {}).get(name) or {})
        kind = options.pop("class", None)
        if kind == "QuantizationStrategy":
            found.append(QuantizationStrategy(**options))
        elif kind == "DistillationStrategy":
            sections = config.get("distillers") or {}
            distillers = [_distiller(each, sections) for each in options.pop("distillers", ())]
            found.append(DistillationStrategy(distillers, **options))
        else:
            left_out.append(str(name))
    return found, left_out


def _distiller(name: str, sections: Mapping[str, Any]) -> Distiller:
    options = dict(sections.get(name) or {})
    kind = options.pop("class", None)
    if kind not in _DISTILLERS:
        raise ValueError(f"distiller {name}: class must be one of {', '.join(_DISTILLERS)}, got {kind}")
    made: Distiller = _DISTILLERS[kind](**options)
    return made
