"""The names that messages and files use for variables."""

from __future__ import annotations

import tensorflow as tf


def variable_path(variable: tf.Variable) -> str:
    """Returns the path of a layer's weight; the name of any other variable."""
    return getattr(variable, "path", None) or variable.name.removesuffix(":0")
