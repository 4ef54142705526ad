"""Write a saved model as an ONNX file: convert it, check it, compare it with fluidio, then move it into place."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fluidio.errors import ModelError
from fluidio.models.onnx.export import onnx_package, to_onnx
from fluidio.models.onnx.verify import Comparison, can_verify, compare
from fluidio.models.open_model import Model
from fluidio.models.running import inference_program
from fluidio.ops.io.whole_files import saving_together, write_whole

__all__ = ["Exported", "export_onnx"]

_LARGEST = 1_900_000_000  # a protobuf message is limited to 2 GiB; larger data go to a separate file


@dataclass
class Exported:
    """What was written."""

    path: str
    nodes: int
    inputs: list[str]
    outputs: list[str]
    compared: list[Comparison] = field(default_factory=list)
    not_compared: str = ""


def export_onnx(
    model: Model,
    path: str,
    *,
    feeds: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    verify: bool | None = None,
    tell: Callable[[int], None] = lambda size: None,
) -> Exported:
    """Write a model as ONNX; the file appears once it is complete, checked and compared.

    Args:
        feeds, targets: names of variables; by default those the model was saved with.
        verify: compare with fluidio on random inputs; None does so if onnxruntime is installed.

    Raises:
        ModelError: with one line for each op that ONNX cannot express, or each output that differs.
    """
    onnx = onnx_package()
    damage = [line for line in model.problems if "no file holds it" not in line]
    if damage:
        raise ModelError(f"{model.path}: cannot be used", damage)
    program, given, wanted = inference_program(model, feeds, targets)

    def parameter(name: str) -> Any:
        tensor = model.tensors.get(name)
        if tensor is None:
            return None
        tell(tensor.nbytes)
        return tensor.array()

    proto = to_onnx(program, given, wanted, parameter, model.path)
    small = proto.ByteSize() < _LARGEST
    if small:
        onnx.checker.check_model(proto)
    ends = [value.name for value in proto.graph.input], [value.name for value in proto.graph.output]
    done = Exported(path, len(proto.graph.node), *ends)
    if verify is None:
        verify = can_verify() and small
        done.not_compared = "" if verify else "onnxruntime is not installed" if small else "the model is too large"
    if verify:
        done.compared, done.not_compared = compare(model, proto, given, wanted)
        wrong = [each.text for each in done.compared if not each.agrees]
        if wrong:
            raise ModelError(f"{path}: not written, ONNX Runtime and fluidio differ", wrong)
    _write(proto, path, small)
    return done


def _write(proto: Any, path: str, small: bool) -> None:
    if small:
        with write_whole(path) as file:
            file.write(proto.SerializeToString())
        return
    folder, name = os.path.split(path)
    with saving_together(folder, name):
        with write_whole(os.path.join(folder, f"{name}.data")) as file:
            _move_data(proto, file, f"{name}.data")
        with write_whole(path) as file:
            file.write(proto.SerializeToString())


def _move_data(proto: Any, file: Any, location: str) -> None:
    """Write the data of large tensors to a file and reference it from the model."""
    onnx = onnx_package()
    offset = 0
    for tensor in proto.graph.initializer:
        if len(tensor.raw_data) < 1024:
            continue
        file.write(tensor.raw_data)
        size = len(tensor.raw_data)
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", location), ("offset", str(offset)), ("length", str(size))):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, value
        offset += size
