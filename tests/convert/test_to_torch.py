"""Layers as modules of PyTorch: outputs, states, gradients and random numbers are those of TensorFlow."""

import copy
import inspect
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.conformance import table
from tests.convert.functions import FUNCTIONS, Counter, Function, assert_drawn, drawn, rounded
from tests.guide.vae import vae_class
from tests.losses import test_functions
from tfkit import layers
from tfkit.src.core import tracking
from tfkit.src.engine.machine import onednn_is_on

torch = pytest.importorskip("torch", reason="`pip install 'tfkit-dl[torch]'`")

TOLERANCE = 1e-5  # Of float32, relative to the largest element where that is above 1.
# Layers that are not converted, or not in all respects, with the reason.
NOT_CONVERTED = {
    "CutMix": "its sizes are drawn from a gamma distribution by a kernel of TensorFlow's",
    "MixUp": "its weights are drawn from a gamma distribution by a kernel of TensorFlow's",
}
GRADIENT_DIFFERS = {
    # TensorFlow has formulas of its own for `RGBToHSV`, of which those for the saturation are others than the
    # derivative.
    "RandomSaturation",
    "RandomHue",
    "RandomColorJitter",
}


def tensors(nest):
    return [leaf for leaf in tf.nest.flatten(nest) if leaf is not None]


def is_float(array):
    return np.asarray(array).dtype.kind == "f"


def given(data):
    """Inputs for PyTorch, those of floats with gradients."""
    return tf.nest.map_structure(
        lambda array: torch.tensor(array, requires_grad=is_float(array)), data
    )


def difference(wanted, found):
    wanted, found = np.asarray(wanted), found.detach().numpy()
    assert wanted.shape == found.shape
    scale = max(
        1.0, np.abs(wanted, where=np.isfinite(wanted), out=np.ones(wanted.shape)).max(initial=0)
    )
    both = np.isfinite(wanted.astype("float64"))
    np.testing.assert_array_equal(np.isfinite(found.astype("float64")), both)
    wanted, found = (np.where(both, it, 0).astype("float64") for it in (wanted, found))
    gap = np.abs(wanted - found)
    return float(gap.max(initial=0)) / scale


def compare(layer, data, training, gradients=True):
    """One call of both, from the same state: outputs, losses, gradients, and what the call changed."""
    module = tfkit.interop.to_torch(layer, *data).train(training)
    weights = dict(tracking.named_state(layer))
    trained = [
        path for path, it in weights.items() if any(it is w for w in layer.trainable_variables)
    ]
    inputs = tf.nest.map_structure(tf.constant, data)
    floats = [x for x in tensors(inputs) if x.dtype.is_floating]
    with tf.GradientTape() as tape:
        tape.watch(floats)
        outputs = layer(*inputs, training=training)
        losses = list(layer.losses)
        waves = [tf.reduce_sum(tf.sin(y)) for y in tensors(outputs) if y.dtype.is_floating]
        total = tf.add_n([tf.zeros([]), *waves, *losses])
    wanted = tape.gradient(total, [*(weights[path] for path in trained), *floats])

    arguments = given(data)
    results = module(*arguments)
    for y, z in zip(tensors(outputs), tensors(results), strict=True):
        assert difference(y, z) < TOLERANCE
    for y, z in zip(losses, module.losses, strict=True):
        assert difference(y, z) < TOLERANCE
    places = module.state_dict()
    for path, variable in weights.items():
        assert (
            difference(
                variable.numpy().astype(places[path.replace("/", ".")].numpy().dtype),
                places[path.replace("/", ".")],
            )
            < TOLERANCE
        )
    waves = [y.sin().sum() for y in tensors(results) if y.is_floating_point()]
    total = sum([*waves, *module.losses], torch.zeros(()))
    if not gradients or not total.requires_grad:
        return
    parameters = dict(module.named_parameters())
    asked = [parameters[path.replace("/", ".")] for path in trained]
    asked += [x for x in tensors(arguments) if x.requires_grad]
    found = torch.autograd.grad(total, asked, allow_unused=True)
    for variable, y, z in zip(asked, wanted, found, strict=True):
        zeros = torch.zeros_like(variable)
        y = zeros.detach().numpy() if y is None else tf.convert_to_tensor(y)
        assert difference(y, zeros if z is None else z) < TOLERANCE  # fmt: skip


