"""Devices in a grid, and which axis of a tensor is divided among them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.calls import current_frame
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.borrowed.private import attr_value_pb2, set_attribute
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.distribution.devices import list_devices

LAYOUT = "_tfkit_layout"  # The attribute of an operation `Identity` whose output has a layout.


class DeviceMesh:
    """Devices in a grid whose axes have names.

    Args:
        shape: number of devices along each axis.
        axis_names: name of each axis.
        devices: names of the devices, as in `"cpu:0"`. For a model that JAX trains they are JAX's, which
            are looked up when it makes a program. Default: `list_devices()`.

    Raises:
        ValueError: if shape, names and devices do not fit.

    Example:
        >>> DeviceMesh((1,), ["batch"], ["cpu:0"])
        <DeviceMesh shape=(1,), axis_names=['batch']>
    """

    @shortened
    def __init__(
        self, shape: Sequence[int], axis_names: Sequence[str], devices: Any = None
    ) -> None:
        if not shape or not axis_names:
            raise ValueError(
                "`shape` and `axis_names` need at least one axis. "
                f"Received: shape={shape}, axis_names={axis_names}"
            )
        if len(shape) != len(axis_names) or len(set(axis_names)) < len(axis_names):
            raise ValueError(
                f"Each axis of `shape` needs its own name. Received: shape={shape}, axis_names={axis_names}"
            )
        names = np.asarray(list_devices() if devices is None else devices).ravel()
        if names.size != np.prod(shape):
            raise ValueError(
                f"`shape` describes {np.prod(shape)} devices. "
                f"Received: shape={tuple(shape)}, {names.size} devices: {names.tolist()}"
            )
        self._shape = shape
        self._axis_names = axis_names
        self._devices = names.reshape(shape)

    @property
    def shape(self) -> Sequence[int]:
        """Number of devices along each axis."""
        return self._shape

    @property
    def axis_names(self) -> Sequence[str]:
        """Name of each axis."""
        return self._axis_names

    @property
    def devices(self) -> np.ndarray:
        """Names of the devices, in the form of the grid."""
        return self._devices

    def __repr__(self) -> str:
        return f"<DeviceMesh shape={self.shape}, axis_names={self.axis_names}>"


class TensorLayout:
    """The division of a tensor along the axes of a mesh.

    Args:
        axes: for each axis of the tensor, a name of the mesh's axes, or `None` where it is not divided.
        device_mesh: the devices; may be set later.

    Raises:
        ValueError: for a name that the mesh does not have.
    """

    @shortened
    def __init__(self, axes: Sequence[str | None], device_mesh: DeviceMesh | None = None) -> None:
        self._axes = tuple(axes)
        self._device_mesh = device_mesh
        self._check()

    @property
    def axes(self) -> tuple[str | None, ...]:
        """The name of the mesh's axis for each axis of the tensor."""
        return self._axes

    @property
    def device_mesh(self) -> DeviceMesh | None:
        """The devices."""
        return self._device_mesh

    @device_mesh.setter
    def device_mesh(self, mesh: DeviceMesh) -> None:
        if self._device_mesh is not None:
            raise ValueError(
                f"This layout has a mesh already: {self._device_mesh}. Make a new layout."
            )
        self._device_mesh = mesh
        self._check()

    def _check(self) -> None:
        if self._device_mesh is None:
            return
        unknown = {axis for axis in self._axes if axis} - set(self._device_mesh.axis_names)
        if unknown:
            raise ValueError(
                f"The mesh has the axes {self._device_mesh.axis_names}. Received: axes={self._axes}"
            )

    def __repr__(self) -> str:
        return f"<TensorLayout axes={self.axes}, device_mesh={self.device_mesh}>"


class LayoutMap(MutableMapping[str, TensorLayout]):
    """Layouts of variables by path: keys are regular expressions, which a path must match as a whole.

    Args:
        device_mesh: the devices of layouts that are given as tuples.

    Example:
        >>> layouts = LayoutMap(DeviceMesh((1,), ["model"], ["cpu:0"]))
        >>> layouts["dense.*kernel"] = (None, "model")
        >>> layouts["dense/kernel"].axes
        (None, 'model')
    """

    def __init__(self, device_mesh: DeviceMesh | None) -> None:
        self._device_mesh = device_mesh
        self._layouts: dict[str, TensorLayout] = {}

    @property
    def device_mesh(self) -> DeviceMesh | None:
        """The devices of layouts that are given as tuples."""
        return self._device_mesh

    def __getitem__(self, path: str) -> Any:
        """Returns the layout of a path; `None` if no key matches.

        Raises:
            ValueError: if several keys match.
        """
        # An exact path comes first: it may contain characters with a meaning in expressions.
        if path in self._layouts:
            return self._layouts[path]
        matching = [key for key in self._layouts if re.fullmatch(key, path)]
        if len(matching) > 1:
            raise ValueError(
                f"Several keys match the path {path!r}: {matching}. Make them more exact."
            )
        return self._layouts[matching[0]] if matching else None

    def __setitem__(self, key: str, layout: TensorLayout | tuple[str | None, ...]) -> None:
        if key in self._layouts:
            raise ValueError(
                f"{key!r} has a layout already: {self._layouts[key]}. Delete it first."
            )
        if isinstance(layout, tuple):
            layout = TensorLayout(layout, self._device_mesh)
        if not isinstance(layout, TensorLayout):
            raise ValueError(
                "A layout must be a `TensorLayout`, or a tuple of names of axes and None. "
                f"Received: {layout!r} (of type {type(layout).__name__})"
            )
        if layout.device_mesh is None and self._device_mesh is not None:
            layout.device_mesh = self._device_mesh
        self._layouts[key] = layout

    def __delitem__(self, key: str) -> None:
        del self._layouts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._layouts)

    def __len__(self) -> int:
        return len(self._layouts)


@shortened
def distribute_tensor(tensor: Any, layout: TensorLayout) -> Any:
    """Returns a tensor with a layout, which JAX gives it where JAX runs the computation.

    In the `call` of a layer it is the tensor itself, marked for `compile(engine="jax")`: where TensorFlow
    computes, in a direct call for example, a tensor is on one device.

    Args:
        tensor: the tensor.
        layout: its layout.

    Raises:
        ValueError: for a layout that divides an axis, outside of layers.
    """
    if not any(layout.axes) or isinstance(tensor, KerasTensor):
        return tensor
    if current_frame() is None and tf.executing_eagerly():
        raise ValueError(
            "A tensor of TensorFlow is on one device. Call `distribute_tensor()` in the `call` of a layer, "
            f"for a model that is compiled with `engine='jax'`. Received: {layout}"
        )
    return placed(tensor, layout)


def placed(tensor: Any, layout: TensorLayout) -> Any:
    """Returns a tensor that is marked with a layout if it is in a trace."""
    if tf.executing_eagerly():
        return tensor
    marked = tf.identity(tensor)
    text = json.dumps(layout.axes).encode()
    set_attribute(marked.op, LAYOUT, attr_value_pb2.AttrValue(s=text))
    return marked
