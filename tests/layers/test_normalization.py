"""BatchNormalization's moving averages and masks; and what the normalizations refuse."""

import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers
from tfkit.src.base import execution
from tfkit.src.engine import machine


@pytest.mark.parametrize("shape", [(4, 3), (4, 5, 3), (4, 5, 6, 3), (1, 1, 1, 3)])
def test_moving_averages_follow_those_of_keras(shape):
    layer = layers.BatchNormalization(momentum=0.8)
    oracle = keras.layers.BatchNormalization(momentum=0.8)
    draws = np.random.default_rng(0)
    for _ in range(4):
        batch = tf.constant(draws.normal(3.0, 2.0, shape), "float32")
        np.testing.assert_allclose(
            layer(batch, training=True), oracle(batch, training=True), rtol=1e-4, atol=1e-4
        )
    for ours, theirs in zip(layer.get_weights(), oracle.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(layer(batch), oracle(batch), rtol=1e-4, atol=1e-5)


def test_masked_steps_do_not_count_even_if_they_are_nan():
    layer, oracle = layers.BatchNormalization(), keras.layers.BatchNormalization()
    inputs = np.random.default_rng(0).normal(size=(3, 4, 2)).astype("float32")
    mask = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1]], bool)
    expected = oracle(inputs, training=True, mask=mask)
    inputs[~mask] = np.nan
    outputs = layer(inputs, training=True, mask=mask)
    np.testing.assert_allclose(outputs[mask], expected.numpy()[mask], rtol=1e-5)
    for ours, theirs in zip(layer.get_weights(), oracle.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_a_frozen_layer_uses_and_keeps_its_moving_averages():
    layer = layers.BatchNormalization(trainable=False)
    inputs = tf.constant([[5.0], [7.0]])
    np.testing.assert_allclose(layer(inputs, training=True), inputs, rtol=1e-3)
    np.testing.assert_array_equal(layer.moving_mean, [0.0])


def test_replicas_share_their_batches_when_synchronized():
    devices = tf.config.list_logical_devices("CPU")
    if len(devices) < 2:
        pytest.skip("one logical device; see tools/test")
    strategy = tf.distribute.MirroredStrategy([device.name for device in devices[:2]])
    with strategy.scope():
        layer = layers.BatchNormalization(synchronized=True, momentum=0.0)
        layer.build((None, 1))

    @tf.function
    def step():
        def replica():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            return layer(tf.cast(tf.fill([2, 1], 10 * number), "float32"), training=True)

        return strategy.experimental_local_results(strategy.run(replica))

    step()
    np.testing.assert_allclose(layer.moving_mean.numpy(), [5.0])
    np.testing.assert_allclose(layer.moving_variance.numpy(), [25.0])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"renorm_clipping": {"rmax": 1.2, "rmin": 0.8, "dmax": 0.3}, "center": False},
        {"moving_variance_initializer": "zeros", "epsilon": 0.1, "axis": 1, "scale": False},
    ],
)
def test_renormalization_is_that_of_keras(options):
    options = {"renorm": True, "renorm_momentum": 0.8, "momentum": 0.9, **options}
    ours, theirs = (each.BatchNormalization(**options) for each in (layers, keras.layers))
    if options.get("moving_variance_initializer"):
        for layer, constant in ((ours, tfkit.initializers), (theirs, keras.initializers)):
            layer.moving_variance_initializer = constant.Constant(4.0)
    draws = np.random.default_rng(0)
    for _ in range(3):
        inputs = tf.constant(draws.normal(2, 3, (8, 3)), "float32")
        results = []
        for layer in (ours, theirs):
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                outputs = layer(inputs, training=True)
                total = tf.reduce_sum(outputs**3)
            results.append((outputs, tape.gradient(total, inputs)))
        for mine, other in zip(*results, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-4)
    assert len(ours.weights) == len(theirs.weights)
    for mine, other in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6)
    np.testing.assert_allclose(ours(inputs), theirs(inputs), rtol=1e-5, atol=1e-6)


