"""Batch normalization."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit import constraints, initializers, recomputation, regularizers, settings
from tfkit.core.input_spec import InputSpec
from tfkit.core.layer import Layer
from tfkit.core.typing import LayerOptions
from tfkit.layers.checks import as_floats, check, check_axes, is_integer


class BatchNormalization(Layer):
    """Scales each channel to mean 0 and variance 1 over the batch, then by trained factors.

    While training, mean and variance are those of the batch, and moving averages of them are kept;
    otherwise, and where `trainable` is `False`, the moving averages are used.

    Args:
        axis: axis of the channels.
        momentum: share of the moving averages that is kept at each batch.
        epsilon: added to the variance.
        center: whether to add `beta`.
        scale: whether to multiply by `gamma`.
        beta_initializer: first value of `beta`.
        gamma_initializer: first value of `gamma`.
        moving_mean_initializer: first value of `moving_mean`.
        moving_variance_initializer: first value of `moving_variance`.
        beta_regularizer: penalty on `beta`.
        gamma_regularizer: penalty on `gamma`.
        beta_constraint: what `beta` goes through after each update.
        gamma_constraint: what `gamma` goes through after each update.
        renorm: not supported; `False`.
        renorm_clipping: not supported; `None`.
        renorm_momentum: of no effect without `renorm`.
        synchronized: whether mean and variance are those of the batches of all replicas.

    Call arguments:
        inputs: a tensor.
        training: whether to use the batch's mean and variance.
        mask: booleans, `inputs` without its last axis; masked entries do not count.

    Reference:
        Ioffe & Szegedy, "Batch normalization", 2015.
    """

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
        renorm_clipping: None = None,
        renorm_momentum: float = 0.99,
        synchronized: bool = False,
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        check(self, is_integer(axis), "axis", "an integer", axis)
        check(self, not renorm, "renorm", "False: tfkit does not have renormalization", renorm)
        check(self, renorm_clipping is None, "renorm_clipping", "None", renorm_clipping)
        super().__init__(**kwargs)
        self.axis = axis
        self.momentum = float(momentum)
        self.epsilon = float(epsilon)
        self.center = center
        self.scale = scale
        self.beta_initializer = initializers.get(beta_initializer)
        self.gamma_initializer = initializers.get(gamma_initializer)
        self.moving_mean_initializer = initializers.get(moving_mean_initializer)
        self.moving_variance_initializer = initializers.get(moving_variance_initializer)
        self.beta_regularizer = regularizers.get(beta_regularizer)
        self.gamma_regularizer = regularizers.get(gamma_regularizer)
        self.beta_constraint = constraints.get(beta_constraint)
        self.gamma_constraint = constraints.get(gamma_constraint)
        self.synchronized = synchronized
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Makes `gamma`, `beta`, `moving_mean` and `moving_variance`, one entry for each channel."""
        check_axes(self, [self.axis], input_shape)
        channels = input_shape[self.axis]
        self.gamma = self.beta = None
        if self.scale:
            self.gamma = self.add_weight(
                name="gamma",
                shape=(channels,),
                initializer=self.gamma_initializer,
                regularizer=self.gamma_regularizer,
                constraint=self.gamma_constraint,
                autocast=False,
            )
        if self.center:
            self.beta = self.add_weight(
                name="beta",
                shape=(channels,),
                initializer=self.beta_initializer,
                regularizer=self.beta_regularizer,
                constraint=self.beta_constraint,
                autocast=False,
            )
        self.moving_mean = self.add_weight(
            name="moving_mean",
            shape=(channels,),
            initializer=self.moving_mean_initializer,
            trainable=False,
            autocast=False,
            aggregation="mean",
        )
        self.moving_variance = self.add_weight(
            name="moving_variance",
            shape=(channels,),
            initializer=self.moving_variance_initializer,
            trainable=False,
            autocast=False,
            aggregation="mean",
        )
        self.input_spec = InputSpec(ndim=len(input_shape), axes={self.axis: channels})

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> tf.Tensor:
        """The inputs, normalized."""
        inputs = as_floats(self, inputs)
        inputs = tf.cast(inputs, tf.float32) if inputs.dtype.size < 4 else inputs
        shape = [1] * inputs.shape.rank
        shape[self.axis] = inputs.shape[self.axis]

        def along(value: Any) -> Any:
            """`value`, one number for each channel, to broadcast along `inputs`."""
            return value if value is None else tf.cast(tf.reshape(value, shape), inputs.dtype)

        use_batch = bool(training) and self.trainable
        if use_batch and mask is None and not self._replicas():
            outputs, mean, variance = _normalized(
                inputs, along(self.gamma), along(self.beta), self.axis, self.epsilon
            )
        else:
            mean, variance = self.moving_mean, self.moving_variance
            if use_batch:
                mean, variance = self._moments(inputs, mask)
            outputs = tf.nn.batch_normalization(
                inputs, *map(along, (mean, variance, self.beta, self.gamma)), self.epsilon
            )
        if use_batch and not recomputation.is_second():
            self._update(self.moving_mean, mean)
            self._update(self.moving_variance, variance)
        return tf.cast(outputs, self.compute_dtype)

    def _update(self, moving: tf.Variable, value: tf.Tensor) -> None:
        value = tf.cast(value, moving.dtype)
        moving.assign(moving * self.momentum + value * (1.0 - self.momentum))

    def _moments(self, inputs: tf.Tensor, mask: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of each channel, of what the mask leaves, in the batches of all replicas."""
        rank = inputs.shape.rank
        axes = _other_axes(inputs, self.axis)
        weights = tf.ones_like(inputs)
        if mask is not None:
            if mask.shape.rank != rank - 1:
                raise ValueError(
                    f"Layer '{self.path}' (of type {type(self).__name__}) takes a mask with one axis "
                    f"less than its inputs. Received: mask.shape={tuple(mask.shape)}, "
                    f"inputs.shape={tuple(inputs.shape)}"
                )
            weights *= tf.cast(mask, inputs.dtype)[..., tf.newaxis]
        # `where` and no product: a masked entry may be NaN.
        present = weights > 0
        count = self._total(tf.reduce_sum(weights, axes))
        count += settings.epsilon() if mask is not None else 0.0
        values = tf.where(present, inputs, tf.zeros_like(inputs))
        mean = self._total(tf.reduce_sum(values, axes)) / count
        shape = [1] * rank
        shape[self.axis] = -1
        deviations = tf.where(present, inputs - tf.reshape(mean, shape), tf.zeros_like(inputs))
        return mean, self._total(tf.reduce_sum(tf.square(deviations), axes)) / count

    def _replicas(self) -> int:
        """Number of replicas that batches are shared with, 0 where they are not."""
        context = tf.distribute.get_replica_context() if self.synchronized else None
        return 0 if context is None or context.num_replicas_in_sync == 1 else 1

    def _total(self, value: tf.Tensor) -> tf.Tensor:
        """The sum over replicas."""
        if not self._replicas():
            return value
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, value)


def _other_axes(inputs: tf.Tensor, axis: int) -> list[int]:
    rank = inputs.shape.rank
    return [other for other in range(rank) if other != axis % rank]


def _normalized(
    inputs: tf.Tensor, gamma: Any, beta: Any, axis: int, epsilon: float
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The inputs, normalized by mean and variance of the batch; and these, which have no gradient.

    The gradient is written out: it passes over the inputs half as often as that of the single operations.
    TensorFlow's fused kernel takes as long as this.
    """
    axes = _other_axes(inputs, axis)
    channels = [1] * inputs.shape.rank
    channels[axis] = inputs.shape[axis]

    @tf.custom_gradient
    def run(inputs: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor) -> Any:
        mean = tf.reduce_mean(inputs, axes, keepdims=True)
        deviations = inputs - mean
        variance = tf.reduce_mean(tf.square(deviations), axes, keepdims=True)
        inverse = tf.math.rsqrt(variance + epsilon)
        scale = inverse * gamma

        def gradient(upstream: tf.Tensor, *of_moments: tf.Tensor) -> tuple[tf.Tensor, ...]:
            count = tf.cast(tf.size(inputs) // tf.size(mean), inputs.dtype)
            d_beta = tf.reduce_sum(upstream, axes, keepdims=True)
            d_gamma = tf.reduce_sum(upstream * deviations, axes, keepdims=True) * inverse
            common = deviations * (d_gamma * inverse / count) + d_beta / count
            return (upstream - common) * scale, d_gamma, d_beta

        outputs = deviations * scale + beta
        return (outputs, tf.squeeze(mean, axes), tf.squeeze(variance, axes)), gradient

    gamma = tf.ones(channels, inputs.dtype) if gamma is None else gamma
    beta = tf.zeros(channels, inputs.dtype) if beta is None else beta
    return run(inputs, gamma, beta)
