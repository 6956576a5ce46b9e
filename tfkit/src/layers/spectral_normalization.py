"""A wrapper that normalizes a layer's kernel to a largest singular value of one."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base import recomputation
from tfkit.src.base.calls import CallFrame
from tfkit.src.base.protocols import LayerOptions
from tfkit.src.core.layer import Layer
from tfkit.src.layers.checks import check, is_integer
from tfkit.src.layers.identity import Wrapper
from tfkit.src.weights.initializers.random import TruncatedNormal


class SpectralNormalization(Wrapper):
    """Divides the kernel of a layer by its largest singular value, in each call while training.

    The kernel is taken as a matrix `W` with one column for each entry of its last axis. Its largest
    singular value is estimated by `power_iterations` steps of

        v = u @ transpose(W) / norm(u @ transpose(W))
        u = v @ W / norm(v @ W)

    from the `u` of the previous call, as `v @ W @ transpose(u)`. The kernel itself is divided by it. Thus the
    outputs of an adversarial network's discriminator cannot change faster than its inputs. `vector_u` has
    shape `(1, last axis of the kernel)` and is not trained. A quantized kernel is not divided.

    Args:
        layer: the layer inside, which has a weight `kernel` or `embeddings`.
        power_iterations: positive integer, the number of steps in each call. Default: `1`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: the inputs of the wrapped layer.
        training: whether to divide the kernel; set by `fit` and by layers outside.

    Input shape: The input shape of the layer inside.

    Output shape: The output shape of the layer inside.

    Raises:
        ValueError: if `power_iterations` is not a positive integer, or if the layer inside has
            neither `kernel` nor `embeddings`.

    Reference:
        Miyato et al., "Spectral normalization for generative adversarial networks", 2018.

    Example:
        >>> from tfkit.layers import Dense
        >>> layer = SpectralNormalization(Dense(2, kernel_initializer="ones"), power_iterations=3)
        >>> layer(tf.ones((1, 2)), training=True).numpy().round(4).tolist()
        [[1.0, 1.0]]
    """

    def __init__(
        self, layer: Layer, power_iterations: int = 1, **kwargs: Unpack[LayerOptions]
    ) -> None:
        super().__init__(layer, **kwargs)
        holds = is_integer(power_iterations) and power_iterations > 0
        expected = "a positive integer: `power_iterations` should be greater than zero"
        check(self, holds, "power_iterations", expected, power_iterations)
        self.power_iterations = power_iterations

    def build(self, input_shape: Any = None) -> None:
        """Builds the wrapped layer, and makes `vector_u`."""
        super().build(input_shape)
        if self.kernel is None:
            raise ValueError(
                f"Layer '{self.path}' (of type SpectralNormalization) normalizes a weight `kernel` or "
                f"`embeddings`. {type(self.layer).__name__} object has no attribute 'kernel' nor "
                f"'embeddings'. Received: layer={self.layer!r}"
            )
        # Integers of 4 bits have the shape of a matrix.
        shape = getattr(self.layer, "_tfkit_float_shape", None) or self.kernel.shape
        self.vector_u = self.add_weight(
            name="vector_u",
            shape=(1, shape[-1]),
            initializer=TruncatedNormal(stddev=0.02),
            trainable=False,
        )

    @property
    def kernel(self) -> Any:
        """The weight that is divided, which quantization may have replaced; with LoRA, the frozen one."""
        inside = self.layer
        for name in ("kernel", "embeddings"):
            # In `vars`, because with LoRA the attribute reads as the sum.
            weight = vars(inside)[name] if name in vars(inside) else getattr(inside, name, None)
            if weight is not None:
                return weight
        return None

    def _tfkit_members(self) -> list[tuple[str, Any]]:
        """Returns the members in attributes and `kernel`, which files know as a weight of this layer."""
        kernel = self.kernel if "layer" in vars(self) else None
        own = [("kernel", kernel)] if isinstance(kernel, tf.Variable) else []
        return [*super()._tfkit_members(), *own]

    def call(self, inputs: Any, training: Any = False) -> Any:
        """Returns the outputs of the wrapped layer; while training, its kernel is divided first."""
        # Integers stay as they are: they are not trained.
        if training and self.kernel.dtype.is_floating and not recomputation.is_second():
            # In the weights' dtype, because 16 bits would round the kernel.
            with CallFrame(self, training):
                kernel, vector_u = self.normalized_weights()
            self.kernel.assign(kernel)
            self.vector_u.assign(vector_u)
        options = {"training": training} if self.layer._tfkit.signature.has_training else {}
        return self.layer(inputs, **options)

    def normalized_weights(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the kernel, divided by its largest singular value, and the next `vector_u`."""
        # Miyato et al. (2018), algorithm 1: power iteration, and sigma = v W u^T.
        matrix = tf.reshape(self.kernel, [-1, self.kernel.shape[-1]])
        vector_u = tf.convert_to_tensor(self.vector_u)
        for _ in range(self.power_iterations):
            vector_v = _normalized(tf.matmul(vector_u, matrix, transpose_b=True))
            vector_u = _normalized(tf.matmul(vector_v, matrix))
        sigma = tf.matmul(tf.matmul(vector_v, matrix), vector_u, transpose_b=True)
        kernel = tf.reshape(matrix / sigma, self.kernel.shape)
        return tf.stop_gradient(kernel), tf.stop_gradient(vector_u)


def _normalized(vector: tf.Tensor) -> tf.Tensor:
    """Returns a vector of length one in the direction of `vector`."""
    return vector / tf.maximum(tf.norm(vector), tf.constant(1e-6, vector.dtype))