@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
@pytest.mark.parametrize("case", table.CASES, ids=str)
def test_layers(case, training):
    layer, data = case.make(tfkit.layers), case.data()
    layer(*tf.nest.map_structure(tf.constant, data))
    if case.layer in NOT_CONVERTED:
        with pytest.raises(NotImplementedError, match=f"'{layer.name}'.*no formula for PyTorch"):
            tfkit.interop.to_torch(layer, *data)
        return
    compare(layer, data, training, gradients=case.layer not in GRADIENT_DIFFERS)


ACTIVATIONS = sorted(
    name
    for name, function in inspect.getmembers(tfkit.activations)
    if inspect.isfunction(function) and name not in ("get", "serialize", "deserialize", "threshold")
)
X = np.random.default_rng(0).normal(size=(3, 8)).astype("float32") * 2


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    compare(layers.Activation(name), [X], False)


class Loss(tfkit.layers.Layer):
    """A loss of targets that are no input, since integers have no gradient and Keras's have none."""

    def __init__(self, loss, target):
        super().__init__()
        self.loss, self.target = loss, tf.constant(target)

    def call(self, x):
        return self.loss(self.target, x)


LOSSES = [case for case in test_functions.CASES if case[0] != "ctc"]


@pytest.mark.parametrize("case", LOSSES, ids=lambda case: f"{case[0]}-{case[2]}")
def test_losses(case):
    _, name, options, (target, prediction) = case
    loss = Loss(getattr(tfkit.losses, name)(**options), target)
    compare(loss, [np.asarray(prediction, "float32")], False)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    if name == "pools with the channels first" and not onednn_is_on():
        pytest.skip("TensorFlow's kernel for it is oneDNN's; TF_ENABLE_ONEDNN_OPTS=1 turns it on")
    function, data = FUNCTIONS[name]
    compare(Function(function), data, False)


def test_states_and_matrices_that_are_used_twice():
    layer = Counter()
    layer(X[:, :6])
    for _ in range(2):
        compare(layer, [X[:, :6]], True)


def test_what_depends_on_values_is_decided_in_each_call():
    """PyTorch has arrays whose form depends on values, and loops; a graph of operations has not."""

    def function(x):
        rows = tf.boolean_mask(x, x[:, 0] > 0)
        return tf.while_loop(lambda a: tf.reduce_sum(a) < 100.0, lambda a: [a * 2 + 1], [rows])[0]

    module = tfkit.interop.to_torch(Function(function), X).eval()
    for x in (X, -X, X * 3):
        assert difference(function(tf.constant(x)), module(torch.tensor(x))) < TOLERANCE


def test_a_written_gradient_inside_of_a_loop_is_refused():
    def looped(x):
        return tf.while_loop(
            lambda y: tf.reduce_sum(y) < 99, lambda y: [rounded(y, 2.0)[1] + 1], [x]
        )[0]

    module = tfkit.interop.to_torch(Function(looped), X)
    y = module(torch.tensor(X, requires_grad=True))
    assert difference(looped(tf.constant(X)), y) < TOLERANCE
    with pytest.raises(NotImplementedError, match="custom_gradient"):
        y.sum().backward()


def test_what_is_no_derivative_is_converted_in_training():
    """The gradients of float8 are rounded, and those of scales are their next values."""
    layer = layers.Dense(3)
    layer.build((None, 8))
    layer.quantize("float8")
    compare(layer, [X], True)


@pytest.mark.parametrize("kind", [layers.LSTM, layers.GRU, layers.SimpleRNN])
def test_a_state_that_is_read_and_then_assigned_has_gradients(kind):
    layer, steps = kind(4, stateful=True), np.ones((2, 3, 4), "float32")
    layer(steps)
    layer.reset_state()
    for _ in range(2):
        compare(layer, [steps], True)


def test_draws_of_tensorflows_generators_follow_from_a_seed_of_the_module():
    module = tfkit.interop.to_torch(Function(drawn), np.ones((300, 60), "float32"))
    x = torch.ones(400, 60)
    found = [module(x), module(x)]
    assert not torch.equal(found[0][0], found[1][0])
    assert_drawn([it.numpy() for it in found[0]])
    module.copy_back()  # The seed is not one of the layer's.


def test_examples_of_pytorchs_own_dtypes():
    layer = Function(lambda x: x * 2, autocast=False)
    module = tfkit.interop.to_torch(layer, torch.tensor(X).bfloat16())
    assert module(torch.ones(5, 8).bfloat16()).dtype == torch.bfloat16


