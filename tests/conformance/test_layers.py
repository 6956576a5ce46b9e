"""Every public layer does the same eagerly, traced, compiled by XLA, saved, and in Keras."""

import inspect
import json
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.conformance.table import CASES, ELSEWHERE
from tfkit import layers
from tfkit.src.symbolic.tensors import KerasTensor

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def make(case, **kwargs):
    """A layer, built, with random weights; its inputs; and the weights that it began with."""
    tfkit.utils.set_random_seed(1)
    layer = case.make(layers, **kwargs)
    inputs = [tf.nest.map_structure(tf.constant, item) for item in case.data()]
    layer(*inputs)
    first = layer.get_weights()
    draws = np.random.default_rng(1)
    layer.set_weights([draws.uniform(0.5, 1.5, weight.shape) for weight in layer.weights])
    return layer, inputs, first


def make_both(case):
    """A layer and Keras's, built, with the same random weights; and the inputs."""
    layer, inputs, first = make(case)
    keras.utils.set_random_seed(1)
    oracle = case.make(keras.layers)
    oracle(*inputs)
    assert_close(first, oracle.get_weights(), 1e-5)
    oracle.set_weights(layer.get_weights())
    return layer, oracle, inputs


def rewound(layer):
    """The layer, with its seeds at their beginning: layers of images draw in every call that does not say."""
    for module in (layer, *layer.submodules):
        if isinstance(module, tfkit.random.SeedGenerator):
            module.state.assign([module.state[0], 0])
    return layer


def is_random(case):
    return bool(case.arguments.get("seed"))


