"""`to_jax`: every layer, activation and loss of the tables gives TensorFlow's numbers in JAX."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests import test_activations
from tests.conformance.table import CASES
from tests.conformance.test_layers import rewound
from tests.convert.functions import FUNCTIONS, Counter, Function, X
from tests.losses.test_functions import CASES as LOSSES
from tfkit import layers
from tfkit.src.core.tracking import named_state
from tfkit.src.engine.machine import onednn_is_on
from tfkit.src.export.convert.interpreter import ConversionError

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'tfkit-dl[jax]'")
jnp = jax.numpy

TOLERANCE = 1e-5
# Layers whose training cannot be converted, with a part of the error.
NOT_IN_TRAINING = {"RandomElasticTransform": "needs `start` before the program runs"}
# JAX draws other numbers of the same distribution (gamma).
OTHER_NUMBERS = {"CutMix", "MixUp"}
# TensorFlow has no derivative of the conversion from hue to colours (zeros); JAX has one.
NO_INPUT_GRADIENT = {"RandomSaturation", "RandomHue", "RandomColorJitter"}


# What multiplies the rounding of its inputs: similarities by 80, within an exponential. Gradients differ
# from those of float64 by 1.3e-5 in JAX and by 3e-6 in TensorFlow.
LESS_EXACT = {"circle": 3e-5}


def assert_close(found, expected, tolerance=TOLERANCE):
    """Equal to 1e-5 of the largest number among them, or of 1."""
    found, expected = [np.asarray(it) for it in found], [np.asarray(it) for it in expected]
    assert [it.shape for it in found] == [it.shape for it in expected]
    scale = max([1.0, *(np.abs(it).max() for it in expected if it.size)])
    for a, b in zip(found, expected, strict=True):
        wide = "complex128" if np.iscomplexobj(b) else "float64"
        np.testing.assert_allclose(a.astype(wide), b.astype(wide), rtol=0, atol=tolerance * scale)


def loss_of(sin, total, outputs, added):
    return sum(total(sin(it)) for it in outputs) + sum(added)


def gradients_of_tensorflow(layer, inputs, weights):
    """Outputs of a call in training; gradients of a function of them, for weights and for floats given."""
    inputs = tf.nest.map_structure(tf.identity, inputs)
    floats = [it for it in tf.nest.flatten(inputs) if it.dtype.is_floating]
    with tf.GradientTape() as tape:
        tape.watch(floats)
        outputs = tf.nest.flatten(layer(*inputs, training=True))
        real = [tf.cast(it, "float32") for it in outputs]
        loss = loss_of(tf.sin, tf.reduce_sum, real, layer.losses)
    found = tape.gradient(loss, [*weights, *floats], unconnected_gradients="zero")
    return outputs, [tf.convert_to_tensor(it) for it in found]


def gradients_of_jax(f, params, state, arrays):
    """The same by JAX, and the state after the call."""
    flat = tf.nest.flatten(arrays)
    places = [n for n, it in enumerate(flat) if it.dtype.kind == "f"]

    def loss(params, floats, state):
        given = list(flat)
        for place, value in zip(places, floats, strict=True):
            given[place] = value
        nest = tf.nest.pack_sequence_as(arrays, given)
        outputs, after, added = f(params, state, *nest, training=True, losses=True)
        outputs = jax.tree.leaves(outputs)
        real = [it.astype(jnp.float32) for it in outputs]
        return loss_of(jnp.sin, jnp.sum, real, added), (outputs, after)

    compute = jax.jit(jax.grad(loss, argnums=(0, 1), has_aux=True))
    (weights, inputs), (outputs, after) = compute(params, [flat[n] for n in places], state)
    return outputs, after, [weights[path] for path in params], inputs


@pytest.mark.parametrize("case", CASES, ids=str)
def test_layers_give_the_numbers_of_tensorflow(case):
    tfkit.utils.set_random_seed(1)
    layer = case.make(layers)
    inputs = [tf.nest.map_structure(tf.constant, item) for item in case.data()]
    layer(*inputs)
    draws = np.random.default_rng(1)
    layer.set_weights([draws.uniform(0.5, 1.5, weight.shape) for weight in layer.weights])
    rewound(layer)
    arrays = tf.nest.map_structure(lambda it: it.numpy(), inputs)
    f, params, state = tfkit.interop.to_jax(layer, *inputs)
    outputs, after = jax.jit(f)(params, state, *arrays)
    assert_close(jax.tree.leaves(outputs), tf.nest.flatten(layer(*inputs, training=False)))

    rewound(layer)
    if case.layer in NOT_IN_TRAINING:
        with pytest.raises(ConversionError, match=NOT_IN_TRAINING[case.layer]):
            f(params, state, *arrays, training=True)
        return
    outputs, after, weights, floats = gradients_of_jax(f, params, state, arrays)
    variables = layer_variables(layer)
    expected, gradients = gradients_of_tensorflow(layer, inputs, [variables[it] for it in params])
    if case.layer not in OTHER_NUMBERS:
        assert_close(outputs, expected)
    assert_close(after.values(), [variables[path] for path in after])
    compared = [*weights, *floats]
    if case.layer in NO_INPUT_GRADIENT | OTHER_NUMBERS:
        compared, gradients = weights, gradients[: len(weights)]
    assert_close(compared, gradients)


def layer_variables(layer):
    return named_state(layer)


def check_function(function, *arrays, tolerance=TOLERANCE):
    layer, inputs = Function(function), [tf.constant(it) for it in arrays]
    f, params, state = tfkit.interop.to_jax(layer, *inputs)
    assert params == state == {}
    outputs, _, _, floats = gradients_of_jax(f, params, state, list(arrays))
    expected, gradients = gradients_of_tensorflow(layer, inputs, [])
    assert_close(outputs, expected, tolerance)
    assert_close(floats, gradients, tolerance)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_give_the_numbers_of_tensorflow(name):
    if name == "pools with the channels first" and not onednn_is_on():
        pytest.skip("TensorFlow's kernel for it is oneDNN's; TF_ENABLE_ONEDNN_OPTS=1 turns it on")
    function, arrays = FUNCTIONS[name]
    check_function(function, *arrays)


def test_states_and_matrices_that_are_used_twice():
    layer = Counter()
    layer(X)
    f, params, state = tfkit.interop.to_jax(layer, X)
    for _ in range(2):
        outputs, state = f(params, state, X)
        assert_close([outputs], [layer(X)])
        assert_close(state.values(), [named_state(layer)[path] for path in state])


@pytest.mark.parametrize("name", test_activations.NAMES)
def test_activations_give_the_numbers_of_tensorflow(name):
    def activation(x):
        options = {"threshold": 0.5, "default_value": 2.0} if name == "threshold" else {}
        return getattr(tfkit.activations, name)(x, **options)

    check_function(activation, test_activations.X)


@pytest.mark.parametrize(
    "case", LOSSES, ids=lambda case: "-".join([case[0], *map(str, case[2].values())])
)
def test_losses_give_the_numbers_of_tensorflow(case):
    name, _, options, data = case
    if not all(isinstance(it, np.ndarray) for it in data):
        data = [np.asarray(it) for it in data]
    # 64 bits are 32 in JAX.
    narrow = [it.astype("int32") if it.dtype == "int64" else it for it in data]
    loss = getattr(tfkit.losses, name)
    tolerance = LESS_EXACT.get(name, TOLERANCE)
    check_function(lambda y, z: loss(y, z, **options), *narrow, tolerance=tolerance)
