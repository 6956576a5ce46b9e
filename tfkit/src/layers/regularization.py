"""Layers that add noise to activations while training, or penalize them."""

from __future__ import annotations

import math
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import LayerOptions, RegularizedOptions
from tfkit.src.base.registry import constructors
from tfkit.src.base.settings import standardize_data_format
from tfkit.src.core.layer import Layer
from tfkit.src.layers.checks import check, check_floats, check_rate, is_integer
from tfkit.src.symbolic.input_spec import InputSpec
from tfkit.src.weights import random, regularizers


class _Noise(Layer):
    """A layer that changes its inputs at random, while training only."""

    _tfkit_built_at_once = True
    _tfkit_level = "rate"  # The attribute that is 0 if nothing changes.

    def _tfkit_draw_from(self, seed: int | None) -> None:
        self.seed = seed
        # Without a level nothing is drawn: no variable is made that files would contain.
        if getattr(self, self._tfkit_level) > 0:
            self.seed_generator = random.SeedGenerator(seed)
        self.supports_masking = True

    def call(self, inputs: Any, training: Any = False) -> tf.Tensor:
        """Returns the inputs; while training, changed at random."""
        if not training or getattr(self, self._tfkit_level) == 0:
            return inputs
        check_floats(self, inputs)
        return self._tfkit_changed(inputs)

    def _tfkit_changed(self, inputs: tf.Tensor) -> tf.Tensor:
        raise NotImplementedError


