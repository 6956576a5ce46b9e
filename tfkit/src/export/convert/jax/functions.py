"""A layer's calls as a function of JAX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfkit.src.export.convert.interpreter import ConversionError, Interpreter
from tfkit.src.export.convert.jax import philox
from tfkit.src.export.convert.jax.framework import Jax
from tfkit.src.export.convert.tracing import Calls


class JaxFunction:
    """A pure function of JAX that computes the calls of a layer; `keras.interop.to_jax` makes it.

    Call arguments:
        params: values of the trained variables by path, as `to_jax` returned them.
        state: values of all other variables by path; also of the trained ones to which a call assigns, which
            are not read: their values after the call count.
        *inputs: arrays, or nests of them, in the form of the examples.
        training: whether to compute what the layer does in training. Not traced: name it in
            `static_argnames` of `jax.jit`, or choose it outside.
        seed: an integer, an array of integers or a key of `jax.random`, from which all random numbers of
            the call follow. With `None` they follow from the seeds in `state`, which advance.
        losses: whether to return the values of `add_loss` and the penalties on weights, too.
        **keywords: arrays, like the examples passed by keyword.

    Returns:
        `(outputs, state)`, or `(outputs, state, losses)` with a list of scalars.
    """

    def __init__(self, calls: Calls) -> None:
        framework = Jax()
        self._calls = calls
        self._seeds = calls.seeds()
        self._state = [path for path in calls.variables if path not in set(calls.trained)]
        self._state += calls.assigned
        self._run = {
            False: Interpreter(calls.by_training[False].graph, framework, calls.layer.name)
        }
        try:
            self._run[True] = Interpreter(
                calls.by_training[True].graph, framework, calls.layer.name
            )
        except ConversionError as error:
            # Inference can be converted: the error comes with `training=True`.
            self._refusal = error

    def __call__(
        self,
        params: Mapping[str, Any],
        state: Mapping[str, Any],
        *inputs: Any,
        training: bool = False,
        seed: Any = None,
        losses: bool = False,
        **keywords: Any,
    ) -> Any:
        """Returns the outputs and the state after the call."""
        call = self._calls.by_training[bool(training)]
        if bool(training) not in self._run:
            raise self._refusal
        arrays = self._arrays(inputs, keywords)
        variables = {**self._checked("state", state), **self._checked("params", params)}
        if seed is not None:
            variables.update(self._seeded(variables, seed))
        results = self._run[bool(training)](arrays, variables)
        # Results of the graph are the outputs, followed by the losses that were added.
        tensors, added = results[: call.num_outputs], results[call.num_outputs :]
        outputs = jax.tree.map(lambda number: tensors[number], call.outputs)
        after = {path: variables[path] for path in self._state}
        return (outputs, after, added) if losses else (outputs, after)

    def values(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the current values of the layer's variables as `(params, state)`."""
        values = {path: jnp.asarray(it.numpy()) for path, it in self._calls.variables.items()}
        trained = {path: values[path] for path in self._calls.trained}
        return trained, {path: values[path] for path in self._state}

    def _arrays(self, inputs: Any, keywords: Any) -> list[Any]:
        specs, flat = self._calls.specs(), self._calls.flat((inputs, keywords))
        arrays = [jnp.asarray(it, _dtype(spec.dtype)) for it, spec in zip(flat, specs, strict=True)]
        for array, spec in zip(arrays, specs, strict=True):
            sizes = zip(array.shape, spec.shape.as_list(), strict=False)
            if array.ndim != spec.shape.rank or any(b is not None and a != b for a, b in sizes):
                raise ValueError(
                    f"'{self._calls.layer.name}' was converted for an input of shape {tuple(spec.shape)}. "
                    f"Received shape {array.shape}: convert it again with an example of this shape, or "
                    "with a `tf.TensorSpec` whose sizes are None where they vary."
                )
        return arrays

    def _checked(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        expected = self._calls.trained if name == "params" else self._state
        if given.keys() != set(expected):
            raise ValueError(
                f"Expected `{name}` with the paths that `to_jax` returned. Missing: "
                f"{sorted(set(expected) - given.keys())}; not known: {sorted(given.keys() - set(expected))}"
            )
        return {path: jnp.asarray(given[path]) for path in expected}

    def _seeded(self, variables: Mapping[str, Any], seed: Any) -> dict[str, Any]:
        """Returns states of the generators that follow from a seed, each at the start of a stream."""
        # A typed key of JAX is opaque; its words are its data.
        if jnp.issubdtype(jnp.asarray(seed).dtype, jax.dtypes.prng_key):
            seed = jax.random.key_data(seed)
        words = jnp.ravel(jnp.asarray(seed)).astype(jnp.uint32)
        # A seed of TensorFlow has two words; of a longer key the first and the last are used.
        pair = (
            jnp.stack([words[0], words[-1]])
            if words.size > 1
            else jnp.stack([words[0], words[0] * 0])
        )
        starts = philox.bits(
            len(self._seeds), *philox.key_and_counter(pair & jnp.uint32(2**31 - 1))
        )
        # Without the sign, since seeds are int32.
        starts = (starts & jnp.uint32(2**31 - 1)).astype(jnp.int32)
        return {
            path: jnp.stack([start, start * 0]).astype(variables[path].dtype)
            for path, start in zip(self._seeds, starts, strict=True)
        }


def _dtype(dtype: Any) -> Any:
    return jax.dtypes.canonicalize_dtype(np.dtype(dtype.as_numpy_dtype))
