"""Makes `import keras` and `tf.keras` return tfkit in programs that know nothing of tfkit.

Python runs this file at its start where `TFKIT_AS_KERAS` is set. The program may never use tfkit, so this
file imports nothing of it. At the first import of Keras, TensorFlow or tfkit, tfkit is imported first, which
loads TensorFlow without Keras, and its modules replace those of Keras.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

# The folder that holds tfkit: a program's path may not contain it.
_ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..", ".."))
_FIRST = ("keras", "tensorflow", "tfkit")


class _Hook(MetaPathFinder, Loader):
    """Waits for the first import of Keras, TensorFlow or tfkit."""

    _spec: ModuleSpec | None = None

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the spec of a module that tfkit has imported, or replaces."""
        if fullname not in _FIRST or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        if importlib.util.find_spec("tfkit") is None:
            sys.path.append(_ROOT)
        tfkit = importlib.import_module("tfkit")
        tfkit.interop.stand_in_for_keras()
        if fullname == "keras":
            return importlib.util.find_spec(fullname)
        self._spec = sys.modules[fullname].__spec__
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Returns the module that has been imported."""
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Gives the module its own spec back, in whose place Python has put that of the hook."""
        module.__spec__ = self._spec


def begin() -> None:
    """Begins to wait for the first import of Keras, TensorFlow or tfkit, if `TFKIT_AS_KERAS` says so.

    A second call does nothing.
    """
    waits = any(type(finder).__name__ == _Hook.__name__ for finder in sys.meta_path)
    if os.environ.get("TFKIT_AS_KERAS", "0") not in ("", "0") and not waits:
        sys.meta_path.insert(0, _Hook())