class Dropout(_Noise):
    """While training, sets entries to zero at random and divides the others by `1 - rate`.

    Thus the expected value of an entry does not change. Outside of training the inputs are returned
    unchanged.

    Args:
        rate: probability with which an entry becomes zero, from 0 to 1.
        noise_shape: shape of the random pattern, which is broadcast to the inputs' shape; `None` in
            it means the size of the inputs there, 1 for an axis along which all entries share
            their fate. `None` for the inputs' shape.
        seed: integer; `None` for a seed that is drawn when the layer is made.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: a tensor of floats.
        training: whether to drop entries; set by `fit` and by layers outside.

    Input shape: Any.

    Output shape: The same as the input shape.

    Raises:
        ValueError: if `rate` is not between 0 and 1, or if `noise_shape` holds other things than
            positive integers and `None`.

    Reference:
        Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting",
            2014.

    Example:
        >>> layer = Dropout(0.5, seed=1)
        >>> layer(tf.ones(4)).numpy().tolist()
        [1.0, 1.0, 1.0, 1.0]
        >>> set(layer(tf.ones(100), training=True).numpy().tolist()) == {0.0, 2.0}
        True
    """

    def __init__(
        self,
        rate: float,
        noise_shape: Any = None,
        seed: int | None = None,
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        check_rate(self, rate=rate)
        holds = noise_shape is None or (
            isinstance(noise_shape, (list, tuple))
            and all(size is None or (is_integer(size) and size > 0) for size in noise_shape)
        )
        check(self, holds, "noise_shape", "a tuple of positive integers and None", noise_shape)
        super().__init__(**kwargs)
        self.rate = rate
        self.noise_shape = None if noise_shape is None else tuple(noise_shape)
        self._tfkit_draw_from(seed)

    def _tfkit_changed(self, inputs: tf.Tensor) -> tf.Tensor:
        pattern = self._pattern(inputs)
        return random.dropout(inputs, self.rate, noise_shape=pattern, seed=self.seed_generator)

    def _pattern(self, inputs: Any) -> Any:
        """Returns the shape of the random pattern."""
        return self.noise_shape


class SpatialDropout1D(Dropout):
    """While training, sets whole channels of sequences to zero and divides the others by `1 - rate`.

    Neighbouring steps are often alike: dropped one by one, they would regularize little.

    Args:
        rate: probability with which a channel of a sample becomes zero, from 0 to 1.
        seed: integer; `None` for a seed that is drawn when the layer is made.
        name: name of the layer, a string without `/`; `None` for one that is made from the class's
            name.
        dtype: name of a dtype or a dtype policy; `None` for the global policy.

    Call arguments:
        inputs: a tensor of floats.
        training: whether to drop entries; set by `fit` and by layers outside.

    Input shape: `(batch, steps, channels)`.

    Output shape: The same as the input shape.

    Raises:
        ValueError: if `rate` is not between 0 and 1.

    Reference:
        Tompson et al., "Efficient object localization using convolutional networks", 2014.

    Example:
        >>> outputs = SpatialDropout1D(0.5, seed=1)(tf.ones((1, 3, 8)), training=True)
        >>> bool(tf.reduce_all(outputs[:, 0] == outputs[:, 2]))
        True
    """

    def __init__(
        self, rate: float, seed: int | None = None, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(rate, seed=seed, name=name, dtype=dtype)
        self.input_spec = InputSpec(ndim=3)

    def _pattern(self, inputs: Any) -> Any:
        return (None, 1, None)  # (batch, steps, channels)


class _SpatialDropout(Dropout):
    """While training, drops whole channels of images or volumes."""

    _ndim: int

    @constructors.named_after_class
    def __init__(
        self,
        rate: float,
        data_format: str | None = None,
        seed: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(rate, seed=seed, name=name, dtype=dtype)
        self.data_format = standardize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self._ndim)

    def _pattern(self, inputs: Any) -> Any:
        ones = [1] * (self._ndim - 2)
        return (None, None, *ones) if self.data_format == "channels_first" else (None, *ones, None)


class SpatialDropout2D(_SpatialDropout):
    """While training, sets whole channels of images to zero and divides the others by `1 - rate`.

    Neighbouring pixels are often alike: dropped one by one, they would regularize little.

    Args:
        rate: probability with which a channel of a sample becomes zero, from 0 to 1.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        seed: integer; `None` for a seed that is drawn when the layer is made.
        name: name of the layer, a string without `/`; `None` for one that is made from the class's
            name.
        dtype: name of a dtype or a dtype policy; `None` for the global policy.

    Call arguments:
        inputs: a tensor of floats.
        training: whether to drop entries; set by `fit` and by layers outside.

    Input shape: `(batch, height, width, channels)`, or `(batch, channels, height, width)` with
    `data_format="channels_first"`.

    Output shape: The same as the input shape.

    Raises:
        ValueError: if `rate` is not between 0 and 1, or if `data_format` is unknown.

    Reference:
        Tompson et al., "Efficient object localization using convolutional networks", 2014.

    Example:
        >>> outputs = SpatialDropout2D(0.5, seed=1)(tf.ones((1, 3, 3, 8)), training=True)
        >>> bool(tf.reduce_all(outputs[:, 0] == outputs[:, 2]))
        True
    """

    _ndim = 4


class SpatialDropout3D(_SpatialDropout):
    """While training, sets whole channels of volumes to zero and divides the others by `1 - rate`.

    Neighbouring entries are often alike: dropped one by one, they would regularize little.

    Args:
        rate: probability with which a channel of a sample becomes zero, from 0 to 1.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        seed: integer; `None` for a seed that is drawn when the layer is made.
        name: name of the layer, a string without `/`; `None` for one that is made from the class's
            name.
        dtype: name of a dtype or a dtype policy; `None` for the global policy.

    Call arguments:
        inputs: a tensor of floats.
        training: whether to drop entries; set by `fit` and by layers outside.

    Input shape: `(batch, depth, height, width, channels)`, or
    `(batch, channels, depth, height, width)` with `data_format="channels_first"`.

    Output shape: The same as the input shape.

    Raises:
        ValueError: if `rate` is not between 0 and 1, or if `data_format` is unknown.

    Reference:
        Tompson et al., "Efficient object localization using convolutional networks", 2014.

    Example:
        >>> outputs = SpatialDropout3D(0.5, seed=1)(tf.ones((1, 3, 3, 3, 8)), training=True)
        >>> bool(tf.reduce_all(outputs[:, 0] == outputs[:, 2]))
        True
    """

    _ndim = 5


class GaussianNoise(_Noise):
    """While training, adds normal noise of mean 0. Otherwise the inputs are returned unchanged.

    Args:
        stddev: standard deviation of the noise, from 0 to 1.
        seed: integer; `None` for a seed that is drawn when the layer is made.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: a tensor of floats.
        training: whether to add noise; set by `fit` and by layers outside.

    Input shape: Any.

    Output shape: The same as the input shape.

    Raises:
        ValueError: if `stddev` is not between 0 and 1.

    Example:
        >>> layer = GaussianNoise(0.1, seed=1)
        >>> layer(tf.ones((2, 3)), training=True).shape
        TensorShape([2, 3])
    """

    _tfkit_level = "stddev"

    def __init__(
        self, stddev: float, seed: int | None = None, **kwargs: Unpack[LayerOptions]
    ) -> None:
        check_rate(self, stddev=stddev)
        super().__init__(**kwargs)
        self.stddev = stddev
        self._tfkit_draw_from(seed)

    def _tfkit_changed(self, inputs: tf.Tensor) -> tf.Tensor:
        return inputs + random.normal(
            tf.shape(inputs), 0.0, self.stddev, inputs.dtype, seed=self.seed_generator
        )


class GaussianDropout(_Noise):
    """While training, multiplies by normal noise of mean 1 and variance `rate / (1 - rate)`.

    Outside of training the inputs are returned unchanged.

    Args:
        rate: the rate of a `Dropout` whose noise has the same variance, from 0 to below 1.
        seed: integer; `None` for a seed that is drawn when the layer is made.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: a tensor of floats.
        training: whether to multiply by noise; set by `fit` and by layers outside.

    Input shape: Any.

    Output shape: The same as the input shape.

    Raises:
        ValueError: if `rate` is not between 0 and below 1.

    Reference:
        Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting",
            2014.

    Example:
        >>> layer = GaussianDropout(0.1, seed=1)
        >>> layer(tf.ones((2, 3)), training=True).shape
        TensorShape([2, 3])
    """

    def __init__(
        self, rate: float, seed: int | None = None, **kwargs: Unpack[LayerOptions]
    ) -> None:
        check_rate(self, rate=rate)
        check(self, rate < 1, "rate", "a number below 1, where the variance is finite", rate)
        super().__init__(**kwargs)
        self.rate = rate
        self._tfkit_draw_from(seed)

    def _tfkit_changed(self, inputs: tf.Tensor) -> tf.Tensor:
        # The variance that dropout of this rate would have (Srivastava et al., 2014).
        stddev = math.sqrt(self.rate / (1.0 - self.rate))
        return inputs * random.normal(
            tf.shape(inputs), 1.0, stddev, inputs.dtype, seed=self.seed_generator
        )


class AlphaDropout(_Noise):
    """While training, sets entries to the negative limit of `selu`, then restores mean and variance.

    For normal inputs of mean 0 and variance 1 the outputs have the same mean and variance. Outside
    of training the inputs are returned unchanged.

    Args:
        rate: probability with which an entry is dropped, from 0 to 1, with which all outputs are 0, the
            limit as `rate` goes to 1.
        noise_shape: shape of the random pattern, which is broadcast to the inputs' shape; `None` in
            it means the size of the inputs there, 1 for an axis along which all entries share
            their fate. `None` for the inputs' shape.
        seed: integer; `None` for a seed that is drawn when the layer is made.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: a tensor of floats.
        training: whether to drop entries; set by `fit` and by layers outside.

    Input shape: Any.

    Output shape: The same as the input shape.

    Raises:
        ValueError: if `rate` is not between 0 and 1.

    Reference:
        Klambauer et al., "Self-normalizing neural networks", 2017.

    Example:
        >>> layer = AlphaDropout(0.1, seed=1)
        >>> layer(tf.ones((2, 3)), training=True).shape
        TensorShape([2, 3])
    """

    def __init__(
        self,
        rate: float,
        noise_shape: Any = None,
        seed: int | None = None,
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        check_rate(self, rate=rate)
        super().__init__(**kwargs)
        self.rate = rate
        self.noise_shape = noise_shape
        self._tfkit_draw_from(seed)

    def _tfkit_changed(self, inputs: tf.Tensor) -> tf.Tensor:
        if self.rate == 1:
            return tf.zeros_like(inputs)
        sizes = tf.shape(inputs)
        pattern = sizes
        if self.noise_shape is not None:
            pattern = [
                sizes[i] if size is None else size for i, size in enumerate(self.noise_shape)
            ]
        # Klambauer et al. (2017), "Self-Normalizing Neural Networks": the constants of `selu`.
        alpha, scale = 1.6732632423543772, 1.0507009873554805
        limit = -alpha * scale
        # Scale and shift after which the outputs again have the mean and the variance of the
        # inputs.
        a = ((1 - self.rate) * (1 + self.rate * limit**2)) ** -0.5
        b = -a * limit * self.rate
        draws = random.uniform(pattern, seed=self.seed_generator)
        kept = tf.cast(draws >= self.rate, inputs.dtype)
        return a * (inputs * kept + limit * (1 - kept)) + b


class ActivityRegularization(Layer):
    """Returns its inputs and adds `l1 * sum(abs(inputs)) + l2 * sum(inputs**2)` to the loss.

    The sum is divided by the batch size.

    Args:
        l1: factor of the sum of absolute values. Default: `0.0`.
        l2: factor of the sum of squares. Default: `0.0`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`.

    Input shape: Any.

    Output shape: The same as the input shape.

    Example:
        >>> layer = ActivityRegularization(l2=0.5)
        >>> outputs = layer(tf.constant([[1.0, 2.0], [1.0, 0.0]]))
        >>> [float(loss) for loss in layer.losses]
        [1.5]
    """

    _tfkit_built_at_once = True

    def __init__(
        self, l1: float = 0.0, l2: float = 0.0, **kwargs: Unpack[RegularizedOptions]
    ) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **kwargs)
        self.l1 = l1
        self.l2 = l2
        self.supports_masking = True

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments; the regularizer is made of two of them."""
        config = super().get_config()
        config.pop("activity_regularizer", None)
        return config

    def call(self, inputs: Any) -> Any:
        """Returns the inputs."""
        return inputs
