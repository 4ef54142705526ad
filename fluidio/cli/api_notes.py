"""What `fluidio apis` knows beyond the objects themselves: owners of methods, names that raise, names that differ."""

from __future__ import annotations

__all__ = ["DIFFERS", "METHODS", "RAISES"]

METHODS = {
    ".all_parameters": "fluid.Program.all_parameters",
    ".append_op": "fluid.framework.Block.append_op",
    ".append_tensor": "fluid.core.RecordIOWriter.append_tensor",
    ".apply_gradients": "fluid.optimizer.Optimizer.apply_gradients",
    ".clone": "fluid.Program.clone",
    ".complete_append_tensor": "fluid.core.RecordIOWriter.complete_append_tensor",
    ".create_parameter": "fluid.layer_helper.LayerHelper.create_parameter",
    ".create_var": "fluid.framework.Block.create_var",
    ".current_block": "fluid.Program.current_block",
    ".decorate_batch_generator": "fluid.io.PyReader.decorate_batch_generator",
    ".decorate_paddle_reader": "fluid.io.PyReader.decorate_paddle_reader",
    ".decorate_reader": "fluid.DataFeeder.decorate_reader",
    ".decorate_sample_generator": "fluid.io.PyReader.decorate_sample_generator",
    ".decorate_sample_list_generator": "fluid.io.PyReader.decorate_sample_list_generator",
    ".decorate_tensor_provider": "fluid.io.PyReader.decorate_tensor_provider",
    ".feed_parallel": "fluid.DataFeeder.feed_parallel",
    ".find_var": "fluid.Scope.find_var",
    ".get_pserver_program": "fluid.DistributeTranspiler.get_pserver_program",
    ".get_startup_program": "fluid.DistributeTranspiler.get_startup_program",
    ".get_tensor": "fluid.tensor.ScopeVariable.get_tensor",
    ".get_trainer_program": "fluid.DistributeTranspiler.get_trainer_program",
    ".global_block": "fluid.Program.global_block",
    ".list_vars": "fluid.Program.list_vars",
    ".minimize": "fluid.optimizer.Optimizer.minimize",
    ".recursive_sequence_lengths": "fluid.LoDTensor.recursive_sequence_lengths",
    ".reset": "fluid.io.PyReader.reset",
    ".run": "fluid.Executor.run",
    ".set_batch_generator": "fluid.io.PyReader.decorate_batch_generator",
    ".set_lod": "fluid.LoDTensor.set_lod",
    ".set_recursive_sequence_lengths": "fluid.LoDTensor.set_recursive_sequence_lengths",
    ".set_sample_generator": "fluid.io.PyReader.decorate_sample_generator",
    ".set_sample_list_generator": "fluid.io.PyReader.decorate_sample_list_generator",
    ".start": "fluid.io.PyReader.start",
    ".static_input": "fluid.layers.DynamicRNN.static_input",
    ".step_input": "fluid.layers.DynamicRNN.step_input",
    ".step_output": "fluid.layers.StaticRNN.step_output",
    ".transpile": "fluid.DistributeTranspiler.transpile",
    ".update_memory": "fluid.layers.DynamicRNN.update_memory",
    ".with_data_parallel": "fluid.CompiledProgram.with_data_parallel",
}
"""Methods appear in scripts without their class; these are their classes."""

_INTERNAL = "an internal of Fluid's own code and tests"
_PADDLE2 = "Paddle 2.x, not Fluid"
_TYPO = "a misspelling in one program"

RAISES = {
    ".get_pserver_program": "there are no parameter servers: run the trainer's role alone",
    "fluid.contrib.utils.*": "HDFS is not supported: copy the files first",
    "fluid.load_op_library": "compiled C++ ops cannot run here: use layers.py_func",
    "fluid.CleanupFuncRegistrar.register": _INTERNAL,
    "fluid.DataLoaderBase": _INTERNAL,
    "fluid.GeneratorLoader._check_input_array": _INTERNAL,
    "fluid.core.Dataset": _INTERNAL,
    "fluid.core.Fleet": _INTERNAL,
    "fluid.core._set_process_pids": _INTERNAL,
    "fluid.core._set_process_signal_handler": _INTERNAL,
    "fluid.core._throw_error_if_process_failed": _INTERNAL,
    "fluid.defaul_main_program": _TYPO,
    "fluid.executor._as_lodtensor": _INTERNAL,
    "fluid.keep_data_loader_order": _INTERNAL,
    "fluid.layer_helper_base.LayerHelperBase._create_parameter": _INTERNAL,
    "fluid.layer_helper_base.LayerHelperBase.create_parameter": _INTERNAL,
    "fluid.multiprocess_queue_set.add": _INTERNAL,
    "fluid.optimizer.Optimizer._backward": _INTERNAL,
    "fluid.reader._cleanup": _INTERNAL,
    "paddle.fliud.layers.double_buffer": _TYPO,
    "paddle.fliud.layers.open_files": _TYPO,
    "paddle.fliud.layers.read_file": _TYPO,
}
"""Names that exist only to say what to use instead, or are absent on purpose."""

DIFFERS = {
    "fluid.contrib.slim.*": "all but the strategies that prune a network or search for one",
    "fluid.core._set_eager_deletion_mode": "accepted; values are freed after their last use anyway",
    "fluid.set_flags": "flags are kept and have no effect",
}
"""Names that behave differently from Fluid and whose docstring does not say so in a line "Fluid: ..."."""
