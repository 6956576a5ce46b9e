"""Lists of tensors (TensorFlow's `TensorArray`) as one array with the elements along the first axis."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


@jax.tree_util.register_pytree_node_class
class TensorList:
    """A list of tensors of equal shapes.

    Args:
        buffer: array `(length, ...)`; `None` until the first element determines its shape.
        length: the number of elements.
        dtype: the dtype of the elements.
    """

    def __init__(self, buffer: Any, length: Any, dtype: Any) -> None:
        self.buffer = buffer
        self.length = length
        self.dtype = dtype

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """Returns the arrays inside and the rest, in JAX's form."""
        return (self.buffer,), (self.length, self.dtype)

    @classmethod
    def tree_unflatten(cls, rest: Any, arrays: Any) -> TensorList:
        """Returns the list made of what `tree_flatten` returned."""
        return cls(*arrays, *rest)


def set_item(items: TensorList, index: Any, item: Any) -> TensorList:
    """Returns the list with one element replaced."""
    buffer = items.buffer
    if buffer is None:
        # Only the first element that is set tells the shape of all.
        buffer = jnp.zeros((items.length, *item.shape), item.dtype)
    changed = lax.dynamic_update_index_in_dim(buffer, item, index, 0)
    return TensorList(changed, items.length, items.dtype)


def get_item(items: TensorList, index: Any, element_shape: Any) -> Any:
    """Returns one element."""
    return lax.dynamic_index_in_dim(stack(items, element_shape), index, 0, keepdims=False)


def stack(items: TensorList, element_shape: Any) -> Any:
    """Returns all elements as one tensor; zeros if none was set."""
    if items.buffer is None:
        return jnp.zeros((items.length, *[int(size) for size in element_shape]), items.dtype)
    return items.buffer


def from_tensor(tensor: Any, element_shape: Any) -> TensorList:
    """Returns the list of a tensor's elements along the first axis."""
    del element_shape
    return TensorList(tensor, tensor.shape[0], tensor.dtype)


def reserve(element_shape: Any, num_elements: Any, *, element_dtype: str) -> TensorList:
    """Returns a list without elements, of a length."""
    del element_shape
    return TensorList(None, num_elements, element_dtype)
