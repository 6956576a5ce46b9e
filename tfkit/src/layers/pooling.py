"""Pooling: the largest or the mean value of each window, or of the whole input."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import LayerOptions, NamedOptions
from tfkit.src.base.registry import constructors
from tfkit.src.base.settings import standardize_data_format
from tfkit.src.core.layer import Layer
from tfkit.src.layers.checks import as_floats
from tfkit.src.layers.convolution import check_padding, sizes
from tfkit.src.ops import kernels
from tfkit.src.ops.convolution import channels_last, over_windows
from tfkit.src.ops.pooling import pool_windows
from tfkit.src.symbolic.input_spec import InputSpec


class BasePooling(Layer):
    """The base of poolings of windows, which describe the arguments; they set `rank` and `kind`."""

    rank = 2
    kind = "MAX"
    _tfkit_built_at_once = True

    @constructors.named_after_class
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
        # Windows that neither overlap nor leave anything out.
        given = self.pool_size if strides is None else strides
        self.strides = sizes(self, "strides", given, self.rank)
        self.padding = check_padding(self, padding)
        self.data_format = standardize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the pooled windows."""

        padding = self.padding.upper()

        def pool(x: tf.Tensor) -> tf.Tensor:
            function = kernels.max_pool if self.kind == "MAX" else tf.nn.avg_pool
            return pool_windows(function, x, self.pool_size, self.strides, padding)

        def pooled(x: tf.Tensor) -> tf.Tensor:
            return over_windows("pooling", pool, x, self.pool_size, padding)

        return channels_last(inputs, self.data_format, pooled)


class _MaxPooling(BasePooling):
    """The base of `MaxPooling1D`, `MaxPooling2D` and `MaxPooling3D`: `pool_size` has a default."""

    @constructors.named_after_class
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
    """The largest value of each window of sequences, for each channel.

    Args:
        pool_size: length of the window in steps, an integer. Default: `2`.
        strides: distance of neighbouring windows in steps; `None` for `pool_size`.
        padding: `"valid"` for windows inside the input, or `"same"` for an output of
            `ceil(steps / strides)` steps; positions outside of the input do not count. Default:
            `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        name: name of the layer, a string without `/`; `None` for one that is made from the class's
            name.
        **kwargs: options of every layer, which `Layer` describes: `trainable`, `dtype`, `autocast`,
            `activity_regularizer`.

    Input shape: `(batch, steps, channels)`, or `(batch, channels, steps)` with
    `data_format="channels_first"`.

    Output shape: `(batch, new_steps, channels)`, or `(batch, channels, new_steps)`. With
    `padding="valid"`, `new_steps` is `floor((steps - pool_size) / strides) + 1`.

    Raises:
        ValueError: if a size or a stride is not a positive integer, if `padding` or `data_format`
            is unknown, or if a window does not fit into the input.

    Example:
        >>> MaxPooling1D(2)(tf.constant([[[1.0], [3.0], [2.0], [0.0]]])).numpy().ravel().tolist()
        [3.0, 2.0]
    """

    rank, kind = 1, "MAX"


class MaxPooling2D(_MaxPooling):
    """The largest value of each window of images, for each channel.

    Args:
        pool_size: height and width of the window in pixels, a tuple of two integers, or one integer
            for both. Default: `2`.
        strides: distance of neighbouring windows in pixels, two integers or one; `None` for
            `pool_size`.
        padding: `"valid"` for windows inside the input, or `"same"` for an output of
            `ceil(size / strides)` entries along an axis; positions outside of the input do not count.
            Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        name: name of the layer, a string without `/`; `None` for one that is made from the class's
            name.
        **kwargs: options of every layer, which `Layer` describes: `trainable`, `dtype`, `autocast`,
            `activity_regularizer`.

    Input shape: `(batch, height, width, channels)`, or `(batch, channels, height, width)` with
    `data_format="channels_first"`.

    Output shape: `(batch, new_height, new_width, channels)`, or with `channels` as second axis.
    With `padding="valid"` a new size is `floor((size - pool_size) / strides) + 1`.

    Raises:
        ValueError: if a size or a stride is not a positive integer, if `padding` or `data_format`
            is unknown, or if a window does not fit into the input.

    Example:
        >>> images = tf.reshape(tf.range(16.0), (1, 4, 4, 1))
        >>> MaxPooling2D(2)(images)[0, ..., 0].numpy().tolist()
        [[5.0, 7.0], [13.0, 15.0]]
    """

    rank, kind = 2, "MAX"


