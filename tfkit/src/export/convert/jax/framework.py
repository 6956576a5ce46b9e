"""Arrays, shapes, loops and branches of JAX, for the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tfkit.src.export.convert.interpreter import Body, Gradient, Values
from tfkit.src.export.convert.jax.kit import dtype_of
from tfkit.src.export.convert.jax.lists import TensorList
from tfkit.src.export.convert.jax.table import FORMULAS
from tfkit.src.export.convert.jax.widths import narrowed


class Jax:
    """JAX, for the interpreter."""

    name = "JAX"
    formulas: Mapping[str, Callable[..., Any]] = FORMULAS

    def array(self, value: np.ndarray) -> Any:
        """Returns a known value as an array of JAX.

        Raises:
            OverflowError: if it does not fit in the 32 bits that JAX has unless `jax_enable_x64` is set.
        """
        if value.dtype == object:  # Sizes that are symbols.
            return jnp.stack([jnp.asarray(it) for it in value.ravel()]).reshape(value.shape)
        dtype = dtype_of(value.dtype)
        if value.dtype.kind in "iu" and dtype != value.dtype:
            limits, wide = np.iinfo(dtype), np.iinfo(value.dtype)
            # An extreme of the dtype, which means "no index" or "no limit", remains one.
            value = np.where(value == wide.max, limits.max, value)
            value = np.where(value == wide.min, limits.min, value)
        return jnp.asarray(narrowed(value, "The call"))

    def shape(self, value: Any) -> Sequence[Any]:
        """Returns the sizes of an array."""
        return jnp.shape(value)

    def numbers(self, value: Any) -> Any:
        """Returns `None`: what a compiled program computes has no value while the program is made."""
        return None

    def extreme(self, kind: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Returns the larger or the smaller of sizes, some of which are symbols."""
        choose = jax.core.max_dim if kind == "Maximum" else jax.core.min_dim
        return np.asarray(np.frompyfunc(choose, 2, 1)(x, y), object)

    def assigned(self, old: Any, new: Any, trained: bool) -> Any:
        """Returns what is read after an assignment: `new`, with the gradient of `old` if it is trained."""
        new = lax.stop_gradient(new)
        return new + (old - lax.stop_gradient(old)) if trained else new

    def with_gradient(self, values: Values, kept: Values, gradient: Gradient) -> Values:
        """Returns the values, with a written-out gradient: in reverse mode, not forward mode."""

        @jax.custom_vjp
        def same(values: Values, kept: Values) -> Values:
            return values

        def forward(values: Values, kept: Values) -> Any:
            return values, (values, kept)

        def backward(residuals: Any, upstream: Values) -> Any:
            values, kept = residuals
            found = [
                None if it is None else jnp.asarray(it, value.dtype)
                for it, value in zip(gradient(kept, _dense(upstream, values)), values, strict=True)
            ]
            return found, jax.tree.map(lambda _: None, kept)

        same.defvjp(forward, backward)
        return same(values, kept)

    def loop(self, test: Body, body: Body, values: Values, steps: int | None) -> Values:
        """Returns the values after a loop: a `scan`, which has a gradient, if its length is known."""
        first = [self._carried(it) for it in values]
        if any(isinstance(it, TensorList) and it.buffer is None for it in first):
            # The elements have the form of the first one that is set.
            forms = jax.eval_shape(lambda: [self._carried(it) for it in body(first)])
            first = [_like(form, it) for form, it in zip(forms, first, strict=True)]

        def step(carried: Values) -> Values:
            results = [self._carried(it) for it in body(carried)]
            return [_as(old, new) for old, new in zip(carried, results, strict=True)]

        if steps is None:
            return lax.while_loop(
                lambda it: jnp.reshape(self._carried(test(it)[0]), ()), step, first
            )
        last, _ = lax.scan(lambda carried, _: (step(carried), None), first, None, length=steps)
        return last

    def branch(self, index: Any, branches: list[Body], values: Values) -> Values:
        """Returns the results of one of several functions."""
        index = jnp.reshape(index, ()).astype(jnp.int32)
        last = len(branches) - 1
        # As in TensorFlow's `Case`, an index out of range chooses the last branch.
        index = jnp.where((index < 0) | (index > last), last, index)
        return lax.switch(index, branches, values)

    def _carried(self, value: Any) -> Any:
        return (
            self.array(np.asarray(value)) if isinstance(value, (np.ndarray, np.generic)) else value
        )


def _dense(upstream: Values, values: Values) -> Values:
    """Returns gradients of the dtypes of the values; JAX has none for integers."""
    return [
        jnp.zeros_like(value) if it.dtype == jax.dtypes.float0 else it
        for it, value in zip(upstream, values, strict=True)
    ]


def _like(form: Any, value: Any) -> Any:
    if isinstance(value, TensorList) and value.buffer is None and form.buffer is not None:
        return TensorList(
            jnp.zeros(form.buffer.shape, form.buffer.dtype), value.length, value.dtype
        )
    return value


def _as(old: Any, new: Any) -> Any:
    return new if isinstance(new, TensorList) else jnp.asarray(new, old.dtype)
