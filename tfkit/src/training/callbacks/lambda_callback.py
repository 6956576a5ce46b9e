"""`LambdaCallback`: a callback made of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfkit.src.base.registry.constructors import given, with_checked_values
from tfkit.src.training.callbacks.callback import Callback

_HOOKS = {name for name in vars(Callback) if name.startswith("on_")}


class LambdaCallback(Callback):
    """A callback made of functions.

    Args:
        on_epoch_begin: function called as `f(epoch, logs)`; `None` for none.
        on_epoch_end: function called as `f(epoch, logs)`; `None` for none.
        on_train_begin: function called as `f(logs)`; `None` for none.
        on_train_end: function called as `f(logs)`; `None` for none.
        on_train_batch_begin: function called as `f(batch, logs)`; `None` for none.
        on_train_batch_end: function called as `f(batch, logs)`; `None` for none.
        **kwargs: functions for the other hooks of `Callback`, by name. Others become attributes of the
            callback, unless their names begin with `on_`, as the names of hooks do.

    Raises:
        ValueError: if a keyword begins with `on_` and is not a hook of `Callback`.

    Example:
        ```python
        printer = LambdaCallback(on_epoch_end=lambda epoch, logs: print(epoch, logs["loss"]))
        model.fit(x, y, callbacks=[printer])
        ```
    """

    @with_checked_values
    def __init__(
        self,
        on_epoch_begin: Callable[..., Any] | None = None,
        on_epoch_end: Callable[..., Any] | None = None,
        on_train_begin: Callable[..., Any] | None = None,
        on_train_end: Callable[..., Any] | None = None,
        on_train_batch_begin: Callable[..., Any] | None = None,
        on_train_batch_end: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        functions = given(locals())
        super().__init__()
        unknown = sorted(name for name in set(kwargs) - _HOOKS if name.startswith("on_"))
        if unknown:
            raise ValueError(
                f"Unknown hooks. Expected names among {sorted(_HOOKS)}. Received: {unknown}"
            )
        for name, function in functions.items():
            if function is not None:
                setattr(self, name, function)
