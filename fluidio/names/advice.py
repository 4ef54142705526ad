"""What to use in place of Fluid names that fluidio lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fluidio.names.missing_layers import MISSING_LAYERS

__all__ = ["ADVICE", "FAMILIES", "advice_for", "family_of"]

_STATIC = "fluidio runs static programs: build one with fluid.program_guard and run it with fluid.Executor"
_LOADER = "feed the program with fluid.io.DataLoader.from_generator or layers.py_reader"
_INFERENCE = "fluid.io.load_inference_model and fluid.Executor, or fluid.core.create_paddle_predictor"
_OWN = "write it in Python with layers.py_func, forward and backward"
_HDFS = "copy the files with `hadoop fs -get`, or read them through fsspec"
_ONE = "fluid.DistributeTranspiler and fleet train on many machines; docs/distributed.md says how to start them"
_PSLIB = (
    "it works on parameter servers of a closed library; "
    "paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler has a fleet with the same methods"
)
_TRAIN = "exe.train_from_dataset with fluid.DatasetFactory, or fetch with exe.run(fetch_list=...)"
_SLIM = "shrink the saved float32 network with another tool"
_GRAPH = "work on the Program: program.blocks, block.ops, block.vars"
_DRAW = "print(program), or fluid.debugger.draw_block_graphviz"
_IMAGES = "paddle.dataset.image or paddle.utils.image_util read, scale and crop pictures"
_PADDLE = (
    "it answers to Fluid 0.12 - 1.8 (paddle.fluid.*, paddle.batch, paddle.reader, paddle.dataset); "
    "Paddle 2.x names are not part of it"
)
_V2 = "the v2 layer API is older than Fluid; port the network to fluid.layers"

ADVICE: dict[str, dict[str, str]] = {
    "fluid": {
        "ComplexVariable": "keep real and imaginary part in two variables",
        "dygraph_grad_clip": _STATIC,
        "monkey_patch_variable": "variables have their operators already",
    },
    "fluid.contrib": {
        "convert_dist_to_sparse_program": _ONE,
        "load_persistables_for_increment": "fluid.io.load_persistables",
        "load_persistables_for_inference": "fluid.io.load_persistables",
        "multi_download": _HDFS,
        "multi_upload": _HDFS,
    },
    "fluid.layers": MISSING_LAYERS,
}
"""Module -> name -> what to use; it holds for the modules below, too."""

FAMILIES = {
    "fluid": "it is internal to Fluid; programs work on fluid.Program, fluid.layers and fluid.Executor",
    "fluid.communicator": _ONE,
    "fluid.concurrency": "channels and Go blocks were given up after Fluid 0.14; use Python threads around the readers",
    "fluid.contrib.quantize": _SLIM,
    "fluid.contrib.slim": _SLIM,
    "fluid.contrib.utils": _HDFS,
    "fluid.core": "it is part of the C++ core; programs work on fluid.Program and fluid.Executor",
    "fluid.data_feed_desc": _LOADER,
    "fluid.dataloader": "fluid.io.DataLoader reads with worker threads and processes",
    "fluid.debugger": _DRAW,
    "fluid.device_worker": _TRAIN,
    "fluid.distribute_lookup_table": _ONE,
    "fluid.distributed": _ONE,
    "fluid.distributed.downpour": _PSLIB,
    "fluid.distributed.node": _PSLIB,
    "fluid.dygraph": _STATIC,
    "fluid.dygraph_utils": _STATIC,
    "fluid.graphviz": _DRAW,
    "fluid.imperative": _STATIC,
    "fluid.incubate.fleet": _ONE,
    "fluid.incubate.fleet.parameter_server.pslib": _PSLIB,
    "fluid.incubate.fleet.utils.fleet_util": _PSLIB,
    "fluid.incubate.fleet.utils.hdfs": _HDFS,
    "fluid.layers": _OWN,
    "fluid.multiprocess_utils": "fluid.io.DataLoader ends its workers itself",
    "fluid.net_drawer": _DRAW,
    "fluid.op": "block.append_op builds an op; fluidio.ops.OP_TABLE describes all of them",
    "fluid.trainer_desc": _TRAIN,
    "fluid.trainer_factory": _TRAIN,
    "fluid.transpiler": "fluid.DistributeTranspiler makes a program one of many trainers",
    "paddle": _PADDLE,
    "paddle.complex": "keep real and imaginary part in two variables",
    "paddle.dataset": "paddle.dataset.common.download fetches files; the readers of each data set are in its module",
    "paddle.distributed": _ONE,
    "paddle.incubate": _PADDLE,
    "paddle.utils": _IMAGES,
    "paddle.v2": "of paddle.v2 only batch, dataset, image, init, plot and reader are here",
    **{
        f"paddle.v2.{name}": _V2
        for name in (
            "activation",
            "event",
            "infer",
            "inference",
            "layer",
            "networks",
            "optimizer",
            "parameters",
            "trainer",
        )
    },
    "recordio": "recordio.reader(path) and recordio.writer(path)",
}
"""What to use for any name of Fluid in a module or below, where no advice names it; the nearest module counts."""


def advice_for(places: Iterable[tuple[str, str]], *, is_known: bool) -> str | None:
    """Return what to use in place of a name, given every (module, name) under which Fluid had it.

    Args:
        is_known: Fluid had the name, so the advice for its family applies.
    """
    for key, name in places:
        for above in _upwards(key):
            if name in ADVICE.get(above, {}):
                return ADVICE[above][name]
    if not is_known:
        return None
    found = (family_of(f"{key}.{name}") for key, name in reversed(list(places)))
    return next(filter(None, found), None)  # every module of the table has a family


def family_of(key: str) -> str | None:
    """Return what to use in place of a module or its contents."""
    return next((FAMILIES[above] for above in _upwards(key) if above in FAMILIES), None)


def _upwards(key: str) -> Iterator[str]:
    """Return a module and its parents, nearest first."""
    while key:
        yield key
        key = key.rpartition(".")[0]
