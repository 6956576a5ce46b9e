"""The shardings of a model's variables and batches on the devices of a distribution."""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import tensorflow as tf
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tfkit.src.base.nests import brief
from tfkit.src.core.layer import Layer
from tfkit.src.core.tracking import named_layers, named_state, named_weights, own_weights
from tfkit.src.export.convert.jax.framework import Jax
from tfkit.src.training.distribution.distribution import Distribution
from tfkit.src.training.distribution.layouts import DeviceMesh, placed
from tfkit.src.training.jax.processes import check_equal

if TYPE_CHECKING:
    from tfkit.src.training.trainer import Trainer

_MOST_PATHS = 20  # In a message.
Arrays = dict[str, Any]


class Layouts:
    """The shardings of a model's values on the devices of a distribution.

    Args:
        model: the model, which is built.
        distribution: the distribution.

    Raises:
        ValueError: for a device that JAX does not have, a rule that matches nothing, and a layout that does
            not fit its variable.
    """

    def __init__(self, model: Trainer, distribution: Distribution) -> None:
        mesh = distribution.device_mesh
        self.mesh = _mesh_of(mesh)
        self._sizes = dict(zip(mesh.axis_names, mesh.shape, strict=True))
        self._batch = distribution.batch_dim_name
        self._divides_slots = distribution.shard_optimizer_state
        self._of_weights: dict[int, PartitionSpec] = {}
        self.whole = NamedSharding(self.mesh, PartitionSpec())
        self._undivided: list[str] = []
        weights = named_weights(model).values()
        _check_rules(model, distribution, [it.path for it in weights])
        if jax.process_count() > 1:
            check_equal(named_state(model))
        for weight in weights:
            axes = distribution.get_variable_layout(weight).axes
            self._check(weight, axes)
            self._of_weights[id(weight)] = PartitionSpec(*axes)
            if weight.shape.rank and not any(axes):
                self._undivided.append(weight.path)

    def _check(self, weight: Any, axes: tuple[str | None, ...]) -> None:
        shape = weight.shape.as_list()
        fits = len(axes) <= len(shape) and all(
            axis is None or size % self._sizes[axis] == 0
            for axis, size in zip(axes, shape, strict=False)
        )
        if not fits:
            raise ValueError(
                f"The layout {axes} does not fit '{weight.path}' of shape {tuple(shape)}: the mesh has "
                f"{self._sizes} devices, and an axis is divided into parts of equal size. Change the rule, "
                "or the size."
            )

    @property
    def description(self) -> str:
        """The mesh, and the weights without a rule, for the plan."""
        sizes = " x ".join(f"{axis} {size}" for axis, size in self._sizes.items())
        whole = f"; on all devices: {_listed(self._undivided)}" if self._undivided else ""
        return f"{self.mesh.devices.size} of {self.platform} ({sizes}){whole}"

    @property
    def platform(self) -> str:
        """The kind of the devices."""
        found: str = self.mesh.devices.flat[0].platform.upper()
        return found

    def of(self, variable: tf.Variable) -> NamedSharding:
        """Returns the sharding of a variable. A slot of the shape of its weight is divided as it is."""
        spec = self._of_weights.get(id(variable), PartitionSpec())
        slot = getattr(variable, "slot", None)
        if slot is not None and slot.weight.shape == variable.shape:
            spec = self._of_weights.get(id(slot.weight), spec)
        if slot is not None and self._divides_slots:
            spec = self._also_by_batches(spec, variable.shape.as_list())
        return NamedSharding(self.mesh, spec)

    def _also_by_batches(self, spec: PartitionSpec, shape: list[int]) -> PartitionSpec:
        """Returns a division that also divides the first axis that it can along the axis of batches."""
        axes = [*spec, *[None] * (len(shape) - len(spec))]
        if self._batch not in axes:
            for place, size in enumerate(shape):
                if axes[place] is None and size % self._sizes[self._batch] == 0:
                    axes[place] = self._batch
                    break
        return PartitionSpec(*axes)

    def place(self, variable: tf.Variable, content: np.ndarray) -> Any:
        """Returns an array of JAX with the value of a variable. Each device gets its part of it only."""
        return self._in_parts(content, self.of(variable))

    def rows(self, array: np.ndarray) -> Any:
        """Returns an array with batches along its first axis, of each of which a device has its rows."""
        return self._in_parts(array, self._rows(array.shape[1:], 1))

    def _in_parts(self, array: np.ndarray, sharding: NamedSharding) -> Any:
        # Copies: the memory of an array of JAX is its own.
        return jax.make_array_from_callback(
            array.shape, sharding, lambda index: np.array(array[index], order="C")
        )

    def _rows(self, shape: Any, before: int) -> NamedSharding:
        """Returns the sharding of a batch. If its rows cannot be divided evenly, all devices have all."""
        divides = bool(shape) and shape[0] % self._sizes[self._batch] == 0
        axes = [None] * before + [self._batch if divides else None]
        return NamedSharding(self.mesh, PartitionSpec(*axes))

    def batch(self, array: Any) -> Any:
        """Returns a tensor of a batch, divided by rows, in a program."""
        return jax.lax.with_sharding_constraint(array, self._rows(array.shape, 0))

    def pinned(self, arrays: Arrays, variables: Mapping[str, tf.Variable]) -> Arrays:
        """Returns values with the shardings of their variables, in a program."""
        return {
            path: jax.lax.with_sharding_constraint(it, self.of(variables[path]))
            for path, it in arrays.items()
        }

    def replicated(self, arrays: Any) -> Any:
        """Returns arrays that all devices have as a whole, in a program."""
        return jax.lax.with_sharding_constraint(arrays, self.whole)

    def read(self, array: Any) -> np.ndarray:
        """Returns the whole of an array on the host."""
        if not array.is_fully_addressable and not array.is_fully_replicated:
            # With several processes, devices have to exchange it: the only time that they have it as a whole.
            array = jax.jit(lambda it: it, out_shardings=self.whole)(array)
        return np.array(array)


