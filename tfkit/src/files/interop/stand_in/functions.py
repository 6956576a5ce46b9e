"""Small functions of Keras's sources that libraries import although they are not public."""

from __future__ import annotations

import collections
import contextlib
import inspect
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import h5py
import numpy as np
import tensorflow as tf

from tfkit.src.base import context, settings
from tfkit.src.base.nests import plain_sizes
from tfkit.src.base.quoting import quoted
from tfkit.src.base.registry import serialization, tables
from tfkit.src.core import tracking
from tfkit.src.core.layer import Layer
from tfkit.src.ops import activation_lookup
from tfkit.src.symbolic import masking
from tfkit.src.symbolic.tensors import any_symbolic, trace


def standardize_data_format(data_format: str | None) -> str:
    """Returns the layout of images, the default one for `None`.

    Raises:
        ValueError: for a string other than `"channels_first"` and `"channels_last"`.
    """
    if data_format is None:
        return settings.image_data_format()
    layout = str(data_format).lower()
    if layout not in ("channels_first", "channels_last"):
        raise ValueError(
            '`data_format` must be "channels_first" or "channels_last". '
            f"Received: data_format={data_format!r}"
        )
    return layout


def any_symbolic_tensors(args: Any = None, kwargs: dict[str, Any] | None = None) -> bool:
    """Returns whether one of the arguments, or something in them, is a symbolic tensor."""
    return any_symbolic(args or (), kwargs or {})


def in_tf_graph() -> bool:
    """Returns whether TensorFlow traces a function."""
    return not tf.executing_eagerly()


