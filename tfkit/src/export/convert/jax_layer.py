"""`JaxLayer` and `FlaxLayer`: functions of JAX and modules of Flax as layers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base import packages, recomputation
from tfkit.src.base.names import escaped
from tfkit.src.base.protocols import LayerOptions
from tfkit.src.base.registry import serialization
from tfkit.src.core.layer import Layer
from tfkit.src.export.convert import frameworks
from tfkit.src.weights.random import SeedGenerator

_CALL = ("params", "state", "rng", "training", "inputs")
_INIT = ("rng", "training", "inputs")


class _InStructure:
    """The attribute `params` or `state`: weights in the form that the function expects.

    The same weights by their names stay in the layer's `__dict__`, where files and copies find them.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, layer: JaxLayer | None, owner: type | None = None) -> Any:
        """Returns the nest of weights; `None` before the layer is built."""
        if layer is None:
            return self
        named = vars(layer).get(self._name)
        if named is None:
            return None
        structure = layer._structures[self._name]
        return structure.nest(structure.in_order(named))

    def __set__(self, layer: JaxLayer, value: Any) -> None:
        """Keeps the weights by their names."""
        vars(layer)[self._name] = value

    def __delete__(self, layer: JaxLayer) -> None:
        """Removes the weights, where what a call has set is undone."""
        del vars(layer)[self._name]


