"""`load_weights`: what does not fit is an error with a table; what is lenient says what it did."""

import numpy as np
import pytest

import tfkit
from tfkit import layers
from tfkit.src.files.saving import contents

X = np.random.default_rng(0).normal(size=(6, 4)).astype("float32")


class Parts(tfkit.Model):
    """Layers of one shape under the attributes given, in that order."""

    def __init__(self, units=4, **parts):
        super().__init__()
        for attribute, name in parts.items():
            setattr(self, attribute, layers.Dense(units, name=name))
            getattr(self, attribute).build((None, 4))
        self.built = True

    def values(self):
        return {path: w.numpy() for path, w in zip(paths(self), self.weights, strict=True)}


def paths(model):
    return [f"{name}/{leaf}" for name in model.attributes() for leaf in ("kernel", "bias")]


def attributes(self):
    return [name for name, value in vars(self).items() if isinstance(value, layers.Dense)]


Parts.attributes = attributes


def equal(one, other):
    for part in ("kernel", "bias"):
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part))


@pytest.fixture
def saved(tmp_path):
    model = Parts(encoder="enc", decoder="dec", scale=None)
    for index, weight in enumerate(model.weights):
        weight.assign(weight + index)
    path = tmp_path / "parts.weights.h5"
    model.save_weights(path)
    return model, path


def test_all_that_is_wrong_is_in_one_table(saved):
    _, path = saved
    model = Parts(encoders=None, decoder=None, scale=None)
    model.decoder = layers.Dense(5)
    model.decoder.build((None, 4))
    model.scale = layers.Dense(4, dtype="complex64", kernel_initializer="zeros")
    model.scale.build((None, 4))
    before = model.get_weights()
    with pytest.raises(ValueError, match="nothing was loaded") as caught:
        model.load_weights(path)
    assert isinstance(caught.value, tfkit.saving.LoadError)
    table = str(caught.value)
    for line in (
        str(path),
        "missing in the file:  encoders/kernel: (4, 4) float32 (is it encoder/kernel?)",
        "not in the model:     encoder/kernel: (4, 4) float32 (is it encoders/kernel?)",
        "decoder/kernel: the file has (4, 4) float32, the model (4, 5) float32",
        "scale/bias: the file has (4,) float32, the model (4,) complex64",
        "rename={old: new}",
    ):
        assert line in table, table
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_a_strict_load_reports_all_as_loaded(saved):
    source, path = saved
    model = Parts(scale=None, decoder=None, encoder=None)  # Equal shapes in another order.
    report = model.load_weights(path)
    for name in source.attributes():
        equal(getattr(model, name), getattr(source, name))
    assert sorted(report.loaded) == sorted(paths(source))
    assert not report.skipped
    assert not report.unused


def test_skip_mismatch_tells_the_fate_of_each(saved):
    source, path = saved
    model = Parts(encoder=None, head=None, scale=None)
    model.scale = layers.Dense(3)
    model.scale.build((None, 4))
    head = model.head.kernel.numpy()
    report = model.load_weights(path, skip_mismatch=True)
    equal(model.encoder, source.encoder)
    np.testing.assert_array_equal(model.head.kernel, head)
    assert report.loaded == ["encoder/kernel", "encoder/bias"]
    assert set(report.skipped) == {"head/kernel", "head/bias", "scale/kernel", "scale/bias"}
    assert report.skipped["scale/bias"] == "the file has (4,) float32, the model (3,) float32"
    assert report.skipped["head/bias"].startswith("missing in the file")
    assert set(report.unused) == {"decoder/kernel", "decoder/bias"}
    text = str(report)
    assert repr(report) == f"<LoadReport of {path}: 2 loaded, 4 skipped, 2 unused>"
    assert text.splitlines()[0] == repr(report)
    assert len(text.splitlines()) == 1 + 8


def test_by_name_finds_layers_wherever_they_are(saved):
    source, path = saved
    model = tfkit.Sequential([tfkit.Input((4,)), layers.Dense(4, name="dec"), layers.Dense(4)])
    report = model.load_weights(path, by_name=True)
    equal(model.layers[0], source.decoder)
    assert report.loaded == ["dec/kernel", "dec/bias"]
    assert set(report.skipped) == {"dense/kernel", "dense/bias"}
    assert report.unused["encoder/kernel"] == "below no layer of that name"
    assert set(report.unused) == set(paths(source)) - {"decoder/kernel", "decoder/bias"}


def test_by_name_refuses_what_it_cannot_decide(saved):
    _, path = saved
    wide = Parts(units=5, a="enc", b="other")
    with pytest.raises(ValueError, match=r"a/kernel: the file has \(4, 4\).*, the model \(4, 5\)"):
        wide.load_weights(path, by_name=True)
    assert wide.load_weights(path, by_name=True, skip_mismatch=True).loaded == []
    with pytest.raises(ValueError, match=r"'dec' is the name of \['one', 'two'\]"):
        Parts(one="dec", two="dec").load_weights(path, by_name=True)
    with pytest.raises(ValueError, match=r"no layer of the same name.*'dec', 'enc'.*'x'"):
        Parts(one="x").load_weights(path, by_name=True)
    with pytest.raises(ValueError, match="cannot both"):
        Parts(one="dec").load_weights(path, by_name=True, rename={"a": "b"})


