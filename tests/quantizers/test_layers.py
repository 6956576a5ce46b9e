"""Quantized layers against Keras's: layers by modes, files, models, training."""

import copy
import pickle
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit

pytestmark = [
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`:UserWarning"),
    pytest.mark.filterwarnings("ignore:Invalid quantization mode:UserWarning"),
]

# Class, arguments, shape of the inputs.
LAYERS = {
    "Dense": ("Dense", {"units": 3}, (2, 5)),
    "Dense-3d": ("Dense", {"units": 3, "use_bias": False, "activation": "relu"}, (2, 4, 5)),
    "EinsumDense": (
        "EinsumDense",
        {"equation": "abc,cde->abde", "output_shape": (None, 3, 5), "bias_axes": "de"},
        (2, 4, 6),
    ),
    "EinsumDense-two": (
        "EinsumDense",
        {"equation": "abcd,cde->abe", "output_shape": (None, 5)},
        (2, 3, 4, 6),
    ),
    "EinsumDense-turned": (
        "EinsumDense",
        {"equation": "abcd,edc->abe", "output_shape": (None, 5)},
        (2, 3, 4, 6),
    ),
    "EinsumDense-each": (
        "EinsumDense",
        {"equation": "abc,abcd->abd", "output_shape": (4, 5)},
        (2, 4, 6),
    ),
    "Embedding": ("Embedding", {"input_dim": 7, "output_dim": 5}, (2, 3)),
    "ReversibleEmbedding": ("ReversibleEmbedding", {"input_dim": 7, "output_dim": 5}, (2, 3)),
    "ReversibleEmbedding-two": (
        "ReversibleEmbedding",
        {"input_dim": 7, "output_dim": 5, "tie_weights": False},
        (2, 3),
    ),
}
# Arguments of `quantize`, by the module of the quantizers.
MODES = {
    "int8": lambda q: {"mode": "int8"},
    "int8-weights": lambda q: {"config": q.Int8QuantizationConfig(activation_quantizer=None)},
    "int4": lambda q: {"mode": "int4"},
    "int4-blocks": lambda q: {"config": q.Int4QuantizationConfig(block_size=4)},
    "int4-columns": lambda q: {"config": q.Int4QuantizationConfig(block_size=-1)},
    "int4-inputs": lambda q: {
        "config": q.Int4QuantizationConfig(block_size=-1, activation_quantizer=q.AbsMaxQuantizer())
    },
    "float8": lambda q: {"mode": "float8"},
}
CASES = [
    (layer, mode)
    for layer in LAYERS
    for mode in MODES
    if not (mode == "float8" and "Embedding" in layer)
    # Its groups have one sign, and Keras's zero does not fit (`test_functions.py`).
    if (layer, mode) != ("EinsumDense-turned", "int4-blocks")
]


def inputs_of(name, shape):
    draws = np.random.default_rng(1)
    if "Embedding" in name:
        return draws.integers(0, 7, shape).astype("int32")
    return draws.normal(size=shape).astype("float32")


def made(package, layer, **options):
    """A built layer whose weights have both signs in each group of rows."""
    name, arguments, shape = LAYERS[layer]
    made = getattr(package.layers, name)(**arguments, **options)
    made.build(shape)
    draws = np.random.default_rng(4)
    for weight in made.weights:
        signs = np.indices(weight.shape).sum(0) % 2 * 2 - 1
        weight.assign(signs * draws.uniform(0.1, 1, weight.shape))
    return made


def quantized(package, layer, mode, lora=False):
    result = made(package, layer)
    if lora:
        main = "embeddings" if "Embedding" in layer else "kernel"
        result.enable_lora(2, lora_alpha=3)
        for number, letter in enumerate("ab"):
            matrix = getattr(result, f"lora_{main}_{letter}")
            values = np.random.default_rng(number).normal(size=matrix.shape)
            matrix.assign(values)
    result.quantize(**MODES[mode](package.quantizers))
    return result


def described(layer):
    return [
        (weight.name, tuple(weight.shape), tf.as_dtype(weight.dtype).name, weight.trainable)
        for weight in layer.weights
    ]


def stored(config):
    return {key: config[key] for key in ("dtype", "quantization_config")}


@pytest.mark.parametrize(("layer", "mode"), CASES)
def test_weights_outputs_and_configurations_are_keras(layer, mode):
    ours, theirs = (quantized(package, layer, mode) for package in (tfkit, keras))
    assert described(ours) == described(theirs)
    for found, wanted in zip(ours.weights, theirs.weights, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    inputs = inputs_of(layer, LAYERS[layer][2])
    expected = np.asarray(theirs(inputs))
    for _ in range(2):  # The second call is compiled.
        np.testing.assert_allclose(ours(inputs), expected, rtol=1e-5, atol=1e-5)
    compiled = tf.function(ours, jit_compile=True)
    np.testing.assert_allclose(compiled(inputs), expected, rtol=1e-5, atol=1e-5)
    assert stored(ours.get_config()) == stored(theirs.get_config())
    assert ours.quantization_mode == theirs.quantization_mode == mode.partition("-")[0]
    if "Reversible" in layer:
        logits = theirs(expected, reverse=True)
        np.testing.assert_allclose(ours(expected, reverse=True), logits, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("layer", "mode"), CASES)
def test_copies_and_configurations_make_the_same_layer(layer, mode):
    ours = quantized(tfkit, layer, mode)
    inputs = inputs_of(layer, LAYERS[layer][2])
    made = type(ours).from_config(ours.get_config())
    made.build(LAYERS[layer][2])
    assert sorted(described(made)) == sorted(described(ours))
    for again in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        np.testing.assert_array_equal(again(inputs), ours(inputs))


# Keras refuses LoRA in `float8`, and kernels whose last letter is summed over.
WITH_LORA = [
    (layer, mode)
    for layer, mode in CASES
    if mode in ("int8", "int4") and layer not in ("EinsumDense-turned",)
]


@pytest.mark.parametrize(("layer", "mode"), WITH_LORA)
def test_lora_is_added_to_integers(layer, mode):
    ours, theirs = (quantized(package, layer, mode, lora=True) for package in (tfkit, keras))
    assert described(ours) == described(theirs)
    inputs = inputs_of(layer, LAYERS[layer][2])
    expected = np.asarray(theirs(inputs))
    for _ in range(2):
        np.testing.assert_allclose(ours(inputs), expected, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("mode", ["int8", "int4"])
def test_shared_reverse_embeddings_are_adapted(mode):
    """Keras leaves the product out here, but not in floats."""
    layer = quantized(tfkit, "ReversibleEmbedding", mode, lora=True)
    vectors = np.random.default_rng(1).normal(size=(2, 5)).astype("float32")
    expected = vectors @ np.transpose(layer.embeddings)
    np.testing.assert_allclose(layer(vectors, reverse=True), expected, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("equation", ["...c,cd->...d", "abc,cd->abd"])
@pytest.mark.parametrize("mode", ["int8", "int4", "float8"])
def test_an_ellipsis_is_the_letters_that_it_stands_for(equation, mode):
    """Keras's cannot be quantized."""
    shape = (5,) if "." in equation else (None, 5)
    layer = tfkit.layers.EinsumDense(equation, shape)
    layer.build((2, 4, 6))
    inputs = inputs_of("Dense", (2, 4, 6))
    expected = layer(inputs)
    layer.quantize(mode)
    assert layer.kernel.dtype.name == ("float32" if mode == "float8" else "int8")
    np.testing.assert_allclose(layer(inputs), expected, atol=0.5)


@pytest.mark.parametrize(
    "mode", ["int8_from_float32", "int4/4_from_float32", "float8_from_float32"]
)
@pytest.mark.parametrize("layer", ["Dense", "EinsumDense", "Embedding"])
def test_a_dtype_policy_quantizes_from_the_beginning(layer, mode):
    if "float8" in mode and layer == "Embedding":
        pytest.skip("it has no products to round")
    name, arguments, shape = LAYERS[layer]
    described_by = []
    for package in (tfkit, keras):
        result = getattr(package.layers, name)(**arguments, dtype=mode)
        result.build(shape)
        described_by.append(described(result))
    assert described_by[0] == described_by[1]


def test_mixed_precision_gives_16_bits():
    ours, theirs = (made(package, "Dense", dtype="mixed_bfloat16") for package in (tfkit, keras))
    inputs = inputs_of("Dense", (2, 5))
    for layer in (ours, theirs):
        layer.quantize("int8")
    assert ours.dtype_policy.name == theirs.dtype_policy.name == "int8_from_mixed_bfloat16"
    assert ours(inputs).dtype == tf.bfloat16
    np.testing.assert_allclose(
        tf.cast(ours(inputs), "float32"), tf.cast(theirs(inputs), "float32"), rtol=2e-2, atol=2e-2
    )


@pytest.mark.parametrize("mode", ["int8", "int8-weights", "int4"])
def test_gradients_of_inputs_are_those_of_the_restored_weight(mode):
    ours, theirs = (quantized(package, "Dense", mode) for package in (tfkit, keras))
    inputs = tf.constant(inputs_of("Dense", (2, 5)))
    gradients = []
    for layer in (ours, theirs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            loss = tf.reduce_sum(layer(inputs) ** 2)
        gradients.append(tape.gradient(loss, inputs))
    np.testing.assert_allclose(*gradients, rtol=1e-4, atol=1e-5)


# --- Models -----------------------------------------------------------------------------------------------


def model_of(package):
    layers = package.layers
    inputs = package.Input((3,), dtype="int32")
    x = layers.Embedding(9, 8)(inputs)
    x = layers.EinsumDense("abc,cd->abd", (3, 6), bias_axes="d", name="mixing")(x)
    outputs = layers.Dense(2, name="scores")(layers.Flatten()(x))
    return package.Model(inputs, outputs)


X = np.random.default_rng(2).integers(0, 9, (16, 3)).astype("int32")
Y = np.stack([X.sum(1) / 10, X[:, 0] / 5], 1).astype("float32")


def trained(model, epochs=2):
    model.compile("adam", "mse")
    model.fit(X, Y, epochs=epochs, batch_size=8, shuffle=False, verbose=0)
    return model


@pytest.mark.parametrize("mode", ["int8", "int4", "int4-columns", "float8"])
@pytest.mark.parametrize(("writer", "reader"), [(tfkit, keras), (keras, tfkit), (tfkit, tfkit)])
def test_files_of_keras_are_exchanged(writer, reader, mode, tmp_path):
    model = model_of(writer)
    model.quantize(**MODES[mode](writer.quantizers))
    expected = model.predict(X, verbose=0)
    model.save(tmp_path / "m.keras")
    again = reader.models.load_model(tmp_path / "m.keras")
    np.testing.assert_allclose(again.predict(X, verbose=0), expected, rtol=1e-4, atol=1e-5)
    path = tmp_path / "m.weights.h5"
    tfkit.interop.keras.save_weights(model, path) if writer is tfkit else model.save_weights(path)
    other = model_of(reader)
    other.quantize(**MODES[mode](reader.quantizers))
    other.load_weights(path)
    np.testing.assert_allclose(other.predict(X, verbose=0), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["int8", "int4"])
@pytest.mark.parametrize(("writer", "reader"), [(tfkit, keras), (keras, tfkit)])
def test_sums_with_lora_are_quantized_again_in_files_of_keras(writer, reader, mode, tmp_path):
    model = model_of(writer)
    for layer in model.layers:
        if hasattr(layer, "enable_lora"):
            layer.enable_lora(2, b_initializer="ones")
    model.quantize(mode)
    model.save(tmp_path / "m.keras")
    loaded = [package.models.load_model(tmp_path / "m.keras") for package in (reader, writer)]
    predictions = [each.predict(X, verbose=0) for each in loaded]
    np.testing.assert_allclose(*predictions, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("lora", [False, True])
@pytest.mark.parametrize("mode", ["int8", "int4"])
@pytest.mark.parametrize("layer", ["Dense", "Embedding"])
def test_weights_of_16_bits_become_integers(layer, mode, lora, tmp_path):
    """The scales have 16 bits, too."""
    name, arguments, shape = LAYERS[layer]
    inputs = inputs_of(layer, shape)
    ours = getattr(tfkit.layers, name)(**arguments, dtype="bfloat16")
    ours.build(shape)
    expected = ours(inputs)
    if lora:
        ours.enable_lora(2)
    ours.quantize(mode)
    np.testing.assert_allclose(
        tf.cast(ours(inputs), "float32"), tf.cast(expected, "float32"), atol=0.2
    )
    model = tfkit.Sequential([ours])
    model(inputs)
    tfkit.interop.keras.save_weights(model, tmp_path / "m.weights.h5")


@pytest.mark.parametrize("mode", ["int8", "int4", "float8"])
def test_own_files_and_exports_hold_quantized_weights(mode, tmp_path):
    model = trained(model_of(tfkit))
    model.quantize(mode)
    expected = model.predict(X, verbose=0)
    model.save(tmp_path / "m.h5")
    again = tfkit.models.load_model(tmp_path / "m.h5")
    np.testing.assert_array_equal(again.predict(X, verbose=0), expected)
    model.export(tmp_path / "served", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "served"))
    served = loaded.serve(tf.constant(X))
    np.testing.assert_allclose(served, expected, rtol=1e-5, atol=1e-5)


def test_a_compiled_model_notices_at_once():
    model = trained(model_of(tfkit))
    before = model.predict(X, verbose=0), model.evaluate(X, Y, verbose=0), model(X), model(X)
    model.quantize("int4")
    restored = model.predict(X, verbose=0)
    assert 1e-4 < np.abs(restored - before[0]).max() < 0.3
    np.testing.assert_allclose(model(X), restored, rtol=1e-5, atol=1e-5)
    bias, kernel = model.get_layer("scores").bias, vars(model.get_layer("scores"))["kernel"]
    values = bias.numpy(), kernel.numpy()
    model.fit(X, Y, verbose=0)
    assert np.abs(bias.numpy() - values[0]).max() > 0
    np.testing.assert_array_equal(kernel, values[1])


def test_training_in_8_bits_equals_keras():
    """Weights, scales and histories after some steps."""
    states = []
    for package in (tfkit, keras):
        package.utils.set_random_seed(5)
        model = package.Sequential(
            [
                package.Input((4,)),
                package.layers.Dense(6, activation="relu"),
                package.layers.EinsumDense("ab,bc->ac", 3, bias_axes="c"),
            ]
        )
        model.quantize("float8")
        model.compile("sgd", "mse")
        x = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")
        model.fit(x, x[:, :3], epochs=4, batch_size=8, shuffle=False, verbose=0)
        states.append({weight.path.split("/", 1)[-1]: weight.numpy() for weight in model.weights})
    for (name, ours), theirs in zip(states[0].items(), states[1].values(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (None, {"embedding", "mixing", "scores"}),
        ("scores", {"scores"}),
        (["^mix", "score"], {"mixing", "scores"}),
        (lambda layer: "m" in layer.name, {"embedding", "mixing"}),
    ],
)
def test_filters_choose_layers(filters, expected):
    for package in (tfkit, keras):
        package.utils.clear_session()
        model = model_of(package)
        model.quantize("int8", filters=filters)
        found = {layer.name for layer in model.layers if layer.quantization_mode}
        assert found == expected


def test_float8_leaves_embeddings_out():
    for package in (tfkit, keras):
        model = model_of(package)
        model.quantize("float8")
        modes = [layer.quantization_mode for layer in model.layers if layer.weights]
        assert modes == [None, "float8", "float8"]


def test_refusals_are_keras_and_change_nothing():
    for package in (tfkit, keras):
        model = model_of(package)
        for arguments, message in (
            ({}, "either `mode` or `config`"),
            ({"mode": "int9"}, "Invalid quantization mode"),
            ({"mode": "int8", "filters": 3}, "`filters` argument must be"),
            ({"mode": "int8", "nonsense": 3}, "Unrecognized keyword arguments"),
            (
                {"mode": "int4", "config": package.quantizers.Int8QuantizationConfig()},
                "Contradictory arguments",
            ),
        ):
            with pytest.raises(ValueError, match=message):
                model.quantize(**arguments)
        model.get_layer("scores").quantize("int8")
        with pytest.raises(ValueError, match="already quantized"):
            model.get_layer("scores").quantize("int4")
        if package is tfkit:  # Keras has changed the layers before by then.
            with pytest.raises(ValueError, match="already quantized"):
                model.quantize("int8")
        with pytest.raises(ValueError, match="isn't yet built"):
            package.layers.Dense(2).quantize("int8")
        with pytest.raises(NotImplementedError, match="does not have a `quantize` method"):
            model.layers[-2].quantize("int8")
        assert model.get_layer("mixing").quantization_mode is None

        class Own(package.layers.Dense):
            pass

        own = Own(2)
        own.build((None, 3))
        with pytest.raises(NotImplementedError, match="Own does not have a `quantize` method"):
            own.quantize("int8")
        own.quantize("int8", type_check=False)
        assert own.quantization_mode == "int8"


def test_a_failing_quantizer_changes_nothing():
    def failing(x, axis=None, to_numpy=False):
        raise RuntimeError("no")

    layer = made(tfkit, "ReversibleEmbedding-two")
    config = tfkit.quantizers.Int8QuantizationConfig(weight_quantizer=failing)
    before = layer(X[:, :3] % 7)
    with pytest.raises(RuntimeError, match="no"):
        layer.quantize(config=config)
    assert layer.quantization_mode is None
    assert layer.quantization_config is None
    np.testing.assert_array_equal(layer(X[:, :3] % 7), before)


def test_modes_that_need_texts_say_what_to_use():
    with pytest.raises(ValueError, match=r"mode 'gptq'.*Use 'int4'"):
        model_of(tfkit).quantize("gptq")


def test_attention_is_quantized_inside():
    layers = [package.layers.MultiHeadAttention(2, 3) for package in (tfkit, keras)]
    x = np.random.default_rng(1).normal(size=(2, 4, 6)).astype("float32")
    results = []
    for package, layer in zip((tfkit, keras), layers, strict=True):
        inputs = package.Input((4, 6))
        model = package.Model(inputs, layer(inputs, inputs))
        layer.set_weights(
            [np.random.default_rng(3).normal(size=weight.shape) for weight in layer.weights]
        )
        model.quantize("int8")
        results.append(model.predict(x, verbose=0))
    np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "name",
    ["int8_from_float32", "int4_from_float32", "float8_from_float32"],
)
def test_a_quantized_policy_makes_the_weights_of_keras(name):
    """At the beginning, or on a built layer, which is quantized by it."""
    shapes = []
    for library in (tfkit, keras):
        made = library.layers.Dense(3, dtype=name)
        made.build((None, 200))
        changed = library.layers.Dense(3)
        changed.build((None, 200))
        changed.dtype_policy = name
        shapes.append([{w.name: tuple(w.shape) for w in each.weights} for each in (made, changed)])
    assert shapes[0] == shapes[1]


def test_a_quantized_layer_stays_so():
    layer = tfkit.layers.Dense(3, dtype="int8_from_float32")
    layer.build((None, 4))
    layer.dtype_policy = "int8_from_mixed_bfloat16"
    assert layer.compute_dtype == "bfloat16"
    for name, message in (("float32", "stays quantized"), ("int4_from_float32", "already")):
        with pytest.raises(ValueError, match=message):
            layer.dtype_policy = name


@pytest.mark.parametrize("writer", [tfkit, keras])
@pytest.mark.parametrize("optimizer", ["Adam", "Muon", "ScheduleFreeAdamW"])
def test_files_keep_the_slots_of_a_model_in_8_bit_floats(writer, optimizer, tmp_path):
    """The scales have none: a file has the slots in the order in which the loaded model needs them."""
    model = writer.Sequential([writer.Input((4,)), writer.layers.Dense(4)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras's, about the input layer.
        model.quantize("float8")
    options = {"use_ema": True} if optimizer == "Adam" else {}
    model.compile(getattr(writer.optimizers, optimizer)(0.1, **options), "mse")
    x = np.ones((2, 4), "float32")
    model.train_on_batch(x, x)
    model.save(tmp_path / "model.keras")
    loaded = tfkit.saving.load_model(tmp_path / "model.keras")
    expected = [np.asarray(it) for it in model.optimizer.variables]
    assert any(np.ptp(it) for it in expected if it.ndim)
    for a, b in zip(loaded.optimizer.variables, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    loaded.train_on_batch(x, x)


def test_a_file_with_slots_of_scales_is_read(monkeypatch, tmp_path):
    """As files of tfkit had them until 2026."""
    inner = tfkit.Sequential([tfkit.Input((4,)), tfkit.layers.Dense(4)])
    model = tfkit.Sequential([tfkit.Input((4,)), inner])
    model.quantize("float8")
    x = np.ones((2, 4), "float32")
    with monkeypatch.context() as patch:
        patch.setattr("tfkit.src.optimizers.slots.is_overwritten", lambda variable: False)
        for each in (inner, model):
            each.compile("adam", "mse")
            each.train_on_batch(x, x)
        model.save(tmp_path / "model.h5")
    loaded = tfkit.saving.load_model(tmp_path / "model.h5")
    for a, b in ((loaded, model), (loaded.layers[0], inner)):
        saved = {it.label: it.numpy() for it in b.optimizer.variables}
        assert len(a.optimizer.variables) == 6 < len(saved)
        assert a.optimizer.iterations == 1
        kernel = next(label for label in saved if label.endswith("_kernel_momentum"))
        np.testing.assert_array_equal(a.optimizer.variables[2], saved[kernel])


@pytest.mark.parametrize("changes", [["int8"], ["int4"], ["float8"], ["lora"], ["lora", "int8"]])
@pytest.mark.parametrize("name", ["model.keras", "model.h5"])
def test_spectral_normalization_of_a_changed_layer(name, changes, tmp_path):
    inside = tfkit.layers.EinsumDense("ab,bcd->acd", (4, 6), name="inside")
    layer = tfkit.layers.SpectralNormalization(inside)
    model = tfkit.Sequential([tfkit.Input((8,)), layer])
    for change in changes:
        if change == "lora":
            inside.enable_lora(2)
        else:
            model.quantize(change)
    model.compile("sgd", "mse")
    x = np.arange(16, dtype="float32").reshape(2, 8) / 16
    before = model(x)
    model.train_on_batch(x, before)
    normalized = "int" not in changes[-1]
    assert (np.abs(model(x) - before).max() > 1e-3) == normalized
    model.save(tmp_path / name)
    loaded = tfkit.saving.load_model(tmp_path / name)
    # The sum with LoRA is quantized again in Keras's files.
    again = name == "model.keras" and changes == ["lora", "int8"]
    np.testing.assert_allclose(loaded(x), model(x), atol=0.02 if again else 1e-6)
    assert loaded.layers[0].kernel is vars(loaded.layers[0].layer)["kernel"]
    loaded.train_on_batch(x, before)