class MaxPooling3D(_MaxPooling):
    """The largest value of each window of volumes, for each channel.

    Args:
        pool_size: depth, height and width of the window, a tuple of three integers, or one integer
            for all. Default: `2`.
        strides: distance of neighbouring windows, three integers or one; `None` for `pool_size`.
        padding: `"valid"` for windows inside the input, or `"same"` for an output of
            `ceil(size / strides)` entries along an axis; positions outside of the input do not count.
            Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        name: name of the layer, a string without `/`; `None` for one that is made from the class's
            name.
        **kwargs: options of every layer, which `Layer` describes: `trainable`, `dtype`, `autocast`,
            `activity_regularizer`.

    Input shape: `(batch, depth, height, width, channels)`, or
    `(batch, channels, depth, height, width)` with `data_format="channels_first"`.

    Output shape: `(batch, new_depth, new_height, new_width, channels)`, or with `channels` as
    second axis. With `padding="valid"` a new size is `floor((size - pool_size) / strides) + 1`.

    Raises:
        ValueError: if a size or a stride is not a positive integer, if `padding` or `data_format`
            is unknown, or if a window does not fit into the input.

    Example:
        >>> MaxPooling3D(2)(tf.ones((1, 4, 5, 6, 3))).shape
        TensorShape([1, 2, 2, 3, 3])
    """

    rank, kind = 3, "MAX"


class AveragePooling1D(BasePooling):
    """The mean of each window of sequences, for each channel.

    Args:
        pool_size: length of the window in steps, an integer.
        strides: distance of neighbouring windows in steps; `None` for `pool_size`.
        padding: `"valid"` for windows inside the input, or `"same"` for an output of
            `ceil(steps / strides)` steps; positions outside of the input do not count. Default:
            `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        name: name of the layer, a string without `/`; `None` for one that is made from the class's
            name.
        **kwargs: options of every layer, which `Layer` describes: `trainable`, `dtype`, `autocast`,
            `activity_regularizer`.

    Input shape: `(batch, steps, channels)`, or `(batch, channels, steps)` with
    `data_format="channels_first"`.

    Output shape: `(batch, new_steps, channels)`, or `(batch, channels, new_steps)`. With
    `padding="valid"`, `new_steps` is `floor((steps - pool_size) / strides) + 1`.

    Raises:
        ValueError: if a size or a stride is not a positive integer, if `padding` or `data_format`
            is unknown, or if a window does not fit into the input.

    Example:
        >>> AveragePooling1D(2)(
        ...     tf.constant([[[1.0], [3.0], [2.0], [0.0]]])
        ... ).numpy().ravel().tolist()
        [2.0, 1.0]
    """

    rank, kind = 1, "AVG"


class AveragePooling2D(BasePooling):
    """The mean of each window of images, for each channel.

    Args:
        pool_size: height and width of the window in pixels, a tuple of two integers, or one integer
            for both.
        strides: distance of neighbouring windows in pixels, two integers or one; `None` for
            `pool_size`.
        padding: `"valid"` for windows inside the input, or `"same"` for an output of
            `ceil(size / strides)` entries along an axis; positions outside of the input do not count.
            Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        name: name of the layer, a string without `/`; `None` for one that is made from the class's
            name.
        **kwargs: options of every layer, which `Layer` describes: `trainable`, `dtype`, `autocast`,
            `activity_regularizer`.

    Input shape: `(batch, height, width, channels)`, or `(batch, channels, height, width)` with
    `data_format="channels_first"`.

    Output shape: `(batch, new_height, new_width, channels)`, or with `channels` as second axis.
    With `padding="valid"` a new size is `floor((size - pool_size) / strides) + 1`.

    Raises:
        ValueError: if a size or a stride is not a positive integer, if `padding` or `data_format`
            is unknown, or if a window does not fit into the input.

    Example:
        >>> images = tf.reshape(tf.range(16.0), (1, 4, 4, 1))
        >>> AveragePooling2D(2)(images)[0, ..., 0].numpy().tolist()
        [[2.5, 4.5], [10.5, 12.5]]
    """

    rank, kind = 2, "AVG"


