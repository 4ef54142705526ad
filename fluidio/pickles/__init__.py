"""Read pickles that hold data only: numbers, text, builtin containers and numpy arrays; write pickles for old readers.

A pickle is a program: reading one runs what its author wrote. Legacy data sets, records and checkpoints only need
arrays in lists and dicts, so everything else is refused unless the caller says `allow_pickle=True`. The bytes are not
trusted: `opcodes` bounds what they may request, the unpickler sees only stand-ins (`standins`), and real arrays replace
these when it is done (`unwrapping`).

    >>> loads(pickle.dumps({"w": [1, 2.5]}))
    {'w': [1, 2.5]}
"""

from fluidio.pickles.previews import preview
from fluidio.pickles.reading import Encoding, load, loads
from fluidio.pickles.writing import dumps

__all__ = ["Encoding", "dumps", "load", "loads", "preview"]
