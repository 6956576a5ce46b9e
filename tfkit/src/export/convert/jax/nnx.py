"""Modules of Flax's NNX as pure functions: of their parameters, their other variables, and a key."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import jax
from flax import nnx

# Parameters, streams of random keys, what `sow` has stored, and the state.
_KINDS = (nnx.Param, nnx.RngState, nnx.Intermediate, ...)


def is_module(value: Any) -> bool:
    """Whether an object is a module of NNX."""
    return isinstance(value, nnx.Module)


class Called:
    """A module as a `call_fn`: it is put together from the values for each call.

    Args:
        module: the module, which no call changes.
        method: the method to call, its name, or `None` for `__call__`.
    """

    def __init__(self, module: Any, method: Callable[..., Any] | str | None) -> None:
        self._method = method
        self._definition, self._params, self._keys, _, self._state = nnx.split(module, *_KINDS)

    def arguments(self) -> list[str]:
        """Returns the names of the arguments of `__call__` that the module needs."""
        needs_rng = bool(jax.tree.leaves(self._keys))
        return ["params", "state", *(["rng"] if needs_rng else []), "inputs", "training"]

    def first(self) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Returns the parameters and the state that the module has."""
        return nnx.to_pure_dict(self._params), nnx.to_pure_dict(self._state)

    def __call__(
        self, params: Any, state: Any, inputs: Any, training: bool, rng: Any = None
    ) -> tuple[Any, dict[Any, Any]]:
        """Returns the outputs, and the state after the call."""
        keys = self._keys if rng is None else _from_key(self._keys, rng)
        module = nnx.merge(
            self._definition, _filled(self._params, params), keys, _filled(self._state, state)
        )
        if training:
            module.train()
        else:
            module.eval()
        called: Any = module
        if isinstance(self._method, str):
            called = getattr(module, self._method)
        elif self._method is not None:
            called = functools.partial(self._method, module)
        takes = inspect.signature(called).parameters
        outputs = called(inputs, **({"training": training} if "training" in takes else {}))
        *_, after = nnx.split(module, *_KINDS)
        return outputs, nnx.to_pure_dict(after)


def _filled(form: Any, values: Any) -> Any:
    """Returns variables of NNX with the values of a nest of dicts."""

    def value_at(path: tuple[Any, ...]) -> Any:
        return functools.reduce(lambda nest, key: nest[key], path, values)

    pairs = nnx.to_flat_state(form)
    return nnx.from_flat_state([(path, it.replace(value_at(path))) for path, it in pairs])


def _from_key(keys: Any, rng: Any) -> Any:
    """Returns streams of random keys that follow from the two words of a key."""
    filled = []
    for number, (path, variable) in enumerate(nnx.to_flat_state(keys)):
        value = variable.get_value()
        if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
            key = jax.random.fold_in(jax.random.wrap_key_data(rng), number)
            value = jax.random.split(key, value.shape) if value.shape else key
        filled.append((path, variable.replace(value)))
    return nnx.from_flat_state(filled)
