"""Where a functional model begins: `Input` gives a symbolic tensor, `InputLayer` stands for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tfkit import settings
from tfkit.core.layer import Layer
from tfkit.names import auto_name
from tfkit.symbolic import KerasTensor, Node
from tfkit.tracebacks import shortened


class InputLayer(Layer):
    """The entry of a model; `Input` makes one.

    Args:
        shape: sizes without the batch, `None` where a size is free.
        batch_size: size of the batch, `None` for any.
        dtype: dtype of the values, the default float type unless given.
        sparse: whether the values come as a `tf.SparseTensor`.
        ragged: whether the values come as a `tf.RaggedTensor`.
        batch_shape: sizes with the batch, instead of `shape` and `batch_size`.
        input_tensor: a symbolic tensor to wrap instead.
        optional: whether `None` may be passed.
        name: a label, which names the input in dicts of data and in exported signatures.
    """

    def __init__(
        self,
        shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        sparse: bool | None = None,
        ragged: bool | None = None,
        batch_shape: Any = None,
        input_tensor: KerasTensor | None = None,
        optional: bool = False,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.pop("trainable", None)
        super().__init__(name=name or auto_name("input_layer"), **kwargs)
        self._auto_named = name is None
        if input_tensor is not None:
            if not isinstance(input_tensor, KerasTensor):
                raise ValueError(
                    f"Argument `input_tensor` must be a KerasTensor. Received: {input_tensor!r}"
                )
            batch_shape, dtype = input_tensor.shape, dtype or input_tensor.dtype
        elif shape is not None and batch_shape is not None:
            raise ValueError("You cannot pass both `shape` and `batch_shape` at the same time.")
        elif batch_shape is None:
            if shape is None:
                raise ValueError("You must pass a `shape` argument.")
            batch_shape = (batch_size, *_as_tuple(shape))
        if sparse and ragged:
            raise ValueError("`sparse` and `ragged` cannot both be True.")
        self.batch_shape = _as_tuple(batch_shape)
        self.sparse = bool(sparse)
        self.ragged = bool(ragged)
        self.optional = optional
        tensor = KerasTensor(
            self.batch_shape, dtype or settings.floatx(), self.sparse, self.ragged, name=self.name
        )
        self._tensor_dtype = tensor.dtype
        self._tfkit.nodes.append(Node(self, (), {}, tensor))
        self.built = True

    def call(self) -> None:
        """An input is fed, never computed."""
        raise ValueError(
            f"Input '{self.name}' is given its value by the model and cannot be called."
        )

    @property
    def dtype(self) -> str:
        """The dtype of the values."""
        return self._tensor_dtype

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        config = {
            "batch_shape": self.batch_shape,
            "dtype": self.dtype,
            "sparse": self.sparse,
            "ragged": self.ragged,
            "name": self.name,
        }
        return {**config, "optional": True} if self.optional else config


def _as_tuple(shape: Any) -> tuple[int | None, ...]:
    sizes = tuple(shape) if isinstance(shape, Iterable) else None
    if sizes is None or not all(_is_size(size) for size in sizes):
        raise ValueError(
            "Cannot interpret the shape of an Input. Expected a tuple of non-negative integers and None, "
            f"such as `Input(shape=(28,))`. Received: shape={shape!r}"
        )
    return sizes


def _is_size(size: Any) -> bool:
    return size is None or (isinstance(size, (int, np.integer)) and int(size) >= 0)


@shortened
def Input(
    shape: Any = None,
    batch_size: int | None = None,
    dtype: Any = None,
    sparse: bool | None = None,
    ragged: bool | None = None,
    batch_shape: Any = None,
    name: str | None = None,
    tensor: KerasTensor | None = None,
    optional: bool = False,
) -> KerasTensor:
    """A symbolic tensor to describe a model with; the arguments are those of `InputLayer`.

    Example:
        >>> Input(shape=(32,), name="x").shape
        (None, 32)
    """
    layer = InputLayer(
        shape, batch_size, dtype, sparse, ragged, batch_shape, tensor, optional, name
    )
    return layer.output
