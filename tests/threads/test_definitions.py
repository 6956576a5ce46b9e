"""TensorFlow's descriptions of operations, which all threads read while they build graphs."""

import gc
import sys

import pytest

from tfkit.src.borrowed.private import op_def_registry


class Garbage:
    """Reads a part when the collector ends it, as another thread may at that moment."""

    def __init__(self, read):
        self.itself, self.read = self, read

    def __del__(self):
        self.read()


def objects_of_first_part(container):
    """Returns the largest number of objects that were alive at once for one part of a message."""
    found, most, before = [], 0, gc.get_threshold()
    try:
        for number in range(1, 60):
            Garbage(lambda: found.append(container[0]))
            gc.set_threshold(number, 10_000, 10_000)  # One of the numbers hits the next line.
            found.append(container[0])
            gc.set_threshold(0)
            gc.collect(0)
            most = max(most, len(set(map(id, found))))
            found.clear()
    finally:
        gc.set_threshold(*before)
    return most


needs_them_kept = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="Python collects no garbage at such a moment"
)


@needs_them_kept
def test_protobuf_makes_two_objects_of_one_part():
    """Where this fails, protobuf is right, and `borrowed/tensorflow_threads.py` can go."""
    definition = op_def_registry.get("AssignAddVariableOp")
    copy = type(definition)()
    copy.CopyFrom(definition)
    assert objects_of_first_part(copy.input_arg) == 2


@pytest.mark.parametrize("container", ["input_arg", "attr"])
def test_a_part_of_a_definition_stays_one_object(container):
    definition = op_def_registry.get("AssignAddVariableOp")
    assert objects_of_first_part(getattr(definition, container)) == 1


@needs_them_kept
def test_definitions_that_were_read_before_are_kept_too():
    cache = op_def_registry._cache
    assert set(cache) == set(cache._parts)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.11 needs them kept")
def test_tensorflow_is_left_as_it_is_where_python_does_not_need_it():
    assert type(op_def_registry._cache) is dict
