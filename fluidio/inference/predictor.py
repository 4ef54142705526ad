"""A predictor: a loaded inference model with its own scope."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.executor import Executor
from fluidio.inference.config import AnalysisConfig, NativeConfig
from fluidio.inference.tensors import PaddleDType, PaddleTensor, dtype_of
from fluidio.io import load_inference_model
from fluidio.places import CPUPlace, CUDAPlace
from fluidio.program.proto import serialize_program
from fluidio.tensor import LoDTensor, Scope, scope_guard
from fluidio.tensor.array import Array

__all__ = ["PaddlePredictor", "create_paddle_predictor"]


class _Port:
    """An input or output by name: `copy_from_cpu`, `copy_to_cpu`."""

    def __init__(self, tensors: dict[str, LoDTensor], name: str) -> None:
        self._tensor = tensors.setdefault(name, LoDTensor())

    def copy_from_cpu(self, array: Array) -> None:
        self._tensor.set(np.asarray(array))

    def copy_to_cpu(self) -> Any:
        return np.array(self._tensor)

    def reshape(self, shape: Sequence[int]) -> None:
        self._tensor._set_dims(shape)

    def set_lod(self, lod: Any) -> None:
        self._tensor.set_lod(lod)

    def lod(self) -> Any:
        return self._tensor.lod()

    def shape(self) -> list[int]:
        return self._tensor.shape()

    def type(self) -> PaddleDType:
        return dtype_of(np.array(self._tensor))


class PaddlePredictor:
    """Runs an inference model; made by `create_paddle_predictor`."""

    def __init__(self, config: NativeConfig | AnalysisConfig) -> None:
        self._config = config
        device = config._device()
        self._exe = Executor(CPUPlace() if device is None else CUDAPlace(device))
        self._scope = Scope()
        folder, program_file, params_file = config._paths()
        if program_file:
            folder = folder or os.path.dirname(program_file) or "."
            if params_file and os.path.dirname(params_file) not in ("", os.path.dirname(program_file)):
                raise ValueError(f"the program and the parameters must be in one folder: {program_file}, {params_file}")
        with scope_guard(self._scope):
            self._program, self._feeds, self._targets = load_inference_model(
                folder, self._exe, program_file or None, params_file or None
            )
        self._in: dict[str, LoDTensor] = {}
        self._out: dict[str, LoDTensor] = {}

    def get_input_names(self) -> list[str]:
        return list(self._feeds)

    def get_output_names(self) -> list[str]:
        return [target.name for target in self._targets]

    def get_input_tensor_shape(self) -> dict[str, list[int]]:
        """Return the declared dims of each input; -1 is open."""
        block = self._program.global_block()
        return {name: list(block.var(name).shape) for name in self._feeds}

    def get_serialized_program(self) -> bytes:
        return serialize_program(self._program)

    def run(self, inputs: Sequence[PaddleTensor]) -> list[PaddleTensor]:
        """Run on a list of tensors in the order of the inputs, or by name with `switch_specify_input_names`."""
        if len(inputs) != len(self._feeds):
            raise ValueError(f"the model takes {len(self._feeds)} inputs, {', '.join(self._feeds)}; got {len(inputs)}")
        feed = {}
        for name, tensor in zip(self._named([tensor.name for tensor in inputs]), inputs):
            feed[name] = LoDTensor()
            feed[name].set(tensor.as_ndarray())
            if tensor.lod:
                feed[name].set_lod([list(level) for level in tensor.lod])
        found = self._execute(feed)
        return [PaddleTensor(np.array(t), name, t.lod()) for name, t in zip(self.get_output_names(), found)]

    def _named(self, given: list[str]) -> list[str]:
        """Return the input that each tensor is for."""
        feeds: list[str] = list(self._feeds)
        is_permuted = sorted(given) == sorted(feeds)
        if self._config._takes_names() and len(feeds) > 1 and any(given):
            if not is_permuted:
                names = ", ".join(map(repr, given))
                raise ValueError(f"the tensors are named {names}; the model takes {', '.join(feeds)}")
            return given
        if is_permuted and given != feeds:
            warnings.warn(
                f"the tensors are named {', '.join(given)} and taken by their position for {', '.join(feeds)}, as in "
                "1.8.5; config.switch_specify_input_names() takes them by name",
                stacklevel=3,
            )
        return feeds

    def get_input_tensor(self, name: str) -> _Port:
        """Return the input to copy into before `zero_copy_run`."""
        if name not in self._feeds:
            raise ValueError(f"the model has no input {name!r}; it has {', '.join(self._feeds)}")
        return _Port(self._in, name)

    def get_output_tensor(self, name: str) -> _Port:
        """Return the output to copy from after `zero_copy_run`."""
        if name not in self.get_output_names():
            raise ValueError(f"the model has no output {name!r}; it has {', '.join(self.get_output_names())}")
        return _Port(self._out, name)

    def zero_copy_run(self) -> None:
        """Run on what was copied into the inputs."""
        found = self._execute(dict(self._in))
        for name, tensor in zip(self.get_output_names(), found):
            port = self._out.setdefault(name, LoDTensor())
            port.array, port.levels = np.array(tensor), tensor.levels

    def _execute(self, feed: dict[str, LoDTensor]) -> list[LoDTensor]:
        with scope_guard(self._scope):
            found: list[LoDTensor] = self._exe.run(
                self._program, feed=feed, fetch_list=self._targets, return_numpy=False
            )
        return found

    def clone(self) -> PaddlePredictor:
        """Return another predictor of the same model."""
        return PaddlePredictor(self._config)


def create_paddle_predictor(config: NativeConfig | AnalysisConfig) -> PaddlePredictor:
    """Load the model of a config."""
    if not isinstance(config, (NativeConfig, AnalysisConfig)):
        raise TypeError(f"create_paddle_predictor takes a NativeConfig or AnalysisConfig, got {type(config).__name__}")
    return PaddlePredictor(config)
