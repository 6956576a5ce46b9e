"""`ModelParallel`: weights are divided among devices by their paths."""

from __future__ import annotations

from typing import Any

from tfkit.src.training.distribution.distribution import Distribution
from tfkit.src.training.distribution.layouts import LayoutMap, TensorLayout


class ModelParallel(Distribution):
    """Weights are divided among devices by their paths, and batches along one axis of the mesh.

    JAX trains such a model, under `compile(engine="jax")`: each device has its part of a divided weight, and
    of its slots. `layout_map` has the layouts: a key is a regular expression that `variable.path` must match
    as a whole. `"path/of/layer/output"` is a layout for what a layer returns. A weight without a rule is on
    all devices; `model.plan` lists them. A rule that matches nothing is an error.

    Args:
        layout_map: the layouts of variables.
        batch_dim_name: the mesh's axis along which batches are divided. Default: the first one.
        auto_shard_dataset: must be `True` with several processes: each reads all of a dataset, and uses
            its rows of every batch.
        shard_optimizer_state: whether the slots of the optimizer are also divided along the axis of batches,
            as ZeRO does in its first stage. Default: `False`.

    Raises:
        ValueError: if `layout_map` is not a `LayoutMap` with a mesh, or the mesh has no such axis.

    Example:
        >>> distribution = tfkit.distribution
        >>> mesh = distribution.DeviceMesh((1, 1), ["batch", "model"], ["cpu:0"])
        >>> layout_map = distribution.LayoutMap(mesh)
        >>> layout_map[".*dense.*/kernel"] = (None, "model")
        >>> parallel = ModelParallel(layout_map=layout_map, batch_dim_name="batch")
        >>> parallel.num_model_replicas
        1
    """

    def __init__(
        self,
        *,
        layout_map: Any = None,
        batch_dim_name: str | None = None,
        auto_shard_dataset: bool = True,
        shard_optimizer_state: bool = False,
    ) -> None:
        if not isinstance(layout_map, LayoutMap) or layout_map.device_mesh is None:
            raise ValueError(
                "`layout_map` must be a `LayoutMap` with a mesh. "
                f"Received: {layout_map!r} (of type {type(layout_map).__name__})"
            )
        mesh = layout_map.device_mesh
        axis = mesh.axis_names[0] if batch_dim_name is None else batch_dim_name
        if axis not in mesh.axis_names:
            raise ValueError(
                f"`batch_dim_name` must be an axis of the mesh, {mesh.axis_names}. Received: {axis!r}"
            )
        super().__init__(mesh, axis, auto_shard_dataset, shard_optimizer_state)
        self.layout_map = layout_map

    def get_variable_layout(self, variable: Any) -> TensorLayout:
        """Returns the layout of a variable, by its path; without a rule it is not divided."""
        return self.layout_map[variable.path] or super().get_variable_layout(variable)

    def get_tensor_layout(self, path: str) -> TensorLayout | None:
        """Returns the layout of what a layer returns, by the layer's path and `/output`; `None` for any."""
        found: TensorLayout | None = self.layout_map[path]
        return found
