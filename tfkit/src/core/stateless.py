"""A layer's call as a pure function of its variables' values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.variables.variables import lent

if TYPE_CHECKING:
    from tfkit.src.core.layer import Layer


def stateless_call(
    layer: Layer,
    trainable_values: Any,
    non_trainable_values: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    return_losses: bool,
) -> Any:
    """Calls `layer` as if its variables had the given values, and puts the real values back.

    Gradients flow to `trainable_values`.
    """
    if not layer.built:
        raise ValueError(
            f"To call `stateless_call`, layer '{layer.path}' must be built. Call it on some data first."
        )
    trainable, non_trainable = layer.trainable_variables, layer.non_trainable_variables
    for name, values, variables in (
        ("trainable_variables", trainable_values, trainable),
        ("non_trainable_variables", non_trainable_values, non_trainable),
    ):
        if len(values) != len(variables):
            raise ValueError(
                f"Argument `{name}` must hold one value for each of `layer.{name}` of layer "
                f"'{layer.path}'. Expected {len(variables)} values. Received: {len(values)}"
            )
    structure: list[Any] = []

    @tf.custom_gradient
    def pure(*values: tf.Tensor) -> Any:
        with lent((*trainable, *non_trainable), (*values, *non_trainable_values), "variables"):
            with tf.GradientTape(persistent=True) as tape:
                results = {"outputs": layer(*args, **kwargs)}
                if return_losses:
                    results["losses"] = layer.losses
            results["state"] = [tf.identity(variable) for variable in non_trainable]
        structure[:] = [results]
        flat = tf.nest.flatten(results)

        def gradient(*upstream: Any, variables: Any = ()) -> Any:
            inner = tape.gradient(
                flat, trainable, list(upstream), unconnected_gradients=tf.UnconnectedGradients.ZERO
            )
            return inner, [tf.zeros_like(variable) for variable in variables]

        return flat, gradient

    values = [
        tf.convert_to_tensor(value, variable.dtype)
        for value, variable in zip(trainable_values, trainable, strict=True)
    ]
    flat = pure(*values)
    results = tf.nest.pack_sequence_as(structure[0], flat)
    if return_losses:
        return results["outputs"], results["state"], results["losses"]
    return results["outputs"], results["state"]
