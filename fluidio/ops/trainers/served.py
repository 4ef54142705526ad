"""Load on the first trainer the model that a script loads on parameter servers, which hold nothing here."""

from __future__ import annotations

import os
import warnings

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.program.consent import inside
from fluidio.recordio.format.compressors import CodecError
from fluidio.recordio.format.tensor_codec import decode_tensor
from fluidio.tensor.array import Array

__all__ = ["served_values"]


def served_values(k: Call, folder: str, values: list[Array]) -> list[Array]:
    """Return the values of the inputs X, replaced by those saved in a folder ("" for none).

    Fluid's servers did not save learning rates, and older ones no accumulators: a warning names missing values.
    """
    if not folder:
        return values
    names = k.op.input("X")
    _refuse_divided_tables(k, folder)
    missing = [name for name in names if not os.path.isfile(inside(folder, name))]
    if len(missing) == len(names):
        raise EnforceNotMet(
            f"the parameter servers loaded {folder}, but the first trainer, which has to read the parameters "
            "here, finds none of them in a folder of that name: put the folder where both can read it"
        )
    if missing:
        warnings.warn(
            f"{folder}, loaded on the parameter servers, has no {', '.join(missing)}: they keep the values of "
            "the startup program",
            stacklevel=2,
        )
    return [
        value if name in missing else k.dev.upload(_read(inside(folder, name), value))
        for name, value in zip(names, values)
    ]


def _read(path: str, value: Array) -> Array:
    with open(path, "rb") as file:
        try:
            found, _, _ = decode_tensor(file.read(), 0)
        except CodecError as error:
            raise EnforceNotMet(f"{path}: {error}; the file is damaged or cut") from None
    if (found.shape, found.dtype) != (value.shape, value.dtype):
        raise EnforceNotMet(
            f"{path}, loaded on the parameter servers, holds {found.dtype} of shape {found.shape}; the program has "
            f"{value.dtype} of shape {tuple(value.shape)}"
        )
    return found


def _refuse_divided_tables(k: Call, folder: str) -> None:
    divided = [name for op in k.op.block.ops if op.type == "divide_table" for name in op.output_arg_names]
    found = [name for name in divided if os.path.isfile(inside(folder, name))]
    if found:
        raise EnforceNotMet(
            f"{folder} was loaded on the parameter servers, but {', '.join(found)} is divided among the "
            "trainers: load it in the trainers, with fluid.io.load_persistables after the startup program"
        )
