"""LoRA against Keras's: weights, outputs, training, files."""

import copy
import pickle

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

# Class, arguments, shape of the inputs.
CASES = [
    ("Dense", {"units": 3, "kernel_regularizer": "l2"}, (2, 4)),
    (
        "EinsumDense",
        {"equation": "abc,cde->abde", "output_shape": (None, 3, 5), "bias_axes": "de"},
        (2, 4, 6),
    ),
    ("EinsumDense", {"equation": "abcd,cde->abe", "output_shape": (None, 5)}, (2, 3, 4, 6)),
    ("Embedding", {"input_dim": 7, "output_dim": 5}, (2, 3)),
    ("ReversibleEmbedding", {"input_dim": 7, "output_dim": 5, "tie_weights": False}, (2, 3)),
    ("Conv1D", {"filters": 3, "kernel_size": 2}, (2, 5, 4)),
    ("Conv2D", {"filters": 4, "kernel_size": (2, 3), "groups": 2}, (2, 5, 5, 4)),
    ("Conv3D", {"filters": 3, "kernel_size": 2}, (2, 4, 4, 4, 2)),
]
IDS = [case[0] for case in CASES]


def inputs_of(name, shape):
    draws = np.random.default_rng(1)
    if "Embedding" in name:
        return draws.integers(0, 7, shape).astype("int32")
    return draws.normal(size=shape).astype("float32")


def main_of(layer):
    return "embeddings" if "Embedding" in type(layer).__name__ else "kernel"


def adapted(package, name, arguments, shape, **options):
    """A layer with LoRA whose product is not zero."""
    package.utils.set_random_seed(3)
    layer = getattr(package.layers, name)(**arguments, **options)
    layer.build(shape)
    layer.enable_lora(2, lora_alpha=3)
    b = getattr(layer, f"lora_{main_of(layer)}_b")
    b.assign(np.linspace(-1, 1, int(np.prod(b.shape))).reshape(b.shape))
    return layer


def names(variables):
    return [(variable.name, tuple(variable.shape)) for variable in variables]


@pytest.mark.parametrize(("name", "arguments", "shape"), CASES, ids=IDS)
def test_weights_outputs_and_losses_are_those_of_keras(name, arguments, shape):
    ours, theirs = (adapted(package, name, arguments, shape) for package in (tfkit, keras))
    assert names(ours.weights) == names(theirs.weights)
    assert names(ours.trainable_weights) == names(theirs.trainable_weights)
    inputs = inputs_of(name, shape)
    for _ in range(2):  # The second call is compiled.
        np.testing.assert_allclose(ours(inputs), theirs(inputs), rtol=1e-5, atol=1e-5)
    main = main_of(ours)
    np.testing.assert_allclose(getattr(ours, main), getattr(theirs, main), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.losses, theirs.losses, rtol=1e-6)
    assert ours.get_config()["lora_rank"] == theirs.get_config()["lora_rank"] == 2
    assert ours.get_config()["lora_alpha"] == theirs.get_config()["lora_alpha"] == 3


@pytest.mark.parametrize(("name", "arguments", "shape"), CASES, ids=IDS)
def test_copies_and_the_constructors_arguments_make_the_same_layer(name, arguments, shape):
    layer = adapted(tfkit, name, arguments, shape)
    inputs = inputs_of(name, shape)
    for again in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert names(again.trainable_weights) == names(layer.trainable_weights)
        np.testing.assert_array_equal(again(inputs), layer(inputs))
    made = type(layer).from_config(layer.get_config())
    made.build(shape)
    made.set_weights(layer.get_weights())
    assert names(made.trainable_weights) == names(layer.trainable_weights)
    np.testing.assert_array_equal(made(inputs), layer(inputs))


def test_reverse_embeddings_are_adapted_where_they_are_shared():
    arguments = {"input_dim": 7, "output_dim": 5}
    ours, theirs = (
        adapted(package, "ReversibleEmbedding", arguments, (2, 3)) for package in (tfkit, keras)
    )
    vectors = np.random.default_rng(1).normal(size=(2, 5)).astype("float32")
    np.testing.assert_allclose(
        ours(vectors, reverse=True), theirs(vectors, reverse=True), rtol=1e-5, atol=1e-5
    )


def test_mixed_precision_computes_the_product_in_16_bits():
    arguments = {"units": 3, "dtype": "mixed_bfloat16"}
    ours, theirs = (adapted(package, "Dense", arguments, (2, 4)) for package in (tfkit, keras))
    inputs = inputs_of("Dense", (2, 4))
    assert ours(inputs).dtype == tf.bfloat16
    np.testing.assert_allclose(
        tf.cast(ours(inputs), "float32"), tf.cast(theirs(inputs), "float32"), rtol=2e-2, atol=2e-2
    )


def model_of(package):
    layers = package.layers
    return package.Sequential(
        [
            package.Input((4,)),
            layers.Dense(6),
            layers.Reshape((6, 1)),
            layers.Conv1D(2, 3),
            layers.EinsumDense("abc,cd->abd", (4, 2)),
            layers.Flatten(),
            layers.Dense(3),
        ]
    )


def enable_everywhere(model):
    for layer in model.layers:
        if hasattr(layer, "enable_lora"):
            layer.enable_lora(2)


X = np.random.default_rng(2).normal(size=(16, 4)).astype("float32")
Y = X[:, :3] ** 2


