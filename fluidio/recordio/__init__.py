"""RecordIO: read, write, check and repair every dialect, at memory speed.

Byte records: `File` (random access, append), `reader`, `writer`, `Scanner`, `Index`. Tensor records as arrays: `load`,
`iter_batches`; as blocks: `BlockReader`, `RecordBlock`, `Column`. Pickled samples: `sample_reader`. Writing: `Writer`.
Ranges for workers: `tasks`, `partition`, `Task`. All of them take paths, URLs and binary file objects.
"""

from fluidio.recordio.batches import iter_batches, load
from fluidio.recordio.block import Column, RecordBlock
from fluidio.recordio.block_reader import BlockReader
from fluidio.recordio.file import File
from fluidio.recordio.legacy import Index, Scanner, reader, writer
from fluidio.recordio.pickled import sample_reader
from fluidio.recordio.ranges import partition, tasks
from fluidio.recordio.tasks import Task
from fluidio.recordio.writer import Writer

__all__ = [
    "BlockReader",
    "Column",
    "File",
    "Index",
    "RecordBlock",
    "Scanner",
    "Task",
    "Writer",
    "iter_batches",
    "load",
    "partition",
    "reader",
    "sample_reader",
    "tasks",
    "writer",
]
