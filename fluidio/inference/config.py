"""A predictor's configuration: where its model is; options about speed are stored without effect."""

from __future__ import annotations

import enum
from typing import Any

from fluidio.errors import not_supported

__all__ = ["AnalysisConfig", "NativeConfig"]


class NativeConfig:
    """A model folder, or a program file and a file of parameters."""

    def __init__(self) -> None:
        self.model_dir = ""
        self.prog_file = ""
        self.param_file = ""
        self.use_gpu = False
        self.device = 0
        self.fraction_of_gpu_memory = -1.0
        self.specify_input_name = False
        self._threads = 1

    def cpu_math_library_num_threads(self) -> int:
        return self._threads

    def set_cpu_math_library_num_threads(self, threads: int) -> None:
        self._threads = threads

    def _paths(self) -> tuple[str, str, str]:
        return self.model_dir, self.prog_file, self.param_file

    def _device(self) -> int | None:
        return self.device if self.use_gpu else None

    def _takes_names(self) -> bool:
        return self.specify_input_name


class AnalysisConfig:
    """A model folder, or a program file and a file of parameters, with switches.

    Fluid: the switches selected graph passes and libraries (MKL-DNN, TensorRT) of the C++ library; here the program
    runs unchanged, with the same outputs.
    """

    class Precision(enum.IntEnum):
        """Precisions of TensorRT."""

        Float32 = 0
        Int8 = 1
        Half = 2

    def __init__(self, model_dir: Any = "", params_file: str = "") -> None:
        if isinstance(model_dir, AnalysisConfig):
            self.__dict__.update(model_dir.__dict__)
            return
        self._model_dir = self._prog_file = self._params_file = ""
        self._gpu: int | None = None
        self._pool_mb = 100
        self._names = False
        self._feed_fetch = True
        self._ir_optim = True
        self._threads = 1
        self.set_model(model_dir, params_file)

    def set_model(self, model_dir: str, params_file: str = "") -> None:
        """Take a folder, or with a second argument a program file and a file of parameters."""
        if params_file:
            self._model_dir, self._prog_file, self._params_file = "", model_dir, params_file
        else:
            self._model_dir = model_dir

    def set_prog_file(self, path: str) -> None:
        self._prog_file = path

    def set_params_file(self, path: str) -> None:
        self._params_file = path

    def model_dir(self) -> str:
        return self._model_dir

    def prog_file(self) -> str:
        return self._prog_file

    def params_file(self) -> str:
        return self._params_file

    def enable_use_gpu(self, memory_pool_init_size_mb: int = 100, device_id: int = 0) -> None:
        self._gpu = device_id
        self._pool_mb = memory_pool_init_size_mb

    def disable_gpu(self) -> None:
        self._gpu = None

    def use_gpu(self) -> bool:
        return self._gpu is not None

    def gpu_device_id(self) -> int:
        return self._gpu or 0

    def switch_specify_input_names(self, x: bool = True) -> None:
        self._names = x

    def specify_input_name(self) -> bool:
        return self._names

    def switch_use_feed_fetch_ops(self, x: int = True) -> None:
        self._feed_fetch = bool(x)

    def use_feed_fetch_ops_enabled(self) -> bool:
        return self._feed_fetch

    def switch_ir_optim(self, x: int = True) -> None:
        self._ir_optim = bool(x)

    def ir_optim(self) -> bool:
        return self._ir_optim

    def switch_ir_debug(self, x: int = True) -> None:
        """Do nothing: there are no passes to draw."""

    def set_cpu_math_library_num_threads(self, threads: int) -> None:
        self._threads = threads

    def cpu_math_library_num_threads(self) -> int:
        return self._threads

    def enable_memory_optim(self, *_: object, **__: object) -> None:
        """Do nothing: values are freed after their last use."""

    def enable_mkldnn(self) -> None:
        """Do nothing: NumPy's own library is used."""

    def set_mkldnn_op(self, ops: object) -> None:
        """Do nothing: NumPy's own library is used."""

    def set_mkldnn_cache_capacity(self, capacity: int = 0) -> None:
        """Do nothing: NumPy's own library is used."""

    def delete_pass(self, name: str) -> None:
        """Do nothing: the program runs unchanged."""

    def disable_glog_info(self) -> None:
        """Do nothing: nothing is printed."""

    def enable_profile(self) -> None:
        """Do nothing: use fluid.profiler."""

    def enable_tensorrt_engine(self, *_: object, **__: object) -> None:
        not_supported("AnalysisConfig.enable_tensorrt_engine", "leave it out; the model runs on NumPy or CuPy")

    def tensorrt_engine_enabled(self) -> bool:
        return False

    def mkldnn_enabled(self) -> bool:
        return False

    def memory_pool_init_size_mb(self) -> int:
        return self._pool_mb

    def _paths(self) -> tuple[str, str, str]:
        return self._model_dir, self._prog_file, self._params_file

    def _device(self) -> int | None:
        return self._gpu

    def _takes_names(self) -> bool:
        return self._names
