"""`contrib.slim.distillation`: losses that let a network learn from the values of another one in the same program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.contrib.slim.graph import GraphWrapper
from fluidio.layers import cross_entropy, fsp_matrix, reduce_mean, softmax, square, sums
from fluidio.program import Program, Variable, program_guard

__all__ = [
    "FSPDistiller",
    "FSPDistillerPass",
    "L2Distiller",
    "L2DistillerPass",
    "SoftLabelDistiller",
    "SoftLabelDistillerPass",
]

Pairs = Sequence[Sequence[str]]


class _Pass:
    """Adds a loss to a graph, and to the "loss" among its out_nodes."""

    def __init__(self, distillation_loss_weight: float) -> None:
        self.distillation_loss_weight = distillation_loss_weight

    def apply(self, graph: GraphWrapper) -> GraphWrapper:
        """Append the loss to the graph's program and name it in `out_nodes`."""
        with program_guard(graph.program, Program()):
            key, loss = self._loss(graph)
            weighted = loss * self.distillation_loss_weight
            total = weighted
            if "loss" in graph.out_nodes:
                total = weighted + _var(graph, graph.out_nodes["loss"])
        graph.out_nodes["loss"], graph.out_nodes[key] = total.name, weighted.name
        return graph

    def _loss(self, graph: GraphWrapper) -> tuple[str, Variable]:
        raise NotImplementedError


class L2DistillerPass(_Pass):
    """The mean squared difference of two feature maps."""

    def __init__(self, student_feature_map: str, teacher_feature_map: str, distillation_loss_weight: float = 1) -> None:
        super().__init__(distillation_loss_weight)
        self.student_feature_map, self.teacher_feature_map = student_feature_map, teacher_feature_map

    def _loss(self, graph: GraphWrapper) -> tuple[str, Variable]:
        ours, theirs = _var(graph, self.student_feature_map), _var(graph, self.teacher_feature_map)
        key = f"l2loss_{self.student_feature_map}_{self.teacher_feature_map}"
        return key, reduce_mean(square(ours - theirs))


class FSPDistillerPass(_Pass):
    """The squared differences of the flows between layers."""

    def __init__(self, s_pairs: Pairs, t_pairs: Pairs, distillation_loss_weight: float = 1) -> None:
        super().__init__(distillation_loss_weight)
        self.s_pairs, self.t_pairs = s_pairs, t_pairs

    def _loss(self, graph: GraphWrapper) -> tuple[str, Variable]:
        losses = []
        for student, teacher in zip(self.s_pairs, self.t_pairs):
            ours = fsp_matrix(_var(graph, student[0]), _var(graph, student[1]))
            theirs = fsp_matrix(_var(graph, teacher[0]), _var(graph, teacher[1]))
            losses.append(reduce_mean(square(ours - theirs)))
        return "fsp_distillation_loss", sums(losses)


class SoftLabelDistillerPass(_Pass):
    """The cross entropy of two feature maps as probabilities, each at its temperature."""

    def __init__(
        self,
        student_feature_map: str,
        teacher_feature_map: str,
        student_temperature: float,
        teacher_temperature: float,
        distillation_loss_weight: float = 1,
    ) -> None:
        super().__init__(distillation_loss_weight)
        self.student_feature_map, self.teacher_feature_map = student_feature_map, teacher_feature_map
        self.student_temperature, self.teacher_temperature = student_temperature, teacher_temperature

    def _loss(self, graph: GraphWrapper) -> tuple[str, Variable]:
        ours = softmax(_var(graph, self.student_feature_map) / self.student_temperature)
        theirs = softmax(_var(graph, self.teacher_feature_map) / self.teacher_temperature)
        theirs.stop_gradient = True
        key = f"soft_label_loss_{self.student_feature_map}_{self.teacher_feature_map}"
        return key, reduce_mean(cross_entropy(ours, theirs, soft_label=True))


def _var(graph: GraphWrapper, name: str) -> Variable:
    return graph.program.global_block().var(name)


class _Distiller:
    def __init__(self, made: _Pass) -> None:
        self._pass = made
        self.distillation_loss_weight = made.distillation_loss_weight

    def distiller_loss(self, graph: GraphWrapper) -> GraphWrapper:
        """Append the loss to a graph that holds both networks."""
        return self._pass.apply(graph)


class L2Distiller(_Distiller):
    """Let a feature map of the student come close to one of the teacher."""

    def __init__(self, student_feature_map: str, teacher_feature_map: str, distillation_loss_weight: float = 1) -> None:
        super().__init__(L2DistillerPass(student_feature_map, teacher_feature_map, distillation_loss_weight))
        self.student_feature_map, self.teacher_feature_map = student_feature_map, teacher_feature_map


class FSPDistiller(_Distiller):
    """Let the flow between layers of the student come close to the teacher's."""

    def __init__(self, student_pairs: Pairs, teacher_pairs: Pairs, distillation_loss_weight: float = 1) -> None:
        super().__init__(FSPDistillerPass(student_pairs, teacher_pairs, distillation_loss_weight))
        self.student_pairs, self.teacher_pairs = student_pairs, teacher_pairs


class SoftLabelDistiller(_Distiller):
    """Let the student's probabilities come close to the teacher's."""

    def __init__(
        self,
        student_feature_map: Any = None,
        teacher_feature_map: Any = None,
        student_temperature: float = 1.0,
        teacher_temperature: float = 1.0,
        distillation_loss_weight: float = 1,
    ) -> None:
        super().__init__(
            SoftLabelDistillerPass(
                student_feature_map,
                teacher_feature_map,
                student_temperature,
                teacher_temperature,
                distillation_loss_weight,
            )
        )
        self.student_feature_map, self.teacher_feature_map = student_feature_map, teacher_feature_map
        self.student_temperature, self.teacher_temperature = student_temperature, teacher_temperature
