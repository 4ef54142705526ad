from .source import RoiDbSource
from .transform import *
from .reader import create_reader
