"""WebDataset: tar files of samples."""

import webdataset
from shared import BATCH, W1_COUNT, W1_RECORD, Sink, case, main, raw_records, w1_decode, w2_decode, warm


def _write(path, records):
    with webdataset.TarWriter(path) as writer:
        for index, record in enumerate(records):
            writer.write({"__key__": "%08d" % index, "bin": record})


def _path(run, workload):
    return run.path("webdataset", workload + ".tar")


@case("prep", "all")
def prep(run):
    for workload in ("w1", "w2"):
        _write(_path(run, workload), raw_records(run.folder, workload))


@case("w1", "tar")
@case("w2", "tar")
def read(run):
    path, sink = _path(run, run.workload), Sink(run)
    warm(path)
    use, decode = getattr(sink, run.workload), {"w1": w1_decode, "w2": w2_decode}[run.workload]
    with run.timed():
        group = []
        for sample in webdataset.WebDataset(path, shardshuffle=False, empty_check=False):
            group.append(sample["bin"])
            if len(group) == BATCH[run.workload]:
                use(*decode(group))
                group = []
        if group:
            use(*decode(group))
    return sink.done()


@case("w4", "generator")
def w4(run):
    with run.timed(), open(run.path("webdataset", "w4.tar"), "wb") as file, webdataset.TarWriter(file) as writer:
        for index, record in enumerate(raw_records(run.folder, "w1")):
            writer.write({"__key__": "%08d" % index, "bin": record})
    return {"records": W1_COUNT, "bytes": W1_COUNT * W1_RECORD}


if __name__ == "__main__":
    main("webdataset")
