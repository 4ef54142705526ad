"""`PostTrainingQuantization`: quantize a trained model to int8, calibrated on some batches of data."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from fluidio.contrib.int8 import QUANTIZABLE
from fluidio.contrib.slim.activations import OUT_SCALE_OPS, AddQuantDequantPass, input_names, output_names
from fluidio.contrib.slim.calibration import AbsMax, Divergence, Measure, MinMax
from fluidio.contrib.slim.passes import QuantizationFreezePass, QuantizationTransformPass
from fluidio.io import DataLoader, load_inference_model, save_inference_model
from fluidio.log_helper import get_logger
from fluidio.places import CPUPlace
from fluidio.program import Program
from fluidio.program.ir_graph import Graph, IrGraph
from fluidio.tensor import Scope, global_scope, scope_guard

__all__ = ["PostTrainingQuantization"]

_WITH_WEIGHTS = QuantizationTransformPass._supported_quantizable_op_type
_WITHOUT = AddQuantDequantPass._supported_quantizable_op_type
_KNOWN = sorted({*_WITH_WEIGHTS, *_WITHOUT})


class PostTrainingQuantization:
    """Quantize a saved float32 model without training it again.

    Args:
        executor: runs the model on the data.
        scope: holds its variables; the global one by default.
        model_dir, model_filename, params_filename: the model, as in `load_inference_model`.
        batch_generator: yields batches, one array for each input; or
        sample_generator: yields samples, which are batched; a short last batch is left out.
        batch_nums: how many batches to use; None: all of them.
        algo: "KL" clips activations where their distribution changes least, "abs_max" at their largest value;
            "min_max" stores smallest and largest values as attributes of the ops and rounds nothing.
        quantizable_op_type: the types of ops; all that 1.8.5 knows with `is_full_quantize`.
        activation_quantize_type: "range_abs_max" and "moving_average_abs_max" store the ranges found; "abs_max"
            finds that of each batch when the quantized model runs.
        weight_quantize_type: one scale for a filter ("abs_max") or for each channel ("channel_wise_abs_max").
        is_use_cache_file: keep activations in files under `cache_dir` meanwhile, not in memory ("KL" only).
    """

    def __init__(
        self,
        executor: Any = None,
        scope: Scope | None = None,
        model_dir: str | os.PathLike[str] | None = None,
        model_filename: str | None = None,
        params_filename: str | None = None,
        batch_generator: Any = None,
        sample_generator: Any = None,
        batch_size: int = 10,
        batch_nums: int | None = None,
        algo: str = "KL",
        quantizable_op_type: Sequence[str] = QUANTIZABLE,
        is_full_quantize: bool = False,
        activation_bits: int = 8,
        weight_bits: int = 8,
        activation_quantize_type: str = "range_abs_max",
        weight_quantize_type: str = "channel_wise_abs_max",
        is_use_cache_file: bool = False,
        cache_dir: str | os.PathLike[str] = "./temp_post_training",
    ) -> None:
        _check(executor is not None, "PostTrainingQuantization: executor is None: pass a fluid.Executor")
        _check(model_dir is not None, "PostTrainingQuantization: model_dir is None: pass the folder of the model")
        _check(batch_size > 0, f"PostTrainingQuantization: batch_size must be above 0, got {batch_size}")
        _one_of("algo", algo, ["KL", "abs_max", "min_max"])
        activation_types = ["range_abs_max", "moving_average_abs_max", "abs_max"]
        _one_of("activation_quantize_type", activation_quantize_type, activation_types)
        _one_of("weight_quantize_type", weight_quantize_type, ["abs_max", "channel_wise_abs_max"])
        self._types = list(_KNOWN if is_full_quantize else quantizable_op_type)
        for kind in self._types:
            _one_of("quantizable_op_type", kind, _KNOWN)
        self._executor = executor
        self._scope = global_scope() if scope is None else scope
        self._model = (model_dir, executor, model_filename, params_filename)
        self._samples, self._batches = sample_generator, batch_generator
        self._batch_size, self._batch_nums = batch_size, batch_nums
        self._algo = algo
        self._weights = {"weight_bits": weight_bits, "weight_quantize_type": weight_quantize_type}
        self._activation_bits, self._activation_type = activation_bits, activation_quantize_type
        self._cache = cache_dir if is_use_cache_file else None
        if self._cache is not None:
            os.makedirs(self._cache, exist_ok=True)
        self._program: Program | None = None
        self._feeds: list[str] = []
        self._targets: list[Any] = []

    def quantize(self) -> Program:
        """Run the model on the data; return the quantized program, whose weights are in the scope."""
        program: Program
        with scope_guard(self._scope):
            program, self._feeds, self._targets = load_inference_model(*self._model)
            found = self._calibrate(program)
            if self._algo == "min_max":
                self._note_inputs(program, found)
            else:
                program = self._rounded(program, found)
            self._note_outputs(program, found)
        self._program = program
        return program

    def save_quantized_model(
        self,
        save_model_path: str | os.PathLike[str],
        model_filename: str | None = None,
        params_filename: str | None = None,
    ) -> None:
        """Save the quantized model, as `save_inference_model` does."""
        with scope_guard(self._scope):
            save_inference_model(
                save_model_path,
                self._feeds,
                self._targets,
                self._executor,
                self._program,
                model_filename,
                params_filename,
            )

    def _calibrate(self, program: Program) -> Measure:
        """Measure the weights once, and activations batch by batch."""
        kinds: dict[str, Measure] = {"KL": Divergence(self._cache), "abs_max": AbsMax(), "min_max": MinMax()}
        measure = kinds[self._algo]
        weights = {v.name for v in program.list_vars() if v.persistable}
        names: dict[str, None] = {}
        for op in program.global_block().ops:
            if op.type in self._types:
                names.update(dict.fromkeys([*input_names(op), *output_names(op)]))
            elif op.type in OUT_SCALE_OPS:
                names.update(dict.fromkeys(output_names(op)))
        for name in [name for name in names if name in weights]:
            measure.see_weight(name, np.array(self._scope.var(name).get_tensor()))
        watched = [name for name in names if name not in weights]
        log = get_logger(__name__, logging.INFO, fmt="%(asctime)s-%(levelname)s: %(message)s")
        count = 0
        for data in self._loader(program)():
            values = self._executor.run(program, feed=data, fetch_list=watched, return_numpy=False)
            for name, value in zip(watched, values, strict=True):
                measure.see(name, np.array(value))
            if count % 5 == 0:
                log.info("Calibrated with batch %d", count)
            count += 1
            if self._batch_nums and count >= self._batch_nums:
                break
        _check(
            count > 0,
            f"PostTrainingQuantization: the data gave no batch to calibrate with (batch_size is {self._batch_size})",
        )
        measure.finish()
        return measure

    def _loader(self, program: Program) -> Any:
        inputs = [program.global_block().var(name) for name in self._feeds]
        loader = DataLoader.from_generator(feed_list=inputs, capacity=3 * self._batch_size, iterable=True)
        if self._samples is not None:
            loader.set_sample_list_generator(self._full_batches, places=self._executor.place)
        elif self._batches is not None:
            loader.set_batch_generator(self._batches, places=self._executor.place)
        return loader

    def _full_batches(self) -> Iterator[list[Any]]:
        samples = iter(self._samples())
        while len(batch := list(islice(samples, self._batch_size))) == self._batch_size:
            yield batch

    def _rounded(self, program: Program, found: Measure) -> Program:
        graph = IrGraph(Graph(program.desc), for_test=True)
        scope, place = self._scope, self._executor.place
        kinds = [kind for kind in _WITH_WEIGHTS if kind in self._types]
        how: dict[str, Any] = {
            **self._weights,
            "activation_bits": self._activation_bits,
            "quantizable_op_type": kinds,
        }
        transform = QuantizationTransformPass(scope, place, activation_quantize_type=self._activation_type, **how)
        transform.apply(graph)
        others = [kind for kind in _WITHOUT if kind in self._types]
        AddQuantDequantPass(scope, place, quantizable_op_type=others).apply(graph)
        for name, value in found.activations("out_threshold").items():
            for scale in (f"{name}.scale", f"{name}.quant_dequant.scale"):
                variable = scope.find_var(scale)
                if variable is not None:
                    variable.get_tensor().set(np.array([value], np.float32), CPUPlace())
        QuantizationFreezePass(scope, place, **how).apply(graph)
        return graph.to_program()

    def _note_inputs(self, program: Program, found: Measure) -> None:
        for op in program.global_block().ops:
            if op.type in self._types:
                for name in input_names(op):
                    op._set_attr(f"{name}.min", found.of(name, "out_min"))
                    op._set_attr(f"{name}.max", found.of(name, "out_max"))

    def _note_outputs(self, program: Program, found: Measure) -> None:
        for op in program.global_block().ops:
            if op.type not in self._types and op.type not in OUT_SCALE_OPS:
                continue
            names = output_names(op)
            _check(
                len(names) == 1,
                f"op {op.type} must have one output to be quantized, it has {len(names)}: {', '.join(names)}",
            )
            for attribute in found.attributes:
                op._set_attr(attribute, found.of(names[0], attribute))
            if op.type in self._types:
                op._set_attr("quantization_type", f"post_{self._algo.lower()}")


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _one_of(argument: str, value: str, known: Sequence[str]) -> None:
    _check(value in known, f"{argument} must be one of {', '.join(map(str, known))}, got {value!r}")
