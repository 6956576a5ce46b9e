"""Convolutions, adaptive pooling and `ConvLSTM` beyond the conformance table."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers
from tfkit.src.engine.machine import onednn_is_on
from tfkit.src.symbolic.tensors import KerasTensor

DRAWS = np.random.default_rng(0)


def normal(*shape):
    return DRAWS.normal(size=shape).astype("float32")


def channels_second(x):
    return np.moveaxis(x, -1, 1)


CHANNELS_FIRST = [
    ("Conv1DTranspose", {"filters": 3, "kernel_size": 3, "strides": 2}, 1),
    ("Conv2DTranspose", {"filters": 3, "kernel_size": 3, "strides": 2, "padding": "same"}, 2),
    ("Conv3DTranspose", {"filters": 3, "kernel_size": 2}, 3),
    ("DepthwiseConv1D", {"kernel_size": 3, "depth_multiplier": 2}, 1),
    ("DepthwiseConv2D", {"kernel_size": 3, "strides": 2}, 2),
    ("SeparableConv1D", {"filters": 3, "kernel_size": 3}, 1),
    ("SeparableConv2D", {"filters": 3, "kernel_size": 3, "padding": "same"}, 2),
    ("AdaptiveAveragePooling1D", {"output_size": 3}, 1),
    ("AdaptiveMaxPooling2D", {"output_size": (3, 2)}, 2),
    ("AdaptiveAveragePooling3D", {"output_size": 2}, 3),
]


@pytest.mark.parametrize(("name", "arguments", "rank"), CHANNELS_FIRST, ids=str)
def test_channels_first(name, arguments, rank):
    x = normal(2, *(6, 5, 4)[:rank], 2)
    last = getattr(layers, name)(**arguments)
    first = getattr(layers, name)(**arguments, data_format="channels_first")
    expected = last(x)
    first.build(channels_second(x).shape)
    first.set_weights(last.get_weights())
    outputs = first(channels_second(x))
    np.testing.assert_allclose(outputs, channels_second(expected.numpy()), rtol=1e-5, atol=1e-6)
    symbolic = first(KerasTensor((None, *channels_second(x).shape[1:])))
    assert symbolic.shape == (None, *outputs.shape[1:])


@pytest.mark.parametrize(("name", "arguments", "rank"), CHANNELS_FIRST, ids=str)
def test_unknown_sizes(name, arguments, rank):
    x = normal(2, *(6, 5, 4)[:rank], 2)
    layer = getattr(layers, name)(**arguments)
    expected = layer(x)
    for jit_compile in (False, True):
        run = tf.function(
            layer,
            input_signature=[tf.TensorSpec([None] * (rank + 1) + [2])],
            jit_compile=jit_compile,
        )
        np.testing.assert_allclose(run(x), expected, rtol=1e-5, atol=1e-6)
        assert run(x[:0]).shape == (0, *expected.shape[1:])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dilated_transposed_convolutions_have_gradients_in_every_dtype(dtype):
    # TensorFlow's kernel on CPU has none in float64, nor without oneDNN.
    layer = layers.Conv2DTranspose(2, 2, dilation_rate=(1, 2), padding="same", dtype=dtype)
    spread = layers.Conv2DTranspose(2, (2, 3), padding="same", dtype=dtype)
    x = tf.constant(normal(2, 4, 5, 3), dtype)
    layer.build(x.shape)
    spread.build(x.shape)
    kernel = np.zeros(spread.kernel.shape)
    kernel[:, ::2] = layer.kernel
    spread.kernel.assign(kernel)
    results = []
    for each in (layer, spread):
        with tf.GradientTape() as tape:
            tape.watch(x)
            outputs = each(x)
            loss = tf.reduce_sum(tf.sin(outputs))
        results.append((outputs, *tape.gradient(loss, [x, each.kernel])))
    (outputs, by_x, by_kernel), (expected, expected_by_x, by_spread) = results
    np.testing.assert_allclose(outputs, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(by_x, expected_by_x, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(by_kernel, by_spread[:, ::2], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: layers.Conv1DTranspose(0, 1), "`filters` .* a positive integer"),
        (lambda: layers.Conv2DTranspose(2, (1, 0)), "`kernel_size`"),
        (lambda: layers.Conv2DTranspose(2, 3, strides=2, output_padding=2), "`output_padding`"),
        (lambda: layers.Conv2DTranspose(2, 3, output_padding=-1), "`output_padding`"),
        (lambda: layers.Conv3DTranspose(2, 3, strides=2, output_padding=(1, 1)), "`output_pad"),
        (lambda: layers.Conv2DTranspose(2, 3, strides=2, dilation_rate=(2, 1)), "`strides`"),
        (lambda: layers.Conv1DTranspose(2, 3, padding="causal"), "`padding`"),
        (lambda: layers.DepthwiseConv1D(2, depth_multiplier=0), "`depth_multiplier`"),
        (lambda: layers.DepthwiseConv2D(2, strides=(1, 0)), "`strides`"),
        (lambda: layers.SeparableConv1D(2, 2, padding="causal"), "`padding`"),
        (lambda: layers.SeparableConv2D(2, 2, data_format="last"), "data_format"),
        (lambda: layers.AdaptiveMaxPooling1D((2, 2)), "`output_size`"),
        (lambda: layers.AdaptiveMaxPooling2D(0), "`output_size`"),
        (lambda: layers.Cropping3D((1, 2)), "`cropping`"),
        (lambda: layers.ZeroPadding3D(((1, 2), (3, 4), (5, -6))), "`padding`"),
        (lambda: layers.UpSampling3D((1, 2)), "`size`"),
        (lambda: layers.ConvLSTM2D(2, 2, strides=2, dilation_rate=2), "`strides`"),
        (lambda: layers.ConvLSTM1D(2, 2, dropout=2.0), "`dropout`"),
        (lambda: layers.SpatialDropout3D(-1), "`rate`"),
    ],
)
def test_wrong_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_kinds_of_arguments_as_in_keras():
    for value in (None, "a", 1.5, (2,), (2, 2, 2)):
        with pytest.raises(TypeError, match="`output_size` of layer AdaptiveMaxPooling2D"):
            layers.AdaptiveMaxPooling2D(value)


@pytest.mark.parametrize(
    "layer",
    [layers.Conv2DTranspose(2, 2), layers.DepthwiseConv2D(2), layers.SeparableConv2D(2, 2)],
    ids=str,
)
def test_channels_must_be_known_and_stay_the_same(layer):
    with pytest.raises(ValueError, match="a known number of input channels"):
        layer(KerasTensor((None, 5, 5, None)))
    assert not layer.built
    layer(normal(1, 5, 5, 3))
    with pytest.raises(ValueError, match=r"axis -1.*3"):
        layer(normal(1, 5, 5, 4))


def test_integers_are_taken_as_floats():
    for layer in (layers.Conv2DTranspose(2, 2), layers.DepthwiseConv2D(2)):
        x = np.arange(16).reshape(1, 4, 4, 1)
        np.testing.assert_allclose(layer(x), layer(x.astype("float32")))


@pytest.mark.parametrize("is_mean", [True, False])
def test_adaptive_windows_overlap_and_may_be_more_than_there_are_places(is_mean):
    layer_class = layers.AdaptiveAveragePooling1D if is_mean else layers.AdaptiveMaxPooling1D
    reduce = np.mean if is_mean else np.max
    for length, size in [(5, 3), (3, 5), (7, 7), (6, 3), (1, 4)]:
        x = normal(2, length, 3)
        windows = [(i * length // size, -(-(i + 1) * length // size)) for i in range(size)]
        expected = np.stack([reduce(x[:, a:b], 1) for a, b in windows], 1)
        layer = layer_class(size)
        any_size = tf.function(layer, input_signature=[tf.TensorSpec([None, None, 3])])
        for run in (layer, any_size):
            np.testing.assert_allclose(run(x), expected, rtol=1e-6, atol=1e-6)
            gradients = []
            for pool in (layer, run):
                inputs = tf.constant(x)
                with tf.GradientTape() as tape:
                    tape.watch(inputs)
                    loss = tf.reduce_sum(tf.sin(pool(inputs)))
                gradients.append(tf.convert_to_tensor(tape.gradient(loss, inputs)))
            np.testing.assert_allclose(*gradients, rtol=1e-5, atol=1e-6)


# --- ConvLSTM -----------------------------------------------------------------------------------------

SEQUENCES = normal(2, 4, 3, 4, 2)
MASK = np.array([[True, False, True, True], [False, True, True, False]])


def conv_lstms(**options):
    """A layer and Keras's, with the same weights, before any call."""
    layer, oracle = layers.ConvLSTM2D(2, 2, **options), keras.layers.ConvLSTM2D(2, 2, **options)
    layer.build(SEQUENCES.shape)
    oracle.build(SEQUENCES.shape)
    layer.set_weights(oracle.get_weights())
    return layer, oracle


