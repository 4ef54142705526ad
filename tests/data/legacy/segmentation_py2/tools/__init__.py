from pipeline import *
import meters
VERSION = (0, 3L)
