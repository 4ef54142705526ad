"""The time capsule: restores old behaviour of Python, NumPy and others for legacy scripts' own modules only.

`table.txt` lists everything; `modules.renew` applies it to one source text. Rewritten code calls the functions here, as
`capsule.divide(a, b)`; installed packages are never touched.
"""

import builtins

from fluidio.paddle.capsule import (
    archives,
    arrays,
    assertions,
    byte_functions,
    comparisons,
    display,
    distutils,
    files,
    folders,
    frames,
    functions,
    heaps,
    images,
    jsons,
    kinds,
    old_classes,
    old_hash,
    old_numpy,
    old_random,
    old_texts,
    ordering,
    paths,
    pickles,
    printing,
    python2,
    ragged,
    raising,
    regex,
    scalar_math,
    scalars,
    stacking,
    standard_error,
    stdlib,
    string_io,
    strings,
    text,
    urls,
    yamls,
)
from fluidio.paddle.capsule.absent import absent
from fluidio.paddle.capsule.archives import *
from fluidio.paddle.capsule.arrays import *
from fluidio.paddle.capsule.display import *
from fluidio.paddle.capsule.files import open_file, stdin
from fluidio.paddle.capsule.frames import *
from fluidio.paddle.capsule.images import getsize, textsize
from fluidio.paddle.capsule.kinds import *
from fluidio.paddle.capsule.old_classes import *
from fluidio.paddle.capsule.old_numpy import *
from fluidio.paddle.capsule.old_strings import ByteText, encoded
from fluidio.paddle.capsule.old_texts import *
from fluidio.paddle.capsule.ordering import *
from fluidio.paddle.capsule.pickles import loads as pickle_loads
from fluidio.paddle.capsule.printing import *
from fluidio.paddle.capsule.python2 import *
from fluidio.paddle.capsule.raising import *
from fluidio.paddle.capsule.scalars import *
from fluidio.paddle.capsule.standard_error import *
from fluidio.paddle.capsule.stdlib import *
from fluidio.paddle.capsule.text import *
from fluidio.paddle.capsule.yamls import *

__all__ = ["ByteText", "absent", "builtins", "encoded", "getsize", "open_file", "pickle_loads", "stdin", "textsize"]
__all__ += archives.__all__
__all__ += arrays.__all__
__all__ += display.__all__
__all__ += frames.__all__
__all__ += kinds.__all__
__all__ += old_classes.__all__
__all__ += old_numpy.__all__
__all__ += old_texts.__all__
__all__ += ordering.__all__
__all__ += printing.__all__
__all__ += python2.__all__
__all__ += raising.__all__
__all__ += scalars.__all__
__all__ += standard_error.__all__
__all__ += stdlib.__all__
__all__ += text.__all__
__all__ += yamls.__all__