def test_strings_are_refused_with_the_name_of_the_layer():
    layer = layers.Hashing(3, name="words")
    with pytest.raises(ValueError, match="'words' accepts strings"):
        tfkit.interop.to_torch(layer, np.array(["a"]))


# --- Modules ----------------------------------------------------------------------------------------------


def network():
    x = tfkit.Input((6,))
    y = layers.Dense(8, activation="gelu", name="first")(x)
    y = layers.Dropout(0.5, seed=3)(layers.BatchNormalization()(y))
    return tfkit.Model(x, layers.Dense(2, name="last", kernel_regularizer="l2")(y))


ROWS = np.random.default_rng(1).normal(size=(5, 6)).astype("float32")


def test_parameters_modes_and_copies_back():
    model = network()
    module = tfkit.interop.to_torch(model, ROWS)
    names = dict(module.named_parameters())
    assert {"first.kernel", "first.bias", "last.kernel"} < names.keys()
    assert "batch_normalization.moving_mean" in {
        name.rsplit("_", 0)[0] for name in module.state_dict()
    } or any(name.endswith("moving_mean") for name, _ in module.named_buffers())
    assert module.training
    first, second = module(torch.tensor(ROWS)), module(torch.tensor(ROWS))
    assert not torch.equal(first, second)  # Each call draws anew, and moves the means.
    module.eval()
    assert torch.equal(module(torch.tensor(ROWS)), module(torch.tensor(ROWS)))
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    module(torch.tensor(ROWS)).square().sum().backward()
    optimizer.step()
    before = model.predict(ROWS, verbose=0)
    module.copy_back()
    after = model.predict(ROWS, verbose=0)
    assert np.abs(before - after).max() > 1e-3
    np.testing.assert_allclose(after, module(torch.tensor(ROWS)).detach().numpy(), atol=1e-5)
    other = tfkit.interop.to_torch(network(), ROWS)
    other.load_state_dict(
        {k.replace("_1", ""): v for k, v in module.state_dict().items()}, strict=False
    )


def test_other_sizes_of_the_batch_and_wrong_inputs():
    model = network()
    module = tfkit.interop.to_torch(model, ROWS).eval()
    for count in (1, 2, 7):
        x = np.resize(ROWS, (count, 6))
        wanted = model(x).numpy()
        np.testing.assert_allclose(module(torch.tensor(x)).detach().numpy(), wanted, atol=1e-5)
    with pytest.raises(ValueError, match=r"Expected a tensor of shape \(None, 6\).*\(5, 7\)"):
        module(torch.zeros(5, 7))
    with pytest.raises(ValueError, match=r"Received: \(5, 6\) torch.float64"):
        module(torch.zeros(5, 6, dtype=torch.float64))
    with pytest.raises(ValueError, match="Expected 1 tensors"):
        module(torch.zeros(5, 6), torch.zeros(5, 6))
    with pytest.raises(TypeError, match="Expected a layer or a model"):
        tfkit.interop.to_torch(lambda x: x, ROWS)


def test_nothing_is_copied_back_to_another_model():
    layer = layers.Dense(2)
    module = tfkit.interop.to_torch(layer, ROWS)
    layer.extra = layers.Dense(3)
    layer.extra.build((None, 2))
    kernel = layer.kernel.numpy()
    with torch.no_grad():
        module.kernel.add_(1)
    with pytest.raises(ValueError, match="has other weights than when"):
        module.copy_back()
    np.testing.assert_array_equal(kernel, layer.kernel)


def test_names_that_modules_of_pytorch_have_themselves():
    model = tfkit.Sequential(
        [tfkit.Input((6,)), layers.Dense(2, name="float"), layers.Dense(2, name="train")]
    )
    module = tfkit.interop.to_torch(model, ROWS)
    assert set(module.state_dict()) == {"float.kernel", "float.bias", "train.kernel", "train.bias"}
    assert difference(model(ROWS), module(torch.tensor(ROWS))) < TOLERANCE


def test_paths_that_give_the_same_name_stay_apart():
    class Two(layers.Layer):
        def __init__(self):
            super().__init__()
            self.parts = {"a.b": layers.Dense(2), "a_b": layers.Dense(2)}

        def call(self, x):
            return self.parts["a.b"](x) - self.parts["a_b"](x)

    layer = Two()
    module = tfkit.interop.to_torch(layer, ROWS)
    assert len(module.state_dict()) == 4
    assert difference(layer(ROWS), module(torch.tensor(ROWS))) < TOLERANCE
    with torch.no_grad():
        for index, parameter in enumerate(module.parameters()):
            parameter.fill_(index)
    module.copy_back()
    assert difference(layer(ROWS), module(torch.tensor(ROWS))) < TOLERANCE


