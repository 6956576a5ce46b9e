"""Programs that use scikeras: networks as estimators of scikit-learn."""

import pickle

import keras
import numpy as np
import pytest
from scikeras.wrappers import KerasClassifier, KerasRegressor
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, BaggingRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X = np.random.default_rng(0).normal(size=(80, 4)).astype("float32")
CLASSES = (X.sum(axis=1) > 0).astype("int64") + (X[:, 0] > 1)
NAMES = np.array(["a", "b", "c"])[CLASSES]
Y = X @ np.arange(4.0)


def network(meta, hidden=8):
    model = keras.Sequential(
        [keras.Input((meta["n_features_in_"],)), keras.layers.Dense(hidden, "relu")]
    )
    if meta["target_type_"] == "multiclass":
        model.add(keras.layers.Dense(meta["n_classes_"], "softmax"))
    elif meta["target_type_"] == "binary":
        model.add(keras.layers.Dense(1, "sigmoid"))
    else:
        model.add(keras.layers.Dense(meta.get("n_outputs_", 1)))
    return model


def classifier(**options):
    defaults = {
        "loss": "sparse_categorical_crossentropy",
        "epochs": 5,
        "verbose": 0,
        "random_state": 1,
        "fit__shuffle": False,
    }
    return KerasClassifier(network, **{**defaults, **options})


def regressor(**options):
    defaults = {
        "loss": "mse",
        "optimizer": "adam",
        "epochs": 5,
        "verbose": 0,
        "random_state": 1,
        "fit__shuffle": False,
    }
    return KerasRegressor(network, **{**defaults, **options})


@pytest.mark.parametrize("labels", [CLASSES, NAMES], ids=["integers", "names"])
def test_classification(labels, record_property):
    model = classifier(optimizer="adam", optimizer__learning_rate=0.05).fit(X, labels)
    assert set(model.predict(X)) <= set(labels)
    assert model.predict_proba(X).shape == (80, 3)
    assert model.score(X, labels) > 0.5
    record_property("losses", model.history_["loss"])


def test_two_classes():
    labels = CLASSES > 0
    model = classifier(loss="binary_crossentropy", optimizer="sgd").fit(X, labels)
    assert model.predict_proba(X).shape == (80, 2)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-5)


def test_regression(record_property):
    model = regressor(model__hidden=16, metrics=["mae"]).fit(X, Y)
    assert model.predict(X).shape == (80,)
    record_property("losses", model.history_["loss"])
    several = regressor().fit(X, np.stack([Y, -Y], axis=1))
    assert several.predict(X).shape == (80, 2)


@pytest.mark.parametrize(
    "options",
    [
        {"optimizer": keras.optimizers.SGD, "optimizer__learning_rate": 0.1},
        {"loss": keras.losses.MeanAbsoluteError},
        {"metrics": [keras.metrics.MeanSquaredError]},
        {"callbacks": keras.callbacks.EarlyStopping, "callbacks__monitor": "loss"},
        {"callbacks": [keras.callbacks.LearningRateScheduler(lambda epoch: 0.01)]},
        {"fit__batch_size": 10, "predict__batch_size": 7},
        {"validation_split": 0.2},
    ],
    ids=lambda options: "-".join(options),
)
def test_options_are_routed(options):
    model = regressor(**options).fit(X, Y)
    assert np.isfinite(model.predict(X)).all()


def test_searches_and_pipelines():
    search = GridSearchCV(
        make_pipeline(StandardScaler(), regressor()),
        {"kerasregressor__model__hidden": [2, 4]},
        cv=2,
    ).fit(X, Y)
    assert search.best_params_["kerasregressor__model__hidden"] in (2, 4)
    assert len(cross_val_score(classifier(optimizer="sgd"), X, CLASSES, cv=2)) == 2


def test_ensembles():
    bagged = BaggingRegressor(regressor(), n_estimators=2, random_state=0).fit(X, Y)
    assert bagged.predict(X).shape == (80,)
    boosted = AdaBoostClassifier(classifier(optimizer="adam"), n_estimators=2, random_state=0)
    assert boosted.fit(X, CLASSES).predict(X).shape == (80,)


def test_copies_and_pickles():
    model = regressor().fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-5)
    copied = clone(model)
    assert not hasattr(copied, "model_")


def test_training_goes_on():
    model = regressor(warm_start=True).fit(X, Y)
    first = model.history_["loss"][-1]
    model.fit(X, Y)
    assert model.history_["loss"][-1] < first
    model.partial_fit(X, Y)
    assert len(model.history_["loss"]) == 11


def test_weights_of_rows_and_classes():
    regressor().fit(X, Y, sample_weight=np.linspace(0, 1, 80))
    model = classifier(optimizer="adam", class_weight="balanced").fit(X, CLASSES)
    assert model.predict(X).shape == (80,)


def test_the_same_seed_gives_the_same_model():
    one, other = regressor().fit(X, Y), regressor().fit(X, Y)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-6)
