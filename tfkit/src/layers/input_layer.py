"""The inputs of functional models: `Input` returns a symbolic tensor, `InputLayer` is its layer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfkit.src.base import settings
from tfkit.src.base.errors.frames import warn
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.names import auto_name
from tfkit.src.base.nests import plain_sizes
from tfkit.src.base.registry.constructors import attributes
from tfkit.src.base.registry.dtypes import standardize_dtype
from tfkit.src.core.layer import Layer
from tfkit.src.symbolic.tensors import KerasTensor, Node


class InputLayer(Layer):
    """The entry of a functional model; `Input` makes one and returns its symbolic tensor.

    Args:
        shape: tuple of sizes without the batch, `None` for a size that is free.
        batch_size: size of the batch; `None` for any.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.
        sparse: whether the values are given as a `tf.SparseTensor`; `None` is `False`.
        ragged: whether the values are given as a `tf.RaggedTensor`; `None` is `False`.
        batch_shape: tuple of sizes with the batch, instead of `shape` and `batch_size`.
        input_tensor: symbolic tensor whose shape and dtype are taken, instead of a shape.
        optional: whether `None` may be passed for this input. Default: `False`.
        name: name of the input in dicts of data and in exported signatures; `None` for one that is
            made.
        **kwargs: arguments of every layer, with their defaults: `autocast`, whether float inputs
            are cast to the compute dtype (`True`); `activity_regularizer`, a penalty on the outputs
            (`None`).

    Input shape: `(batch_size, *shape)`, or `batch_shape`.

    Output shape: The same.

    Raises:
        ValueError: if no shape is given, if two are, if a size is neither an integer nor `None`, or
            if `sparse` and `ragged` are both true.

    Example:
        >>> InputLayer(shape=(32,), name="x").output.shape
        (None, 32)
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
        # Keras 2 wrote it into configurations; an input has no weights.
        kwargs.pop("trainable", None)
        old_shape = kwargs.pop("input_shape", None)
        old_batch_shape = kwargs.pop("batch_input_shape", None)
        super().__init__(name=name or auto_name("input_layer"), **kwargs)
        self._tfkit_auto_named = name is None
        if old_batch_shape is not None:
            warn("Argument `batch_input_shape` is deprecated. Use `batch_shape` instead.")
            batch_shape = old_batch_shape
        if old_shape is not None:
            warn("Argument `input_shape` is deprecated. Use `shape` instead.")
            shape = old_shape
        if input_tensor is not None:
            _check_like(
                input_tensor,
                shape=shape,
                batch_size=batch_size,
                batch_shape=batch_shape,
                dtype=dtype and standardize_dtype(dtype),
                sparse=sparse,
                ragged=ragged,
            )
            batch_shape, dtype = input_tensor.shape, input_tensor.dtype
            sparse, ragged = input_tensor.sparse, input_tensor.ragged
        elif shape is not None and batch_shape is not None:
            raise ValueError("You cannot pass both `shape` and `batch_shape` at the same time.")
        elif batch_size is not None and batch_shape is not None:
            raise ValueError(
                "You cannot pass both `batch_size` and `batch_shape` at the same time."
            )
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
        tensor = input_tensor
        if tensor is None:
            dtype = dtype or settings.floatx()
            tensor = KerasTensor(self.batch_shape, dtype, self.sparse, self.ragged, name=self.name)
        self._tensor_dtype = tensor.dtype
        # The call without arguments is where a functional model begins.
        self._tfkit.nodes.append(Node(self, (), {}, tensor))
        self.built = True

    def call(self) -> None:
        """Computes nothing: the model sets the value of an input."""

    @property
    def dtype(self) -> str:
        """The dtype of the values."""
        return self._tensor_dtype

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return attributes(self, "batch_shape", "dtype", "sparse", "ragged", "name", "optional")


def _check_like(tensor: Any, **arguments: Any) -> None:
    """Raises an error for an `input_tensor` of a different type, and for arguments that contradict it."""
    if not isinstance(tensor, KerasTensor):
        raise ValueError(f"Argument `input_tensor` must be a KerasTensor. Received: {tensor!r}")
    own = {
        "shape": tensor.shape[1:],
        "batch_size": tensor.shape[0] if tensor.shape else None,
        "batch_shape": tensor.shape,
        "dtype": tensor.dtype,
        "sparse": tensor.sparse,
        "ragged": tensor.ragged,
    }
    for name, its in own.items():
        given = arguments[name]
        given = _as_tuple(given) if given is not None and name.endswith("shape") else given
        if given is not None and given != its:
            raise ValueError(
                f"When providing the `input_tensor` argument, you cannot provide an incompatible `{name}` "
                f"argument. Received: {name}={given!r}, where input_tensor has {its!r}"
            )


def _as_tuple(shape: Any) -> tuple[int | None, ...]:
    sizes = plain_sizes(shape) if isinstance(shape, Iterable) else None
    if sizes is None or not all(_is_size(size) for size in sizes):
        raise ValueError(
            "Cannot interpret the shape of an Input. Expected a tuple of non-negative integers and None, "
            f"such as `Input(shape=(28,))`. Received: shape={shape!r}"
        )
    return sizes


def _is_size(size: Any) -> bool:
    return size is None or (isinstance(size, int) and size >= 0)


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
    """Returns a symbolic tensor that describes an input of a functional model.

    Args:
        shape: tuple of sizes without the batch, `None` for a size that is free.
        batch_size: size of the batch; `None` for any.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.
        sparse: whether the values are given as a `tf.SparseTensor`; `None` is `False`.
        ragged: whether the values are given as a `tf.RaggedTensor`; `None` is `False`.
        batch_shape: tuple of sizes with the batch, instead of `shape` and `batch_size`.
        name: name of the input in dicts of data and in exported signatures; `None` for one that is
            made.
        tensor: symbolic tensor whose shape and dtype are taken, instead of a shape.
        optional: whether `None` may be passed for this input. Default: `False`.

    Returns:
        A `KerasTensor` of shape `(batch_size, *shape)`, to be passed to layers and to `Model`.

    Raises:
        ValueError: if no shape is given, if two are, if a size is neither an integer nor `None`, or if
            `sparse` and `ragged` are both true.

    Example:
        >>> Input(shape=(32,), name="x").shape
        (None, 32)
    """
    layer = InputLayer(
        shape, batch_size, dtype, sparse, ragged, batch_shape, tensor, optional, name
    )
    return layer.output
