"""Losses made of a pure function of targets and predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

from tfkit import serialization, tree
from tfkit.losses.base import Loss
from tfkit.losses.tensors import squeeze_or_expand_to_same_rank


class LossFunctionWrapper(Loss):
    """A loss whose `call` is a function.

    Args:
        fn: `fn(y_true, y_pred, **kwargs)` gives one loss per sample.
        reduction: as in `Loss`.
        name: a label for people.
        dtype: as in `Loss`.
        **kwargs: further arguments of `fn`.
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
        """One loss per sample, from `fn`."""
        tree.assert_same_structure(y_true, y_pred)
        pairs = [
            squeeze_or_expand_to_same_rank(*pair)
            for pair in zip(tree.flatten(y_true), tree.flatten(y_pred), strict=True)
        ]
        y_true = tree.pack_sequence_as(y_true, [a for a, _ in pairs])
        y_pred = tree.pack_sequence_as(y_pred, [b for _, b in pairs])
        return self.fn(y_true, y_pred, **self._arguments())

    def _arguments(self) -> dict[str, Any]:
        """The further arguments of `fn`."""
        return self._fn_kwargs

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, the function by its name."""
        return {
            **super().get_config(),
            "fn": serialization.serialize_keras_object(self.fn),
            **serialization.serialize_keras_object(self._arguments()),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """A loss from what `get_config()` gave."""
        config = dict(config)
        if "fn" in config:
            config["fn"] = serialization.deserialize_keras_object(config["fn"], kind="losses")
        return cls(**serialization.deserialize_keras_object(config))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}({self.fn.__name__}, kwargs={self._arguments()})>"


class FunctionLoss(LossFunctionWrapper):
    """A loss named after its function, whose options are its attributes and its configuration.

    An option that is set later holds from the next call on.
    """

    # Options that Keras's configuration of the loss does not have: in ours only where they are no default.
    _not_in_keras_configs: ClassVar[dict[str, Any]] = {}

    def __init__(self, fn: Callable[..., Any], **kwargs: Any) -> None:
        super().__init__(fn, **kwargs)
        vars(self).update(self._fn_kwargs)

    def _arguments(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._fn_kwargs}

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        config = super().get_config()
        del config["fn"]
        for name, default in self._not_in_keras_configs.items():
            if config[name] == default:
                del config[name]
        return config
