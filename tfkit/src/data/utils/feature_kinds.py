"""The kinds of features of a `FeatureSpace`."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.names import auto_name
from tfkit.src.data.utils.features import Cross, Feature
from tfkit.src.layers.identity import Identity
from tfkit.src.layers.image.rescaling import Rescaling
from tfkit.src.layers.preprocessing.discretization import Discretization
from tfkit.src.layers.preprocessing.hashing import Hashing
from tfkit.src.layers.preprocessing.integer_lookup import IntegerLookup
from tfkit.src.layers.preprocessing.normalization import Normalization
from tfkit.src.layers.preprocessing.string_lookup import StringLookup

_Number = float  # In the class below, `float` is a kind of feature.


class FeatureKinds:
    """Class methods that make features, each with its layer."""

    @classmethod
    def cross(cls, feature_names: Any, crossing_dim: int, output_mode: str = "one_hot") -> Cross:
        """Returns a cross of features, for the argument `crosses`.

        Args:
            feature_names: names of at least two features of integers or strings, or with indices.
            crossing_dim: number of indices to which the combinations are hashed.
            output_mode: `"one_hot"` for a vector, `"int"` for the index. Default: `"one_hot"`.
        """
        return Cross(feature_names, crossing_dim, output_mode)

    @classmethod
    def feature(cls, dtype: str, preprocessor: Any, output_mode: str) -> Feature:
        """Returns a feature with a custom preprocessing layer.

        Args:
            dtype: dtype of the column.
            preprocessor: a layer for inputs of shape `(batch, 1)`.
            output_mode: `"float"` or `"int"` for the result of the layer; `"one_hot"` if these are indices
                that are to become vectors.
        """
        return Feature(dtype, preprocessor, output_mode)

    @classmethod
    def float(cls, name: str | None = None) -> Feature:
        """Returns a feature of unchanged floats; the layer is named after `name`."""
        return Feature("float32", Identity(dtype="float32", name=_named("float", name)), "float")

    @classmethod
    def float_rescaled(
        cls, scale: _Number = 1.0, offset: _Number = 0.0, name: str | None = None
    ) -> Feature:
        """Returns a feature of floats that become `x * scale + offset`; the layer is named after `name`."""
        layer = Rescaling(scale, offset, name=_named("float_rescaled", name))
        return Feature("float32", layer, "float")

    @classmethod
    def float_normalized(cls, name: str | None = None) -> Feature:
        """Returns a feature of floats scaled to mean 0 and variance 1; the layer is named after `name`."""
        layer = Normalization(axis=-1, name=_named("float_normalized", name))
        return Feature("float32", layer, "float")

    @classmethod
    def float_discretized(
        cls,
        num_bins: int | None,
        bin_boundaries: Any = None,
        output_mode: str = "one_hot",
        name: str | None = None,
    ) -> Feature:
        """Returns a feature of floats that become the index of a bin.

        Args:
            num_bins: number of bins, whose boundaries `adapt` finds; `None` with `bin_boundaries`.
            bin_boundaries: boundaries in increasing order; `None` with `num_bins`.
            output_mode: `"one_hot"` for a vector, `"int"` for the index. Default: `"one_hot"`.
            name: beginning of the name of the layer.
        """
        layer = Discretization(
            num_bins=num_bins, bin_boundaries=bin_boundaries, name=_named("float_discretized", name)
        )
        return Feature("float32", layer, output_mode)

    @classmethod
    def integer_categorical(
        cls,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        output_mode: str = "one_hot",
        name: str | None = None,
    ) -> Feature:
        """Returns a feature of integers that become their index among those that `adapt` has seen.

        Args:
            max_tokens: maximum number of indices; `None` for any.
            num_oov_indices: how many indices are shared by integers that `adapt` has not seen. Default: `1`.
            output_mode: `"one_hot"` for a vector, `"int"` for the index. Default: `"one_hot"`.
            name: beginning of the name of the layer.
        """
        name = _named("integer_categorical", name)
        layer = IntegerLookup(max_tokens=max_tokens, num_oov_indices=num_oov_indices, name=name)
        return Feature("int32", layer, output_mode)

    @classmethod
    def string_categorical(
        cls,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        output_mode: str = "one_hot",
        name: str | None = None,
    ) -> Feature:
        """Returns a feature of strings that become their index among those that `adapt` has seen.

        Args:
            max_tokens: maximum number of indices; `None` for any.
            num_oov_indices: how many indices are shared by strings that `adapt` has not seen. Default: `1`.
            output_mode: `"one_hot"` for a vector, `"int"` for the index. Default: `"one_hot"`.
            name: beginning of the name of the layer.
        """
        name = _named("string_categorical", name)
        layer = StringLookup(max_tokens=max_tokens, num_oov_indices=num_oov_indices, name=name)
        return Feature("string", layer, output_mode)

    @classmethod
    def integer_hashed(
        cls, num_bins: int, output_mode: str = "one_hot", name: str | None = None
    ) -> Feature:
        """Returns a feature of integers that become an index by a hash.

        Args:
            num_bins: number of indices.
            output_mode: `"one_hot"` for a vector, `"int"` for the index. Default: `"one_hot"`.
            name: beginning of the name of the layer.
        """
        return Feature("int32", Hashing(num_bins, name=_named("integer_hashed", name)), output_mode)

    @classmethod
    def string_hashed(
        cls, num_bins: int, output_mode: str = "one_hot", name: str | None = None
    ) -> Feature:
        """Returns a feature of strings that become an index by a hash.

        Args:
            num_bins: number of indices.
            output_mode: `"one_hot"` for a vector, `"int"` for the index. Default: `"one_hot"`.
            name: beginning of the name of the layer.
        """
        return Feature("string", Hashing(num_bins, name=_named("string_hashed", name)), output_mode)


KINDS = tuple(it for it in vars(FeatureKinds) if it.startswith(("float", "integer", "string")))


def _named(kind: str, name: str | None) -> str:
    return f"{name or auto_name(kind)}_preprocessor"
