"""Subclasses that override the methods and properties of a class by ones that count and call `super()`."""

import functools
import inspect
import warnings

# Of the methods with two underscores, those that are called by their names.
_SPECIAL = {"__call__"}
_KINDS = (property, classmethod, functools.cached_property)


class Counts:
    """Which methods were called in each phase of a use.

    Attributes:
        called: the names called in a phase, by the phase's name.
        errors: the error that ended a phase, by its name.
    """

    def __init__(self):
        self._phase = "make"
        self.called = {}
        self.errors = {}

    def note(self, name):
        self.called.setdefault(self._phase, set()).add(name)

    def run(self, phase, function):
        """Runs a phase, and returns its result; an error ends it and is stored."""
        self._phase = phase
        try:
            return function()
        except Exception as error:
            self.errors.setdefault(phase, error)
            return None
        finally:
            self._phase = "afterwards"


def methods_of(cls):
    """The methods and properties that classes of Keras or of tfkit define, by name."""
    found = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith(("keras.", "tfkit.")):
            found.update(vars(base))
    return {
        name: value
        for name, value in found.items()
        if (not name.startswith("__") or name in _SPECIAL)
        and (inspect.isfunction(value) or isinstance(value, _KINDS))
    }


def counted(cls, counts, like):
    """A subclass of `cls` whose methods count, and the names that warnings say have no effect.

    Args:
        cls: the class.
        counts: where to count.
        like: a class whose methods are overridden, too, unless they are attributes of `cls`. Its public
            properties are not: tfkit may have an attribute instead, which its constructor sets.
    """
    methods = {
        name: it
        for name, it in methods_of(like).items()
        if not hasattr(cls, name) and (name.startswith("_") or not isinstance(it, property))
    }
    methods |= methods_of(cls)
    is_ours = cls.__module__.startswith("tfkit.")
    made = {
        name: _counting(name, it, counts, lambda: result, is_ours) for name, it in methods.items()
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = type(cls)(cls.__name__, (cls,), {**made, "__module__": "user"})
    texts = [str(warning.message).split("`")[1] for warning in caught]
    return result, {text.rpartition(".")[2] for text in texts}


def _counting(name, value, counts, this, is_ours):
    if isinstance(value, (property, functools.cached_property)):

        def read(self):
            counts.note(name)
            return getattr(super(this(), self), name)

        def write(self, new):
            counts.note(name)
            getattr(this().__base__, name).fset(self, new)

        return property(read, write if getattr(value, "fset", None) else None)
    if isinstance(value, classmethod):

        def of_class(cls, *args, **kwargs):
            counts.note(name)
            return getattr(super(this(), cls), name)(*args, **kwargs)

        return classmethod(of_class)

    @functools.wraps(value)
    def method(self, *args, **kwargs):
        counts.note(name)
        return getattr(super(this(), self), name)(*args, **kwargs)

    # Keras marks the methods that count as not overridden.
    vars(method).pop("_is_default", None)
    if is_ours:
        # The signature without the function, whose code is not that of this class. Keras, which does not look
        # at code, would give the signature to functions without `self`.
        method.__signature__ = inspect.signature(value)
        del method.__wrapped__
    return method
