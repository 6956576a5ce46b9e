"""A snapshot of everything that an object holds, to compare it with a later one."""

import random
import threading
import warnings

import numpy as np
import tensorflow as tf

import tfkit as keras

# Caches, and the bookkeeping of traces and calls, which no result depends on.
SKIPPED = {
    "_tfkit_in_turn",
    "_tfkit_programs",
    "attached",
    "first_listed",
    "sizes",
    "listed",
    "caller",
    "direct",
    "latest_change",
    "part",
    "verified",
    "version",
}


def snapshot(*objects):
    """Returns a dict from paths to what is found there: in objects, in settings and in random states."""
    found, seen = {}, {}
    for index, one in enumerate(objects):
        _walk(one, str(index), found, seen)
    found["floatx"], found["policy"] = keras.config.floatx(), repr(keras.config.dtype_policy())
    found["registered"] = sorted(keras.saving.get_custom_objects())
    found["random"] = random.getstate(), str(np.random.get_state())
    found["threads"] = threading.active_count()
    found["filters"] = len(warnings.filters)
    return found


def changes(before, after):
    """Returns the paths at which two snapshots differ."""
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))


def _walk(one, path, found, seen):
    if isinstance(one, (tf.Variable, tf.Tensor, np.ndarray)):
        identity = id(one) if isinstance(one, tf.Variable) else None
        found[path] = identity, np.asarray(one).tobytes() if hasattr(one, "numpy") else None
    elif isinstance(one, (bool, int, float, str, bytes, type(None))):
        found[path] = repr(one)
    elif isinstance(one, (list, tuple)):
        found[path] = len(one)
        for index, item in enumerate(one):
            _walk(item, f"{path}[{index}]", found, seen)
    elif isinstance(one, dict):
        found[path] = [str(key) for key in one]
        for key, item in one.items():
            _walk(item, f"{path}[{key!r}]", found, seen)
    elif type(one).__module__.startswith(("tfkit", "tests")) and not isinstance(one, type):
        found[path] = id(one)
        if id(one) not in seen:
            seen[id(one)] = one  # Held, so that no later object gets its id.
            for name, value in list(vars(one).items()) if hasattr(one, "__dict__") else []:
                if name not in SKIPPED and not name.startswith("_self_"):
                    _walk(value, f"{path}.{name}", found, seen)
