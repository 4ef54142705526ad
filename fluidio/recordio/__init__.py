"""RecordIO: read, write, check and repair every dialect, at memory speed.

Byte records: `File` (random access, append), `reader`, `writer`, `Scanner`, `Index`. Tensor records as arrays: `load`,
`iter_batches`; as blocks: `BlockReader`, `RecordBlock`, `Column`. Pickled samples: `sample_reader`. Writing: `Writer`.
Ranges for workers: `tasks`, `partition`, `Task`. All of them take paths, URLs and binary file objects. Files that grow:
`follow`.
"""

from fluidio.recordio.decode.block import Column, RecordBlock
from fluidio.recordio.decode.block_reader import BlockReader
from fluidio.recordio.decode.pickled import sample_reader
from fluidio.recordio.files.batches import iter_batches, load
from fluidio.recordio.files.file import File
from fluidio.recordio.files.following import follow
from fluidio.recordio.files.legacy import Index, Scanner, reader, writer
from fluidio.recordio.files.ranges import partition, tasks
from fluidio.recordio.files.tasks import Task
from fluidio.recordio.format.limits import set_chunk_limit
from fluidio.recordio.write.writer import Writer

__all__ = [
    "BlockReader",
    "Column",
    "File",
    "Index",
    "RecordBlock",
    "Scanner",
    "Task",
    "Writer",
    "follow",
    "iter_batches",
    "load",
    "partition",
    "reader",
    "sample_reader",
    "set_chunk_limit",
    "tasks",
    "writer",
]
