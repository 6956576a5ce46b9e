"""Finds the variables and tables that a traced function reads, wherever they are stored."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import BaseResourceVariable

_TrackableResource = tf.saved_model.experimental.TrackableResource


def captured_variables(functions: Iterable[Any]) -> list[tf.Variable]:
    """Returns the variables that concrete functions read or assign, each once."""
    found = {
        id(variable): variable for function in functions for variable in function.graph.variables
    }
    return list(found.values())


def captured_resources(functions: Iterable[Any], variables: Iterable[tf.Variable]) -> list[Any]:
    """Returns the objects of all other resources that concrete functions capture, such as tables.

    A trace knows the handle of a resource, and a SavedModel needs its owner, which knows how to make it
    again. The owner may be an attribute of a plain object or a variable of a closure, so it is searched for
    among all live objects.

    Args:
        functions: concrete functions.
        variables: the variables, known already.

    Raises:
        ValueError: for a resource that no object owns.
    """
    known = {id(variable.handle) for variable in variables}
    handles = {
        id(tensor): tensor
        for function in functions
        for tensor, _ in function.graph.captures
        if tensor.dtype == tf.resource and id(tensor) not in known
    }
    if not handles:
        return []
    kinds = (_TrackableResource, BaseResourceVariable)
    owners: dict[int, Any] = {}
    # A trace captures a handle, and TensorFlow has no way from a handle to its owner: all objects
    # are searched, once for each export.
    for candidate in gc.get_objects():
        # By `type`: `isinstance` would ask `__class__`, which proxies answer with side effects.
        if issubclass(type(candidate), kinds):
            handle = (
                candidate.handle
                if issubclass(type(candidate), BaseResourceVariable)
                else candidate.resource_handle
            )
            if id(handle) in handles:
                owners.setdefault(id(handle), candidate)
    missing = [tensor for key, tensor in handles.items() if key not in owners]
    if missing:
        raise ValueError(
            f"Cannot export: a function uses {len(missing)} resources that no object of TensorFlow owns. "
            f"Expected variables, and tables such as `tf.lookup.StaticHashTable`. Received: {missing}"
        )
    return list(owners.values())
