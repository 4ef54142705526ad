"""RecordIO."""

from fluidio.recordio.block import Column, RecordBlock
from fluidio.recordio.block_reader import BlockReader
from fluidio.recordio.tasks import Task
from fluidio.recordio.writer import Writer

__all__ = ["BlockReader", "Column", "RecordBlock", "Task", "Writer"]
