"""Dynamic loss scaling: prevents underflow and overflow of float16 gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base.registry.serialization import deserialize_keras_object, serialize_keras_object
from tfkit.src.engine import replicas
from tfkit.src.optimizers import distribution
from tfkit.src.optimizers.base import Optimizer
from tfkit.src.optimizers.gradients import divide
from tfkit.src.optimizers.options import DEFAULTS
from tfkit.src.optimizers.overwriting import unless_overwriting
from tfkit.src.optimizers.slots import constant

# The powers of 2 from the smallest to the largest that float32 holds with all its digits. Beyond them the
# factor would be 0 or infinite, and would remain so.
_LEAST, _MOST = 2.0**-126, 2.0**127


class LossScaleOptimizer(Optimizer):
    """A wrapper that scales losses up, so that gradients in 16 bits do not vanish.

    Gradients are divided by the same factor before the inner optimizer gets them. An update whose
    gradients are not all finite is left out, and the factor is halved; after `dynamic_growth_steps`
    updates without that, it is doubled. It is never below `2 ** -126` nor above `2 ** 127`.

    Args:
        inner_optimizer: the optimizer that updates; its own `loss_scale_factor` is set to `None`.
        initial_scale: first factor. Too high is better than too low, since it falls faster than it
            rises. Default: `32768.0`.
        dynamic_growth_steps: number of updates in a row after which the factor is doubled. Default:
            `2000`.
        name: name of the optimizer; `None` for one that is made from the class's name.
        **kwargs: `dynamic=True`, and options of `Optimizer` with their default values only.

    Raises:
        ValueError: if an option is given that belongs to the inner optimizer.

    Reference:
        Micikevicius et al., "Mixed precision training", 2018.

    Example:
        >>> from tfkit.optimizers import SGD
        >>> optimizer = LossScaleOptimizer(SGD(0.5), initial_scale=4.0)
        >>> w = tf.Variable(1.0)
        >>> with tf.GradientTape() as tape:
        ...     loss = optimizer.scale_loss(w * w)
        >>> optimizer.apply(tape.gradient(loss, [w]), [w])
        >>> float(loss), float(w)
        (4.0, 0.0)
    """

    def __init__(
        self,
        inner_optimizer: Optimizer,
        initial_scale: float = 2.0**15,
        dynamic_growth_steps: int = 2000,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if not kwargs.pop("dynamic", True):
            raise ValueError(
                "LossScaleOptimizer is always dynamic. Received: dynamic=False. For a fixed factor "
                "set `loss_scale_factor` of the optimizer itself."
            )
        unknown = [f"`{option}`" for option in kwargs if option not in DEFAULTS]
        if unknown:
            raise ValueError(
                f"LossScaleOptimizer does not support arguments: {', '.join(unknown)}."
            )
        for option, value in kwargs.items():  # Configurations of old versions contain the defaults.
            if value != DEFAULTS[option]:
                raise ValueError(
                    f"LossScaleOptimizer does not support `{option}`. Received: {option}={value!r}. "
                    "Set it on the `inner_optimizer`."
                )
        # Never used: `learning_rate` is the inner optimizer's.
        super().__init__(learning_rate=0.0, name=name)
        self.inner_optimizer = inner_optimizer
        self.inner_optimizer.loss_scale_factor = None
        self.initial_scale = initial_scale
        self.dynamic_growth_steps = dynamic_growth_steps
        self.step_counter = self.add_variable((), dtype="int64", name="step_counter")
        self.dynamic_scale = self.add_variable(
            (), initializer=constant(initial_scale), dtype="float32", name="dynamic_scale"
        )

    def belongs_to(self, settings: Any) -> None:
        """Registers a model that is trained with this optimizer, and so with the inner one."""
        super().belongs_to(settings)
        self.inner_optimizer.belongs_to(settings)

    def leaves(self, settings: Any) -> None:
        """Unregisters a model that is trained with a different optimizer from now on."""
        super().leaves(settings)
        self.inner_optimizer.leaves(settings)

    def _tfkit_parts(self) -> list[Any]:
        return [*super()._tfkit_parts(), *self.inner_optimizer._tfkit_parts()]

    @property
    def variables(self) -> list[tf.Variable]:
        """The wrapper's own variables, then the inner optimizer's."""
        return [*self._tfkit_own_variables, *self.inner_optimizer.variables]

    @property
    def iterations(self) -> Any:
        """The number of updates that the inner optimizer has made."""
        return self.inner_optimizer.iterations

    @property
    def learning_rate(self) -> Any:
        """The inner optimizer's learning rate."""
        return self.inner_optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, learning_rate: Any) -> None:
        self.inner_optimizer.learning_rate = learning_rate

    def build(self, var_list: Sequence[tf.Variable]) -> None:
        """Builds the inner optimizer."""
        if self.built:
            return
        self.inner_optimizer.build(var_list)
        super().build(var_list)

    def scale_loss(self, loss: Any) -> tf.Tensor:
        """Returns the loss times the present factor, in float32 at least, to avoid overflow."""
        loss = tf.convert_to_tensor(loss)
        if loss.dtype != tf.float64:
            loss = tf.cast(loss, tf.float32)
        # A replica's part of the mean over the batch. From the mean over its own rows, gradients would be
        # larger than on one device, and overflow earlier.
        return replicas.weighted(loss * tf.cast(self.dynamic_scale, loss.dtype))

    def apply(
        self, grads: Sequence[Any], trainable_variables: Sequence[tf.Variable] | None = None
    ) -> None:
        """Updates the variables by gradients of the scaled loss, if all of them are finite.

        Args:
            grads: one gradient for each variable.
            trainable_variables: the variables; `None` for the variables of `build`.
        """
        if len(grads) == 0:
            return
        gradients, variables = self._tfkit_pairs(grads, trainable_variables)
        narrow = [_dtype_before_cast(gradient) for gradient in gradients]
        gradients = distribution.all_reduce_sum(gradients)
        # After the sum over the replicas, so that all of them skip the same updates; in the dtype in which
        # one device would have computed the sum, because parts that are finite may have one that is not.
        finite = self.check_finite(
            [
                it if dtype is None else tf.cast(it, dtype)
                for it, dtype in zip(gradients, narrow, strict=True)
            ]
        )
        scale = tf.convert_to_tensor(self.dynamic_scale)
        gradients = unless_overwriting(lambda kept: divide(kept, scale), gradients, variables)
        gradients = self.inner_optimizer._tfkit_clipped_unless_accumulating(gradients, variables)
        distribution.merge(self._apply_if_finite, finite, gradients, variables)

    def _apply_if_finite(
        self, finite: Any, gradients: list[Any], variables: list[tf.Variable]
    ) -> None:
        def update() -> None:
            self.inner_optimizer._tfkit_run_phases(gradients, variables)
            grows = self.step_counter == self.dynamic_growth_steps - 1
            scale = tf.convert_to_tensor(self.dynamic_scale)
            self.dynamic_scale.assign(tf.where(grows, tf.minimum(2 * scale, _MOST), scale))
            self.step_counter.assign(tf.where(grows, tf.zeros((), "int64"), self.step_counter + 1))

        def skip() -> None:
            self.dynamic_scale.assign(tf.maximum(self.dynamic_scale / 2, _LEAST))
            self.step_counter.assign(0)

        # A condition must be one tensor; its value is the same in all replicas.
        tf.cond(distribution.local_value(finite), update, skip)

    def check_finite(self, grads: Sequence[Any]) -> tf.Tensor:
        """Returns whether all values in all gradients are finite, a scalar; `None`s are ignored."""
        values = [g.values if isinstance(g, tf.IndexedSlices) else g for g in grads]
        finite = [tf.reduce_all(tf.math.is_finite(x)) for x in values if x is not None]
        return tf.reduce_all(tf.stack(finite))

    def finalize_variable_values(self, var_list: Sequence[tf.Variable]) -> None:
        """Sets variables to their moving averages, if the inner optimizer keeps them."""
        self.inner_optimizer.finalize_variable_values(var_list)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, as data."""
        return {
            "name": self.name,
            "inner_optimizer": serialize_keras_object(self.inner_optimizer),
            "initial_scale": self.initial_scale,
            "dynamic_growth_steps": self.dynamic_growth_steps,
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> LossScaleOptimizer:
        """Returns the optimizer that `get_config` describes, with fresh state."""
        inner = deserialize_keras_object(config["inner_optimizer"], custom_objects)
        return cls(**{**config, "inner_optimizer": inner})


def _dtype_before_cast(gradient: Any) -> tf.DType | None:
    """Returns the dtype in which a replica has computed a gradient, if it was cast to the variable's.

    A regularizer may have added to it.
    """
    if not replicas.is_divided() or not isinstance(gradient, tf.Tensor):
        return None
    op = gradient.op
    terms = [term.op for term in op.inputs] if op.type in ("AddN", "AddV2") else [op]
    casts = [term for term in terms if term.type == "Cast"]
    return casts[0].inputs[0].dtype if len(casts) == 1 else None
