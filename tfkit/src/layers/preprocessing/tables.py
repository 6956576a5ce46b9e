"""Tables from keys to values inside TensorFlow's programs."""

from __future__ import annotations

import uuid
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import in_save_context
from tfkit.src.engine import replicas


class Table(tf.saved_model.experimental.TrackableResource):
    """A table that never changes: a different vocabulary gets a new table.

    Thus threads need no lock, a trace keeps its table, and a copy of a layer shares nothing that
    could change. TensorFlow's `StaticHashTable` keeps its entries for as long as the process lives, under
    its name; this one is gone with the last program that reads it. It has a name only in a SavedModel, where
    sessions of TensorFlow's C library need it, and on the workers of a cluster.

    Args:
        keys: vector of integers or strings, without repetitions.
        values: vector of as many integers or strings.
        default: the value of other keys, a number or text of Python.
    """

    def __init__(self, keys: tf.Tensor, values: tf.Tensor, default: int | str | bytes) -> None:
        super().__init__()
        self._keys = tf.convert_to_tensor(keys)
        self._values = tf.convert_to_tensor(values)
        self._default = default
        self._shared_name = f"table_{uuid.uuid4().hex}"
        if len(self._keys):  # TensorFlow has no empty tables.
            self._initialize()

    def _create_resource(self) -> Any:
        # A SavedModel finds a table again by its shared name, which must be unique.
        if in_save_context() and not tf.executing_eagerly():
            return self._named()
        return tf.raw_ops.AnonymousHashTable(
            key_dtype=self._keys.dtype, value_dtype=self._values.dtype
        )

    def _named(self) -> Any:
        """Returns the table of its shared name in the process that runs the operation."""
        return tf.raw_ops.HashTableV2(
            shared_name=self._shared_name,
            key_dtype=self._keys.dtype,
            value_dtype=self._values.dtype,
        )

    def _initialize(self) -> None:
        tf.raw_ops.InitializeTableV2(
            table_handle=self.resource_handle, keys=self._keys, values=self._values
        )

    def _on_worker(self) -> Any:
        """Returns a table of the process that runs the step: workers cannot read one of the coordinator.

        The entries are part of the step. A worker makes the table at its first step, and keeps it; at later
        steps, TensorFlow compares the number of entries.
        """
        keys, values = (tf.constant(it.numpy()) for it in (self._keys, self._values))
        handle = self._named()
        # In the trace, the lookup waits for it: both use the same table.
        tf.raw_ops.InitializeTableV2(table_handle=handle, keys=keys, values=values)
        return handle

    def lookup(self, keys: tf.Tensor) -> tf.Tensor:
        """Returns the values of the keys."""
        default = tf.constant(self._default, self._values.dtype)
        if not len(self._keys):
            return tf.fill(tf.shape(keys), default)
        values = tf.raw_ops.LookupTableFindV2(
            table_handle=self._on_worker() if replicas.are_on_servers() else self.resource_handle,
            keys=keys,
            default_value=default,
        )
        # A trace forgets all sizes in the lookup.
        return values if tf.executing_eagerly() else tf.reshape(values, tf.shape(keys))