@pytest.mark.parametrize(
    ("options", "call"),
    [
        ({"dropout": 0.3, "recurrent_dropout": 0.2, "seed": 3}, {"training": True}),
        ({"dropout": 0.3, "seed": 3, "data_format": "channels_first"}, {"training": True}),
        ({"return_sequences": True}, {"mask": MASK}),
        ({"return_sequences": True, "zero_output_for_mask": True}, {"mask": MASK}),
        ({"padding": "same"}, {"initial_state": [normal(2, 3, 4, 2), normal(2, 3, 4, 2)]}),
        ({"unroll": True, "go_backwards": True, "recurrent_activation": "hard_sigmoid"}, {}),
        ({"data_format": "channels_first", "return_state": True}, {}),
    ],
    ids=str,
)
def test_conv_lstm_does_what_keras_does(options, call):
    if options.get("data_format") == "channels_first" and not onednn_is_on():
        pytest.skip("Keras has no such kernel on a CPU without oneDNN")
    layer, oracle = conv_lstms(**options)
    expected = tf.nest.flatten(oracle(SEQUENCES, **call))
    for output, other in zip(tf.nest.flatten(layer(SEQUENCES, **call)), expected, strict=True):
        np.testing.assert_allclose(output, other, rtol=1e-5, atol=1e-6)


