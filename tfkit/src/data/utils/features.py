"""The parts of a `FeatureSpace`: columns of a table, and crosses of them."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base.registry.constructors import Configured, attributes
from tfkit.src.base.registry.serialization import deserialize_keras_object, serialize_keras_object
from tfkit.src.core.layer import Layer
from tfkit.src.layers.preprocessing.category_encoding import CategoryEncoding
from tfkit.src.layers.preprocessing.discretization import Discretization
from tfkit.src.layers.preprocessing.hashed_crossing import HashedCrossing
from tfkit.src.layers.preprocessing.hashing import Hashing
from tfkit.src.layers.preprocessing.index_lookup import IndexLookup
from tfkit.src.layers.preprocessing.normalization import Normalization
from tfkit.src.layers.preprocessing.text_vectorization import TextVectorization
from tfkit.src.ops.shaping import expand_dims
from tfkit.src.symbolic.tensors import KerasTensor

_TENSORS = (tf.Tensor, tf.SparseTensor, tf.RaggedTensor)


class Feature(Configured):
    """A column, and its conversion to a number, an index or a vector.

    Args:
        dtype: dtype of the column.
        preprocessor: the layer that is called on it, or a configuration of one.
        output_mode: `"float"` and `"int"` for the result of the layer; `"one_hot"` if these are indices that
            are to become vectors.

    Raises:
        ValueError: for any other output mode, and for a preprocessor that is not a layer.
    """

    def __init__(self, dtype: str, preprocessor: Any, output_mode: str) -> None:
        check_mode(output_mode, ("int", "one_hot", "float"))
        if isinstance(preprocessor, dict):
            preprocessor = deserialize_keras_object(preprocessor)
        if not isinstance(preprocessor, Layer):
            raise ValueError(
                "Invalid value for argument `preprocessor`. Expected a layer. "
                f"Received: preprocessor={preprocessor!r} (of type {type(preprocessor).__name__})"
            )
        self.dtype = dtype
        self.preprocessor: Any = preprocessor
        self.output_mode = output_mode

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            "dtype": self.dtype,
            "preprocessor": serialize_keras_object(self.preprocessor),
            "output_mode": self.output_mode,
        }


class Cross(Configured):
    """Features whose combinations of values are hashed together.

    Args:
        feature_names: their names.
        crossing_dim: number of indices, and size of a vector.
        output_mode: `"one_hot"` for a vector, `"int"` for the index. Default: `"one_hot"`.
    """

    def __init__(self, feature_names: Any, crossing_dim: int, output_mode: str = "one_hot") -> None:
        check_mode(output_mode, ("int", "one_hot"))
        self.feature_names = tuple(feature_names)
        self.crossing_dim = crossing_dim
        self.output_mode = output_mode

    @property
    def name(self) -> str:
        """The names of the features, joined."""
        return "_X_".join(self.feature_names)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return attributes(self, "feature_names", "crossing_dim", "output_mode")


def check_mode(output_mode: str, allowed: tuple[str, ...]) -> None:
    """Raises an error for an output mode that is not allowed."""
    if output_mode not in allowed:
        raise ValueError(
            f"Invalid value for argument `output_mode`. Expected one of {allowed}. "
            f"Received: output_mode={output_mode!r}"
        )


def may_adapt(layer: Layer) -> bool:
    """Whether a layer learns from data something that its constructor was not given."""
    if isinstance(layer, Normalization):
        return layer.input_mean is None
    if isinstance(layer, Discretization):
        return layer.input_bin_boundaries is None
    if isinstance(layer, TextVectorization):
        layer = layer._lookup_layer
    if isinstance(layer, IndexLookup):
        return not layer._static
    return hasattr(layer, "adapt")


def num_indices(layer: Layer) -> int | None:
    """Returns how many indices a preprocessing layer can return; `None` if this is not known."""
    if isinstance(layer, IndexLookup):
        # Before a file is read, its size is known.
        return layer._tfkit_known_size or layer.vocabulary_size()
    if isinstance(layer, CategoryEncoding):
        return layer.num_tokens
    if isinstance(layer, Discretization):
        return layer.num_bins or len(layer.bin_boundaries) + 1
    if isinstance(layer, (Hashing, HashedCrossing)):
        return layer.num_bins
    return None


def as_values(value: Any, feature: Feature) -> Any:
    """Returns numbers or strings as a tensor; integers become floats if floats are expected."""
    if isinstance(value, KerasTensor):
        return value  # The layer that receives it casts it.
    if not isinstance(value, _TENSORS):
        value = tf.convert_to_tensor(value)
    becomes_float = tf.as_dtype(feature.dtype).is_floating and value.dtype.is_integer
    return tf.cast(value, feature.dtype) if becomes_float else value


def as_column(values: Any) -> Any:
    """Returns values of any rank with at least two axes, the first of which is the batch."""
    if len(values.shape) == 0:
        return tf.reshape(values, (1, 1))
    return expand_dims(values, -1) if len(values.shape) == 1 else values


def without_batch(value: Any) -> Any:
    """Returns the only row of an output."""
    if isinstance(value, tf.SparseTensor):
        return tf.sparse.reshape(value, value.dense_shape[1:])
    return tf.squeeze(value, 0)
