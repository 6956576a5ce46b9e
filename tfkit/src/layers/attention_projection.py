"""The dense layers inside attention layers."""

from __future__ import annotations

import string
from typing import Any

from tfkit.src.base.members import Alias
from tfkit.src.layers.adaptations import noted
from tfkit.src.layers.attention_heads import AttentionWithHeads
from tfkit.src.layers.einsum_dense import EinsumDense


def alias(attribute: str) -> Any:
    """Returns a property that reads and sets an attribute with a different name."""

    def read(self: Any) -> Any:
        return getattr(self, attribute)

    def write(self: Any, value: Any) -> None:
        setattr(self, attribute, value)

    return Alias(read, write)


def projection_options(attention: AttentionWithHeads) -> dict[str, Any]:
    """Returns the options of an attention layer for the dense layers inside."""
    return {
        "kernel_initializer": _copy_of(attention.kernel_initializer),
        "bias_initializer": _copy_of(attention.bias_initializer),
        "kernel_regularizer": attention.kernel_regularizer,
        "bias_regularizer": attention.bias_regularizer,
        "activity_regularizer": attention._projections_regularizer,
        "kernel_constraint": attention.kernel_constraint,
        "bias_constraint": attention.bias_constraint,
        "dtype": attention.dtype_policy,
    }


def projection_equation(num_kept: int, num_summed: int, num_made: int) -> str:
    """Returns the contraction from the last axes of the inputs to new ones, such as `"abc,cde->abde"`."""
    letters = iter(string.ascii_lowercase)
    kept, summed, made = (
        "".join(next(letters) for _ in range(count)) for count in (num_kept, num_summed, num_made)
    )
    return f"{kept}{summed},{summed}{made}->{kept}{made}"


def projection(
    attention: AttentionWithHeads,
    attribute: str,
    name: str,
    input_shape: Any,
    equation: str,
    output_shape: tuple[int | None, ...],
    *,
    activation: Any = None,
) -> EinsumDense:
    """Returns a dense layer, built, with the options of an attention layer.

    Args:
        attention: the attention layer.
        attribute: the attribute of the attention layer that will hold the dense layer.
        name: name of the dense layer.
        input_shape: shape of its inputs.
        equation: its contraction, such as `"abc,cde->abde"`. The bias has the axes of the outputs that
            the inputs lack.
        output_shape: shape of its outputs without the batch; `None` for an axis of the inputs.
        activation: its activation.
    """
    inputs, outputs = equation.split(",")[0], equation.split("->")[1]
    # The bias has the axes that the product adds.
    new_axes = "".join(letter for letter in outputs if letter not in inputs)
    options = projection_options(attention) | noted(attention._tfkit.layer, attribute)
    layer = EinsumDense(
        equation,
        output_shape=output_shape,
        bias_axes=new_axes if attention.use_bias else None,
        activation=activation,
        name=name,
        **options,
    )
    layer.supports_masking = True  # A mask of the query or the value has no effect here.
    layer.build(input_shape)
    return layer


def _copy_of(initializer: Any) -> Any:
    """Returns an initializer of the same configuration; without a seed it has a new one."""
    if not hasattr(initializer, "get_config"):
        return initializer
    return type(initializer).from_config(initializer.get_config())
