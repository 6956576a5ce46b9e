"""Losses and metrics of `compile`, matched to outputs of every form, beside Keras."""

import collections

import keras
import numpy as np
import pytest

import tfkit

pytestmark = pytest.mark.usefixtures("eager_keras")

X = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")
ONE, TWO = X[:, :1] * 2, X[:, 1:3] + 1
LABELS = (X[:, 0] > 0).astype("int32") + (X[:, 1] > 0).astype("int32")


Pair = collections.namedtuple("Pair", "u v")


def make(framework, form):
    framework.utils.set_random_seed(1)

    class Outputs(framework.Model):
        def __init__(self):
            super().__init__()
            self.one, self.two = framework.layers.Dense(1), framework.layers.Dense(2)

        def call(self, x):
            return form(self.one(x), self.two(x))

    return Outputs()


FORMS = {
    "tuple": lambda one, two: (one, two),
    "dict": lambda one, two: {"u": one, "v": two},
    "named": lambda one, two: Pair(one, two),
    "tuples": lambda one, two: (one, (two, two * 2)),
    "deep": lambda one, two: {"u": [one, two], "v": two * 2},
    "list of one": lambda one, two: [two + one],
    "dict of one": lambda one, two: {"u": two + one},
}


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("tuple", {"loss": ["mse", "mae"], "metrics": [["mae"], ["mae", "mse"]]}),
        ("dict", {"loss": {"u": ["mse", "mae"], "v": "mse"}, "loss_weights": {"u": [1, 2], "v": 3}}),
        (
            "dict",
            {"loss": "mse", "metrics": {"u": ["mae", "mae"]}, "weighted_metrics": {"u": ["mae"]}},
        ),
        ("deep", {"loss": {"u": ["mse", "mae"], "v": "mse"}, "metrics": {"u": ["mae", "mse"], "v": "mae"}}),
        ("named", {"loss": Pair("mse", "mae"), "metrics": Pair("mae", ["mse"]), "loss_weights": (1, 2)}),
        ("named", {"loss": ["mse", "mae"], "weighted_metrics": [None, "mae"]}),
        ("tuples", {"loss": ("mse", ["mae", "mse"]), "metrics": ["mae", (None, ["mae", "mse"])]}),
        ("deep", {"loss": ["mse", "mae", "mape"]}),
        ("deep", {"loss": ("mse", None, "mape"), "metrics": {"u": [None, "mae"], "v": None}}),
        ("list of one", {"loss": ["mse"], "metrics": [["mae"]]}),
        ("dict of one", {"loss": {"u": "mse"}, "metrics": {"u": ["mae"]}}),
    ],
)  # fmt: skip
def test_results_have_the_names_and_values_of_keras(form, options):
    y = FORMS[form](ONE, TWO)
    results = []
    for framework in (tfkit, keras):
        model = make(framework, FORMS[form])
        model.compile("sgd", **options)
        weight = np.linspace(0, 1, 32)
        model.fit(X, y, epochs=1, shuffle=False, verbose=0, sample_weight=weight)
        results.append(model.evaluate(X, y, verbose=0, sample_weight=weight, return_dict=True))
    ours, theirs = results
    assert list(ours) == list(theirs)
    np.testing.assert_allclose([*ours.values()], [*theirs.values()], rtol=1e-5)


def branches(framework):
    framework.utils.set_random_seed(1)
    entry = framework.Input((4,))
    outputs = [framework.layers.Dense(n, name=name)(entry) for n, name in ((1, "b"), (2, "a"))]
    return framework.Model(entry, outputs)


def test_evaluate_gives_its_list_in_the_order_of_keras():
    results = []
    for framework in (tfkit, keras):
        model = branches(framework)
        named = framework.metrics.MeanAbsoluteError(name="named")
        model.compile("sgd", ["mse", "mae"], metrics=[["mse"], [named]])
        results.append(model.evaluate(X, [ONE, TWO], verbose=0))
        assert named.name == "named"
        assert model.metrics_names == ["loss", "compile_metrics", "b_loss", "a_loss"]
    np.testing.assert_allclose(*results, rtol=1e-5)