def test_rms_scaling_warns_and_divides_as_keras_does():
    inputs = np.arange(12.0, dtype="float32").reshape(3, 4)
    with pytest.warns(UserWarning, match="rms_scaling.*RMSNormalization"):
        ours = layers.LayerNormalization(rms_scaling=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = keras.layers.LayerNormalization(rms_scaling=True)
        expected = theirs(inputs)
    np.testing.assert_allclose(ours(inputs), expected, rtol=1e-6)
    assert [weight.label for weight in ours.weights] == ["gamma"]
    assert ours.get_config()["rms_scaling"] is True


def test_group_normalization_of_unknown_sizes():
    layer = layers.GroupNormalization(groups=2)
    inputs = np.random.default_rng(0).normal(size=(2, 3, 5, 4)).astype("float32")
    traced = tf.function(lambda x: layer(x), input_signature=[tf.TensorSpec([None, None, None, 4])])
    np.testing.assert_allclose(traced(inputs), layer(inputs), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: layers.BatchNormalization(renorm=True, renorm_clipping={"max": 1.0}),
            ValueError,
            "invalid keys.*'max'",
        ),
        (
            lambda: layers.BatchNormalization(renorm=True, renorm_clipping={"rmax": 1, "rmin": 2}),
            ValueError,
            "rmax >= rmin",
        ),
        (lambda: layers.BatchNormalization(axis=[1, 2]), ValueError, "`axis`.*an integer"),
        (
            lambda: layers.LayerNormalization("last"),
            TypeError,
            "`axis` of layer LayerNormalization",
        ),
        (lambda: layers.GroupNormalization(0), ValueError, "`groups`.*groups=0"),
        (lambda: layers.GroupNormalization(3)(tf.ones((1, 4))), ValueError, "multiple of `groups`"),
    ],
)
def test_what_cannot_be_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(("axis", "options"), [(-1, {}), (1, {"scale": False, "center": False})])
def test_the_gradient_of_batch_normalization_is_that_of_its_formula(axis, options):
    layer = layers.BatchNormalization(axis=axis, dtype="float64", **options)
    inputs = tf.constant(np.random.default_rng(0).normal(2, 3, (4, 5, 3)))
    layer.build(inputs.shape)
    for weight, number in zip(layer.trainable_variables, (1.5, 0.5), strict=False):
        weight.assign(tf.fill(weight.shape, tf.constant(number, "float64")))
    axes = [0, 1] if axis == -1 else [0, 2]

    def by_formula(x):
        mean, variance = tf.nn.moments(x, axes, keepdims=True)
        gamma, beta = layer.trainable_variables or (None, None)
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, layer.epsilon)

    def gradients(function):
        with tf.GradientTape() as outer:
            outer.watch(inputs)
            with tf.GradientTape() as inner:
                inner.watch(inputs)
                loss = tf.reduce_sum(tf.sin(function(inputs)))
            first = inner.gradient(loss, [inputs, *layer.trainable_variables])
            total = tf.reduce_sum(tf.square(first[0]))
        return [*first, outer.gradient(total, inputs)]

    mine = gradients(lambda x: layer(x, training=True))
    for ours, theirs in zip(mine, gradients(by_formula), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


# --- SpectralNormalization ----------------------------------------------------------------------------


def test_the_largest_singular_value_becomes_one():
    draws = np.random.default_rng(0)
    ids = np.array([[1, 2, 0]])
    for inside, inputs in (
        (layers.Dense(4), draws.normal(size=(2, 5)).astype("float32")),
        (layers.Conv2D(4, 2), draws.normal(size=(2, 3, 3, 2)).astype("float32")),
        (layers.Embedding(7, 4), ids),
    ):
        layer = layers.SpectralNormalization(inside, power_iterations=30)
        layer(inputs)
        layer.kernel.assign(draws.normal(size=layer.kernel.shape))
        before = layer.kernel.numpy()
        layer(inputs)
        np.testing.assert_array_equal(layer.kernel, before)
        np.testing.assert_allclose(layer(inputs, training=True), inside(inputs), rtol=1e-6)
        kernel = layer.kernel.numpy()
        largest = np.linalg.svd(kernel.reshape(-1, 4))[1][0]
        np.testing.assert_allclose(largest, 1.0, rtol=1e-3)
        np.testing.assert_allclose(kernel * (before / kernel).mean(), before, rtol=1e-4)


@pytest.mark.parametrize("jit_compile", [True, False])
def test_a_discriminator_stays_normalized_while_it_trains(jit_compile):
    inside = layers.Dense(4)
    layer = layers.SpectralNormalization(inside)
    model = tfkit.Sequential([tfkit.Input((5,)), layer, layers.Dense(1)])
    model.compile(tfkit.optimizers.SGD(0.01), "mse", jit_compile=jit_compile)
    x = np.random.default_rng(0).normal(size=(64, 5)).astype("float32")
    model.fit(x, x[:, :1], epochs=10, batch_size=16, verbose=0)
    largest = np.linalg.svd(inside.kernel.numpy())[1][0]
    assert 0.9 < largest < 1.1
    assert [weight.path for weight in model.trainable_weights if weight is inside.kernel]


def test_nothing_to_normalize():
    with pytest.raises(ValueError, match="`power_iterations` should be greater than zero"):
        layers.SpectralNormalization(layers.Dense(2), power_iterations=0)
    with pytest.raises(ValueError, match="object has no attribute 'kernel' nor 'embeddings'"):
        layers.SpectralNormalization(layers.ReLU())(np.ones((4, 2)))
    with pytest.raises(ValueError, match="`layer`"):
        layers.SpectralNormalization("dense")


def test_a_mask_of_integers_tells_which_rows_count():
    """A mask such as 0 and 255, or of lengths, does not weigh rows, as in Keras."""
    x = np.random.RandomState(0).rand(2, 3, 2).astype("float32")
    counts = tf.constant([[5, 0, 255], [1, -1, 1]])
    for make in (tfkit.layers.BatchNormalization, tfkit.layers.GlobalAveragePooling1D):
        options = {"training": True} if make is tfkit.layers.BatchNormalization else {}
        masked = make()(x, mask=counts, **options)
        np.testing.assert_array_equal(masked, make()(x, mask=tf.cast(counts, "bool"), **options))
    for reduction in ("sum_over_batch_size", "sum"):
        losses = []
        for mask in (counts, tf.cast(counts, "bool")):
            predictions = tf.constant(x[..., :1])
            predictions._keras_mask = mask
            losses.append(float(tfkit.losses.MeanSquaredError(reduction)(x[..., 1:], predictions)))
        assert losses[0] == losses[1]


IMAGES = {
    "several": np.random.default_rng(0).normal(3.0, 2.0, size=(2, 3, 4, 5)),
    "one pixel": np.random.default_rng(1).normal(size=(1, 1, 1, 5)),
    "with NaN": np.where(np.arange(120).reshape(2, 3, 4, 5) == 7, np.nan, 2.0),
}


def in_step():
    """A context as in the steps of a model."""
    return execution.governed_by(tfkit.Sequential()._tfkit_settings)


@pytest.mark.parametrize(
    "options", [{}, {"center": False, "scale": False}, {"epsilon": 0}], ids=str
)
@pytest.mark.parametrize("name", IMAGES)
def test_images_are_normalized_by_the_kernel_as_by_the_formula(name, options):
    results = []
    for onednn in (False, True):
        layer = layers.BatchNormalization(momentum=0.5, **options)
        images = tf.constant(IMAGES[name], "float32")
        layer.build(images.shape)
        with machine.assume_onednn(onednn), in_step(), tf.GradientTape() as tape:
            tape.watch(images)
            outputs = layer(images, training=True)
            total = tf.reduce_sum(tf.sin(outputs))
        slopes = tape.gradient(total, [images, *layer.trainable_weights])
        results.append([outputs, *slopes, *layer.non_trainable_weights])
    for formula, kernel in zip(*results, strict=True):
        np.testing.assert_allclose(kernel, formula, rtol=1e-4, atol=1e-6)


FAR = (np.random.default_rng(2).normal(size=(8, 4, 4, 3)) + 1000).astype("float32")


@pytest.mark.parametrize("options", [{}, {"scale": False}, {"center": False}])
def test_predictions_normalize_images_by_the_kernel_as_by_the_formula(options):
    draws = np.random.default_rng(0)
    model = tfkit.Sequential([layers.BatchNormalization(**options)])
    images = draws.normal(2.0, 3.0, (3, 4, 5, 6)).astype("float32")
    images[0, 0, 0, 0] = np.nan
    model.build(images.shape)
    model.set_weights([draws.uniform(0.5, 2.0, it.shape) for it in model.weights])
    model.compile()
    with machine.assume_onednn(False):
        expected = model.predict(images, verbose=0)
    assert np.isnan(expected).sum() == 1
    model.compile()
    # The first call runs eagerly; a tape follows the last, whose gradient is that of the formula.
    with machine.assume_onednn(True):
        for results in (model.predict(images, verbose=0), model(images), model(images)):
            np.testing.assert_allclose(results, expected, rtol=1e-5, atol=1e-5)
        with tf.GradientTape() as tape:
            tape.watch(inputs := tf.constant(images[1:]))
            outputs = model(inputs)
    gradient = tape.gradient(outputs, inputs)
    by_one = model(inputs + 1) - model(inputs)
    np.testing.assert_allclose(gradient, by_one, rtol=1e-4)


@pytest.mark.parametrize("jit_compile", [False, "auto", True])
def test_images_with_a_large_mean_are_normalized_in_training(jit_compile):
    found = []
    for library in (keras, tfkit):
        library.utils.set_random_seed(0)
        layer = library.layers.BatchNormalization(momentum=0.5)
        model = library.Sequential([library.Input((4, 4, 3)), layer])
        own = {"jit_compile": False if library is keras else jit_compile}
        model.compile(library.optimizers.SGD(0.1), "mse", **own)
        history = model.fit(FAR, np.ones_like(FAR), epochs=2, shuffle=False, verbose=0)
        found.append([history.history["loss"], *layer.get_weights()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_images_with_a_large_mean_are_normalized_in_calls(jit_compile):
    expected = keras.layers.BatchNormalization()(FAR, training=True)
    model = tfkit.Sequential([tfkit.Input((4, 4, 3)), layers.BatchNormalization()])
    model.compile(jit_compile=jit_compile)
    function = tf.function(lambda x: model(x, training=True), jit_compile=jit_compile)
    for call in (model, model, model, function):
        with tf.GradientTape() as tape:
            outputs = call(FAR, training=True) if call is model else call(FAR)
            total = tf.reduce_sum(outputs**2)
        np.testing.assert_allclose(outputs, expected, atol=2e-3)
        gradients = tape.gradient(total, model.trainable_variables)
        np.testing.assert_allclose(gradients[0], [2 * 8 * 4 * 4] * 3, rtol=0.01)


def test_derivatives_by_forward_accumulation_around_calls():
    layer = layers.BatchNormalization()
    images = tf.constant(IMAGES["several"], "float32")
    for _ in range(3):
        with tf.autodiff.ForwardAccumulator(images, tf.sin(images)) as accumulator:
            outputs = layer(images, training=True)
        assert accumulator.jvp(outputs) is not None
