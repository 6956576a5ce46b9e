"""Losses made from a pure function of targets and predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tfkit.src.base import tree
from tfkit.src.base.nests import brief
from tfkit.src.base.registry import serialization
from tfkit.src.losses.base import Loss
from tfkit.src.losses.tensors import squeeze_or_expand_to_same_rank
from tfkit.src.symbolic.masking import get_mask, set_mask


class LossFunctionWrapper(Loss):
    """A loss that calls a function: `fn(y_true, y_pred, **kwargs)`.

    Args:
        fn: function of targets and predictions that returns one loss per sample (or per sample and
            step).
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        name: name of the loss; `None` for one that is made from the class's name.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.
        **kwargs: further arguments of `fn`.

    Call arguments:
        y_true: targets, a tensor or a nest of tensors.
        y_pred: predictions, in the same form. What the mask that they carry leaves out does not
            count.
        sample_weight: factors of the losses, `(batch,)` or the losses' shape; `None` for 1.

    Output shape: A scalar; without reduction, the shape of the result of `call`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, or if the weights do not fit the losses.

    Example:
        >>> def fourth_power(y_true, y_pred):
        ...     return tf.reduce_mean((y_pred - y_true) ** 4, axis=-1)
        >>> float(LossFunctionWrapper(fourth_power)([[0.0], [0.0]], [[1.0], [2.0]]))
        8.5
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, reduction, dtype)
        self.fn = fn
        self._fn_kwargs = kwargs

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Returns one loss per sample, computed by `fn`."""
        try:
            tree.assert_same_structure(y_true, y_pred)
        except ValueError:
            raise ValueError(
                f"The targets and the outputs of loss '{self.name}' must have the same structure. Received: "
                f"y_true={brief(y_true)}, y_pred={brief(y_pred)}. Weights are not targets: pass them as "
                "`sample_weight`."
            ) from None
        pairs = [
            squeeze_or_expand_to_same_rank(*pair)
            for pair in zip(tree.flatten(y_true), tree.flatten(y_pred), strict=True)
        ]
        y_true = tree.pack_sequence_as(y_true, [a for a, _ in pairs])
        # Squeezed predictions are new tensors, which have no mask yet.
        mask = get_mask(y_pred)
        y_pred = tree.pack_sequence_as(y_pred, [b for _, b in pairs])
        set_mask(y_pred, mask)
        return self.fn(y_true, y_pred, **self._arguments())

    def _arguments(self) -> dict[str, Any]:
        """Returns the further arguments of `fn`."""
        return self._fn_kwargs

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, the function by its name."""
        return {
            **super().get_config(),
            "fn": serialization.serialize_keras_object(self.fn),
            **serialization.serialize_keras_object(self._arguments()),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Returns a loss from the result of `get_config()`."""
        config = dict(config)
        if "fn" in config:
            config["fn"] = serialization.deserialize_keras_object(config["fn"], kind="losses")
        return cls(**serialization.deserialize_keras_object(config))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}({self.fn.__name__}, kwargs={self._arguments()})>"


class FunctionLoss(LossFunctionWrapper):
    """A loss with a fixed function, whose options are its attributes and its configuration.

    An option that is set later applies from the next call on.
    """

    # Options that Keras's configuration of the loss lacks: in ours only if they are not defaults.
    _not_in_keras_configs: ClassVar[dict[str, Any]] = {}

    def __init__(self, fn: Callable[..., Any], **kwargs: Any) -> None:
        super().__init__(fn, **kwargs)
        vars(self).update(self._fn_kwargs)

    def _arguments(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._fn_kwargs}

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        config = super().get_config()
        del config["fn"]
        for name, default in self._not_in_keras_configs.items():
            if config[name] == default:
                del config[name]
        return config


class PlainLoss(FunctionLoss):
    """A loss without options: `class MeanSquaredError(PlainLoss, function=mean_squared_error)`."""

    if TYPE_CHECKING:

        def __init__(
            self, reduction: str | None = ..., name: str | None = ..., dtype: Any = ...
        ) -> None: ...

    def __init_subclass__(cls, function: Callable[..., Any] | None = None) -> None:
        """Gives a loss of tfkit its constructor, in which the name is the function's by default."""
        super().__init_subclass__()
        if function is None:  # A subclass of a user.
            return

        def __init__(
            self: PlainLoss,
            reduction: str | None = "sum_over_batch_size",
            name: str | None = function.__name__,
            dtype: Any = None,
        ) -> None:
            FunctionLoss.__init__(self, function, reduction=reduction, name=name, dtype=dtype)

        __init__.__qualname__ = f"{cls.__qualname__}.__init__"
        type.__setattr__(cls, "__init__", __init__)
