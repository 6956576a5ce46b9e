"""Modules of PyTorch as layers: calls, gradients, training, files, and what cannot be written."""

import copy

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed: pip install 'tfkit-dl[torch]'"
)
nn = torch.nn

X = np.random.default_rng(0).normal(size=(6, 4)).astype("float32")
Y = np.random.default_rng(1).normal(size=(6, 3)).astype("float32")


@tfkit.saving.register_keras_serializable("torch layers")
def block():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True), nn.Linear(8, 3))


def network(module=block):
    return tfkit.Sequential([tfkit.Input((4,)), layers.TorchModuleWrapper(module)])


def test_weights_have_the_names_of_the_module():
    layer = layers.TorchModuleWrapper(block())
    assert [it.path.partition("/")[2] for it in layer.trainable_weights] == [
        f"{place}.{name}" for place in (0, 1, 3) for name in ("weight", "bias")
    ]
    assert [it.path.partition("/")[2] for it in layer.non_trainable_weights] == [
        "1.running_mean",
        "1.running_var",
        "1.num_batches_tracked",
    ]


def test_training_equals_that_of_pytorch():
    model = network()
    model.compile(tfkit.optimizers.SGD(0.1, momentum=0.9), "mse")
    losses = model.fit(X, Y, epochs=4, batch_size=3, shuffle=False, verbose=0).history["loss"]
    plain = block().train()
    optimizer = torch.optim.SGD(plain.parameters(), 0.1, momentum=0.9)
    expected = []
    for _ in range(4):
        epoch = []
        for start in (0, 3):
            optimizer.zero_grad()
            rows, targets = (torch.tensor(it[start : start + 3]) for it in (X, Y))
            loss = nn.functional.mse_loss(plain(rows), targets)
            loss.backward()
            optimizer.step()
            epoch.append(loss.item())
        expected.append(np.mean(epoch))
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    with torch.no_grad():
        np.testing.assert_allclose(
            model.predict(X, verbose=0), plain.eval()(torch.tensor(X)), atol=1e-5
        )
    trained = model.layers[0].module.state_dict()
    for name, value in plain.state_dict().items():
        np.testing.assert_allclose(trained[name], value, atol=1e-5)
    assert len(list(model.layers[0].parameters())) == 6


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("traced", [False, True])
def test_gradients_are_those_of_pytorch(training, traced):
    layer, plain = layers.TorchModuleWrapper(block), block().train(training)

    def gradients(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(layer(x, training=training) ** 2)
        return tape.gradient(loss, [x, *layer.trainable_weights])

    found = (tf.function(gradients) if traced else gradients)(tf.constant(X))
    x = torch.tensor(X, requires_grad=True)
    expected = torch.autograd.grad((plain(x) ** 2).sum(), [x, *plain.parameters()])
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-4)
    np.testing.assert_array_equal(layer.non_trainable_weights[2], int(training))


def test_a_loop_over_time_has_all_gradients():
    # More steps than calls are kept: the first ones are computed again, with the same random numbers.
    # Without a bias, outputs are linear in the kernel: the gradient is right for the draws of each step.
    module = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Dropout(0.5))
    layer = layers.TorchModuleWrapper(module)
    kernel = layer.trainable_weights[0]

    @tf.function
    def gradients(x):
        with tf.GradientTape() as tape:
            outputs = tf.constant(0.0)
            for _ in tf.range(40):
                outputs += tf.reduce_sum(layer(x, training=True))
        return outputs, tape.gradient(outputs, kernel)

    outputs, gradient = gradients(tf.constant(X))
    np.testing.assert_allclose(tf.reduce_sum(gradient * kernel), outputs, rtol=1e-4)


def test_random_numbers_follow_from_the_seed():
    found = []
    for _ in range(2):
        tfkit.utils.set_random_seed(3)
        layer = layers.TorchModuleWrapper(nn.Dropout(0.5))
        before = torch.get_rng_state()
        found.append([layer(X, training=True).numpy() for _ in range(3)])
        assert torch.equal(before, torch.get_rng_state())
    np.testing.assert_array_equal(*found)
    assert (found[0][0] != found[0][1]).any()
    np.testing.assert_array_equal(layer(X), X)


def test_memory_of_tensorflow_does_not_change():
    inputs = tf.constant(X)
    layer = layers.TorchModuleWrapper(nn.ReLU(inplace=True))
    for _ in range(3):
        np.testing.assert_array_equal(layer(inputs), np.maximum(X, 0))
    np.testing.assert_array_equal(inputs, X)
    kernel = layers.TorchModuleWrapper(Parts())
    with tf.GradientTape() as tape:
        first = kernel(inputs)["first"]
    assert tape.gradient(first, kernel.trainable_weights[0]) is not None
    kept = first.numpy().copy()
    kernel.trainable_weights[0].assign_add([1.0])
    np.testing.assert_array_equal(first, kept)


