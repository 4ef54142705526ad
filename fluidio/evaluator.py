"""Evaluators whose state lives in the program (2018); `fluid.metrics` replaced them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio import layers
from fluidio.dtypes import DTypeLike
from fluidio.initializer import Constant
from fluidio.layer_helper import LayerHelper
from fluidio.program import Program, Variable, program_guard, unique_name

__all__ = ["Accuracy", "ChunkEvaluator", "DetectionMAP", "EditDistance", "Evaluator"]


class Evaluator:
    """Base class: persistable states that the program adds to, and metrics of the batch.

    Attributes:
        states: variables that hold the sums since `reset`.
        metrics: variables of the current batch.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        self.states: list[Variable] = []
        self.metrics: list[Variable] = []
        self.helper = LayerHelper(name, **kwargs)

    def reset(self, executor: Any, reset_program: Program | None = None) -> None:
        """Set the states back to zero."""
        program = reset_program or Program()
        with program_guard(main_program=program):
            for state in self.states:
                twin = program.global_block()._clone_variable(state)
                layers.fill_constant(shape=list(twin.shape), value=0.0, dtype=twin.dtype, out=twin)
        executor.run(program)

    def eval(self, executor: object, eval_program: Program | None = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define eval()")

    def _create_state(self, suffix: str, dtype: DTypeLike, shape: Sequence[int]) -> Variable:
        name = "_".join([unique_name.generate(self.helper.name), suffix])
        state = self.helper.create_variable(name=name, persistable=True, dtype=dtype, shape=shape)
        self.helper.set_variable_initializer(state, Constant(value=0.0))
        self.states.append(state)
        return state

    def _values(self, executor: Any, eval_program: Program | None) -> list[Any]:
        """Return the states' values."""
        program = eval_program or Program()
        twins = [program.global_block()._clone_variable(state) for state in self.states]
        values: list[Any] = executor.run(program, fetch_list=twins)
        return values


class Accuracy(Evaluator):
    """Share of right predictions over all batches since `reset` (up to Fluid 0.12)."""

    def __init__(self, input: Variable, label: Variable, k: int = 1, **kwargs: Any) -> None:
        super().__init__("accuracy", **kwargs)
        self.total = self._create_state("total", "int64", [1])
        self.correct = self._create_state("correct", "int64", [1])
        total = self.helper.create_variable_for_type_inference("int32")
        correct = self.helper.create_variable_for_type_inference("int32")
        self.metrics.append(layers.accuracy(input=input, label=label, k=k, total=total, correct=correct))
        for state, count in ((self.total, total), (self.correct, correct)):
            layers.sums(input=[state, layers.cast(count, dtype="int64")], out=state)

    def eval(self, executor: object, eval_program: Program | None = None) -> Any:
        total, correct = (np.asarray(v, "float32") for v in self._values(executor, eval_program))
        if not total.any():
            raise ValueError("Accuracy.eval: there was no batch since reset()")
        return correct / total


class ChunkEvaluator(Evaluator):
    """Precision, recall and F1 of chunks over all batches since `reset`."""

    def __init__(
        self,
        input: Variable,
        label: Variable,
        chunk_scheme: str,
        num_chunk_types: int,
        excluded_chunk_types: Any = None,
    ) -> None:
        super().__init__("chunk_eval")
        names = ("num_infer_chunks", "num_label_chunks", "num_correct_chunks")
        states = [self._create_state(name, "int64", [1]) for name in names]
        precision, recall, f1, infer, labels, correct = layers.chunk_eval(
            input=input,
            label=label,
            chunk_scheme=chunk_scheme,
            num_chunk_types=num_chunk_types,
            excluded_chunk_types=excluded_chunk_types,
        )
        for state, count in zip(states, (infer, labels, correct)):
            layers.sums(input=[state, count], out=state)
        self.metrics += [precision, recall, f1]

    def eval(self, executor: object, eval_program: Program | None = None) -> tuple[Any, Any, Any]:
        infer, label, correct = (float(np.asarray(v).reshape(-1)[0]) for v in self._values(executor, eval_program))
        precision = correct / infer if infer else 0.0
        recall = correct / label if label else 0.0
        f1 = 2 * precision * recall / (precision + recall) if correct else 0.0
        return (np.array([precision], "float32"), np.array([recall], "float32"), np.array([f1], "float32"))


class EditDistance(Evaluator):
    """Mean edit distance and share of wrong sequences over all batches since `reset`."""

    def __init__(self, input: Variable, label: Variable, ignored_tokens: Any = None, **kwargs: Any) -> None:
        super().__init__("edit_distance", **kwargs)
        self.total_distance = self._create_state("total_distance", "float32", [1])
        self.seq_num = self._create_state("seq_num", "int64", [1])
        self.instance_error = self._create_state("instance_error", "int64", [1])
        distances, count = layers.edit_distance(input=input, label=label, ignored_tokens=ignored_tokens)
        zero = layers.fill_constant(shape=[1], value=0.0, dtype="float32")
        right = layers.cast(layers.equal(distances, zero), dtype="int64")
        wrong = layers.elementwise_sub(x=count, y=layers.reduce_sum(right))
        total = layers.reduce_sum(distances)
        layers.sums(input=[self.total_distance, total], out=self.total_distance)
        layers.sums(input=[self.seq_num, count], out=self.seq_num)
        layers.sums(input=[self.instance_error, wrong], out=self.instance_error)
        self.metrics += [total, wrong]

    def eval(self, executor: object, eval_program: Program | None = None) -> tuple[Any, Any]:
        total, count, wrong = (np.asarray(v, "float32") for v in self._values(executor, eval_program))
        if not count.any():
            raise ValueError("EditDistance.eval: there was no sequence since reset()")
        return total / count, wrong / count


class DetectionMAP(Evaluator):
    """Mean average precision of detections, of the batch and of all batches since `reset`."""

    def __init__(
        self,
        input: Variable,
        gt_label: Variable,
        gt_box: Variable,
        gt_difficult: Variable | None = None,
        class_num: int | None = None,
        background_label: int = 0,
        overlap_threshold: float = 0.5,
        evaluate_difficult: bool = True,
        ap_version: str = "integral",
    ) -> None:
        super().__init__("map_eval")
        label = layers.cast(x=gt_label, dtype=gt_box.dtype)
        parts = [label, gt_box]
        if gt_difficult is not None:
            parts.insert(1, layers.cast(x=gt_difficult, dtype=gt_box.dtype))
        truth = layers.concat(parts, axis=1)
        options: dict[str, Any] = {
            "overlap_threshold": overlap_threshold,
            "evaluate_difficult": evaluate_difficult,
            "ap_version": ap_version,
        }
        now = layers.detection_map(input, truth, class_num, background_label, **options)
        states = [
            self._create_state("accum_pos_count", "int32", [1]),
            self._create_state("accum_true_pos", "float32", [1]),
            self._create_state("accum_false_pos", "float32", [1]),
        ]
        self.has_state = self._create_state("has_state", "int32", [1])
        self.states.pop()  # not remove(): == of Variables appends an op
        overall = layers.detection_map(
            input,
            truth,
            class_num,
            background_label,
            has_state=self.has_state,
            input_states=states,
            out_states=states,
            **options,
        )
        layers.fill_constant(shape=[1], value=1, dtype="int32", out=self.has_state)
        self.cur_map = now
        self.accum_map = overall
        self.metrics += [now, overall]

    def get_map_var(self) -> tuple[Variable, Variable]:
        """Return the variables of the batch's and of the accumulated mAP."""
        return self.cur_map, self.accum_map

    def reset(self, executor: Any, reset_program: Program | None = None) -> None:
        """Forget the batches seen so far."""
        program = reset_program or Program()
        with program_guard(main_program=program):
            twin = program.global_block()._clone_variable(self.has_state)
            layers.fill_constant(shape=[1], value=0, dtype="int32", out=twin)
        executor.run(program)
