"""Make and count ArrayRecord files, in the environment of that peer.

    PEERS/arrayrecord/bin/python benchmarks/remote_arrayrecord.py make FILE RECORDS SIZE
    PEERS/arrayrecord/bin/python benchmarks/remote_arrayrecord.py count FILE

`count` prints the records, the reads that its reader did for it, and the bytes they gave, as JSON.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

from array_record.python import array_record_module  # type: ignore[import-not-found]


def _reads() -> tuple[int, int]:
    facts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(facts["syscr"]), int(facts["rchar"])


def main() -> None:
    what, path, *numbers = sys.argv[1:]
    if what == "make":
        count, size = map(int, numbers)
        writer = array_record_module.ArrayRecordWriter(path, "group_size:10,uncompressed")
        chance = random.Random(0)
        for _ in range(count):
            writer.write(chance.randbytes(size))
        writer.close()
        return
    Path("/proc/self/io").read_text()
    before = _reads()
    nothing = _reads()  # what looking takes
    began = time.perf_counter()
    reader = array_record_module.ArrayRecordReader(path)
    records = reader.num_records()
    seconds = time.perf_counter() - began
    after = _reads()
    reads, taken = (after[i] - nothing[i] - (nothing[i] - before[i]) for i in range(2))
    print(json.dumps({"records": records, "reads": reads, "bytes": taken, "seconds": seconds}))


if __name__ == "__main__":
    main()
