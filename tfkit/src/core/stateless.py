"""A layer's call as a pure function of its variables' values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfkit.src.variables.together import computed_with

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

    def compute() -> dict[str, Any]:
        results = {"outputs": layer(*args, **kwargs)}
        return {**results, "losses": layer.losses} if return_losses else results

    results = computed_with(
        compute, trainable, non_trainable, trainable_values, non_trainable_values
    )
    return tuple(results[name] for name in ("outputs", "state", "losses") if name in results)