class DividedParts:
    """The parts of a step, with its batch, its new values and its results in their layouts.

    Args:
        parts: the parts for one device.
        layouts: the layouts.
    """

    def __init__(self, parts: Any, layouts: Layouts) -> None:
        self._parts = parts
        self._layouts = layouts
        self.variables, self.written = parts.variables, parts.written
        self.logs, self.finish = parts.logs, parts.finish
        self.prepare = parts.prepare

    def step(self, values: Arrays, batch: list[Any]) -> tuple[Arrays, list[Any]]:
        """Returns the values after a step, and its results."""
        # Before and after: the partitioner may choose other layouts for what a loop carries.
        values = self._layouts.pinned(values, self.variables)
        values, logs = self._parts.step(values, [self._layouts.batch(it) for it in batch])
        values = self._layouts.pinned(values, self.variables)
        return values, self._layouts.replicated(logs)


def layouts_of(model: Trainer) -> Layouts | None:
    """Returns the layouts of a model's values; `None` if it has no distribution."""
    values, distribution = model._tfkit_programs.values, model._tfkit_settings.distribution
    if values is None and distribution is not None and distribution.strategy is None:
        return Layouts(model, distribution)
    found: Layouts | None = None if values is None else values.layouts
    return found


def framework_of(layouts: Layouts | None) -> Jax:
    """Returns JAX for the conversion of graphs, which divides what is marked with a layout."""
    framework = Jax()
    if layouts is not None:
        sizes = layouts._sizes

        def identity(x: Any, *, _tfkit_layout: str | None) -> Any:
            if _tfkit_layout is None or isinstance(x, (np.ndarray, np.generic)):
                return x
            axes = json.loads(_tfkit_layout)
            unknown = {axis for axis in axes if axis} - set(sizes)
            if unknown or len(axes) > x.ndim:
                raise ValueError(
                    f"The layout {tuple(axes)} does not fit a tensor of {x.ndim} axes on a mesh of {sizes}."
                )
            sharding = NamedSharding(layouts.mesh, PartitionSpec(*axes))
            return jax.lax.with_sharding_constraint(x, sharding)

        framework.formulas = {**Jax.formulas, "Identity": identity}
    return framework


