"""pyrecordio 0.0.4: ElasticDL's RecordIO in pure Python."""

import recordio
from shared import case, get_raw, main, raw_records, read_raw, warm, write_raw


def _write(path, records):
    with recordio.File(path, "w") as file:
        for record in records:
            file.write(record)


def _path(run, workload):
    return run.path("pyrecordio", workload + ".recordio")


@case("prep", "all")
def prep(run):
    for workload in ("w1", "w2", "w3"):
        _write(_path(run, workload), raw_records(run.folder, workload))


def _scan(path):
    with recordio.File(path, "r") as file:
        yield from file


@case("w1", "iterate")
@case("w2", "iterate")
@case("w3", "iterate")
def read(run):
    return read_raw(run, _path(run, run.workload), _scan)


@case("w4", "generator")
def w4(run):
    return write_raw(run, run.path("pyrecordio", "w4.recordio"), _write)


@case("w6", "get_tenth")
def w6(run):
    warm(_path(run, "w1"))
    with recordio.File(_path(run, "w1"), "r") as file:
        return get_raw(run, file.get)


if __name__ == "__main__":
    main("pyrecordio")