class AveragePooling3D(BasePooling):
    """The mean of each window of volumes, for each channel.

    Args:
        pool_size: depth, height and width of the window, a tuple of three integers, or one integer
            for all.
        strides: distance of neighbouring windows, three integers or one; `None` for `pool_size`.
        padding: `"valid"` for windows inside the input, or `"same"` for an output of
            `ceil(size / strides)` entries along an axis; positions outside of the input do not count.
            Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        name: name of the layer, a string without `/`; `None` for one that is made from the class's
            name.
        **kwargs: options of every layer, which `Layer` describes: `trainable`, `dtype`, `autocast`,
            `activity_regularizer`.

    Input shape: `(batch, depth, height, width, channels)`, or
    `(batch, channels, depth, height, width)` with `data_format="channels_first"`.

    Output shape: `(batch, new_depth, new_height, new_width, channels)`, or with `channels` as
    second axis. With `padding="valid"` a new size is `floor((size - pool_size) / strides) + 1`.

    Raises:
        ValueError: if a size or a stride is not a positive integer, if `padding` or `data_format`
            is unknown, or if a window does not fit into the input.

    Example:
        >>> AveragePooling3D(2)(tf.ones((1, 4, 5, 6, 3))).shape
        TensorShape([1, 2, 2, 3, 3])
    """

    rank, kind = 3, "AVG"


class BaseGlobalPooling(Layer):
    """The base of global poolings, which describe the arguments; they set `rank`."""

    rank = 2
    _tfkit_built_at_once = True

    @constructors.named_after_class
    def __init__(
        self, data_format: str | None = None, keepdims: bool = False, **kwargs: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**kwargs)
        self.data_format = standardize_data_format(data_format)
        self.keepdims = keepdims
        self.input_spec = InputSpec(ndim=self.rank + 2)

    @property
    def _axes(self) -> list[int]:
        # The axes without batch and channels.
        first = 1 if self.data_format == "channels_last" else 2
        return list(range(first, first + self.rank))


class _GlobalMax(BaseGlobalPooling):
    """The largest value of all positions, for each channel."""

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the largest value of each channel."""
        return tf.reduce_max(inputs, self._axes, self.keepdims)


class _GlobalAverage(BaseGlobalPooling):
    """The mean of all positions, for each channel."""

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the mean of each channel."""
        return tf.reduce_mean(as_floats(self, inputs), self._axes, self.keepdims)


class GlobalMaxPooling1D(_GlobalMax):
    """The largest value of each channel of sequences, over time.

    Args:
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        keepdims: whether the pooled axes are kept, with size 1. Default: `False`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, steps, channels)`, or `(batch, channels, steps)` with
    `data_format="channels_first"`.

    Output shape: `(batch, channels)`; with `keepdims`, `(batch, 1, channels)` or
    `(batch, channels, 1)`.

    Raises:
        ValueError: if `data_format` is unknown, or if the inputs have a different number of axes.

    Example:
        >>> GlobalMaxPooling1D()(tf.constant([[[1.0, 5.0], [3.0, 2.0]]])).numpy().tolist()
        [[3.0, 5.0]]
    """

    rank = 1


class GlobalMaxPooling2D(_GlobalMax):
    """The largest value of each channel of images, over height and width.

    Args:
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        keepdims: whether the pooled axes are kept, with size 1. Default: `False`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, height, width, channels)`, or `(batch, channels, height, width)` with
    `data_format="channels_first"`.

    Output shape: `(batch, channels)`; with `keepdims`, `(batch, 1, 1, channels)` or
    `(batch, channels, 1, 1)`.

    Raises:
        ValueError: if `data_format` is unknown, or if the inputs have a different number of axes.

    Example:
        >>> images = tf.reshape(tf.range(8.0), (1, 2, 2, 2))
        >>> GlobalMaxPooling2D()(images).numpy().tolist()
        [[6.0, 7.0]]
    """

    rank = 2


