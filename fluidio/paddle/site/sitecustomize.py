"""Found by the Pythons that a script started by `fluidio run` starts in its turn: they see fluidio as paddle too.

Only a few lines run at start; fluidio itself is imported when something asks for paddle.
"""

import importlib.machinery
import os
import sys
from typing import Any


class _Waiting:
    """Install the real hook at the first `import paddle` or `import recordio`."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname.partition(".")[0] not in ("paddle", "recordio"):
            return None
        sys.meta_path.remove(self)
        from fluidio.paddle.child import install

        install()
        for finder in sys.meta_path:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                return spec
        return None


if os.environ.get("FLUIDIO_RUN"):
    sys.meta_path.insert(0, _Waiting())

# Another sitecustomize further down the path still runs.
_here = os.path.dirname(os.path.abspath(__file__))
_spec = importlib.machinery.PathFinder.find_spec(
    "sitecustomize", [p for p in sys.path if os.path.abspath(p or ".") != _here]
)
if _spec is not None and _spec.loader is not None:
    import importlib.util

    _spec.loader.exec_module(importlib.util.module_from_spec(_spec))
