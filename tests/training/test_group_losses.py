"""Losses of several outputs at once, with names and numbers of Keras."""

import collections

import keras
import numpy as np
import pytest

import tfkit

pytestmark = pytest.mark.usefixtures("eager_keras")

X = np.linspace(-1, 1, 24).reshape(8, 3).astype("float32")
Y = [np.linspace(0, index + 1, 8)[:, None].astype("float32") for index in range(3)]
Pair = collections.namedtuple("Pair", "first second")


def distance(y, y_pred):
    """Takes nests: the sum of the absolute errors, twice that of the first output."""
    y, y_pred = keras.tree.flatten(y), keras.tree.flatten(y_pred)
    errors = [abs(a - b)[:, 0] for a, b in zip(y, y_pred, strict=True)]
    return sum(errors) + errors[0]


def history(package, form, loss, **compiled):
    x = package.Input((3,))
    init = package.initializers.Constant(0.3)
    outputs = [package.layers.Dense(1, name=f"y{i}", kernel_initializer=init)(x) for i in range(3)]
    model = package.Model(x, form(*outputs))
    model.compile(package.optimizers.SGD(0.01), loss, **compiled)
    fit = {"epochs": 2, "batch_size": 4, "shuffle": False, "verbose": 0}
    return model.fit(X, form(*Y), **fit).history


CASES = {
    "list for a tuple": (lambda a, b, c: (a, b), [distance, ("mse", "mae")], None),
    "tuple for a list": (lambda a, b, c: [a, b], (distance, ["mse", "mae"]), None),
    "list for a dict": (lambda a, b, c: {"u": a, "v": b}, [distance, {"v": "mae"}], None),
    "named tuple": (lambda a, b, c: Pair(a, b), [distance, Pair("mse", "mae")], None),
    "weights": (lambda a, b, c: (a, b), [distance, ("mse", "mae")], [0.5, (2.0, 3.0)]),
    "inside": (
        lambda a, b, c: {"u": (a, b), "v": c},
        {"u": [distance, (None, "mse")], "v": "mae"},
        None,
    ),
    "inside alone": (
        lambda a, b, c: {"u": (a, b), "v": c},
        {"u": distance, "v": "mae"},
        {"u": 0.5, "v": 2.0},
    ),
    "deep": (
        lambda a, b, c: {"u": [(a, b)], "v": {"w": (a, c)}},
        {"u": [[distance, (distance, None)]], "v": {"w": distance}},
        None,
    ),
}


@pytest.mark.parametrize(("form", "loss", "weights"), CASES.values(), ids=CASES)
def test_names_and_numbers_are_those_of_keras(form, loss, weights):
    ours = history(tfkit, form, loss, loss_weights=weights)
    theirs = history(keras, form, loss, loss_weights=weights)
    assert sorted(ours) == sorted(theirs)
    for name, values in theirs.items():
        np.testing.assert_allclose(ours[name], values, rtol=2e-6, err_msg=name)


@pytest.mark.parametrize(
    ("loss", "weights", "error", "message"),
    [
        (
            {"u": {"x": distance, "z": "mse"}},
            None,
            KeyError,
            "can't be found in the model's output",
        ),
        ({"u": {"x": "mse"}, "v": {"x": "mse"}}, None, KeyError, "can't be found in the model's"),
        ([distance, {"u": "mse"}], [1.0], ValueError, "must match the number of losses"),
    ],
)
def test_losses_that_do_not_fit(loss, weights, error, message):
    def form(a, b, c):
        return {"u": {"x": (a, b)}, "v": c}

    with pytest.raises(error, match=message):
        history(tfkit, form, loss, loss_weights=weights)


def test_a_loss_of_several_outputs_takes_one_weight_for_each_row():
    x = tfkit.Input((3,))
    outputs = tuple(tfkit.layers.Dense(1, name=f"y{i}")(x) for i in range(2))
    model = tfkit.Model(x, outputs)
    model.compile("sgd", [distance, ("mse", "mae")])
    targets, weight = tuple(Y[:2]), np.arange(8.0)
    weighted = model.evaluate(X, targets, sample_weight=weight, verbose=0, return_dict=True)
    plain = model.evaluate(X, targets, verbose=0, return_dict=True)
    values = np.array(distance(targets, [np.asarray(y) for y in model(X)]))
    assert weighted["y0_y1_loss"] == pytest.approx(np.mean(values * weight), rel=1e-6)
    assert plain["y0_y1_loss"] == pytest.approx(np.mean(values), rel=1e-6)
    with pytest.raises(ValueError, match="needs one `sample_weight` for all"):
        model.evaluate(X, targets, sample_weight=(weight, 2 * weight), verbose=0)