@pytest.mark.parametrize("losses", [["mse", None], [None, "mse"]])
def test_targets_only_for_the_outputs_that_have_a_loss(losses):
    y = ONE if losses[0] else TWO
    histories = []
    for framework in (tfkit, keras):
        model = branches(framework)
        model.compile("sgd", losses, metrics=[["mae"] if loss else None for loss in losses])
        with pytest.warns(UserWarning, match="Gradients do not exist"):
            histories.append(model.fit(X, [y], verbose=0, shuffle=False).history)
    ours, theirs = histories
    # Keras feeds the metrics of the second output with the predictions of the first.
    for name in theirs.keys() - {"a_mae"}:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-5)


def test_a_metric_in_both_lists_has_two_results():
    histories = []
    for framework in (tfkit, keras):
        framework.utils.set_random_seed(1)
        model = framework.Sequential([framework.Input((4,)), framework.layers.Dense(3)])
        model.compile("sgd", "mse", metrics=["mae", "mae"], weighted_metrics=["mae"])
        y, weight = np.eye(3)[LABELS], np.linspace(0, 1, 32)
        histories.append(model.fit(X, y, sample_weight=weight, shuffle=False, verbose=0).history)
    ours, theirs = histories
    assert set(ours) == {"loss", "mae", "mae_1", "weighted_mae"}
    for name, values in theirs.items():
        np.testing.assert_allclose(ours[name], values, rtol=1e-5)


@pytest.mark.parametrize(
    ("units", "y"), [(1, LABELS > 0), (3, LABELS), (3, np.eye(3)[LABELS])], ids=["b", "s", "c"]
)
def test_a_crossentropy_is_the_one_that_fits_the_shapes(units, y):
    losses = []
    for framework in (tfkit, keras):
        framework.utils.set_random_seed(1)
        activation = "sigmoid" if units == 1 else "softmax"
        model = framework.Sequential(
            [framework.Input((4,)), framework.layers.Dense(units, activation=activation)]
        )
        model.compile("sgd", "crossentropy")
        losses.append(model.evaluate(X, y.astype("float32"), verbose=0))
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_unknown_outputs_are_errors_as_in_keras():
    for framework in (tfkit, keras):
        model = make(framework, FORMS["dict"])
        model.compile("sgd", {"u": "mse", "w": "mse"})
        with pytest.raises(KeyError, match="w"):
            model.fit(X, {"u": ONE, "v": TWO}, verbose=0)
        model.compile("sgd", "mse", metrics={"w": "mse"})
        with pytest.raises(ValueError, match="w"):
            model.fit(X, {"u": ONE, "v": TWO}, verbose=0)


def test_weights_of_losses_for_one_output_are_numbers():
    model = tfkit.Sequential([tfkit.layers.Dense(1)])
    model.compile("sgd", "mse", loss_weights={"unknown": 2.0})
    with pytest.raises(
        ValueError, match=r"`loss_weights` has the keys \['unknown'\].* the number alone"
    ):
        model.fit(X, ONE, verbose=0)


def test_a_loss_is_a_metric():
    found = []
    for framework in (tfkit, keras):
        framework.utils.set_random_seed(1)
        loss = framework.losses.SparseCategoricalCrossentropy(from_logits=True)
        model = framework.Sequential([framework.Input((4,)), framework.layers.Dense(3)])
        model.compile("sgd", loss, metrics=[loss, framework.losses.MeanAbsoluteError(name="mae")])
        history = model.fit(X, LABELS[:, None], batch_size=10, shuffle=False, verbose=0).history
        found.append({name: values[0] for name, values in sorted(history.items())})
    assert found[0] == pytest.approx(found[1], rel=1e-5)
    assert set(found[0]) == {"loss", "mae", "sparse_categorical_crossentropy"}
