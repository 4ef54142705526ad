"""MXNet 1.9.1: the other container called RecordIO."""

import mxnet
from shared import case, get_raw, main, raw_records, read_raw, warm, write_raw


def _write(path, records):
    writer = mxnet.recordio.MXIndexedRecordIO(path + ".idx", path, "w")
    for index, record in enumerate(records):
        writer.write_idx(index, record)
    writer.close()


def _path(run, workload):
    return run.path("mxnet", workload + ".rec")


@case("prep", "all")
def prep(run):
    for workload in ("w1", "w2", "w3"):
        _write(_path(run, workload), raw_records(run.folder, workload))


def _scan(path):
    reader = mxnet.recordio.MXRecordIO(path, "r")
    record = reader.read()
    while record is not None:
        yield record
        record = reader.read()
    reader.close()


@case("w1", "scan")
@case("w2", "scan")
@case("w3", "scan")
def read(run):
    return read_raw(run, _path(run, run.workload), _scan)


@case("w4", "generator")
def w4(run):
    return write_raw(run, run.path("mxnet", "w4.rec"), _write)


@case("w6", "read_idx")
def w6(run):
    path = _path(run, "w1")
    warm(path)
    reader = mxnet.recordio.MXIndexedRecordIO(path + ".idx", path, "r")
    return get_raw(run, reader.read_idx)


if __name__ == "__main__":
    main("mxnet")
