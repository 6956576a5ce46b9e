"""Programs that use keras-rs: embeddings, crossings, retrieval, losses and metrics of rankings."""

import keras
import numpy as np
import pytest
from keras_rs import layers, losses, metrics

SCORES = np.array([[0.2, 0.9, 0.4, 0.1], [0.7, 0.3, 0.6, 0.5]], "float32")
RELEVANT = np.array([[0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]], "float32")


@pytest.mark.parametrize(
    "name",
    [
        *("ListMLELoss", "PairwiseHingeLoss", "PairwiseLogisticLoss", "PairwiseMeanSquaredError"),
        "PairwiseSoftZeroOneLoss",
    ],
)
@pytest.mark.parametrize("form", ["plain", "weighted", "masked"])
def test_a_loss(name, form, record_property):
    loss = getattr(losses, name)()
    labels = RELEVANT
    if form == "masked":
        labels = {"labels": RELEVANT, "mask": np.array([[True, True, True, False]] * 2)}
    weight = np.array([[1.0], [2.0]], "float32") if form == "weighted" else None
    value = float(loss(labels, SCORES, sample_weight=weight))
    assert np.isfinite(value)
    record_property("value", value)
    again = type(loss).from_config(loss.get_config())
    assert float(again(labels, SCORES, sample_weight=weight)) == value


@pytest.mark.parametrize(
    "name",
    ["DCG", "MeanAveragePrecision", "MeanReciprocalRank", "NDCG", "PrecisionAtK", "RecallAtK"],
)
@pytest.mark.parametrize("k", [None, 2])
def test_a_metric(name, k, record_property):
    if k is None and name.endswith("AtK"):
        k = 3
    metric = getattr(metrics, name)(k=k)
    metric.update_state(RELEVANT, SCORES)
    metric.update_state(RELEVANT[::-1].copy(), SCORES, sample_weight=np.array([[1.0], [0.5]]))
    record_property("value", float(metric.result()))
    metric.reset_state()
    assert float(metric.result()) == 0


@pytest.mark.parametrize("options", [{}, {"projection_dim": 2}, {"use_bias": False}], ids=str)
def test_crossings(options, tmp_path, record_property):
    keras.utils.set_random_seed(1)
    x = np.random.normal(size=(3, 4)).astype("float32")
    layer = layers.FeatureCross(**options)
    outputs = layer(x, x)
    record_property("mean", float(np.abs(outputs).mean()))
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layer(inputs, inputs))
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    np.testing.assert_allclose(loaded(x), model(x), rtol=1e-6)


@pytest.mark.parametrize("self_interaction", [False, True])
@pytest.mark.parametrize("skip_gather", [False, True])
def test_interactions(self_interaction, skip_gather, record_property):
    rows = [np.random.normal(size=(3, 4)).astype("float32") for _ in range(3)]
    layer = layers.DotInteraction(self_interaction=self_interaction, skip_gather=skip_gather)
    record_property("mean", float(np.abs(layer(rows)).mean()))


@pytest.mark.parametrize("combiner", ["mean", "sum", "sqrtn"])
@pytest.mark.parametrize("weighted", [False, True])
def test_reduced_embeddings(combiner, weighted, record_property):
    keras.utils.set_random_seed(1)
    layer = layers.EmbedReduce(10, 4, combiner=combiner)
    weights = [np.array([[1.0, 2.0], [0.5, 0.5]])] if weighted else []
    record_property("mean", float(np.abs(layer(np.array([[1, 2], [3, 3]]), *weights)).mean()))


def test_brute_force_retrieval(record_property):
    keras.utils.set_random_seed(1)
    candidates = np.random.normal(size=(9, 4)).astype("float32")
    layer = layers.BruteForceRetrieval(candidates, k=3)
    scores, ids = layer(candidates[:2])
    record_property("ids", np.asarray(ids).tolist())
    record_property("scores", np.asarray(scores).tolist())


