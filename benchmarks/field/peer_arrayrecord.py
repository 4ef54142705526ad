"""ArrayRecord, the container under Grain."""

from array_record.python.array_record_module import ArrayRecordReader, ArrayRecordWriter
from shared import COUNT, case, get_raw, main, raw_records, read_raw, warm, write_raw


def _write(options):
    def write(path, records):
        writer = ArrayRecordWriter(path, options)
        for record in records:
            writer.write(record)
        writer.close()

    return write


def _path(run, workload, group):
    return run.path("arrayrecord", "%s.g%d.array_record" % (workload, group))


@case("prep", "all")
def prep(run):
    for workload in ("w1", "w2", "w3"):
        _write("group_size:64,uncompressed")(_path(run, workload, 64), raw_records(run.folder, workload))
    _write("group_size:1,uncompressed")(_path(run, "w1", 1), raw_records(run.folder, "w1"))


@case("w1", "sequential")
@case("w2", "sequential")
@case("w3", "sequential")
def read(run):
    count = COUNT[run.workload]

    def scan(path):
        reader = ArrayRecordReader(path, "readahead_buffer_size:16777216,max_parallelism:1")
        for start in range(0, count, 4096):
            yield from reader.read(start, min(start + 4096, count))
        reader.close()

    return read_raw(run, _path(run, run.workload, 64), scan)


@case("w4", "generator")
def w4(run):
    return write_raw(run, run.path("arrayrecord", "w4.array_record"), _write("group_size:64,uncompressed"))


@case("w6", "read_one")
def w6(run):
    path = _path(run, "w1", 1)
    warm(path)
    reader = ArrayRecordReader(path, "readahead_buffer_size:0,max_parallelism:0")
    return get_raw(run, lambda index: reader.read([index])[0])


if __name__ == "__main__":
    main("arrayrecord")
