"""Runs tfkit's hook of imports at the start of Python, without importing tfkit."""

import importlib.util
from pathlib import Path

_tfkit = importlib.util.find_spec("tfkit")
if _tfkit is None or _tfkit.origin is None:
    raise ImportError(
        "TFKIT_AS_KERAS is set, but tfkit is not installed here. Install `tfkit-dl`, or unset the variable."
    )
_spec = importlib.util.spec_from_file_location(
    "_tfkit_as_keras", Path(_tfkit.origin).parent / "src" / "outer" / "as_keras" / "hook.py"
)
_hook = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_hook)
_hook.begin()