def test_rename_by_prefixes_and_by_a_function(saved):
    source, path = saved
    model = Parts(body=None, decoder=None, gain=None)
    model.load_weights(
        path, rename={"encoder": "body", "scale/kernel": "gain/kernel", "scale": "gain"}
    )
    equal(model.body, source.encoder)
    equal(model.gain, source.scale)
    outer = Parts(decoder=None)
    outer.inner = Parts(encoder=None, decoder=None, scale=None)
    outer.load_weights(path, skip_mismatch=True, rename={"": "inner"})
    equal(outer.inner.decoder, source.decoder)
    model = Parts(e=None, d=None, s=None)
    model.load_weights(path, rename=lambda stored: stored[0] + stored[stored.index("/") :])
    equal(model.s, source.scale)


def test_what_a_rename_must_not_do(saved):
    _, path = saved
    model = Parts(body=None)
    with pytest.raises(ValueError, match=r"begins with: \['encode'\]. \(is it encoder/bias\?\)"):
        model.load_weights(path, rename={"encode": "body"})
    with pytest.raises(ValueError, match=r"turns `\w+/bias` into 'x', which `\w+/bias` is already"):
        model.load_weights(path, rename=lambda stored: "x" if "bias" in stored else stored)
    with pytest.raises(ValueError, match="into None, which is not a path"):
        model.load_weights(path, rename=lambda stored: None)


def nets(keys):
    """A model with two trained layers in a dict, whose order is the order of building."""
    tfkit.utils.set_random_seed(1)

    @tfkit.saving.register_keras_serializable("load_weights")
    class Ordered(tfkit.Model):
        def __init__(self):
            super().__init__()
            self.parts = {key: layers.Dense(4) for key in Ordered.order}
            self.seen = tfkit.metrics.Sum()

        def call(self, x):
            self.seen.update_state(tf_abs_sum(x))
            return self.parts["one"](x) - 2.0 * self.parts["two"](x)

    Ordered.order = keys
    return Ordered


def tf_abs_sum(x):
    return tfkit.ops.sum(tfkit.ops.abs(x))


@tfkit.saving.register_keras_serializable("load_weights")
class Heavy(tfkit.optimizers.Optimizer):
    """As users write one."""

    def build(self, variables):
        super().build(variables)
        self.speeds = [self.add_variable_from_reference(v, "speed") for v in variables]

    def update_step(self, gradient, variable, learning_rate):
        speed = self.speeds[self._get_variable_index(variable)]
        self.assign(speed, 0.9 * speed - learning_rate * gradient)
        self.assign_add(variable, speed)


@pytest.mark.parametrize("optimizer", ["adam", "adafactor", "muon", Heavy(0.1)])
def test_slots_follow_their_weights_and_not_their_places(optimizer, tmp_path):
    model = nets(["one", "two"])()
    model.compile(optimizer, "mse", run_eagerly=True)
    model.fit(X, X, verbose=0, epochs=2, shuffle=False)
    model.save(tmp_path / "m.h5")
    nets(["two", "one"])
    loaded = tfkit.models.load_model(tmp_path / "m.h5")
    assert list(loaded.parts) == ["two", "one"]
    assert float(loaded.seen.result()) == float(model.seen.result()) > 0
    histories = [m.fit(X, X, verbose=0, epochs=2, shuffle=False).history for m in (model, loaded)]
    assert histories[0] == histories[1]
    for key in ("one", "two"):
        equal(model.parts[key], loaded.parts[key])


def test_an_optimizer_that_does_not_fit_is_an_error_that_names_its_slots(tmp_path, monkeypatch):
    path = tmp_path / "m.h5"
    model = tfkit.Sequential([tfkit.Input((4,)), layers.Dense(4)])
    model.compile(tfkit.optimizers.SGD(0.1, momentum=0.9), "mse", jit_compile=False)
    model.fit(X, X, verbose=0)
    monkeypatch.setattr(model, "get_compile_config", lambda: {"optimizer": "adam", "loss": "mse"})
    model.save(path)
    with pytest.raises(tfkit.saving.LoadError, match="slots/dense/kernel/velocity") as caught:
        tfkit.models.load_model(path)
    assert "compile=False" in str(caught.value)
    equal(tfkit.models.load_model(path, compile=False).layers[0], model.layers[0])


class Renamed(tfkit.Model):
    """Whose layers have other attributes than in older files, with the old ones as properties."""

    def __init__(self):
        super().__init__()
        self.encoder, self.head = Parts(first="first"), layers.Dense(4)
        self.head.build((None, 4))
        self.built = True

    @property
    def body(self):
        return self.encoder

    @property
    def units(self):
        return 4

    @property
    def broken(self):
        raise RuntimeError("whatever a property may raise")


def test_a_property_stands_for_the_layer_that_it_returns(tmp_path):
    class Older(tfkit.Model):
        def __init__(self):
            super().__init__()
            self.body, self.head = Parts(first="first"), layers.Dense(4)
            self.head.build((None, 4))
            self.built = True

    old, new = Older(), Renamed()
    old.save_weights(tmp_path / "old.weights.h5")
    report = new.load_weights(tmp_path / "old.weights.h5")
    assert sorted(report.loaded)[0] == "encoder/first/bias"
    equal(new.encoder.first, old.body.first)
    equal(new.head, old.head)


@pytest.mark.parametrize("name", ["units", "broken", "summary", "weights", "metrics", "head", "no"])
def test_a_property_that_returns_no_layer_stands_for_nothing(name):
    assert contents.moved_by_properties(Renamed(), [f"{name}/kernel"]) == {}
