"""Layers that disturb or penalize activations while training."""

from __future__ import annotations

import math
from typing import Any, Unpack

import tensorflow as tf

from tfkit import random, regularizers
from tfkit.core.input_spec import InputSpec
from tfkit.core.layer import Layer
from tfkit.core.typing import LayerOptions, RegularizedOptions
from tfkit.layers.checks import check, check_rate, is_integer
from tfkit.settings import standardize_data_format


class Dropout(Layer):
    """While training, sets entries to zero at random and scales the rest by `1 / (1 - rate)`.

    Args:
        rate: probability of zero, 0 to 1.
        noise_shape: shape of the random pattern, broadcast to that of the inputs; `None` in it
            stands for the size of the input.
        seed: integer, or `None` for a seed drawn when the layer is made.

    Raises:
        ValueError: for a rate outside of 0 to 1.

    Reference:
        Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting",
        2014.
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
        self.seed = seed
        if rate > 0:
            self.seed_generator = random.SeedGenerator(seed)
        self.supports_masking = True

    def call(self, inputs: Any, training: Any = False) -> tf.Tensor:
        """The inputs; while training, with entries dropped."""
        if not training or self.rate == 0:
            return inputs
        pattern = self._pattern(inputs)
        return random.dropout(inputs, self.rate, noise_shape=pattern, seed=self.seed_generator)

    def _pattern(self, inputs: Any) -> Any:
        """Shape of the random pattern."""
        return self.noise_shape


class SpatialDropout1D(Dropout):
    """While training, sets whole channels of a sequence to zero at random.

    Args:
        rate: probability of zero, 0 to 1.
        seed: integer, or `None` for a seed drawn when the layer is made.
        name: a label.
        dtype: a dtype or a dtype policy.

    Input shape: `(batch, steps, channels)`.

    Reference:
        Tompson et al., "Efficient object localization using convolutional networks", 2014.
    """

    def __init__(
        self, rate: float, seed: int | None = None, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(rate, seed=seed, name=name, dtype=dtype)
        self.input_spec = InputSpec(ndim=3)

    def _pattern(self, inputs: Any) -> Any:
        return (None, 1, None)


class SpatialDropout2D(Dropout):
    """While training, sets whole channels of images to zero at random.

    Args:
        rate: probability of zero, 0 to 1.
        data_format: `"channels_last"` or `"channels_first"`.
        seed: integer, or `None` for a seed drawn when the layer is made.
        name: a label.
        dtype: a dtype or a dtype policy.

    Input shape: `(batch, height, width, channels)`.

    Reference:
        Tompson et al., "Efficient object localization using convolutional networks", 2014.
    """

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
        self.input_spec = InputSpec(ndim=4)

    def _pattern(self, inputs: Any) -> Any:
        return (None, None, 1, 1) if self.data_format == "channels_first" else (None, 1, 1, None)


class GaussianNoise(Layer):
    """While training, adds normal noise.

    Args:
        stddev: standard deviation of the noise, 0 to 1.
        seed: integer, or `None` for a seed drawn when the layer is made.
    """

    def __init__(
        self, stddev: float, seed: int | None = None, **kwargs: Unpack[LayerOptions]
    ) -> None:
        check_rate(self, stddev=stddev)
        super().__init__(**kwargs)
        self.stddev = stddev
        self.seed = seed
        if stddev > 0:
            self.seed_generator = random.SeedGenerator(seed)
        self.supports_masking = True

    def call(self, inputs: Any, training: Any = False) -> tf.Tensor:
        """The inputs; while training, with noise."""
        if not training or self.stddev == 0:
            return inputs
        return inputs + random.normal(
            tf.shape(inputs), 0.0, self.stddev, inputs.dtype, seed=self.seed_generator
        )


class GaussianDropout(Layer):
    """While training, multiplies by normal noise of mean 1 and variance `rate / (1 - rate)`.

    Args:
        rate: the drop probability of a `Dropout` with the same variance, 0 to below 1.
        seed: integer, or `None` for a seed drawn when the layer is made.

    Reference:
        Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting",
        2014.
    """

    def __init__(
        self, rate: float, seed: int | None = None, **kwargs: Unpack[LayerOptions]
    ) -> None:
        check_rate(self, rate=rate)
        check(self, rate < 1, "rate", "a number below 1, where the variance is finite", rate)
        super().__init__(**kwargs)
        self.rate = rate
        self.seed = seed
        if rate > 0:
            self.seed_generator = random.SeedGenerator(seed)
        self.supports_masking = True

    def call(self, inputs: Any, training: Any = False) -> tf.Tensor:
        """The inputs; while training, with noise."""
        if not training or self.rate == 0:
            return inputs
        stddev = math.sqrt(self.rate / (1.0 - self.rate))
        return inputs * random.normal(
            tf.shape(inputs), 1.0, stddev, inputs.dtype, seed=self.seed_generator
        )


class AlphaDropout(Layer):
    """While training, drops entries to the negative limit of `selu`, and keeps mean and variance.

    Args:
        rate: probability of being dropped, 0 to below 1.
        noise_shape: shape of the random pattern, broadcast to that of the inputs; `None` in it
            stands for the size of the input.
        seed: integer, or `None` for a seed drawn when the layer is made.

    Reference:
        Klambauer et al., "Self-normalizing neural networks", 2017.
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
        self.seed = seed
        if rate > 0:
            self.seed_generator = random.SeedGenerator(seed)
        self.supports_masking = True

    def call(self, inputs: Any, training: Any = False) -> tf.Tensor:
        """The inputs; while training, with entries dropped."""
        if not training or self.rate == 0:
            return inputs
        sizes = tf.shape(inputs)
        pattern = sizes
        if self.noise_shape is not None:
            pattern = [
                sizes[i] if size is None else size for i, size in enumerate(self.noise_shape)
            ]
        alpha, scale = 1.6732632423543772, 1.0507009873554805
        limit = -alpha * scale
        a = ((1 - self.rate) * (1 + self.rate * limit**2)) ** -0.5
        b = -a * limit * self.rate
        draws = random.uniform(pattern, seed=self.seed_generator)
        kept = tf.cast(draws >= self.rate, inputs.dtype)
        return a * (inputs * kept + limit * (1 - kept)) + b


class ActivityRegularization(Layer):
    """Gives its inputs unchanged and adds a penalty on them to the loss.

    Args:
        l1: factor of the sum of absolute values.
        l2: factor of the sum of squares.
    """

    def __init__(
        self, l1: float = 0.0, l2: float = 0.0, **kwargs: Unpack[RegularizedOptions]
    ) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **kwargs)
        self.l1 = l1
        self.l2 = l2
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        """The inputs."""
        return inputs