def test_negatives():
    logits, labels = np.random.normal(size=(2, 6)).astype("float32"), np.eye(2, 6, dtype="float32")
    found, kept = layers.HardNegativeMining(2)(logits, labels)
    assert found.shape == kept.shape == (2, 3)
    corrected = layers.SamplingProbabilityCorrection()(logits, np.full(6, 0.5, "float32"))
    np.testing.assert_allclose(corrected, logits - np.log(0.5), rtol=1e-5)
    ids = np.array([1, 2, 1, 3, 4, 5])
    removed = layers.RemoveAccidentalHits()(logits, labels, ids)
    assert float(removed[0][2]) < -1e5


def tables():
    # The default initializer draws its seed when the package is imported.
    options = {"initializer": "uniform", "placement": "default_device"}
    movies = layers.TableConfig("movies", 20, 4, **options)
    users = layers.TableConfig("users", 30, 4, combiner="sum", **options)
    return {
        "movie": layers.FeatureConfig("movie", movies, (2, 3), (2, 4)),
        "user": layers.FeatureConfig("user", users, (2, 3), (2, 4)),
    }


@pytest.mark.parametrize("weighted", [False, True])
def test_distributed_embeddings(weighted, tmp_path, record_property):
    keras.utils.set_random_seed(1)
    layer = layers.DistributedEmbedding(tables())
    ids = {"movie": np.array([[1, 2, 3], [4, 5, 6]]), "user": np.array([[7, 8, 9], [1, 1, 1]])}
    weights = {name: np.full((2, 3), 0.5, "float32") for name in ids} if weighted else None
    outputs = layer(ids, weights)
    record_property("means", {name: float(np.abs(each).mean()) for name, each in outputs.items()})
    found = layer.get_embedding_tables()
    assert {name: tuple(each.shape) for name, each in found.items()} == {
        "movies": (20, 4),
        "users": (30, 4),
    }


def test_distributed_embeddings_are_trained(tmp_path, record_property):
    class Ranking(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = layers.DistributedEmbedding(tables())
            self.score = keras.layers.Dense(1)

        def call(self, ids):
            found = self.embedding(ids)
            return self.score(keras.ops.concatenate([found["movie"], found["user"]], axis=-1))

    def fitted(epochs):
        keras.utils.set_random_seed(2)
        model = Ranking()
        model.compile("adagrad", "mse")
        options = {"batch_size": 2, "shuffle": False, "verbose": 0}
        return model, model.fit(ids, y, epochs=epochs, **options).history["loss"]

    generator = np.random.default_rng(0)
    ids = {"movie": generator.integers(0, 20, (8, 3)), "user": generator.integers(0, 30, (8, 3))}
    y = ids["movie"][:, :1] / 20.0
    model, losses = fitted(3)
    assert losses[-1] < losses[0]
    record_property("losses", losses)
    expected = model.predict(ids, batch_size=2, verbose=0)
    record_property("scores", expected.tolist())
    model.save_weights(tmp_path / "m.weights.h5")
    other, _ = fitted(1)
    other.load_weights(tmp_path / "m.weights.h5")
    np.testing.assert_allclose(other.predict(ids, batch_size=2, verbose=0), expected, rtol=1e-5)


def test_a_ranking_model_is_trained(record_property):
    keras.utils.set_random_seed(1)
    users, movies = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
    vectors = [keras.layers.Embedding(10, 4)(users), keras.layers.Embedding(12, 4)(movies)]
    crossed = layers.FeatureCross()(keras.layers.Concatenate()(vectors))
    model = keras.Model([users, movies], keras.layers.Dense(1)(crossed))
    model.compile("adam", "mse", metrics=[keras.metrics.RootMeanSquaredError()])
    x = [np.arange(20) % 10, np.arange(20) % 12]
    history = model.fit(x, np.arange(20.0) / 20, batch_size=5, epochs=3, shuffle=False, verbose=0)
    record_property("losses", history.history["loss"])
