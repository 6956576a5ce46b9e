"""Functions of JAX in programs of TensorFlow, with JAX's own `jax2tf`: as one operation, in XLA's code."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
import tensorflow as tf
from jax.experimental import jax2tf


class Structure:
    """The form of a nest of arrays (a pytree), whose leaves have paths of names.

    Args:
        values: the nest.
    """

    def __init__(self, values: Any) -> None:
        leaves, self._tree = jax.tree_util.tree_flatten_with_path(values)
        self._paths = [tuple(map(_name, path)) for path, _ in leaves]
        self._first = [np.asarray(value) for _, value in leaves]

    def leaves(self) -> Iterator[tuple[tuple[str, ...], np.ndarray]]:
        """Yields paths and first values, once."""
        first, self._first = self._first, []
        yield from zip(self._paths, first, strict=True)

    def named(self, leaves: Sequence[Any]) -> Any:
        """Returns a dict of dicts by the names of the paths; the leaf itself if the nest is a single leaf."""
        if self._paths == [()]:
            return leaves[0]
        result: dict[str, Any] = {}
        for path, leaf in zip(self._paths, leaves, strict=True):
            inner = result
            for name in path[:-1]:
                inner = inner.setdefault(name, {})
            inner[path[-1]] = leaf
        return result

    def in_order(self, named: Any) -> list[Any]:
        """Returns the leaves of what `named` returned."""
        found = []
        for path in self._paths:
            inner = named
            for name in path:
                inner = inner[name]
            found.append(inner)
        return found

    def nest(self, leaves: Sequence[Any]) -> Any:
        """Returns leaves in the form of the nest."""
        return jax.tree_util.tree_unflatten(self._tree, leaves)

    def flat(self, nest: Any) -> list[Any]:
        """Returns the leaves of a nest of this form.

        Raises:
            ValueError: for a different structure.
        """
        leaves, tree = jax.tree_util.tree_flatten(nest)
        if tree != self._tree:
            raise ValueError(
                "`call_fn` must return `(outputs, state)`, the state in the form in which it was given. "
                f"Expected: {self._tree}. Received: {tree}"
            )
        return leaves


def _name(key: Any) -> str:
    """Returns the name of a step into a nest: a key, an attribute, or a number."""
    # JAX has classes of keys for dicts, for attributes and for sequences.
    for attribute in ("key", "name", "idx"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


class Called:
    """A function of JAX whose code is a part of TensorFlow's program.

    A conversion to JAX calls the function itself, instead of the code.

    Args:
        function: a function of a nest of arrays.
        given: the nest.

    Attributes:
        num_outputs: the number of tensors that it returns, once it has been called.
    """

    num_outputs: int | None = None

    def __init__(self, function: Callable[[Any], Any], given: Any) -> None:
        self._function = function
        self._form = jax.tree.structure(given)

    def __call__(self, given: Any) -> Any:
        """Returns what the function returns."""
        results = self._function(given)
        self.num_outputs = len(jax.tree.leaves(results))
        return results

    def flat(self, arrays: list[Any]) -> list[Any]:
        """Returns the results as a list, for the arguments as one."""
        return jax.tree.leaves(self(jax.tree.unflatten(self._form, arrays)))


def array(tensor: tf.Tensor) -> Any:
    """Returns an eager tensor as an array of JAX."""
    return jax.numpy.asarray(tensor.numpy())


def ones(shape: Any) -> Any:
    """Returns arrays of ones in place of shapes, with 1 for sizes that are not known."""
    if isinstance(shape, dict):
        return {name: ones(it) for name, it in shape.items()}
    if shape and isinstance(shape[0], (list, tuple, dict)):
        return type(shape)(ones(it) for it in shape)
    return jax.numpy.ones([1 if size is None else size for size in shape])


@tf.autograph.experimental.do_not_convert
def call(
    function: Callable[..., Any],
    given: Mapping[str, Any],
    options: Mapping[str, Any],
    structures: Mapping[str, Structure],
    platforms: Sequence[str] | None,
) -> Any:
    """Returns what a function of JAX returns for tensors.

    Args:
        function: the function.
        given: its arguments by name: `inputs`, a nest of tensors; `rng`, a key or `None`; `params`
            and `state`, lists of tensors.
        options: further arguments, which are not tensors.
        structures: the forms in which the function expects `params` and `state`.
        platforms: the platforms for which it is compiled; `None` for the one of this process.

    Returns:
        The outputs; with a `state` among the arguments, a pair of outputs and a list of tensors.
    """

    def of_arrays(given: dict[str, Any]) -> Any:
        arguments = {
            name: structures[name].nest(value) if name in structures else value
            for name, value in given.items()
        }
        results = function(**arguments, **options)
        if "state" not in given:
            return results
        if not (isinstance(results, tuple) and len(results) == 2):
            raise ValueError(
                "`call_fn` takes a `state` and so must return `(outputs, state)`. "
                f"Received: {type(results).__name__}"
            )
        outputs, state = results
        return outputs, structures["state"].flat(state)

    numbers = itertools.count()
    shapes = tf.nest.map_structure(lambda it: _symbolic(it, numbers), given)
    converted = jax2tf.convert(
        Called(of_arrays, given),
        polymorphic_shapes=[shapes],
        native_serialization_platforms=platforms,
    )
    return converted(given)


def _symbolic(tensor: Any, numbers: Iterator[int]) -> str | None:
    """Returns the shape of a tensor for JAX: `(rows, 4)`. All unknown first sizes are the same."""
    if tensor is None or tensor.shape.is_fully_defined():
        return None
    sizes = [
        str(size) if size is not None else ("rows" if axis == 0 else f"size_{next(numbers)}")
        for axis, size in enumerate(tensor.shape)
    ]
    return f"({', '.join(sizes)},)" if len(sizes) == 1 else f"({', '.join(sizes)})"
