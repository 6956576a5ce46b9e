"""Subclasses that override all methods and properties of a class by ones that count and call `super()`."""

import functools
import inspect
from collections import defaultdict

# A class of Keras's or of tfkit's, not one of Python's or TensorFlow's.
_OWN = ("keras.", "tfkit.")
_SPECIAL = {"__call__"}


class Counts:
    """Which methods were called, by phase of the use.

    Attributes:
        phase: name of the phase in progress.
        called: from the name of a phase to the names called in it.
        errors: from the name of a phase to the error that ended it.
    """

    def __init__(self):
        self.phase = "make"
        self.called = defaultdict(dict)
        self.errors = {}

    def note(self, name):
        called = self.called[self.phase]
        called[name] = called.get(name, 0) + 1

    def run(self, phase, function):
        """Runs a phase; an error ends it and is stored."""
        self.phase = phase
        try:
            return function()
        except Exception as error:
            self.errors[phase] = error
            return None
        finally:
            self.phase = "later"


def methods_of(cls):
    """The names of methods and properties that the classes of a framework define, with the definitions."""
    found = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith(_OWN):
            found.update(vars(base))
    return {
        name: value
        for name, value in found.items()
        if (not name.startswith("__") or name in _SPECIAL)
        and (
            inspect.isfunction(value)
            or isinstance(value, (property, classmethod, functools.cached_property))
        )
    }


def counted(cls, counts, names=None):
    """Returns a subclass of `cls` whose methods count.

    Args:
        cls: the class.
        counts: where to count.
        names: the methods to override; `None` for all.
    """
    made = {}
    for name, value in methods_of(cls).items():
        if names is None or name in names:
            made[name] = _counting(cls, name, value, counts, lambda: result)
    result = type(cls)(cls.__name__, (cls,), {**made, "__module__": "user"})
    return result


def _counting(cls, name, value, counts, this):
    if isinstance(value, (property, functools.cached_property)):

        def read(self):
            counts.note(name)
            return getattr(super(this(), self), name)

        if isinstance(value, functools.cached_property):
            return property(read)
        write = None
        if value.fset is not None:

            def write(self, new):
                counts.note(f"{name}=")
                super(this(), type(self)).__dict__ if False else None
                getattr(this().__mro__[1], name).fset(self, new)

        return property(read, write)
    if isinstance(value, classmethod):

        def of_class(cls, *args, **kwargs):
            counts.note(name)
            return getattr(super(this(), cls), name)(*args, **kwargs)

        return classmethod(of_class)

    @functools.wraps(value)
    def method(self, *args, **kwargs):
        counts.note(name)
        return getattr(super(this(), self), name)(*args, **kwargs)

    vars(method).pop("_is_default", None)  # Keras marks the methods of which nothing is overridden.
    return method
