"""Models as estimators of scikit-learn: its own checks, those that say most, and what the estimators do."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6", reason="pip install 'tfkit-dl[sklearn]'")
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import tfkit as keras
from tfkit.wrappers import SKLearnClassifier, SKLearnRegressor, SKLearnTransformer

# All of them take minutes; these are the ones that most depend on the estimators.
CHECKS = [
    "check_dtype_object",
    "check_estimators_pickle",
    "check_n_features_in",
    "check_classifiers_regression_target",
    "check_transformer_preserve_dtypes",
    "check_supervised_y_no_nan",
    "check_estimators_unfitted",
    "check_dont_overwrite_attributes",
    "check_get_params_invariance",
    "check_set_params",
    "check_no_attributes_set_in_init",
    "check_requires_y_none",
    "check_fit1d",
    "check_do_not_raise_errors_in_init_or_set_param",
]
X = np.random.default_rng(0).random((30, 4))
Y = X.sum(axis=1)
LABELS = np.array(["a", "b", "c"] * 10)


def net(X, y, loss="mse", width=4):
    outputs = 1 if y is None or y.ndim == 1 else y.shape[1]
    last = keras.layers.Dense(outputs, activation="softmax" if outputs > 1 else None)
    model = keras.Sequential([keras.Input(X.shape[1:]), keras.layers.Dense(width, "relu"), last])
    # XLA would compile a program for each of the many shapes of the checks.
    model.compile("sgd", loss=loss, jit_compile=False)
    return model


def estimators():
    quiet = {"verbose": 0}
    loss = {"loss": "categorical_crossentropy"}
    yield SKLearnClassifier(net, model_kwargs=loss, fit_kwargs=quiet)
    yield SKLearnRegressor(net, fit_kwargs=quiet)
    yield SKLearnTransformer(net, fit_kwargs=quiet)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_checks_of_scikit_learn(kind):
    estimator = list(estimators())[kind]
    names = []
    for copied, check in estimator_checks_generator(estimator, legacy=True):
        name = getattr(check, "func", check).__name__
        if name in CHECKS:
            names.append(name)
            check(copied)
    assert len(set(names)) > 7


def test_classes_are_labels():
    classifier = next(estimators()).fit(X, LABELS, epochs=2)
    assert classifier.classes_.tolist() == ["a", "b", "c"]
    assert classifier.epoch_ == 2
    assert classifier.fit_kwargs == {"verbose": 0}
    scores = classifier.decision_function(X)
    assert scores.shape == (30, 3)
    assert (classifier.predict(X) == classifier.classes_[scores.argmax(1)]).all()
    assert 0 <= classifier.score(X, LABELS) <= 1


def test_a_model_is_cloned_and_a_warm_start_goes_on():
    model = net(X, None)
    before = model.get_weights()
    cold = SKLearnRegressor(model, fit_kwargs={"verbose": 0}).fit(X, Y)
    for weight, value in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight, value)
    first = cold.model_
    assert first is not model
    assert cold.fit(X, Y).model_ is not first
    warm = SKLearnRegressor(model, warm_start=True, fit_kwargs={"verbose": 0}).fit(X, Y)
    first = warm.model_
    assert warm.fit(X, Y).model_ is first
    assert cold.predict(X).shape == (30,)
    assert SKLearnTransformer(model).fit(X, Y, verbose=0).transform(X).shape == (30, 1)


def test_pipelines_are_pickled_and_cloned():
    pipeline = make_pipeline(StandardScaler(), list(estimators())[1]).fit(X, Y)
    other = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(other.predict(X), pipeline.predict(X))
    with pytest.raises(NotFittedError):
        clone(pipeline).predict(X)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        ("net", TypeError, "`model` must be a compiled model, or a function"),
        (lambda X, y: 3, TypeError, "must give a compiled model"),
        (
            lambda X, y: keras.Sequential([keras.layers.Dense(1)]),
            RuntimeError,
            "needs to be compiled",
        ),
    ],
)
def test_models_that_are_refused(model, error, message):
    with pytest.raises(error, match=message):
        SKLearnRegressor(model).fit(X, Y)