class JaxLayer(Layer):
    """Calls a function of JAX. XLA compiles it as a part of the TensorFlow program around it.

    The function accepts some of these arguments, by name, and at least `inputs`:

        params: nest of arrays, the weights that are trained.
        state: nest of arrays, the weights that are not. The function then returns
            `(outputs, new_state)`, and otherwise the outputs.
        rng: a key of `jax.random` while training, else `None`.
        inputs: an array, or a nest of them.
        training: whether the layer trains.

    It runs in any program of tfkit: gradients, `fit`, and exports hold it, as XLA's code. Sizes that
    are not known, such as the number of rows, are symbolic dimensions in JAX, of 1 or more.

    Args:
        call_fn: the function. In a file it has a name, under which it must be registered with
            `@tfkit.saving.register_keras_serializable()`, as `init_fn` must be.
        init_fn: function of `rng` and `inputs` (an array of ones, with 1 for each size that is not
            known), and `training` (`True`) if it accepts it, that returns the initial `params`; or
            `(params, state)`, if `call_fn` accepts a `state`. `None` if values are given.
        params: initial weights, instead of `init_fn`'s.
        state: initial state, likewise.
        seed: integer for `rng`; `None` for a new one.
        native_serialization_platforms: platforms for which the function is compiled, such as
            `["cpu", "cuda"]`; `None` for the platform of this process.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: what `call_fn` accepts.
        training: whether `call_fn` trains; set by `fit` and by layers outside.

    Input shape: Any that `call_fn` accepts.

    Output shape: That of its outputs.

    Raises:
        ImportError: without JAX.
        TypeError: if `call_fn` or `init_fn` is not a function.
        ValueError: for arguments of theirs that are not listed above, without `inputs`, and if there
            are neither `init_fn` nor values.

    Example:
        >>> import importlib.util
        >>> def call(params, inputs):
        ...     return inputs @ params["kernel"]
        >>> if importlib.util.find_spec("jax"):
        ...     layer = tfkit.layers.JaxLayer(call, params={"kernel": np.ones((3, 2), "float32")})
        ...     assert layer(np.ones((4, 3), "float32")).numpy().tolist() == [[3.0, 3.0]] * 4
    """

    params = _InStructure()
    state = _InStructure()

    def __init__(
        self,
        call_fn: Callable[..., Any],
        init_fn: Callable[..., Any] | None = None,
        params: Any = None,
        state: Any = None,
        seed: int | None = None,
        native_serialization_platforms: Any = None,
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        _calling()
        call_takes = _arguments("call_fn", call_fn, _CALL)
        init_takes = () if init_fn is None else _arguments("init_fn", init_fn, _INIT)
        has_values = params is not None or state is not None
        if init_fn is None and not has_values and {"params", "state"} & set(call_takes):
            raise ValueError(
                "`init_fn`, `params` and `state` cannot all be `None` when `call_fn` takes a `params` or a "
                "`state` argument: pass the initial values, or a function that returns them."
            )
        super().__init__(**kwargs)
        self.call_fn, self.init_fn = call_fn, init_fn
        self.native_serialization_platforms = native_serialization_platforms
        self._call_takes, self._init_takes = call_takes, init_takes
        needs_seed = "rng" in call_takes or ("rng" in init_takes and not has_values)
        self.seed_generator: Any = SeedGenerator(seed) if needs_seed else None
        self._structures: dict[str, Any] = {}
        if has_values:
            self._make_weights(params, state)

    def build(self, input_shape: Any = None) -> None:
        """Makes the weights with the values that `init_fn` returns, unless they are given."""
        if self._structures or self.init_fn is None:
            return
        given = {
            "rng": self._first_key() if "rng" in self._init_takes else None,
            "inputs": _calling().ones(input_shape),
            "training": True,
        }
        values = self.init_fn(**{name: given[name] for name in self._init_takes})
        has_state = "state" in self._call_takes
        if has_state and not (isinstance(values, tuple) and len(values) == 2):
            raise ValueError(
                f"Layer '{self.path}' (of type {type(self).__name__}) takes a `state`, so that `init_fn` "
                f"must return `(params, state)`. Received: {type(values).__name__}"
            )
        self._make_weights(*(values if has_state else (values, None)))

    def _make_weights(self, params: Any, state: Any) -> None:
        for name, values in (("params", params), ("state", state)):
            self._structures[name] = structure = _calling().Structure(values)
            weights = [
                self.add_weight(
                    name=escaped(path[-1]) if path else name,
                    shape=value.shape,
                    initializer=value,
                    dtype=value.dtype.name,
                    # Integers and booleans among the parameters have no gradient.
                    trainable=name == "params" and value.dtype.kind not in "biu",
                )
                for path, value in structure.leaves()
            ]
            setattr(self, name, structure.named(weights))

    def call(self, inputs: Any, training: bool = False) -> Any:
        """Returns the outputs of `call_fn`."""
        given = {
            "params": self._values("params"),
            "state": self._values("state"),
            "rng": self._key() if training and "rng" in self._call_takes else None,
            "inputs": inputs,
        }
        options = {"training": bool(training)} if "training" in self._call_takes else {}
        outputs = _calling().call(
            self.call_fn,
            {name: value for name, value in given.items() if name in self._call_takes},
            options,
            self._structures,
            self.native_serialization_platforms,
        )
        if "state" not in self._call_takes:
            return outputs
        outputs, changed = outputs
        # The second computation of `remat` must not change the state again.
        if not recomputation.is_second():
            weights = self._structures["state"].in_order(vars(self)["state"])
            for weight, value in zip(weights, changed, strict=True):
                weight.assign(tf.cast(value, weight.dtype))
        return outputs

    def _values(self, name: str) -> list[tf.Tensor]:
        structure = self._structures.get(name)
        if structure is None:
            return []
        return [tf.convert_to_tensor(it) for it in structure.in_order(vars(self)[name])]

    def _first_key(self) -> Any:
        """Returns the key for initial values, which no call gets."""
        # With a counter that calls never reach: the key of initial values is not repeated by a
        # draw.
        seed = tf.cast(self.seed_generator.state[0], tf.uint32)
        return _calling().array(tf.stack([seed, tf.constant(tf.uint32.max, tf.uint32)]))

    def _key(self) -> Any:
        """Returns the next key of `jax.random`, as its two words."""
        return tf.cast(self.seed_generator.next(), tf.uint32)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, functions by their names, without values.

        Raises:
            TypeError: for a lambda, which has no name.
        """
        return _config(self, ("call_fn", "init_fn"), ("params", "state"))


class FlaxLayer(JaxLayer):
    """Calls a module of Flax, `flax.linen` or `flax.nnx`. XLA compiles it as a part of the program.

    Its collection `params` is trained, all others (such as `batch_stats`) are state. A method
    that accepts `training` gets it. Keys for random numbers exist only in training.

    A module of NNX has its values when it is made, and the layer begins with them. Variables of the class
    `nnx.Param` are trained, others are state, except for streams of random keys, which start from a new key
    in each call that trains. Its `train()` or `eval()` is called before each call.

    Args:
        module: an instance of `flax.linen.Module` or `flax.nnx.Module`. For files its class must be
            registered, and have `get_config` and `from_config`.
        method: the method to call, or its name; `None` for `__call__`. It must accept the inputs, and
            `training` by name if it needs it.
        variables: dict of collections of arrays, as `module.init` returns it; `None` for the values
            that `module.init` returns when the layer is built. Not for `flax.nnx`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: what the method accepts.
        training: whether it trains; set by `fit` and by layers outside.

    Input shape: Any that the method accepts.

    Output shape: That of its outputs.

    Raises:
        ImportError: without Flax or JAX.
        TypeError: if `module` is not a module of Flax.
        ValueError: for `variables` of a module of NNX.

    Example:
        >>> import importlib.util
        >>> if importlib.util.find_spec("flax"):
        ...     import flax
        ...
        ...     layer = tfkit.layers.FlaxLayer(flax.linen.Dense(2))
        ...     assert layer(np.ones((4, 3), "float32")).shape == (4, 2)
    """

    def __init__(
        self,
        module: Any,
        method: Callable[..., Any] | str | None = None,
        variables: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        flax = packages.imported("flax", "`FlaxLayer`", "Flax", "flax")
        params, state = (None, None) if variables is None else _split(variables)
        call_fn: Any
        init_fn: Any = None
        if isinstance(module, flax.linen.Module):
            called = (
                getattr(module, method) if isinstance(method, str) else method or module.__call__
            )
            options = ("training",) if "training" in inspect.signature(called).parameters else ()
            mutable = flax.core.DenyList(["params"])
            applied = functools.partial(_applied, module, method=method, mutable=mutable)
            call_fn = _with_parameters(applied, ("params", "state", "rng", "inputs", *options))
            initialized = functools.partial(_initialized, module, method=method)
            init_fn = _with_parameters(initialized, ("rng", "inputs", *options))
        else:
            call_fn = _of_nnx(module, method, variables)
            params, state = call_fn.first()
        super().__init__(call_fn=call_fn, init_fn=init_fn, params=params, state=state, **kwargs)
        self.module, self.method = module, method

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, without values.

        Raises:
            TypeError: if the class of the module is not registered, or has no `get_config`.
        """
        return _config(self, ("module", "method"), ("variables",))


def _config(layer: Layer, objects: tuple[str, ...], values: tuple[str, ...]) -> dict[str, Any]:
    """Returns the constructor's arguments, of which some are objects and others are left out."""
    config = {name: it for name, it in Layer.get_config(layer).items() if name not in values}
    named = {name: serialization.serialize_keras_object(getattr(layer, name)) for name in objects}
    return {**config, **named}


def _applied(module: Any, params: Any, state: Any, rng: Any, inputs: Any, **options: Any) -> Any:
    """Returns `module.apply` with the arguments of a `call_fn`."""
    return module.apply({**params, **state}, inputs, rngs=rng, **options)


def _initialized(module: Any, rng: Any, inputs: Any, **options: Any) -> Any:
    """Returns the values of `module.init`, as an `init_fn` does."""
    return _split(module.init(rng, inputs, **options))


def _of_nnx(module: Any, method: Any, variables: Any) -> Any:
    """Returns a module of NNX as a `call_fn`.

    Raises:
        TypeError: for any other object.
        ValueError: for `variables`, which a module of NNX has itself.
    """
    nnx = packages.imported("tfkit.src.export.convert.jax.nnx", "`FlaxLayer`", "Flax", "flax")
    if not nnx.is_module(module):
        raise TypeError(
            "Argument `module` of layer FlaxLayer must be a `flax.linen.Module` or a `flax.nnx.Module`. "
            f"Received: module={module!r} (of type {type(module).__name__})"
        )
    if variables is not None:
        raise ValueError(
            "`variables` are for modules of `flax.linen`. A module of `flax.nnx` has its values itself: set "
            "them there, with `nnx.update`."
        )
    called = nnx.Called(module, method)
    return _with_parameters(called, called.arguments())


def _split(variables: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the collection that is trained, and the others."""
    params = {name: it for name, it in variables.items() if name == "params"}
    return params, {name: it for name, it in variables.items() if name != "params"}


def _with_parameters(function: Any, names: Iterable[str]) -> Any:
    """Returns a function whose signature names its arguments."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    function.__signature__ = inspect.Signature([inspect.Parameter(it, kind) for it in names])
    return function


def _arguments(what: str, function: Any, supported: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the names of a function's arguments.

    Raises:
        TypeError: if it is not a function.
        ValueError: for a name that is not supported, and without `inputs`.
    """
    if not callable(function):
        raise TypeError(
            f"Argument `{what}` must be a function. Received: {function!r}, which is not a callable object"
        )
    names = tuple(inspect.signature(function).parameters)
    for name in names:
        if name not in supported:
            raise ValueError(
                f"Unsupported argument in `{what}`: `{name}`, supported arguments are "
                + ", ".join(f"`{it}`" for it in supported)
            )
    if "inputs" not in names:
        raise ValueError(f"Missing required argument in `{what}`: `inputs`")
    return names


def _calling() -> Any:
    return frameworks.of_jax("calling", "`JaxLayer`")
