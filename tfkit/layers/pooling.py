"""Pooling: the largest or the mean value of each window, or of all places."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.core.input_spec import InputSpec
from tfkit.core.layer import Layer
from tfkit.core.typing import LayerOptions, NamedOptions
from tfkit.layers.checks import check
from tfkit.layers.convolution import sizes
from tfkit.ops.convolution import channels_last, layout, over_windows
from tfkit.settings import standardize_data_format


class _Pooling(Layer):
    """The largest or the mean value of each window.

    Args:
        pool_size: sizes of the window, one number or one for each direction; of maxima, 2 unless given.
        strides: step in each direction, `pool_size` unless given.
        padding: `"valid"` (none) or `"same"` (output size is input size over stride).
        data_format: `"channels_last"` or `"channels_first"`, the default of `config` unless given.
        name: a label for people.

    Input shape: `(batch, *sizes, channels)`, or channels second.

    Output shape: the same with smaller sizes.

    Raises:
        ValueError: for sizes that are no positive integers, and other values out of range.
    """

    rank = 2
    kind = "MAX"

    def __init__(
        self,
        pool_size: Any,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        name: str | None = None,
        **kwargs: Unpack[NamedOptions],
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.pool_size = sizes(self, "pool_size", pool_size, self.rank)
        given = self.pool_size if strides is None else strides
        self.strides = sizes(self, "strides", given, self.rank)
        check(
            self, str(padding).lower() in ("valid", "same"), "padding", "'valid' or 'same'", padding
        )
        self.padding = padding.lower()
        self.data_format = standardize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs: Any) -> tf.Tensor:
        """The pooled windows."""

        padding = self.padding.upper()

        def pool(x: tf.Tensor) -> tf.Tensor:
            return tf.nn.pool(x, self.pool_size, self.kind, self.strides, padding, layout(x))

        def pooled(x: tf.Tensor) -> tf.Tensor:
            return over_windows("pooling", pool, x, self.pool_size, padding)

        # TensorFlow has no kernel for float16 volumes on CPU.
        is_half_volume = self.rank == 3 and inputs.dtype == tf.float16
        x = tf.cast(inputs, "float32") if is_half_volume else inputs
        return tf.cast(channels_last(x, self.data_format, pooled), inputs.dtype)


class _MaxPooling(_Pooling):
    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        name: str | None = None,
        **kwargs: Unpack[NamedOptions],
    ) -> None:
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)


class MaxPooling1D(_MaxPooling):
    """The largest value of each window of sequences, `(batch, steps, channels)`.

    The arguments are `pool_size`, `strides`, `padding` and `data_format`, as described in `_Pooling`.
    """

    rank, kind = 1, "MAX"


class MaxPooling2D(_MaxPooling):
    """The largest value of each window of images, `(batch, height, width, channels)`.

    The arguments are `pool_size`, `strides`, `padding` and `data_format`, as described in `_Pooling`.
    """

    rank, kind = 2, "MAX"


class MaxPooling3D(_MaxPooling):
    """The largest value of each window of volumes, `(batch, depth, height, width, channels)`.

    The arguments are `pool_size`, `strides`, `padding` and `data_format`, as described in `_Pooling`.
    """

    rank, kind = 3, "MAX"


class AveragePooling1D(_Pooling):
    """The mean of each window of sequences, `(batch, steps, channels)`.

    The arguments are `pool_size`, `strides`, `padding` and `data_format`, as described in `_Pooling`.
    """

    rank, kind = 1, "AVG"


class AveragePooling2D(_Pooling):
    """The mean of each window of images, `(batch, height, width, channels)`.

    The arguments are `pool_size`, `strides`, `padding` and `data_format`, as described in `_Pooling`.
    """

    rank, kind = 2, "AVG"


class AveragePooling3D(_Pooling):
    """The mean of each window of volumes, `(batch, depth, height, width, channels)`.

    The arguments are `pool_size`, `strides`, `padding` and `data_format`, as described in `_Pooling`.
    """

    rank, kind = 3, "AVG"


class _GlobalPooling(Layer):
    """The largest or the mean value of all places, for each channel.

    Args:
        data_format: `"channels_last"` or `"channels_first"`, the default of `config` unless given.
        keepdims: whether the pooled axes stay, with size 1.

    Input shape: `(batch, *sizes, channels)`, or channels second.

    Output shape: `(batch, channels)`.
    """

    rank = 2

    def __init__(
        self, data_format: str | None = None, keepdims: bool = False, **kwargs: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**kwargs)
        self.data_format = standardize_data_format(data_format)
        self.keepdims = keepdims
        self.input_spec = InputSpec(ndim=self.rank + 2)

    @property
    def _axes(self) -> list[int]:
        first = 1 if self.data_format == "channels_last" else 2
        return list(range(first, first + self.rank))


class _GlobalMax(_GlobalPooling):
    """The largest value of all places, for each channel."""

    def call(self, inputs: Any) -> tf.Tensor:
        """The largest value of each channel."""
        return tf.reduce_max(inputs, self._axes, self.keepdims)


class _GlobalAverage(_GlobalPooling):
    """The mean of all places, for each channel."""

    def call(self, inputs: Any) -> tf.Tensor:
        """The mean of each channel."""
        return tf.reduce_mean(inputs, self._axes, self.keepdims)


class GlobalMaxPooling1D(_GlobalMax):
    """The largest value of all places of sequences, `(batch, steps, channels)`.

    The arguments are `data_format` and `keepdims`, as described in `_GlobalPooling`.
    """

    rank = 1


class GlobalMaxPooling2D(_GlobalMax):
    """The largest value of all places of images, `(batch, height, width, channels)`.

    The arguments are `data_format` and `keepdims`, as described in `_GlobalPooling`.
    """

    rank = 2


class GlobalMaxPooling3D(_GlobalMax):
    """The largest value of all places of volumes, `(batch, depth, height, width, channels)`.

    The arguments are `data_format` and `keepdims`, as described in `_GlobalPooling`.
    """

    rank = 3


class GlobalAveragePooling1D(_GlobalAverage):
    """The mean over time for each channel; with a mask, over the steps that count.

    Args:
        data_format: `"channels_last"` or `"channels_first"`, the default of `config` unless given.
        keepdims: whether the time axis stays, with size 1.

    Call arguments:
        inputs: a sequence.
        mask: booleans of shape `(batch, steps)`.

    Input shape: `(batch, steps, channels)`, or channels second.

    Output shape: `(batch, channels)`.
    """

    rank = 1

    def __init__(
        self, data_format: str | None = None, keepdims: bool = False, **kwargs: Unpack[LayerOptions]
    ) -> None:
        super().__init__(data_format, keepdims, **kwargs)
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> tf.Tensor:
        """The mean of each channel."""
        if mask is None:
            return super().call(inputs)
        weights = tf.expand_dims(tf.cast(mask, inputs.dtype), 2 if self._axes == [1] else 1)
        total = tf.reduce_sum(inputs * weights, self._axes, self.keepdims)
        return total / tf.reduce_sum(weights, self._axes, self.keepdims)

    def compute_mask(self, inputs: Any, previous_mask: Any) -> None:
        """There are no steps left to mask."""
        return None


class GlobalAveragePooling2D(_GlobalAverage):
    """The mean of all places of images, `(batch, height, width, channels)`.

    The arguments are `data_format` and `keepdims`, as described in `_GlobalPooling`.
    """

    rank = 2


class GlobalAveragePooling3D(_GlobalAverage):
    """The mean of all places of volumes, `(batch, depth, height, width, channels)`.

    The arguments are `data_format` and `keepdims`, as described in `_GlobalPooling`.
    """

    rank = 3