def trained(package, model, epochs=3):
    model.compile("adam", "mse")
    model.fit(X, Y, epochs=epochs, batch_size=8, shuffle=False, verbose=0)
    return model


def test_training_equals_keras():
    predictions = []
    for package in (tfkit, keras):
        package.utils.set_random_seed(5)
        model = model_of(package)
        enable_everywhere(model)
        predictions.append(trained(package, model).predict(X, verbose=0))
    np.testing.assert_allclose(*predictions, rtol=1e-4, atol=1e-5)


def test_a_compiled_model_notices_and_must_be_compiled_again():
    model = trained(tfkit, model_of(tfkit))
    first = model.layers[0]
    before = [vars(first)["kernel"].numpy(), model.predict(X, verbose=0)]
    enable_everywhere(model)
    with pytest.raises(ValueError, match=r"Unknown variable '.*lora_kernel_a'.*Make a new optim"):
        model.fit(X, Y, verbose=0)
    np.testing.assert_allclose(model.predict(X, verbose=0), before[1], rtol=1e-6, atol=1e-6)
    trained(tfkit, model)
    np.testing.assert_array_equal(vars(first)["kernel"], before[0])
    assert np.abs(first.kernel - before[0]).max() > 1e-3
    np.testing.assert_allclose(model.predict(X, verbose=0), model(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("writer", "reader"), [(tfkit, keras), (keras, tfkit), (tfkit, tfkit)])
def test_files_of_keras_hold_the_sums(writer, reader, tmp_path):
    model = model_of(writer)
    enable_everywhere(model)
    expected = trained(writer, model).predict(X, verbose=0)
    model.save(tmp_path / "m.keras")
    again = reader.models.load_model(tmp_path / "m.keras")
    np.testing.assert_allclose(again.predict(X, verbose=0), expected, rtol=1e-5, atol=1e-6)
    assert names(again.trainable_weights) == names(model.trainable_weights)
    plain, path = model_of(reader), tmp_path / "m.weights.h5"
    if writer is tfkit:
        tfkit.interop.keras.save_weights(model, path)
    else:
        model.save_weights(path)
    plain.load_weights(path)
    np.testing.assert_allclose(plain.predict(X, verbose=0), expected, rtol=1e-5, atol=1e-6)


def test_a_loaded_model_can_be_trained_further(tmp_path):
    """In Keras both matrices are zeros then, and no gradient changes them again."""
    model = model_of(tfkit)
    enable_everywhere(model)
    model.save(tmp_path / "m.keras")
    again = trained(tfkit, tfkit.models.load_model(tmp_path / "m.keras"))
    assert np.abs(again.layers[0].lora_kernel_b).max() > 1e-4


def test_own_files_hold_the_matrices(tmp_path):
    model = model_of(tfkit)
    enable_everywhere(model)
    trained(tfkit, model)
    model.save(tmp_path / "m.h5")
    again = tfkit.models.load_model(tmp_path / "m.h5")
    for ours, loaded in zip(model.weights, again.weights, strict=True):
        np.testing.assert_array_equal(ours, loaded)
    for each in (model, again):
        each.fit(X, Y, shuffle=False, verbose=0)
    np.testing.assert_array_equal(model.predict(X, verbose=0), again.predict(X, verbose=0))


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("Dense", {"units": 3, "kernel_constraint": "non_neg"}, "incompatible with kernel const"),
        (
            "Embedding",
            {"input_dim": 7, "output_dim": 5, "embeddings_constraint": "non_neg"},
            "incompatible with embedding const",
        ),
    ],
)
def test_a_constraint_is_refused(name, arguments, message):
    for package in (tfkit, keras):
        layer = getattr(package.layers, name)(**arguments)
        layer.build((2, 4))
        with pytest.raises(ValueError, match=message):
            layer.enable_lora(2)
    with pytest.raises(ValueError, match=message):
        getattr(tfkit.layers, name)(**arguments, lora_rank=2)


def test_refusals_change_nothing():
    layer = tfkit.layers.Dense(3)
    with pytest.raises(ValueError, match="isn't yet built"):
        layer.enable_lora(2)
    layer.build((None, 4))
    for rank in (0, -1, 2.5):
        with pytest.raises(ValueError, match=r"`rank`.* a positive integer"):
            layer.enable_lora(rank)
    with pytest.raises(ValueError, match="`lora_alpha`"):
        layer.enable_lora(2, lora_alpha="much")
    with pytest.raises(ValueError, match="nonsense"):
        layer.enable_lora(2, b_initializer="nonsense")
    assert names(layer.trainable_weights) == [("kernel", (4, 3)), ("bias", (3,))]
    assert "lora_rank" not in layer.get_config()
    layer.enable_lora(2)
    with pytest.raises(ValueError, match="already enabled"):
        layer.enable_lora(2)


def test_the_constructors_alpha_counts():
    """Keras's `Dense` and `Embedding` use the rank in its place."""
    layer = tfkit.layers.Dense(3, lora_rank=2, lora_alpha=8)
    layer.build((None, 4))
    layer.lora_kernel_b.assign(np.ones((2, 3)))
    kernel = vars(layer)["kernel"] + 4 * layer.lora_kernel_a @ tf.ones((2, 3))
    np.testing.assert_allclose(layer.kernel, kernel, rtol=1e-6)
    assert layer.get_config()["lora_alpha"] == 8
