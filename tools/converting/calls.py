"""One call in tfkit, JAX and PyTorch: outputs, state and gradients, or the sentence of a refusal."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
import torch

import tfkit
from tfkit.src.core.tracking import named_state
from tfkit.src.export.convert.interpreter import ConversionError
from tfkit.src.export.convert.pytorch.dtypes import array_of, tensor_of

# Of the largest value: some roundings of the dtype, which the formulas make in a different order.
TOLERANCES = {"float32": 1e-5, "bfloat16": 4 * 2.0**-7, "float16": 4 * 2.0**-10}


@dataclasses.dataclass
class Result:
    """The results of a call.

    Attributes:
        outputs: arrays.
        state: arrays by path, after the call.
        gradients: arrays for the trained weights and the inputs that are floats; `None` where refused.
        refused: the sentence, if the call is refused.
        no_gradient: the sentence, if its gradient is.
    """

    outputs: list[np.ndarray] = dataclasses.field(default_factory=list)
    state: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    gradients: list[np.ndarray] | None = None
    refused: str = ""
    no_gradient: str = ""


def _is_float(array: Any) -> bool:
    return tf.as_dtype(array.dtype).is_floating


def _is_real(dtype: Any) -> bool:
    return tf.as_dtype(dtype).is_floating or tf.as_dtype(dtype).is_complex


def in_tfkit(layer: Any, data: Sequence[Any], training: bool) -> Result:
    """Calls the layer itself, eagerly."""
    inputs = tf.nest.map_structure(tf.constant, list(data))
    floats = [it for it in tf.nest.flatten(inputs) if it.dtype.is_floating]
    weights = list(layer.trainable_variables)
    with tf.GradientTape() as tape:
        tape.watch(floats)
        # By its method: a compiled call is differentiated when it is made, and some cannot be.
        outputs = layer(*inputs, training=training)
        outputs = [tf.convert_to_tensor(it) for it in _flat(outputs)]
        losses = list(layer.losses)
        terms = [_wave(it) for it in outputs if _is_real(it.dtype)]
        total = tf.add_n([tf.zeros([]), *terms, *(tf.cast(it, "float32") for it in losses)])
    try:
        found = tape.gradient(total, [*weights, *floats], unconnected_gradients="zero")
    except LookupError:  # TensorFlow has no gradient of an operation.
        found = None
    return Result(
        [it.numpy() for it in [*outputs, *losses]],
        {path: it.numpy() for path, it in named_state(layer).items()},
        found and [tf.convert_to_tensor(it).numpy() for it in found],
    )


def _flat(nest: Any) -> list[Any]:
    return [it for it in tf.nest.flatten(nest) if it is not None]


def _wave(x: tf.Tensor) -> tf.Tensor:
    if x.dtype.is_complex:
        x = tf.math.real(x) + 2 * tf.math.imag(x)
    x = tf.cast(x, "float32")
    return tf.reduce_sum(tf.sin(tf.where(tf.math.is_finite(x), x, 0.0)))


def in_jax(layer: Any, examples: Sequence[Any], data: Sequence[Any], training: bool) -> Result:
    """Converts the layer to JAX, and calls that."""
    try:
        f, params, state = tfkit.interop.to_jax(layer, *examples)
    except (ConversionError, NotImplementedError, ValueError) as error:
        return Result(refused=_sentence(error))
    flat = tf.nest.flatten(list(data))
    places = [n for n, it in enumerate(flat) if _is_float(it)]

    def loss(params: Any, floats: Any, state: Any) -> Any:
        given = list(flat)
        for place, value in zip(places, floats, strict=True):
            given[place] = value
        nest = tf.nest.pack_sequence_as(list(data), given)
        outputs, after, losses = f(params, state, *nest, training=training, losses=True)
        outputs = jax.tree.leaves(outputs)
        total = jnp.zeros(())
        for x in outputs:
            if jnp.issubdtype(x.dtype, jnp.complexfloating):
                x = jnp.real(x) + 2 * jnp.imag(x)
            if jnp.issubdtype(x.dtype, jnp.floating):
                x = x.astype(jnp.float32)
                total += jnp.sum(jnp.sin(jnp.where(jnp.isfinite(x), x, 0)))
        total += sum(it.astype(jnp.float32) for it in losses)
        return total, (outputs + losses, after)

    floats = [jnp.asarray(flat[n]) for n in places]
    try:
        compute = jax.jit(jax.grad(loss, argnums=(0, 1), has_aux=True))
        (weights, inputs), (outputs, after) = compute(params, floats, state)
        gradients, missing = [*(weights[path] for path in params), *inputs], ""
    except Exception as error:
        missing = _sentence(error)
        try:
            _, (outputs, after) = jax.jit(loss)(params, floats, state)
        except (ConversionError, NotImplementedError, ValueError) as second:
            return Result(refused=_sentence(second))
        gradients = None
    return Result(
        [np.asarray(it) for it in outputs],
        {path: np.asarray(it) for path, it in {**params, **after}.items()},
        None if gradients is None else [np.asarray(it) for it in gradients],
        no_gradient=missing,
    )


def in_torch(layer: Any, examples: Sequence[Any], data: Sequence[Any], training: bool) -> Result:
    """Converts the layer to PyTorch, and calls that."""
    variables = named_state(layer)
    trained = {id(it) for it in layer.trainable_variables}
    try:
        module = tfkit.interop.to_torch(layer, *examples).train(training)
    except (ConversionError, NotImplementedError, ValueError) as error:
        return Result(refused=_sentence(error))
    inputs = tf.nest.map_structure(lambda it: tensor_of(np.asarray(it)), list(data))
    floats = [it for it in tf.nest.flatten(inputs) if it.is_floating_point()]
    for it in floats:
        it.requires_grad_(True)
    try:
        outputs = _flat(module(*inputs))
    except (ConversionError, NotImplementedError, ValueError) as error:
        return Result(refused=_sentence(error))
    total = torch.zeros(())
    for x in outputs:
        if x.is_complex():
            x = x.real + 2 * x.imag
        if x.is_floating_point():
            x = x.float()
            total = total + torch.where(x.isfinite(), x, 0).sin().sum()
    total = total + sum(it.float() for it in module.losses)
    parameters = module.state_dict(keep_vars=True)
    asked = [
        parameters[path.replace("/", ".")] for path, it in variables.items() if id(it) in trained
    ]
    asked = [*(it for it in asked if it.requires_grad), *floats]
    gradients, missing = None, ""
    try:
        found: Any = [None] * len(asked)
        if total.requires_grad:
            found = torch.autograd.grad(total, asked, allow_unused=True)
        gradients = [
            _array(torch.zeros_like(it) if g is None else g)
            for it, g in zip(asked, found, strict=True)
        ]
    except Exception as error:
        missing = _sentence(error)
    return Result(
        [_array(it) for it in [*outputs, *module.losses]],
        {path: _array(parameters[path.replace("/", ".")]) for path in variables},
        gradients,
        no_gradient=missing,
    )


def _array(x: Any) -> np.ndarray:
    return array_of(x, str(x.dtype).removeprefix("torch."))


def _sentence(error: Exception) -> str:
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"


CALLS: dict[str, Callable[..., Result]] = {"jax": in_jax, "torch": in_torch}


def differences(expected: Result, found: Result, dtype: str) -> list[str]:
    """Returns what differs, as sentences."""
    if found.refused:
        return []
    faults = []
    tolerance = TOLERANCES[dtype]
    pairs = [("output", expected.outputs, found.outputs)]
    paths = sorted(expected.state)
    pairs.append(("state", [expected.state[it] for it in paths], [found.state[it] for it in paths]))
    if found.gradients is not None and expected.gradients is not None:
        pairs.append(("gradient", expected.gradients, found.gradients))
    for name, many, others in pairs:
        if len(many) != len(others):
            faults.append(f"{len(many)} {name}s, not {len(others)}")
            continue
        for place, (a, b) in enumerate(zip(many, others, strict=True)):
            fault = _difference(a, b, tolerance)
            if fault:
                faults.append(f"{name} {place} {fault}")
    return faults


_WIDE = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
_STAND_INS = {"uint16": "int32", "uint32": "int64"}


def _difference(a: np.ndarray, b: np.ndarray, tolerance: float) -> str:
    if a.shape != b.shape:
        return f"has shape {a.shape}, not {b.shape}"
    same = b.dtype.name in (a.dtype.name, _WIDE.get(a.dtype.name), _STAND_INS.get(a.dtype.name))
    if not same:
        return f"is {a.dtype.name}, not {b.dtype.name}"
    if not a.size:
        return ""
    if not tf.as_dtype(a.dtype).is_floating and a.dtype.kind != "c":
        wrong = np.sum(a.astype("int64") != b.astype("int64"))
        return f"has {wrong} of {a.size} wrong" if wrong else ""
    wide = "complex128" if a.dtype.kind == "c" else "float64"
    a, b = a.astype(wide), b.astype(wide)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(
        a[~finite], b[~finite], equal_nan=True
    ):
        return f"has different values that are not finite: {a.ravel()[:4]} and {b.ravel()[:4]}"
    scale = max(1.0, np.abs(a[finite]).max(initial=0))
    gap = np.abs(a[finite] - b[finite]).max(initial=0) / scale
    return f"is off by {gap:.1e}" if gap > tolerance else ""
