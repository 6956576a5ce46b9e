"""Models in programs: other inputs, features of inner layers, transfer learning."""

import keras
import numpy as np
import pytest

import tfkit
from tests.applications.pairs import draw_weights, images

SMALL = {"alpha": 0.25, "include_top": False, "weights": None}


def of(library, **arguments):
    """A small model."""
    return library.applications.MobileNet(**{**SMALL, **arguments})


def same_weights(ours, theirs):
    draw_weights(theirs)
    ours.set_weights([np.asarray(weight) for weight in theirs.weights])


def assert_close(got, expected):
    expected = np.asarray(expected)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_a_model_continues_a_tensor():
    models = []
    for library in (tfkit, keras):
        inputs = library.Input((40, 40, 1), name="pixels")
        image = library.layers.Concatenate(name="grey")([inputs, inputs, inputs])
        models.append(of(library, input_tensor=image))
    ours, theirs = models
    assert [layer.name for layer in ours.layers] == [layer.name for layer in theirs.layers]
    assert [tensor.name for tensor in ours.inputs] == ["pixels"]
    same_weights(ours, theirs)
    x = images(theirs)
    # Keras warns if such a model, which has a list of inputs, gets no list.
    assert_close(ours(x, training=False), theirs([x], training=False))


def test_images_of_any_size_may_follow_each_other():
    ours = of(tfkit, pooling="avg")
    assert ours.input_shape == (None, None, None, 3)
    for size in (32, 50):
        assert ours(np.ones((2, size, size + 1, 3))).shape == (2, 256)


def test_inner_layers_give_features():
    model = of(tfkit, input_shape=(64, 64, 3))
    names = ["conv_pw_1_relu", "conv_pw_5_relu", "conv_pw_13_relu"]
    features = tfkit.Model(model.input, [model.get_layer(name).output for name in names])
    sizes = [tuple(each.shape[1:3]) for each in features(images(model))]
    assert sizes == [(32, 32), (8, 8), (2, 2)]


def with_head(library, base):
    inputs = library.Input((32, 32, 3))
    x = base(inputs, training=False)
    x = library.layers.GlobalAveragePooling2D()(x)
    return library.Model(inputs, library.layers.Dense(3, activation="softmax")(x))


def is_normalization(layer):
    return type(layer).__name__ == "BatchNormalization"


def losses_of(model, library, rate, x, y):
    optimizer = library.optimizers.SGD(rate)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    if library is tfkit:
        return model.fit(x, y, batch_size=len(x), epochs=3, verbose=0).history["loss"]
    return [
        float(model.train_on_batch(x, y)) for _ in range(3)
    ]  # Keras's `fit` may wait for minutes.


def test_a_frozen_base_with_a_new_head_learns_as_in_keras():
    """First the head, then all layers but those that normalize."""
    bases = [of(library, input_shape=(32, 32, 3)) for library in (tfkit, keras)]
    models = [with_head(library, base) for library, base in zip((tfkit, keras), bases, strict=True)]
    same_weights(*models)
    x, y = images(models[1], 16), np.arange(16) % 3
    for trainable, rate in ((False, 0.1), (True, 1e-2)):
        before = [np.array(weight) for weight in bases[0].weights]
        losses = []
        for model, base, library in zip(models, bases, (tfkit, keras), strict=True):
            for layer in base.layers:
                layer.trainable = trainable and not is_normalization(layer)
            losses.append(losses_of(model, library, rate, x, y))
        np.testing.assert_allclose(losses[0], losses[1], rtol=2e-5)
        assert losses[0][-1] < losses[0][0]
        changed = [not np.array_equal(*pair) for pair in zip(before, bases[0].weights, strict=True)]
        convolutions = [weight.path.endswith("kernel") for weight in bases[0].weights]
        assert changed == [trainable and each for each in convolutions]


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_a_seed_draws_the_weights_of_keras():
    drawn = []
    for library in (tfkit, keras):
        library.utils.set_random_seed(1)
        model = library.applications.ConvNeXtTiny(weights=None, include_top=False)
        drawn.append([np.asarray(weight) for weight in model.weights])
    for ours, theirs in zip(*drawn, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("ResNet50", {}), ("MobileNetV2", {"alpha": 0.35}), ("MobileNetV3Small", {}), ("VGG16", {})]
    + [("EfficientNetB0", {})],
)
def test_channels_may_be_first(name, arguments):
    """The same model as with channels last, on transposed images."""
    arguments = {"include_top": False, "weights": None, **arguments}
    function = getattr(tfkit.applications, name)
    last = function(input_shape=(33, 40, 3), pooling="avg", **arguments)
    draw_weights(last)
    tfkit.config.set_image_data_format("channels_first")
    try:
        first = function(input_shape=(3, 33, 40), pooling="avg", **arguments)
    finally:
        tfkit.config.set_image_data_format("channels_last")
    first.set_weights(last.get_weights())
    x = images(last)
    expected = last(x, training=False)
    assert_close(first(np.moveaxis(x, -1, 1), training=False), expected)
