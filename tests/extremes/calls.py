"""The calls of the tests' tables in a dtype: of ops, losses, layers and metrics, and Keras's beside them."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import tfkit
from tests import weighing
from tests.conformance.table import CASES as LAYERS
from tests.extremes.table import DTYPES
from tests.losses.test_functions import CASES as LOSSES
from tests.metrics.test_weights_and_masks import OF_VALUES, ROWS, TABLE
from tests.ops.cases import CASES as OPS
from tests.ops.test_image import CASES as IMAGE_OPS
from tests.ops.test_image import IMAGES

# What `Mean` and `Sum` get, which have no targets.
VALUES = np.linspace(-1.0, 2.0, weighing.ROWS * 2).reshape(weighing.ROWS, 2)
# Results that do not depend on the values of floats, or are not unique.
LEFT_OUT = {"view", "eig", "eigh", "svd", "qr", "empty", "empty_like", "shape", "size"}
Wanted = Callable[[str], bool]  # Whether a label is; what is not wanted is not made.


@dataclasses.dataclass
class Call:
    """A call of floats.

    Attributes:
        label: the printed name.
        arrays: the floats that it takes.
        call: from tensors to a nest of tensors.
        keras: the same of Keras's, if there is one.
        owner: the layer, whose weights a SavedModel has to keep.
        slopes: whether gradients say something.
        lost: the arrays whose special value has the weight 0, and changes nothing.
    """

    label: str
    arrays: list[np.ndarray]
    call: Callable[..., Any]
    keras: Callable[..., Any] | None = None
    owner: Any = None
    slopes: bool = True
    lost: tuple[int, ...] = ()


def is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float32 and value.size > 0


def floats_of(nest: Any, dtype: str) -> list[np.ndarray]:
    return [leaf.astype(DTYPES[dtype]) for leaf in tf.nest.flatten(nest) if is_float(leaf)]


def filled(function: Any, args: Any, kwargs: Any) -> Callable[..., Any]:
    """Returns `function` of the floats among its arguments."""
    leaves = tf.nest.flatten((args, kwargs))

    def call(*tensors: Any) -> Any:
        rest = iter(tensors)
        given = [next(rest) if is_float(leaf) else leaf for leaf in leaves]
        given = [tf.constant(x) if isinstance(x, np.ndarray) else x for x in given]
        args_now, kwargs_now = tf.nest.pack_sequence_as((args, kwargs), given)
        return function(*args_now, **kwargs_now)

    return call


def functions(dtype: str, wanted: Wanted) -> Iterator[Call]:
    """Yields the calls of ops and losses."""
    for name, args, kwargs in OPS:
        arrays = floats_of((args, kwargs), dtype)
        if arrays and name not in LEFT_OUT:
            options = ",".join(f"{k}={v}" for k, v in kwargs.items() if np.ndim(v) == 0)
            label = f"ops.{name}({options})"
            if not wanted(label):
                continue
            calls = [filled(getattr(module.ops, name), args, kwargs) for module in (tfkit, keras)]
            yield Call(label, arrays, *calls)
    for name, args, kwargs in IMAGE_OPS:
        label = f"ops.image.{name}({','.join(f'{k}={v}' for k, v in kwargs.items())})"
        if wanted(label):
            given = (IMAGES, *args)
            calls = [
                filled(getattr(module.ops.image, name), given, kwargs) for module in (tfkit, keras)
            ]
            yield Call(label, floats_of((given, kwargs), dtype), *calls)
    for name, _, options, data in LOSSES:
        arrays = floats_of(data, dtype)
        label = f"losses.{name}({options})"
        if arrays and hasattr(keras.losses, name) and wanted(label):
            calls = [
                filled(getattr(module.losses, name), data, options) for module in (tfkit, keras)
            ]
            yield Call(label, arrays, *calls)


def layers(dtype: str, wanted: Wanted) -> Iterator[Call]:
    """Yields the calls of the layers of the conformance table, and their calls in training."""
    for number, case in enumerate(LAYERS):
        inputs = case.data()
        arrays = floats_of(inputs, dtype)
        if not arrays:
            continue
        given = filled(lambda *x: x, inputs, {})(*map(tf.constant, arrays))
        for training in (False, True):  # Two layers: one must not see the averages of the other.
            label = f"layers.{case.layer} #{number}{' in training' * training}"
            if not wanted(label):
                continue
            layer = case.make(tfkit.layers, dtype=dtype)
            layer(*given)
            draws = np.random.default_rng(1)
            weights = [draws.uniform(0.5, 1.5, weight.shape) for weight in layer.weights]
            layer.set_weights(weights)
            theirs = None
            is_drawn = training and case.arguments.get("seed")
            if dtype in ("float32", "float64") and not is_drawn:
                oracle = case.make(keras.layers, dtype=dtype)
                # Keras has no volumes of float64.
                with contextlib.suppress(tf.errors.InvalidArgumentError, tf.errors.NotFoundError):
                    oracle(*given)
                    theirs = filled(_keras_layer(oracle, weights, training), inputs, {})
            call = filled(_layer(layer, training), inputs, {})
            yield Call(label, arrays, call, theirs, layer)


def _layer(layer: Any, training: bool) -> Callable[..., Any]:
    # Each call in training begins with the same moving averages and the same draws.
    variables = layer.variables if training else []
    first = [x.numpy() for x in variables]

    def run(*given: Any) -> Any:
        for variable, value in zip(variables, first, strict=True):
            variable.assign(value)
        return layer._tfkit_call_in_phases(given, {"training": training})

    return run


def _keras_layer(layer: Any, weights: Any, training: bool) -> Callable[..., Any]:
    def run(*given: Any) -> Any:
        layer.set_weights(weights)
        return layer(*given, training=training)

    return run


def metrics(dtype: str, wanted: Wanted) -> Iterator[Call]:
    """Yields the calls of all metrics, with the weight 0 in the row that changes and without."""
    rows = {name: (TABLE[name][0], ROWS[name]) for name in TABLE}
    rows |= {name: ({}, (VALUES,)) for name in OF_VALUES}
    for name, (arguments, given) in rows.items():
        data = [np.asarray(part, "float32") for part in given]
        for zero in (False, True):
            label = f"metrics.{name}{' of weight 0' * zero}"
            if not wanted(label):
                continue
            weights = weighing.ROW_WEIGHTS.astype("float32")
            weights[weighing.ROWS // 2] *= not zero
            arrays = floats_of([*data, weights], dtype)
            options = {"dtype": dtype, **arguments}
            metric, oracle = (getattr(module.metrics, name)(**options) for module in (tfkit, keras))
            metric(*map(tf.constant, arrays))
            calls = [functools.partial(_result, each) for each in (metric, oracle)]
            yield Call(label, arrays, *calls, slopes=False, lost=tuple(range(len(data))) * zero)


def _result(metric: Any, *given: Any) -> Any:
    metric.reset_state()
    return metric(*given)


KINDS: dict[str, Callable[[str, Wanted], Iterator[Call]]] = {
    "functions": functions,
    "layers": layers,
    "metrics": metrics,
}
