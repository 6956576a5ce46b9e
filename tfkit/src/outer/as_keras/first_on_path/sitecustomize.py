"""Makes Python start as with `tfkit-as-keras`: `tfkit run` puts this folder first in `PYTHONPATH`.

Python runs the first `sitecustomize` on its path at its start. So this one runs the next, if there is one.
"""

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location

_HERE = os.path.dirname(os.path.abspath(__file__))
_OTHERS = [folder for folder in sys.path if os.path.abspath(folder) != _HERE]


def _import(spec: ModuleSpec | None, name: str) -> None:
    if spec is not None and spec.loader is not None:
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])


_HOOK = os.path.join(os.path.dirname(_HERE), "hook.py")
_import(spec_from_file_location("_tfkit_as_keras", _HOOK), "_tfkit_as_keras")
sys.modules["_tfkit_as_keras"].begin()
_import(PathFinder.find_spec("sitecustomize", _OTHERS), "sitecustomize")
