"""MosaicML Streaming: MDS shards, read in order in this process."""

import shutil
import sys
from importlib.machinery import ModuleSpec
from unittest.mock import MagicMock

# Its picture datasets, which are not used here, want the torchvision of PyTorch's CUDA build.
for name in ("torchvision", "torchvision.datasets", "torchvision.transforms", "torchvision.transforms.functional"):
    sys.modules[name] = MagicMock(__spec__=ModuleSpec(name, None))
sys.modules["torchvision.datasets"].VisionDataset = object

import torch
from shared import BATCH, W1_COUNT, W1_RECORD, Sink, case, main, w1_samples, w2_arrays
from streaming import MDSWriter, StreamingDataset
from torch.utils.data import DataLoader

torch.set_num_threads(1)
COLUMNS = {"w1": {"x": "ndarray:float32:784", "y": "ndarray:int64:1"}, "w2": {"x": "bytes", "y": "int"}}


def _path(run, workload):
    return run.path("mosaicml", workload)


def _write(path, workload, samples):
    shutil.rmtree(path, ignore_errors=True)
    with MDSWriter(out=path, columns=COLUMNS[workload], size_limit=1 << 26) as writer:
        for x, y in samples:
            writer.write({"x": x, "y": y})


def _blobs(folder):
    data, offsets, labels = w2_arrays(folder)
    for index, label in enumerate(labels):
        yield data[offsets[index] : offsets[index + 1]].tobytes(), int(label)


@case("prep", "all")
def prep(run):
    _write(_path(run, "w1"), "w1", w1_samples(run.folder))
    _write(_path(run, "w2"), "w2", _blobs(run.folder))


def _blob_list(samples):
    return {"x": [sample["x"] for sample in samples], "y": torch.tensor([sample["y"] for sample in samples])}


@case("w1", "in_order")
@case("w2", "in_order")
def read(run):
    size, sink = BATCH[run.workload], Sink(run)
    use = getattr(sink, run.workload)
    data = StreamingDataset(local=_path(run, run.workload), batch_size=size, shuffle=False)
    loader = DataLoader(data, size, collate_fn=_blob_list if run.workload == "w2" else None)
    with run.timed():
        for batch in loader:
            use(batch["x"], batch["y"])
    return sink.done()


@case("w4", "generator")
def w4(run):
    with run.timed():
        _write(_path(run, "w4"), "w1", w1_samples(run.folder))
    return {"records": W1_COUNT, "bytes": W1_COUNT * W1_RECORD}


if __name__ == "__main__":
    main("mosaicml")