def test_conv_lstm_with_channels_first_is_the_same_with_other_axes():
    last, first = (
        layers.ConvLSTM2D(2, 2, return_sequences=True, data_format=f"channels_{where}")
        for where in ("last", "first")
    )
    expected = last(SEQUENCES)
    turned = np.moveaxis(SEQUENCES, -1, 2)
    first.build(turned.shape)
    first.set_weights(last.get_weights())
    np.testing.assert_allclose(np.moveaxis(first(turned), 2, -1), expected, rtol=1e-5, atol=1e-6)


def test_conv_lstm_keeps_its_state():
    layer = layers.ConvLSTM2D(2, 2, stateful=True)
    whole = layers.ConvLSTM2D(2, 2)
    layer(SEQUENCES)
    whole(SEQUENCES)
    layer.reset_state()
    whole.set_weights(layer.get_weights())
    layer(SEQUENCES[:, :2])
    np.testing.assert_allclose(layer(SEQUENCES[:, 2:]), whole(SEQUENCES), rtol=1e-5, atol=1e-6)


def test_conv_lstm_of_any_length_but_a_known_size():
    layer = layers.ConvLSTM2D(2, 2, return_sequences=True)
    run = tf.function(layer, input_signature=[tf.TensorSpec([None, None, 3, 4, 2])])
    np.testing.assert_allclose(run(SEQUENCES), layer(SEQUENCES), rtol=1e-5, atol=1e-6)
    assert run(SEQUENCES[:0]).shape == (0, 4, 2, 3, 2)
    with pytest.raises(ValueError, match="spatial sizes are known"):
        layers.ConvLSTM2D(2, 2)(KerasTensor((None, 4, None, 4, 2)))


def test_conv_lstm_in_other_layers():
    both = layers.Bidirectional(layers.ConvLSTM1D(2, 2, return_sequences=True))
    assert both(normal(2, 3, 5, 1)).shape == (2, 3, 4, 4)
    cell = layers.ConvLSTM2D(2, 2, data_format="channels_first").cell
    assert layers.RNN(cell)(normal(2, 3, 2, 5, 4)).shape == (2, 2, 4, 3)


# --- In models ----------------------------------------------------------------------------------------


def test_all_of_them_learn_and_go_through_files_and_exports(tmp_path):
    tfkit.utils.set_random_seed(1)
    inputs = tfkit.Input((8, 8, 3))
    x = layers.DepthwiseConv2D(3, padding="same", activation="relu")(inputs)
    x = layers.SeparableConv2D(4, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Conv2DTranspose(4, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.SpectralNormalization(layers.Conv2D(3, 1))(x)
    frames = layers.ConvLSTM1D(3, 3, padding="same", return_sequences=True)(x)
    x = layers.AdaptiveAveragePooling2D((3, 2))(layers.Add()([x, frames]))
    model = tfkit.Model(inputs, layers.Dense(1)(layers.Flatten()(x)))
    model.compile("adam", "mse")
    data, targets = normal(32, 8, 8, 3), normal(32, 1)
    losses = model.fit(data, targets, epochs=4, batch_size=8, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    expected = model.predict(data, verbose=0)
    for name in ("model.h5", "model.keras"):
        model.save(tmp_path / name)
        loaded = tfkit.saving.load_model(tmp_path / name)
        np.testing.assert_allclose(loaded.predict(data, verbose=0), expected, atol=1e-6)
    model.export(tmp_path / "exported")
    exported = tf.saved_model.load(str(tmp_path / "exported"))
    np.testing.assert_allclose(exported.serve(data), expected, atol=1e-5)