def test_a_state_dict_in_safetensors(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch", reason="`pip install safetensors`")
    model = tfkit.Sequential([tfkit.Input((6,)), layers.Dense(2, name="d")])
    module = tfkit.interop.to_torch(model, ROWS)
    with torch.no_grad():
        module.d.kernel.add_(1)
    safetensors.save_file(module.state_dict(), tmp_path / "m.safetensors")
    model.load_weights(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(model.layers[0].kernel, module.d.kernel.detach())
    model.layers[0].kernel.assign_add(tf.ones((6, 2)))
    model.save_weights(tmp_path / "k.safetensors")
    module.load_state_dict(safetensors.load_file(tmp_path / "k.safetensors"))
    np.testing.assert_array_equal(model.layers[0].kernel, module.d.kernel.detach())


def test_a_stored_program_runs_without_tensorflow(tmp_path):
    model = tfkit.Sequential(
        [tfkit.Input((4, 3)), layers.LSTM(5, return_sequences=True), layers.Dense(2)]
    )
    x = np.random.default_rng(0).normal(size=(3, 4, 3)).astype("float32")
    model.export(tmp_path / "m.pt2", format="torch", verbose=False)
    np.save(tmp_path / "x.npy", x)
    program = f"""
import sys
sys.modules["tensorflow"] = sys.modules["tfkit"] = None
import numpy as np, torch
module = torch.export.load(r"{tmp_path}/m.pt2").module()
x = torch.tensor(np.load(r"{tmp_path}/x.npy"))
np.save(r"{tmp_path}/y.npy", np.stack([module(x).detach().numpy(), module(x[[0, 1, 2]]).detach().numpy()]))
assert module(x[:2]).shape == (2, 4, 2)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
    for y in np.load(tmp_path / "y.npy"):
        np.testing.assert_allclose(y, model(x).numpy(), atol=1e-5)


def test_a_program_that_differs_is_not_written(tmp_path, monkeypatch):
    from tfkit.src.export.convert.pytorch import framework

    model = tfkit.Sequential([tfkit.Input((3,)), layers.Activation("tanh")])
    wrong = {**framework.FORMULAS, "Tanh": lambda x: torch.tanh(x) + 1e-3}
    monkeypatch.setattr(framework.Pytorch, "formulas", wrong)
    with pytest.raises(tfkit.export.VerificationError, match="for 3 rows, gives other values"):
        model.export(tmp_path / "m.pt2", format="torch")
    assert not list(tmp_path.iterdir())
    model.export(tmp_path / "m.pt2", format="torch", verify=False, verbose=False)


def test_a_module_is_what_it_was_after_an_export():
    module = tfkit.interop.to_torch(network(), ROWS).eval()
    before = module(torch.tensor(ROWS))
    torch.export.export(module, (torch.tensor(ROWS),))
    assert torch.equal(before, module(torch.tensor(ROWS)))
    assert torch.equal(before, copy.deepcopy(module)(torch.tensor(ROWS)))


def test_compile_looks_into_the_graph():
    seen = []

    def backend(graph, examples):
        seen.append(graph)
        return graph

    model = network()
    module = tfkit.interop.to_torch(model, ROWS).eval()
    compiled = torch.compile(module, backend=backend, fullgraph=True)
    wanted = module(torch.tensor(ROWS))
    torch.testing.assert_close(compiled(torch.tensor(ROWS)), wanted)
    assert len(seen) == 1


def test_the_guides_autoencoder_learns_as_by_fit():
    """Three epochs with PyTorch's Adam: the same weights, batches, and, by the same seed, noise."""
    x = np.random.default_rng(0).uniform(size=(256, 20)).astype("float32")
    vae = vae_class(tfkit)(20, 16, 4)
    vae(x[:2])
    module = tfkit.interop.to_torch(vae, x[:2])
    vae.compile(tfkit.optimizers.Adam(1e-3), loss=tfkit.losses.MeanSquaredError())
    wanted = vae.fit(x, x, epochs=3, batch_size=32, shuffle=False, verbose=0).history["loss"]
    optimizer = torch.optim.Adam(module.parameters(), 1e-3, eps=1e-7)
    rows, found = torch.tensor(x), []
    for _ in range(3):
        losses = []
        for batch in rows.split(32):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(module(batch), batch) + sum(module.losses)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        found.append(np.mean(losses))
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    module.copy_back()