class GlobalMaxPooling3D(_GlobalMax):
    """The largest value of each channel of volumes, over depth, height and width.

    Args:
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        keepdims: whether the pooled axes are kept, with size 1. Default: `False`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, depth, height, width, channels)`, or
    `(batch, channels, depth, height, width)` with `data_format="channels_first"`.

    Output shape: `(batch, channels)`; with `keepdims`, `(batch, 1, 1, 1, channels)` or
    `(batch, channels, 1, 1, 1)`.

    Raises:
        ValueError: if `data_format` is unknown, or if the inputs have a different number of axes.

    Example:
        >>> GlobalMaxPooling3D()(tf.ones((2, 3, 4, 5, 6))).shape
        TensorShape([2, 6])
    """

    rank = 3


class GlobalAveragePooling1D(_GlobalAverage):
    """The mean of each channel of sequences over time; with a mask, over unmasked steps.

    Args:
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        keepdims: whether the time axis is kept, with size 1. Default: `False`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: the sequences.
        mask: booleans of shape `(batch, steps)`, `False` for steps that are left out of the mean;
            `None` for all steps.

    Input shape: `(batch, steps, channels)`, or `(batch, channels, steps)` with
    `data_format="channels_first"`.

    Output shape: `(batch, channels)`; with `keepdims`, `(batch, 1, channels)` or
    `(batch, channels, 1)`.

    Raises:
        ValueError: if `data_format` is unknown, or if the inputs have a different number of axes.

    Example:
        >>> sequences = tf.constant([[[1.0], [3.0], [100.0]]])
        >>> GlobalAveragePooling1D()(sequences, mask=tf.constant([[True, True, False]])).numpy()
        array([[2.]], dtype=float32)
    """

    rank = 1

    def __init__(
        self, data_format: str | None = None, keepdims: bool = False, **kwargs: Unpack[LayerOptions]
    ) -> None:
        super().__init__(data_format, keepdims, **kwargs)
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> tf.Tensor:
        """Returns the mean of each channel."""
        if mask is None:
            return super().call(inputs)
        inputs = as_floats(self, inputs)
        # A mask of integers says which steps count, not how much.
        weights = tf.cast(tf.cast(mask, "bool"), inputs.dtype)
        # (batch, steps, 1) or (batch, 1, steps)
        weights = tf.expand_dims(weights, 2 if self._axes == [1] else 1)
        total = tf.reduce_sum(inputs * weights, self._axes, self.keepdims)
        return total / tf.reduce_sum(weights, self._axes, self.keepdims)

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """Returns `None`, since there are no steps left to mask."""
        return None


class GlobalAveragePooling2D(_GlobalAverage):
    """The mean of each channel of images, over height and width.

    Args:
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        keepdims: whether the pooled axes are kept, with size 1. Default: `False`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, height, width, channels)`, or `(batch, channels, height, width)` with
    `data_format="channels_first"`.

    Output shape: `(batch, channels)`; with `keepdims`, `(batch, 1, 1, channels)` or
    `(batch, channels, 1, 1)`.

    Raises:
        ValueError: if `data_format` is unknown, or if the inputs have a different number of axes.

    Reference:
        Lin et al., "Network in network", 2013.

    Example:
        >>> images = tf.reshape(tf.range(8.0), (1, 2, 2, 2))
        >>> GlobalAveragePooling2D()(images).numpy().tolist()
        [[3.0, 4.0]]
    """

    rank = 2


class GlobalAveragePooling3D(_GlobalAverage):
    """The mean of each channel of volumes, over depth, height and width.

    Args:
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        keepdims: whether the pooled axes are kept, with size 1. Default: `False`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, depth, height, width, channels)`, or
    `(batch, channels, depth, height, width)` with `data_format="channels_first"`.

    Output shape: `(batch, channels)`; with `keepdims`, `(batch, 1, 1, 1, channels)` or
    `(batch, channels, 1, 1, 1)`.

    Raises:
        ValueError: if `data_format` is unknown, or if the inputs have a different number of axes.

    Example:
        >>> GlobalAveragePooling3D()(tf.ones((2, 3, 4, 5, 6))).shape
        TensorShape([2, 6])
    """

    rank = 3