def assert_close(actual, expected, tolerance):
    tf.nest.assert_same_structure(actual, expected)
    for a, b in zip(tf.nest.flatten(actual), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(
            tf.cast(a, "float64"), tf.cast(b, "float64"), rtol=tolerance, atol=tolerance
        )


def gradients(layer, inputs, weights):
    with tf.GradientTape() as tape:
        outputs = layer(*inputs, training=True)
        terms = [tf.sin(tf.cast(item, "float32")) for item in tf.nest.flatten(outputs)]
        terms += [tf.cast(loss, "float32") for loss in layer.losses]
        loss = tf.add_n([tf.reduce_sum(term) for term in terms])
    return outputs, tape.gradient(loss, weights)


@every_case
def test_numbers_are_those_of_keras(case):
    layer, oracle, inputs = make_both(case)
    assert [weight.label for weight in layer.weights] == [w.name for w in oracle.weights]
    assert [w.trainable for w in layer.weights] == [w.trainable for w in oracle.weights]
    assert_close(layer(*inputs), oracle(*inputs), case.tolerance)
    # Random draws of equal seeds are equal, moving averages move alike.
    outputs, found = gradients(layer, inputs, layer.trainable_weights)
    expected_outputs, expected = gradients(
        oracle, inputs, [weight.value for weight in oracle.trainable_weights]
    )
    assert_close(outputs, expected_outputs, case.tolerance)
    assert all(gradient is not None for gradient in found)
    for a, b in zip(found, expected, strict=True):
        assert_close(tf.convert_to_tensor(a), tf.convert_to_tensor(b), 20 * case.tolerance)
    for a, b in zip(layer.get_weights(), oracle.get_weights(), strict=True):
        assert_close(a, b, case.tolerance)


@every_case
def test_traced_and_compiled_calls_give_what_eager_ones_do(case):
    layer, inputs, _ = make(case)
    expected = rewound(layer)._tfkit_call_in_phases(tuple(inputs), {})
    assert_close(rewound(layer)(*inputs), expected, 1e-6)
    any_batch = tf.nest.map_structure(
        lambda x: tf.TensorSpec([None, *x.shape[1:]], x.dtype), list(inputs)
    )
    traced = tf.function(lambda *x: layer(*x), input_signature=any_batch)
    rewound(layer)
    assert_close(traced(*inputs), expected, 1e-6)
    # In training XLA draws other numbers, and moving averages move.
    training = not is_random(case) and not layer.non_trainable_weights
    compiled = tf.function(lambda *x: layer(*x, training=training), jit_compile=True)
    assert_close(compiled(*inputs), layer(*inputs, training=training), 1e-5)
    symbolic = layer(*tf.nest.map_structure(lambda s: KerasTensor(s.shape, s.dtype), any_batch))
    for promised, output in zip(tf.nest.flatten(symbolic), tf.nest.flatten(expected), strict=True):
        assert promised.shape == (None, *output.shape[1:])
        assert promised.dtype == output.dtype.name


class Kept(layers.Layer):
    """A layer whose `call` is a `tf.function`, which keeps the trace of its first call."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    @tf.function
    def call(self, *inputs):
        return self.inner(*inputs)


@every_case
def test_a_function_that_was_first_traced_for_shapes_computes(case):
    layer, inputs, _ = make(case)
    expected = rewound(layer)._tfkit_call_in_phases(tuple(inputs), {})
    kept = Kept(rewound(layer))
    kept(*tf.nest.map_structure(lambda x: KerasTensor(x.shape, x.dtype), inputs))
    assert_close(kept(*inputs), expected, 1e-6)


@every_case
def test_configurations_make_the_same_layer_here_and_in_keras(case):
    layer, oracle, inputs = make_both(case)
    expected = rewound(layer)(*inputs)
    ours = json.loads(json.dumps(layers.serialize(layer)))
    for config in (ours, json.loads(json.dumps(keras.layers.serialize(oracle)))):
        copy = layers.deserialize(config)
        copy(*inputs)
        copy.set_weights(layer.get_weights())
        assert_close(rewound(copy)(*inputs), expected, 1e-6)
    ours["config"].pop("build_config", None)
    theirs = type(oracle).from_config(ours["config"])
    outputs = theirs(*inputs)
    if layer.weights:
        theirs.set_weights(layer.get_weights())
        outputs = theirs(*inputs)
    assert_close(outputs, expected, case.tolerance)


@every_case
def test_configurations_have_the_keys_and_values_of_keras(case):
    ours, theirs = case.make(layers), case.make(keras.layers)
    # A name of its own; and Keras's loses the policy of spatial dropout, of which it keeps a dtype.
    lost = {"name", "dtype"} if case.layer.startswith("SpatialDropout") else {"name"}
    lost |= {"seed"} if case.layer == "RandomGrayscale" else set()  # Keras's loses it.
    expected = {k: v for k, v in as_json(theirs).items() if k not in lost}
    assert {k: v for k, v in as_json(ours).items() if k not in lost} == expected
    assert ours.built == theirs.built
    assert ours.supports_masking == theirs.supports_masking


def as_json(layer):
    """The configuration as a file has it, without names of layers inside, which count up."""
    config = json.loads(json.dumps(layer.get_config()))
    for inside in ("layer", "backward_layer", "cell"):
        if inside in config:
            config[inside]["config"].pop("name")
    return config


@every_case
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision_computes_in_16_bits_on_32_bit_weights(case, policy):
    layer, inputs, _ = make(case, dtype=policy)
    wide, _, _ = make(case)
    wide_outputs = tf.nest.flatten(wide(*inputs))
    tolerance = 0.1 if policy == "mixed_bfloat16" else 0.01
    for narrow, full in zip(tf.nest.flatten(layer(*inputs)), wide_outputs, strict=True):
        scale = tf.reduce_max(tf.abs(full))
        np.testing.assert_allclose(
            tf.cast(narrow, tf.float32) / scale, full / scale, atol=tolerance
        )
    outputs, found = gradients(layer, inputs, layer.trainable_weights)
    assert {output.dtype.name for output in tf.nest.flatten(outputs)} == {policy[6:]}
    assert {weight.dtype.name for weight in layer.weights} <= {"float32"}
    assert all(gradient.dtype == tf.float32 for gradient in found)


@every_case
def test_float64_is_as_exact_as_it_is_wide(case):
    layer, wide = case.make(layers), case.make(layers, dtype="float64")
    inputs = [tf.nest.map_structure(tf.constant, item) for item in case.data()]
    layer(*inputs)
    wide(*inputs)
    wide.set_weights(layer.get_weights())
    outputs, found = gradients(wide, inputs, wide.trainable_weights)
    assert {output.dtype.name for output in tf.nest.flatten(outputs)} == {"float64"}
    assert {gradient.dtype.name for gradient in found} <= {"float64"}
    if not is_random(case):
        assert_close(outputs, layer(*inputs, training=True), case.tolerance)


def with_masks(inputs):
    """Inputs with a mask on each tensor of sequences: the first step of the first sample is missing."""

    def attach(x):
        x = tf.identity(x)
        if x.shape.rank == 3:
            mask = np.ones(x.shape[:2], bool)
            mask[0, 0] = False
            x._keras_mask = tf.constant(mask)
        return x

    return tf.nest.map_structure(attach, inputs)


# The mask of a sequence, `(batch, steps)`, fits no images and no softmax over features.
WITH_MASKS = [case for case in CASES if case.layer not in ("BatchNormalization", "Softmax")]


@pytest.mark.parametrize("case", WITH_MASKS, ids=str)
def test_masks_are_used_handed_on_or_lost_as_in_keras(case):
    layer, oracle, inputs = make_both(case)
    results = []
    for tested in (layer, oracle):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            outputs = tested(*with_masks(inputs))
        masks = [getattr(x, "_keras_mask", None) for x in tf.nest.flatten(outputs)]
        lost = any("support masking" in str(warning.message) for warning in caught)
        results.append((outputs, [mask is None for mask in masks], lost, masks))
    (ours, our_kinds, our_loss, our_masks), (theirs, their_kinds, their_loss, their_masks) = results
    assert our_kinds == their_kinds
    # Keras warns of the layers inside of this one, which hand on what they have to.
    assert our_loss == their_loss or case.layer == "GroupQueryAttention"
    assert_close(ours, theirs, case.tolerance)
    for a, b in zip(our_masks, their_masks, strict=True):
        np.testing.assert_array_equal(a is not None and a, b is not None and b)


def test_every_public_layer_has_a_row():
    rows = {getattr(layers, case.layer) for case in CASES}
    missing = [
        name
        for name, value in inspect.getmembers(layers)
        if isinstance(value, type)
        and issubclass(value, layers.Layer)
        and value not in rows
        and name not in ELSEWHERE
    ]
    assert missing == []
