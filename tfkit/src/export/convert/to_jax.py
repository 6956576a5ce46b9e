"""`to_jax` and `from_jax`: layers as functions of JAX, and their values back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfkit.src.core.layer import Layer
from tfkit.src.core.tracking import named_state
from tfkit.src.export.convert import frameworks
from tfkit.src.export.convert.tracing import trace
from tfkit.src.export.convert.values import set_values


def to_jax(
    layer: Layer, *examples: Any, **keywords: Any
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Returns a layer's call as a pure function of JAX, and the values of its variables.

    The call is traced, with and without training, and computed by JAX's own operations: `jax.jit`, `grad`,
    `vmap`, `scan` and `jax.export` apply, and TensorFlow is not used.

    Args:
        layer: a layer or a model. It is built if necessary, and not changed otherwise.
        *examples: arguments of its call, for their shapes and dtypes: arrays or tensors, whose first axis may
            have any size later, or `tf.TensorSpec`s with None for each size that varies; or nests of them.
        **keywords: keyword arguments of its call, likewise.

    Returns:
        `(f, params, state)`, with `f(params, state, *inputs, training=False, seed=None, losses=False)`
        returning `(outputs, state)`, or `(outputs, state, losses)` on request. `params` holds the
        trained variables and `state` all others, as dicts by attribute path. With a `seed` (an integer, an
        array of them or a key of `jax.random`) random numbers follow from it; otherwise from the generators
        in `state`: those that tfkit draws, bit for bit. Integers and floats of 64 bits become 32 bits wide
        unless `jax_enable_x64` is set.

    Raises:
        ImportError: without JAX.
        NotImplementedError: for an operation that has no formula for JAX.
        TypeError: if `layer` is not a layer.
        ValueError: without examples; for a layer that uses other resources than variables.

    Example:
        >>> import numpy as np
        >>> layer = tfkit.layers.Dense(2)
        >>> try:
        ...     f, params, state = to_jax(layer, np.ones((1, 3), "float32"))
        ...     outputs, state = f(params, state, np.ones((5, 3), "float32"))
        ...     assert outputs.shape == (5, 2)
        ... except ImportError:
        ...     pass  # JAX is not installed.
    """
    functions = frameworks.of_jax("functions", "`to_jax`")
    function = functions.JaxFunction(trace(layer, examples, keywords))
    return (function, *function.values())


def from_jax(
    layer: Layer, params: Mapping[str, Any], state: Mapping[str, Any] | None = None
) -> None:
    """Sets the variables of a layer to values of JAX, by attribute path: all of them, or none.

    Args:
        layer: the layer or model that was converted.
        params: values of its trained variables by path: the `params` of `to_jax`, after a training run there.
        state: values of the others; they remain as they are if not given. Variables that do not belong to
            the layer (`"other/..."`) are left out.

    Raises:
        TypeError: if `layer` is not a layer, or `params` or `state` is not a dict of values by path.
        ValueError: if a path is missing, not known, or in both dicts, a shape or a kind of dtype differs, or
            an integer is too large. Nothing is set.

    Example:
        >>> layer = tfkit.layers.Dense(1, use_bias=False)
        >>> import numpy as np
        >>> layer.build((None, 2))
        >>> from_jax(layer, {"kernel": np.array([[1.0], [2.0]])})
        >>> layer.kernel.numpy().ravel().tolist()
        [1.0, 2.0]
    """
    if not isinstance(state, Mapping | None):
        raise TypeError(
            f"`from_jax` takes `state` as a dict of values by path. Received: a {type(state).__name__}"
        )
    others = {path: it for path, it in (state or {}).items() if not str(path).startswith("other/")}
    if isinstance(params, Mapping):
        if isinstance(layer, Layer):
            # Values of trained variables to which a call assigns are in `state`, too: `params` counts.
            trained = {id(it) for it in layer.trainable_variables}
            paths = [path for path, it in named_state(layer).items() if id(it) in trained]
            others = {path: it for path, it in others.items() if path not in paths}
        if both := sorted(map(str, params.keys() & others.keys())):
            raise ValueError(
                f"`params` and `state` both have values of the variables {both}. None was set."
            )
        params = {**params, **others}
    set_values(layer, params, with_state=state is not None, source="from_jax")
