"""Inputs for tests of endpoints: from the user's sample, or generated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.export.endpoints import Endpoint
from tfkit.src.export.examples import ExampleFunction

_SIZE = 3  # of free dimensions


def samples_by_endpoint(endpoints: dict[str, Endpoint], sample: Any) -> dict[str, Any]:
    """Returns input tensors by name, for each endpoint for which the sample has inputs.

    Args:
        endpoints: the endpoints, the default one first.
        sample: the argument of the model: an array or nest of arrays for its one argument, a list with
            one for each argument, or a dict by argument; or a dict of such samples by endpoint.
    """
    first = next(iter(endpoints.values()))
    if not isinstance(sample, dict) or not sample.keys() <= endpoints.keys():
        sample = {first.name: sample}
    arguments = {name: _arguments(endpoints[name], given) for name, given in sample.items()}
    found = {name: _arrays(endpoints[name], given) for name, given in arguments.items()}
    for name, endpoint in endpoints.items():
        shared = arguments.get(first.name, {})
        if name in found:
            continue
        if isinstance(endpoint.call, ExampleFunction) and first.name in found:
            found[name] = {"inputs": endpoint.call.serialize(found[first.name])}
        elif shared.keys() >= set(endpoint.argument_names):
            given = {key: shared[key] for key in endpoint.argument_names}
            found[name] = _arrays(endpoint, given)
    return found


def made_up(endpoint: Endpoint) -> dict[str, np.ndarray]:
    """Returns generated input tensors by name, with the right dtypes and shapes."""
    if isinstance(endpoint.call, ExampleFunction):
        inputs = {name: _made_up(spec) for name, spec in endpoint.call.inputs.items()}
        return {"inputs": endpoint.call.serialize(inputs)}
    return {
        name: _made_up(spec) for name, spec in zip(endpoint.inputs, endpoint.specs, strict=True)
    }


def _arguments(endpoint: Endpoint, given: Any) -> dict[str, Any]:
    names = endpoint.argument_names
    if isinstance(given, Mapping) and set(given) == set(names):
        return dict(given)
    if len(names) > 1 and isinstance(given, (list, tuple)) and len(given) == len(names):
        return dict(zip(names, given, strict=True))
    if len(names) != 1:
        raise ValueError(
            f"Endpoint '{endpoint.name}' has the arguments {names}: expected a sample for each, as a list "
            f"or as a dict. Received: {type(given).__name__}"
        )
    return {names[0]: given}


def _arrays(endpoint: Endpoint, arguments: dict[str, Any]) -> dict[str, np.ndarray]:
    try:
        flat = endpoint.flat([arguments[name] for name in endpoint.argument_names])
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The sample for endpoint '{endpoint.name}' does not have the form of its arguments: {error}"
        ) from None
    specs = dict(zip(endpoint.inputs, endpoint.specs, strict=True))
    return {name: _array(name, value, specs[name]) for name, value in flat.items()}


def _array(name: str, value: Any, spec: tf.TensorSpec) -> np.ndarray:
    array = np.asarray(value)
    if (spec.dtype == tf.string) == (array.dtype.kind in "OSU"):
        array = array.astype(spec.dtype.as_numpy_dtype)
        if spec.shape.is_compatible_with(array.shape):
            return array
    raise ValueError(
        f"The sample for input '{name}' does not fit. Expected: {spec.dtype.name} {spec.shape}. Received: "
        f"{array.dtype} {array.shape}"
    )


def _made_up(spec: tf.TensorSpec) -> np.ndarray:
    shape = [_SIZE if size is None else size for size in spec.shape.as_list()]
    if spec.dtype == tf.string:
        return np.full(shape, b"", object)
    # Floats differ from each other, so that exchanged entries show. Integers are 0, which every
    # table has.
    values = np.linspace(-1, 1, int(np.prod(shape))) if spec.dtype.is_floating else np.zeros(shape)
    return values.reshape(shape).astype(spec.dtype.as_numpy_dtype)
