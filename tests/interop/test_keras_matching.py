"""Which weight of a Keras file goes where: by name, by order where that is certain, or not at all."""

import h5py
import keras
import numpy as np
import pytest

import tfkit
from tfkit.interop import keras as exchange
from tfkit.saving import LoadError

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
X = np.random.default_rng(0).normal(size=(2, 4)).astype("float32")


def pair(framework, keys, kind, named=False):
    """A model with two members of the same shapes, made in the order of `keys`."""

    class Pair(framework.Model):
        def __init__(self):
            super().__init__()
            made = {
                key: framework.layers.Dense(4, name=f"name_{key}" if named else None)
                for key in keys
            }
            if kind == "dict":
                self.held = made
            elif (
                kind == "attributes"
            ):  # Which Keras files under "layers", by the order of creation.
                for key in keys:
                    setattr(self, f"p{key}", made[key])
            elif kind == "list":
                self.held = [made["a"], made["b"]]
            elif kind == "late list":  # Filed under "layers", too.
                self.stack = [made["a"], made["b"]]
            elif kind == "weights":
                for key in keys:
                    weight = self.add_weight(shape=(4,), name=f"name_{key}" if named else key)
                    setattr(self, f"w{key}", weight)

        def call(self, x):
            if kind == "weights":
                return x * self.wa - 2 * x * self.wb
            if kind == "attributes":
                return self.pa(x) - 2 * self.pb(x)
            held = self.stack if kind == "late list" else self.held
            a, b = (held[key] for key in ("ab" if kind == "dict" else (0, 1)))
            return a(x) - 2 * b(x)

    model = Pair()
    model(X)
    return model


def assert_same(actual, expected):
    np.testing.assert_allclose(actual(X), np.asarray(expected(X)), rtol=1e-6, atol=1e-6)


SWAPPABLE = {
    "dict": {"held/dense": "held/a", "held/dense_1": "held/b"},
    "attributes": {"layers/dense": "pa", "layers/dense_1": "pb"},
    "weights": {"vars/0": "wa", "vars/1": "wb"},
}


@pytest.mark.parametrize("kind", SWAPPABLE)
def test_what_could_be_swapped_is_refused_until_someone_says_which_is_which(kind, tmp_path):
    path = tmp_path / "m.weights.h5"
    theirs = pair(keras, "ab", kind)
    theirs.save_weights(path)
    ours = pair(tfkit, "ba", kind)
    before = ours.get_weights()
    with pytest.raises(LoadError, match=r"(?s)m\.weights\.h5.*could be swapped.*rename="):
        ours.load_weights(path)
    for now, then in zip(ours.get_weights(), before, strict=True):
        np.testing.assert_array_equal(now, then)
    exchange.load_weights(ours, path, rename=SWAPPABLE[kind])
    assert_same(ours, theirs)
    same = pair(tfkit, "ab", kind)
    exchange.load_weights(same, path, same_order=True)
    assert_same(same, theirs)


@pytest.mark.parametrize("kind", ["dict", "attributes"])
def test_names_decide(kind, tmp_path):
    theirs = pair(keras, "ab", kind, named=True)
    theirs.save_weights(tmp_path / "m.weights.h5")
    ours = pair(tfkit, "ba", kind, named=True)
    ours.load_weights(tmp_path / "m.weights.h5")
    assert_same(ours, theirs)


def test_places_in_lists_and_stacks_are_certain(tmp_path):
    for kind in ("list", "late list"):
        theirs = pair(keras, "ba", kind)
        theirs.save_weights(tmp_path / "m.weights.h5")
        ours = pair(tfkit, "ab", kind)
        ours.load_weights(tmp_path / "m.weights.h5")
        assert_same(ours, theirs)
    stacks = [
        framework.Sequential(
            [framework.Input((4,)), *(framework.layers.Dense(4) for _ in range(3))]
        )
        for framework in (keras, tfkit)
    ]
    stacks[0].save_weights(tmp_path / "m.weights.h5")
    stacks[1].load_weights(tmp_path / "m.weights.h5")
    assert_same(stacks[1], stacks[0])
    exchange.save_weights(stacks[1], tmp_path / "ours.weights.h5")
    stacks[0].set_weights([np.zeros_like(w) for w in stacks[0].get_weights()])
    stacks[0].load_weights(tmp_path / "ours.weights.h5")
    assert_same(stacks[1], stacks[0])


def test_what_does_not_fit_is_listed_and_nothing_changes(tmp_path):
    def stack(framework, *sizes):
        layers = [framework.layers.Dense(size) for size in sizes]
        return framework.Sequential([framework.Input((4,)), *layers])

    stack(keras, 4, 3, 2).save_weights(tmp_path / "m.weights.h5")
    ours = stack(tfkit, 4, 5)
    before = ours.get_weights()
    with pytest.raises(LoadError) as caught:
        ours.load_weights(tmp_path / "m.weights.h5")
    message = str(caught.value)
    assert "m.weights.h5" in message
    assert "layers/dense_1/vars/0: the file has (4, 3) float32, the model (4, 5)" in message
    assert "not in the model:     layers/dense_2/vars/0 (3, 2) float32" in message
    for now, then in zip(ours.get_weights(), before, strict=True):
        np.testing.assert_array_equal(now, then)
    report = ours.load_weights(tmp_path / "m.weights.h5", skip_mismatch=True)
    assert len(report.loaded) == len(report.skipped) == len(report.unused) == 2
    assert report.skipped["dense_1/bias"] == "the file has (3,) float32, the model (5,) float32"
    with h5py.File(tmp_path / "m.weights.h5") as file:
        np.testing.assert_array_equal(ours.get_weights()[0], file["layers/dense/vars/0"])
    np.testing.assert_array_equal(ours.get_weights()[2], before[2])


def test_a_rename_that_names_nothing_is_refused(tmp_path):
    theirs = pair(keras, "ab", "dict")
    theirs.save_weights(tmp_path / "m.weights.h5")
    with pytest.raises(LoadError, match=r"'held/c'.*no such layer or weight"):
        exchange.load_weights(
            pair(tfkit, "ab", "dict"),
            tmp_path / "m.weights.h5",
            rename={"held/dense": "held/c"},
        )


def test_what_keras_cannot_hold_is_refused_in_writing(tmp_path):
    model = pair(tfkit, "ab", "dict")
    with pytest.raises(ValueError, match=r"must end in `\.weights\.h5`"):
        exchange.save_weights(model, tmp_path / "m.h5")
    with pytest.raises(ValueError, match="no weights yet"):
        exchange.save_weights(tfkit.Sequential([tfkit.layers.Dense(1)]), tmp_path / "m.weights.h5")
    with pytest.raises(FileNotFoundError):
        exchange.save_weights(model, tmp_path / "no" / "m.weights.h5")
    assert not list(tmp_path.iterdir())


def test_two_layers_with_one_path_are_refused_in_writing(tmp_path):
    """Keras fails as well; one of them would be lost."""

    class Dense_1(tfkit.layers.Dense):
        pass

    model = pair(tfkit, "ab", "list")
    model.held.append(Dense_1(4))
    model.held[2].build((None, 4))
    for save in (exchange.save_weights, exchange.save_model):
        name = "m.weights.h5" if save is exchange.save_weights else "m.keras"
        with pytest.raises(ValueError, match=r"their path there is 'held/dense_1'.*save to `.h5`"):
            save(model, tmp_path / name)
    assert not list(tmp_path.iterdir())
