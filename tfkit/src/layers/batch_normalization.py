"""Batch normalization."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base import execution, recomputation, settings
from tfkit.src.base.protocols import LayerOptions
from tfkit.src.core.layer import Layer
from tfkit.src.engine import replicas
from tfkit.src.engine.derivatives import derivative
from tfkit.src.engine.machine import onednn_is_assumed, predicts_only
from tfkit.src.layers.checks import check, check_axes, is_integer
from tfkit.src.layers.moving_moments import MovingMoments
from tfkit.src.layers.normalization import in_32_bits
from tfkit.src.layers.parameters import WithScale, add_parameter, take_options
from tfkit.src.layers.renormalization import Renormalization, checked_clipping
from tfkit.src.symbolic.input_spec import InputSpec
from tfkit.src.symbolic.tensors import described, only_shapes_count


class BatchNormalization(Layer, WithScale):
    """Scales each channel to mean 0 and variance 1 over the batch, then by trained factors.

    It computes `gamma * (inputs - mean) / sqrt(variance + epsilon) + beta`, with one `gamma` and
    `beta` for each channel. In training, it uses the batch's `mean` and `variance`, and
    `moving_mean` and `moving_variance` become `moving * momentum + value * (1 - momentum)`.
    Otherwise, and where `trainable` is `False`, the moving averages are used.

    Args:
        axis: integer, the axis of the channels: 1 for `"channels_first"` data. Default: `-1`.
        momentum: share of the moving averages that is kept at each batch, from 0 to 1. Default:
            `0.99`.
        epsilon: small number that is added to the variance. Default: `0.001`.
        center: whether to add the trained offset `beta`. Default: `True`.
        scale: whether to multiply by the trained factor `gamma`. Default: `True`.
        beta_initializer: initial value of `beta`. Default: `"zeros"`.
        gamma_initializer: initial value of `gamma`. Default: `"ones"`.
        moving_mean_initializer: initial value of `moving_mean`. Default: `"zeros"`.
        moving_variance_initializer: initial value of `moving_variance`. Default: `"ones"`.
        beta_regularizer: penalty on `beta` that is added to the loss; `None` for no penalty.
        gamma_regularizer: penalty on `gamma` that is added to the loss; `None` for no penalty.
        beta_constraint: function that projects `beta` after each update; `None` for no constraint.
        gamma_constraint: function that projects `gamma` after each update; `None` for no
            constraint.
        renorm: whether the moments of the batch are corrected toward moving ones in training, which
            helps where batches are small. Default: `False`.
        renorm_clipping: dict of bounds of the corrections, `rmax`, `rmin` and `dmax`; `None` for no
            bounds.
        renorm_momentum: share of the correcting moments that is kept at each batch. Default: `0.99`.
        synchronized: whether mean and variance are computed over the batches of all replicas of a
            `tf.distribute` strategy together. Default: `False`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: a tensor.
        training: whether to use the batch's mean and variance and to update the moving averages.
        mask: booleans with the inputs' shape without its last axis; entries where it is `False` do
            not count. `None` for no mask.

    Input shape: Any, with a known number of channels.

    Output shape: The same as the input shape.

    Raises:
        ValueError: if `axis` is not an axis of the inputs, if the number of channels is unknown, or
            if the mask has a different number of axes.

    Reference:
        Ioffe & Szegedy, "Batch normalization: accelerating deep network training by reducing
            internal covariate shift", 2015.

    Example:
        >>> layer = BatchNormalization(epsilon=0.0)
        >>> layer(tf.constant([[1.0], [3.0]]), training=True).numpy().tolist()
        [[-1.0], [1.0]]
        >>> layer.moving_mean.numpy().round(3), layer.moving_variance.numpy().round(3)
        (array([0.02], dtype=float32), array([1.], dtype=float32))
    """

    moving_mean_initializer: Any
    moving_variance_initializer: Any
    moving_mean: Any
    moving_variance: Any
    # Only with `renorm=True`:
    moving_stddev: Any
    renorm_mean: Any
    renorm_stddev: Any

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: dict[str, Any] | None = None,
        renorm_momentum: float = 0.99,
        synchronized: bool = False,
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        check(self, is_integer(axis), "axis", "an integer", axis)
        clipping = checked_clipping(self, renorm, renorm_clipping)
        super().__init__(**kwargs)
        self.axis = int(axis)
        check(self, 0 <= momentum <= 1, "momentum", "a number from 0 to 1", momentum)
        self.momentum = float(momentum)
        check(self, not epsilon < 0, "epsilon", "a number of 0 or more", epsilon)
        self.epsilon = float(epsilon)
        self.center = center
        self.scale = scale
        take_options(self, locals(), "beta", "gamma", "moving_mean", "moving_variance")
        self.renorm = renorm
        self.renorm_clipping = clipping
        self.renorm_momentum = renorm_momentum
        self.synchronized = synchronized
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Makes `gamma`, `beta`, `moving_mean` and `moving_variance`, one entry for each channel."""
        check_axes(self, [self.axis], input_shape)
        channels = input_shape[self.axis]
        self.gamma = self.beta = None
        if self.scale:
            self.gamma = add_parameter(self, "gamma", (channels,), autocast=False)
        if self.center:
            self.beta = add_parameter(self, "beta", (channels,), autocast=False)
        self._rule.add_weights(self, channels)
        self.input_spec = InputSpec(ndim=len(input_shape), axes={self.axis: channels})

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> tf.Tensor:
        """Returns the inputs, normalized."""
        inputs = in_32_bits(self, inputs)
        if only_shapes_count():
            return described(inputs.shape, self.compute_dtype)
        shape = [1] * inputs.shape.rank
        shape[self.axis] = inputs.shape[self.axis]

        def along(value: Any) -> Any:
            """Returns `value`, one number for each channel, reshaped to broadcast along `inputs`."""
            return value if value is None else tf.cast(tf.reshape(value, shape), inputs.dtype)

        def broadcast(value: Any) -> Any:
            """Returns `value`, which broadcasts unchanged if channels are last: one operation less."""
            is_last = self.axis % inputs.shape.rank == inputs.shape.rank - 1
            return tf.cast(value, inputs.dtype) if is_last and value is not None else along(value)

        def normalized(mean: Any, variance: Any, gamma: Any, beta: Any) -> tf.Tensor:
            moments = map(broadcast, (mean, variance, beta, gamma))
            return tf.nn.batch_normalization(inputs, *moments, self.epsilon)

        gamma, beta, rule = self.gamma, self.beta, self._rule
        # A frozen layer uses the moving averages in training as well.
        if not training or not self.trainable:
            known = self.moving_mean, self.moving_variance
            if self._has_kernel(inputs) and predicts_only():
                outputs = _by_kernel(inputs, gamma, beta, self.epsilon, known)[0]
            else:
                outputs = normalized(*known, gamma, beta)
            return tf.cast(outputs, self.compute_dtype)
        is_plain = type(self)._moments is BatchNormalization._moments
        if is_plain and mask is None and not self._shares_batch() and rule.is_plain:
            normalized_by = _normalized_by_kernel if self._trains_by_kernel(inputs) else _normalized
            outputs, mean, variance = normalized_by(
                inputs, along(gamma), along(beta), self.axis, self.epsilon
            )
        else:
            mean, variance = self._moments(inputs, mask)
            outputs = normalized(mean, variance, *rule.factors(self, mean, variance))
        if not recomputation.is_second():
            rule.update(self, mean, variance)
        return tf.cast(outputs, self.compute_dtype)

    def _has_kernel(self, inputs: tf.Tensor) -> bool:
        """Whether oneDNN's kernel for images normalizes them: it takes half as long as the formula."""
        is_of_images = inputs.shape.rank == 4 and self.axis % 4 == 3 and inputs.dtype == tf.float32
        return is_of_images and onednn_is_assumed()

    def _trains_by_kernel(self, inputs: tf.Tensor) -> bool:
        """Whether oneDNN's kernel normalizes a batch.

        Only in a model's steps: there the kernel is replaced where XLA compiles them, whose variance is wrong
        if the mean is large (`engine/xla_kernels.py`). And `tf.autodiff.ForwardAccumulator` around a function
        with the kernel finds no derivative.
        """
        is_in_step = execution.governing() is not None and replicas.rows() is None
        return is_in_step and self._has_kernel(inputs)

    @property
    def _rule(self) -> MovingMoments:
        """The rule for how moments of batches move the averages, and are corrected by them."""
        return Renormalization() if self.renorm else MovingMoments()

    def _moments(self, inputs: tf.Tensor, mask: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns mean and variance of each channel over unmasked entries, in the batches of all replicas."""
        rank = inputs.shape.rank
        axes = _other_axes(inputs, self.axis)
        weights = tf.ones_like(inputs)
        if mask is not None:
            if mask.shape.rank != rank - 1:
                raise ValueError(
                    f"Layer {self._tfkit.title} expects a mask with one axis less than its inputs. Received: "
                    f"mask.shape={tuple(mask.shape)}, inputs.shape={tuple(inputs.shape)}"
                )
            weights *= tf.cast(tf.cast(mask, "bool"), inputs.dtype)[..., tf.newaxis]
        # `where` instead of a product, because a masked entry may be NaN.
        present = weights > 0
        count = self._total(tf.reduce_sum(weights, axes))
        # Epsilon, since a mask may exclude all entries.
        count += settings.epsilon() if mask is not None else 0.0
        values = tf.where(present, inputs, tf.zeros_like(inputs))
        mean = self._total(tf.reduce_sum(values, axes)) / count
        shape = [1] * rank
        shape[self.axis] = -1
        deviations = tf.where(present, inputs - tf.reshape(mean, shape), tf.zeros_like(inputs))
        return mean, self._total(tf.reduce_sum(tf.square(deviations), axes)) / count

    def _shares_batch(self) -> bool:
        """Whether moments are computed over the batches of several replicas."""
        context = tf.distribute.get_replica_context() if self.synchronized else None
        return context is not None and context.num_replicas_in_sync > 1

    def _total(self, value: tf.Tensor) -> tf.Tensor:
        """Returns the sum over replicas, or over one replica unless they are synchronized."""
        if not self._shares_batch():
            return replicas.as_own(value)
        if replicas.rows() is not None:
            return replicas.total(value)
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, value)


def _other_axes(inputs: tf.Tensor, axis: int) -> list[int]:
    rank = inputs.shape.rank
    return [other for other in range(rank) if other != axis % rank]


def _normalized(
    inputs: tf.Tensor, gamma: Any, beta: Any, axis: int, epsilon: float
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns the inputs normalized by the batch's mean and variance; and these, which have no gradient.

    The gradient is written out: it passes over the inputs half as often as the gradients of the single
    operations. Without oneDNN, TensorFlow's kernel for images takes as long.
    """
    axes = _other_axes(inputs, axis)
    channels = [1] * inputs.shape.rank
    channels[axis] = inputs.shape[axis]

    @tf.custom_gradient
    def run(inputs: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor) -> Any:
        mean = replicas.as_own(tf.reduce_mean(inputs, axes, keepdims=True))
        deviations = inputs - mean
        variance = tf.reduce_mean(tf.square(deviations), axes, keepdims=True)
        variance = replicas.as_own(variance)
        inverse = tf.math.rsqrt(variance + epsilon)
        scale = inverse * gamma

        @derivative
        def gradient(upstream: tf.Tensor, *of_moments: tf.Tensor) -> tuple[tf.Tensor, ...]:
            count = tf.cast(tf.size(inputs) // tf.size(mean), inputs.dtype)
            d_beta = tf.reduce_sum(upstream, axes, keepdims=True)
            d_gamma = tf.reduce_sum(upstream * deviations, axes, keepdims=True) * inverse
            # Ioffe and Szegedy (2015), with the normalized
            # inputs x: (dy - mean(dy) - x mean(dy x)) scale.
            common = deviations * (d_gamma * inverse / count) + d_beta / count
            return (upstream - common) * scale, d_gamma, d_beta

        outputs = deviations * scale + beta
        moments = [tf.stop_gradient(tf.squeeze(it, axes)) for it in (mean, variance)]
        return (outputs, *moments), gradient

    gamma = tf.ones(channels, inputs.dtype) if gamma is None else gamma
    beta = tf.zeros(channels, inputs.dtype) if beta is None else beta
    return run(inputs, gamma, beta)


def _normalized_by_kernel(
    images: tf.Tensor, gamma: Any, beta: Any, axis: int, epsilon: float
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns what `_normalized` does, for images with the channels last."""
    outputs, mean, variance, *_ = _by_kernel(images, gamma, beta, epsilon)
    # The kernel normalizes by the biased variance, as the formula does, and returns the unbiased one.
    count = tf.cast(tf.size(images) // images.shape[axis], tf.float32)
    variance *= tf.maximum(count - 1, 1) / count
    return outputs, tf.stop_gradient(mean), tf.stop_gradient(variance)


def _by_kernel(
    images: tf.Tensor, gamma: Any, beta: Any, epsilon: float, known: tuple[Any, Any] | None = None
) -> Any:
    """Returns the results of TensorFlow's kernel, which computes the moments unless they are known."""
    channels = images.shape[-1]
    mean, variance = known or ([], [])
    return tf.raw_ops.FusedBatchNormV3(
        x=images,
        scale=tf.ones(channels) if gamma is None else tf.reshape(gamma, [channels]),
        offset=tf.zeros(channels) if beta is None else tf.reshape(beta, [channels]),
        mean=mean,
        variance=variance,
        epsilon=epsilon,
        is_training=known is None,
    )
