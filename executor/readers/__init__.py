"""Run-time readers: the objects that a program's reader variables hold, one file each."""

from fluidio.executor.readers import ops
from fluidio.executor.readers.base import Decorator, Reader, Source
from fluidio.executor.readers.batch import Batch
from fluidio.executor.readers.custom import Custom
from fluidio.executor.readers.device_prefetch import DevicePrefetch
from fluidio.executor.readers.double_buffer import double_buffer
from fluidio.executor.readers.file import FileReader
from fluidio.executor.readers.multi_pass import MultiPass
from fluidio.executor.readers.open_files import OpenFiles
from fluidio.executor.readers.pass_through import PassThrough
from fluidio.executor.readers.prefetch import Prefetch
from fluidio.executor.readers.queue import QueueReader
from fluidio.executor.readers.queue_buffer import QueueBuffer
from fluidio.executor.readers.random_data import RandomData
from fluidio.executor.readers.shuffle import Shuffle

__all__ = [
    "Batch",
    "Custom",
    "Decorator",
    "DevicePrefetch",
    "FileReader",
    "MultiPass",
    "OpenFiles",
    "PassThrough",
    "Prefetch",
    "QueueBuffer",
    "QueueReader",
    "RandomData",
    "Reader",
    "Shuffle",
    "Source",
    "double_buffer",
    "ops",
]