class Parts(nn.Module):
    """Outputs of several kinds, of which some are memory of others."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.fixed = nn.Parameter(torch.ones(1), requires_grad=False)
        self.register_buffer("table", torch.arange(4.0), persistent=False)

    def forward(self, x, other=None, *, factor=1):
        x = x * self.scale * factor * self.fixed
        return {"first": x[1:], "rest": (x + self.table, x.argmax(-1)), "none": other}


def test_nests_options_and_symbolic_calls():
    layer = layers.TorchModuleWrapper(Parts())
    assert len(layer.trainable_weights) == 1
    outputs = layer(X, factor=2)
    np.testing.assert_allclose(outputs["first"], 2 * X[1:])
    assert outputs["none"] is None
    symbolic = layer(tfkit.Input((4,)), factor=2)
    assert symbolic["rest"][0].shape == (None, 4)
    assert symbolic["rest"][1].dtype == tf.int64
    images = layers.TorchModuleWrapper(nn.Sequential(nn.Conv2d(3, 5, 3), nn.MaxPool2d(2)))
    assert images(tfkit.Input((3, 9, None))).shape == (None, 5, 3, None)
    given = layers.TorchModuleWrapper(nn.Linear(4, 2), output_shape=(None, 2))
    assert given(tfkit.Input((4,))).shape == (None, 2)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "bfloat16", "float64"])
def test_policies(policy):
    layer = layers.TorchModuleWrapper(block, dtype=policy)
    model = tfkit.Sequential([tfkit.Input((4,)), layer])
    model.compile("adam", "mse")
    losses = model.fit(X, Y, epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert layer(X).dtype == layer.compute_dtype
    assert layer.trainable_weights[0].dtype == layer.variable_dtype


@pytest.mark.parametrize("name", ["m.keras", "m.h5"])
def test_files(name, tmp_path):
    model = network()
    model.compile("adam", "mse")
    model.fit(X, Y, verbose=0)
    model.save(tmp_path / name)
    loaded = tfkit.models.load_model(tmp_path / name)
    np.testing.assert_array_equal(loaded.predict(X, verbose=0), model.predict(X, verbose=0))
    histories = [
        it.fit(X, Y, epochs=2, shuffle=False, verbose=0).history["loss"] for it in (loaded, model)
    ]
    np.testing.assert_array_equal(*histories)


def test_equal_models_with_other_modules_are_kept_apart():
    modules = [nn.Linear(4, 3), nn.Linear(4, 3)]
    models = [network(it) for it in modules]
    for model, module in zip(models, modules, strict=True):
        with torch.no_grad():
            np.testing.assert_allclose(
                model.predict(X, verbose=0), module(torch.tensor(X)), atol=1e-6
            )


def test_what_cannot_be_written_says_so(tmp_path):
    model = network(block())
    for name in ("m.keras", "m.h5"):
        with pytest.raises(TypeError, match=r"a configuration cannot hold.*registered function"):
            model.save(tmp_path / name)
    with pytest.raises(
        ValueError, match=r"torch_module_wrapper.*EagerPyFunc.*`TorchModuleWrapper`"
    ):
        model.export(tmp_path / "served", verbose=False)
    assert not list(tmp_path.iterdir())
    model.save_weights(tmp_path / "w.weights.h5")
    other = network(block)
    other.load_weights(tmp_path / "w.weights.h5")
    np.testing.assert_array_equal(other(X), model(X))
    model.compile("adam", "mse", jit_compile=True)
    with pytest.raises(ValueError, match="XLA cannot compile the operation EagerPyFunc"):
        model.fit(X, Y, verbose=0)
    with pytest.raises(TypeError, match="a configuration cannot hold"):
        copy.copy(model.layers[0]).get_config()


def test_refusals():
    with pytest.raises(
        ValueError, match="LazyModules are not supported unless they are already init"
    ):
        layers.TorchModuleWrapper(nn.LazyLinear(3))
    with pytest.raises(TypeError, match=r"must be a `torch.nn.Module`.*Received: 3"):
        layers.TorchModuleWrapper(3)
    with pytest.raises(TypeError, match=r"a pickle, which may run any code"):
        layers.TorchModuleWrapper.from_config({"module": "gASVAAAA", "name": "t"})
    layer = layers.TorchModuleWrapper(nn.Linear(4, 3))
    x = tf.constant(X)
    with (
        pytest.raises(NotImplementedError, match="is differentiated once"),
        tf.GradientTape() as outer,
    ):
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            loss = tf.reduce_sum(layer(x) ** 2)
        outer.gradient(inner.gradient(loss, x), x)