@contextlib.contextmanager
def outputs_placed(model: Trainer) -> Iterator[None]:
    """Context manager of a trace, in which layers' outputs are marked with the layouts of `path/output`."""
    distribution = model._tfkit_settings.distribution
    found: list[tuple[Layer, Any]] = []
    if distribution is not None:
        found = list(_layers_with_rules(model, distribution))
    for layer, layout in found:
        layer._tfkit.placing = functools.partial(_placing, layout)
    try:
        yield
    finally:
        for layer, _ in found:
            layer._tfkit.placing = None


def _placing(layout: Any, call: Any) -> Any:
    def placing(*args: Any, **kwargs: Any) -> Any:
        outputs = call(*args, **kwargs)
        return tf.nest.map_structure(lambda it: placed(it, layout), outputs)

    return placing


def _layers_with_rules(model: Trainer, distribution: Distribution) -> Iterator[tuple[Layer, Any]]:
    """Yields the layers for whose outputs there is a rule, with their layouts."""
    for path, layer in _paths_of_layers(model):
        layout = distribution.get_tensor_layout(f"{path}/output")
        if layout is not None:
            yield layer, layout


def _paths_of_layers(model: Trainer) -> list[tuple[str, Layer]]:
    """Returns the path of each layer, which begins those of its weights."""
    found = []
    for path, layer in named_layers(model):
        own = [it.path.rpartition("/")[0] for it in own_weights(layer) if hasattr(it, "path")]
        found.append((own[0] if own else f"{model.name}/{path}".rstrip("/"), layer))
    return found


def _check_rules(model: Trainer, distribution: Distribution, paths: list[str]) -> None:
    """Raises an error for a rule that matches nothing."""
    outputs = [f"{path}/output" for path, _ in _paths_of_layers(model)]
    for rule in getattr(distribution, "layout_map", ()):
        if not any(rule == path or re.fullmatch(rule, path) for path in (*paths, *outputs)):
            raise ValueError(
                f"The rule {brief(rule)} of the layout map matches nothing in model '{model.name}'. It must "
                f"match as a whole the path of a weight: {_listed(paths)}; or of a layer's output: "
                f"{_listed(outputs)}"
            )


def _listed(paths: list[str]) -> str:
    """Returns paths for a message."""
    more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
    return ", ".join(paths[:_MOST_PATHS]) + more


def _mesh_of(mesh: DeviceMesh) -> Mesh:
    """Returns a mesh of the devices that JAX has under the names of a mesh."""
    names = mesh.devices.ravel().tolist()
    if len({*names}) < len(names):
        raise ValueError(f"A mesh must have different devices. Received: {names}")
    devices = np.array([_device(name) for name in names]).reshape(mesh.devices.shape)
    return Mesh(devices, tuple(mesh.axis_names))


def _device(name: str) -> Any:
    platform, _, number = name.partition(":")
    try:
        devices = jax.devices(platform)
    except RuntimeError:
        devices = jax.devices()
    for device in devices:
        if name == f"{device.platform}:{device.id}" or (platform, number) == (device.platform, ""):
            return device
    known = [f"{it.platform}:{it.id}" for it in devices]
    raise ValueError(
        f"JAX has no device {name!r} in this process; it has {known}. Several devices of a CPU, to try: set "
        "XLA_FLAGS=--xla_force_host_platform_device_count=4 before JAX is imported."
    )