def no_automatic_dependency_tracking(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function as it is: no assignment is tracked, layers are found on request."""
    return function


def standardize_shape(shape: Any) -> tuple[int | None, ...]:
    """Returns a shape as a tuple of sizes, `None` for those that are not known.

    Raises:
        ValueError: for `None`, and for anything that is not a sequence of sizes.
    """
    if shape is None:
        raise ValueError("Expected a shape, a tuple of sizes. Received: shape=None")
    sizes = plain_sizes(shape) if isinstance(shape, (list, tuple, tf.TensorShape)) else (shape, "")
    for size in sizes:
        if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 0):
            raise ValueError(
                "Expected a shape: a tuple of integers of at least 0, and None for unknown sizes. "
                f"Received: shape={quoted(shape)}"
            )
    return sizes


def compute_output_spec(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Returns the outputs of a function of symbolic tensors, without recording the call."""
    return trace(fn, args, kwargs)


def get_keras_mask(x: Any) -> Any:
    """Returns the mask of a tensor, or `None`."""
    return masking.get_mask(x)


def set_keras_mask(x: Any, mask: Any) -> None:
    """Sets the mask of a tensor."""
    masking.set_mask(x, mask)


def in_safe_mode() -> bool | None:
    """Returns True while objects are made from a configuration, and `None` otherwise."""
    return True if context.current().objects_read is not None else None


@contextlib.contextmanager
def SafeModeScope(safe_mode: bool | None = True) -> Iterator[None]:
    """Context manager of Keras's safe mode, which tfkit never leaves.

    Raises:
        ValueError: for `safe_mode=False`.
    """
    serialization.check_safe_mode(safe_mode is not False)
    with context.within(objects_read={}) if safe_mode else contextlib.nullcontext():
        yield


def in_grain_data_pipeline() -> bool:
    """Returns False: tfkit does not read data by Grain's workers."""
    return False


def class_weight_to_sample_weights(y: Any, class_weight: dict[int, float]) -> Any:
    """Returns the weight of each sample's class, for indices `(n,)`, `(n, 1)` or one-hot rows `(n, classes)`.

    Returns:
        A `float32` array for arrays, a tensor for tensors, of shape `(n,)`; classes that are not in
        `class_weight` have the weight 1.
    """
    classes = tf.convert_to_tensor(y)
    if len(classes.shape) > 1:
        one_hot = classes.shape[-1] != 1
        classes = tf.argmax(classes, axis=-1) if one_hot else tf.squeeze(classes, -1)
    classes = tf.cast(tf.round(classes), "int64")
    weights = tf.ones_like(classes, "float32")
    for index, weight in class_weight.items():
        weights = tf.where(classes == index, tf.cast(weight, "float32"), weights)
    return weights if tf.is_tensor(y) else weights.numpy()


def flatten_layers(self: Layer, include_self: bool = True, recursive: bool = True) -> list[Layer]:
    """Returns the layers inside, in the order in which libraries that are written for Keras number them."""
    pending = collections.deque(tracking.sublayers(self))
    found: dict[int, Layer] = {}
    while pending:
        layer = pending.popleft()
        if id(layer) not in found:
            found[id(layer)] = layer
            pending.extendleft(tracking.sublayers(layer) if recursive else [])
    return [*([self] if include_self else []), *found.values()]


def metrics_list(self: Any) -> list[Any]:
    """Returns the list to which a library appends metrics of a layer; empty at first."""
    self._metrics = []
    found: list[Any] = self._metrics  # As the layer tracks it.
    return found


class Tracker:
    """Lets a layer hold the layers and weights that a library gives it.

    Args:
        layer: the layer.

    Attributes:
        locked: `False`; to set it, as programs do before they replace a layer's parts, has no effect.
    """

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self.locked = False

    def track(self, attr: Any) -> Any:
        """Returns an object that the layer holds from now on."""
        held = getattr(self._layer, "_tracked_parts", ())
        self._layer._tracked_parts = [*held, attr]
        return attr

    def unlock(self) -> None:
        """Does nothing, like `lock`: a layer of tfkit may hold other layers and weights at any time."""

    def lock(self, msg: str | None = None) -> None:
        """Does nothing; Keras refuses other layers and weights from then on, with this message."""


class Reader:
    """An attribute that a function of the object computes; a subclass may set another value.

    Args:
        function: a function of the object.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Returns the value for an object."""
        return self if instance is None else self.function(instance)


class _Activations(dict[str, Callable[..., Any]]):
    """Activations by name; what is added to it is found by its name from then on."""

    def __setitem__(self, name: str, function: Callable[..., Any]) -> None:
        super().__setitem__(name, function)
        tables.get_custom_objects()[name] = function


ALL_OBJECTS_DICT = _Activations(
    (name, function)
    for name, function in vars(activation_lookup).items()
    if inspect.isfunction(function) and tables.is_builtin(function)
)


class H5IOStore:
    """A file of HDF5 with a group of values at each path, in the layout of Keras's weight files.

    Args:
        root_path: path of the file.
        archive: not supported; must be `None`.
        mode: `"r"` to read, `"w"` to write a new file. Default: `"r"`.
    """

    def __init__(self, root_path: Any, archive: Any = None, mode: str = "r") -> None:
        if archive is not None:
            raise ValueError("`H5IOStore` of tfkit has no archives. Pass the path of a file alone.")
        self.h5_file = h5py.File(root_path, mode)

    def make(self, path: str, metadata: dict[str, Any] | None = None) -> _Entry:
        """Returns a new group, to which values are assigned by name."""
        group = self.h5_file.create_group(f"{path}/vars".lstrip("/"))
        group.attrs.update(metadata or {})
        return _Entry(group)

    def get(self, path: str) -> Any:
        """Returns the group at a path; an empty dict if there is none."""
        place = f"{path}/vars".lstrip("/")
        return _Entry(self.h5_file[place]) if place in self.h5_file else {}

    def close(self) -> None:
        """Closes the file."""
        self.h5_file.close()


class _Entry(MutableMapping[str, Any]):
    """A group of values by name.

    Args:
        group: an open group of HDF5.
    """

    def __init__(self, group: h5py.Group) -> None:
        self.group = group

    def __getitem__(self, name: str) -> Any:
        value = self.group[name]
        if value.attrs.get("dtype") == "bfloat16":
            return value[()].view(tf.bfloat16.as_numpy_dtype)
        return value

    def __setitem__(self, name: str, value: Any) -> None:
        value = np.asarray(value)
        self.group.create_dataset(name, data=value)
        if value.dtype == tf.bfloat16.as_numpy_dtype:
            self.group[name].attrs["dtype"] = "bfloat16"

    def __delitem__(self, name: str) -> None:
        del self.group[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.group)

    def __len__(self) -> int:
        return len(self.group)
