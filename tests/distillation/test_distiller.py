"""`Distiller` and its losses, beside Keras's, and beside the formula."""

import copy

import keras
import numpy as np
import pytest
from keras import distillation as oracle

import tfkit
from tfkit import distillation, layers
from tfkit.distillation import Distiller, FeatureDistillation, LogitsDistillation

DRAWS = np.random.default_rng(0)
T, S = DRAWS.normal(size=(2, 4, 5)).astype("float32")
X = DRAWS.normal(size=(12, 3)).astype("float32")
Y = DRAWS.integers(0, 5, 12)


def probabilities(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def model(library, width, classes=5, size=3, name=None):
    hidden = library.layers.Dense(width, activation="tanh", name="hidden")
    scores = library.layers.Dense(classes, name="scores")
    return library.Sequential([library.Input((size,)), hidden, scores], name=name)


def with_weights(seed, *models):
    """Gives models the same weights."""
    draws = np.random.default_rng(seed)
    values = [draws.normal(size=weight.shape) for weight in models[0].weights]
    for each in models:
        each.set_weights(values)


def labels_loss(library):
    return library.losses.SparseCategoricalCrossentropy(from_logits=True)


@pytest.mark.parametrize("loss", ["kl_divergence", "categorical_crossentropy", "logits"])
def test_softened_probabilities_are_compared(loss):
    """Keras gives its losses the logits in place of probabilities."""
    t, s = probabilities(T / 2), probabilities(S / 2)
    expected = {"kl_divergence": np.sum(t * np.log(t / s), axis=-1).mean()}
    expected["categorical_crossentropy"] = expected["logits"] = -np.sum(t * np.log(s), -1).mean()
    given = tfkit.losses.CategoricalCrossentropy(from_logits=True) if loss == "logits" else loss
    found = LogitsDistillation(2.0, given).compute_loss(T, S)
    np.testing.assert_allclose(found, 4 * expected[loss], rtol=1e-5)


@pytest.mark.parametrize(
    ("loss", "outputs"),
    [
        ("mse", lambda x: x),
        ("cosine_similarity", lambda x: x),
        (["mse", "mae"], lambda x: [x, x**2]),
        (["mse", None], lambda x: [x, x**2]),
        ({"a": "mse", "b": "mae"}, lambda x: {"a": x, "b": x**2}),
    ],
    ids=["mse", "cosine", "list", "some", "dict"],
)
def test_features_are_compared_as_in_keras(loss, outputs):
    found = FeatureDistillation(loss).compute_loss(outputs(T), outputs(S))
    expected = oracle.FeatureDistillation(loss).compute_loss(outputs(T), outputs(S))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def trained(library, losses, **options):
    """A distiller, and what it logs."""
    models = model(library, 8, name="teacher"), model(library, 4, name="student")
    for seed, each in enumerate(models):
        with_weights(seed, each)
    distiller = library.distillation.Distiller(*models, losses, **options)
    distiller.compile("sgd", labels_loss(library), metrics=["accuracy"])
    fit = distiller.fit(
        X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0, validation_data=(X, Y)
    )
    return distiller, fit.history


@pytest.mark.parametrize("names", [(None, None), ("scores", "scores")])
@pytest.mark.parametrize("weights", [[1.0, 0.5], [2.0]])
def test_a_student_is_trained_as_in_keras(names, weights):
    results = [
        trained(
            library,
            [library.distillation.FeatureDistillation("mse", *names)] * len(weights),
            distillation_loss_weights=weights,
            student_loss_weight=0.3,
        )
        for library in (tfkit, keras)
    ]
    (ours, history), (theirs, expected) = results
    assert history.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(history[name], values, rtol=1e-5, err_msg=name)
    for got, wanted in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)
    assert ours.trainable_variables == ours.student.trainable_variables
    np.testing.assert_allclose(ours.predict(X, verbose=0), ours.student.predict(X, verbose=0))


def test_a_student_comes_near_its_teacher_without_labels():
    teacher, student = model(tfkit, 8), model(tfkit, 8)
    distiller = Distiller(teacher, student, LogitsDistillation(2.0))
    distiller.compile(tfkit.optimizers.Adam(0.05))
    losses = distiller.fit(X, batch_size=4, epochs=40, verbose=0).history["distillation_loss"]
    assert losses[-1] < 0.05 * losses[0]


def test_a_distiller_is_saved_copied_and_goes_on(tmp_path):
    losses = [
        LogitsDistillation(2.0, ["categorical_crossentropy"]),
        FeatureDistillation(tfkit.losses.Huber(0.5), "scores", "scores"),
    ]
    distiller, _ = trained(tfkit, losses, student_loss_weight=0.2)
    expected = distiller.evaluate(X, Y, verbose=0)
    for name in ("d.h5", "d.keras"):
        distiller.save(tmp_path / name)
        loaded = tfkit.models.load_model(tmp_path / name)
        assert loaded.student_loss_weight == 0.2
        np.testing.assert_allclose(loaded.evaluate(X, Y, verbose=0), expected, rtol=1e-6)
    copied = copy.deepcopy(distiller)
    before = distiller.get_weights()
    copied.fit(X, Y, verbose=0)
    for got, wanted in zip(distiller.get_weights(), before, strict=True):
        np.testing.assert_array_equal(got, wanted)


class Subclassed(tfkit.Model):
    def __init__(self):
        super().__init__()
        self.scores = layers.Dense(5)

    def call(self, inputs):
        return self.scores(inputs)


def test_a_student_may_be_a_subclassed_model():
    student = Subclassed()
    distiller = Distiller(model(tfkit, 8), student, LogitsDistillation())
    distiller.compile("sgd", labels_loss(tfkit))
    assert len(distiller.fit(X, Y, epochs=2, verbose=0).history["loss"]) == 2
    with pytest.raises(ValueError, match="needs a functional or sequential model"):
        Distiller(model(tfkit, 8), student, FeatureDistillation("mse", "scores", "scores"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LogitsDistillation(0.0), "temperature=0.0"),
        (lambda: LogitsDistillation("a"), "'a'"),
        (lambda: LogitsDistillation(loss=[None]), "at least"),
        (lambda: FeatureDistillation(loss="nope"), "nope"),
        (lambda: LogitsDistillation().compute_loss(T, S[:, :3]), r"\(4, 5\).*\(4, 3\)"),
        (lambda: LogitsDistillation().compute_loss(T[:, :1], S[:, :1]), "two classes"),
        (lambda: LogitsDistillation(loss=["mse"]).compute_loss([T, T], [S, S]), "1 losses and 2"),
        (lambda: LogitsDistillation().validate_outputs(T, {"scores": S}), "same form"),
        (
            lambda: FeatureDistillation({"a": "mse", "c": "mae"}).compute_loss(
                {"a": T, "b": T}, {"a": S, "b": S}
            ),
            "same form.*'c'.*'b'",
        ),
        (lambda: FeatureDistillation().compute_loss({"a": T}, {"b": S}), "same form"),
        (lambda: FeatureDistillation().compute_loss([T, [T]], [S, S]), "same form"),
        (lambda: distiller_of(losses=[]), "at least one"),
        (lambda: distiller_of(losses="kl"), "'kl'"),
        (lambda: distiller_of(student=3), "`student` must be a model"),
        (lambda: distiller_of(student=model(tfkit, 4, classes=2)), "from the student"),
        (lambda: distiller_of(student=model(tfkit, 4, size=2)), "the same inputs"),
        (lambda: distiller_of(student_loss_weight=2.0), "student_loss_weight=2.0"),
        (lambda: distiller_of(distillation_loss_weights=[1, 2]), "2 weights for 1 losses"),
        (lambda: distiller_of(FeatureDistillation("mse", "hidden", "hidden")), r"8.*4"),
        (lambda: distiller_of(FeatureDistillation("mse", "none", "scores")), "none"),
    ],
)
def test_errors_say_what_was_expected(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_a_teacher_is_not_its_own_student():
    both = model(tfkit, 4, name="both")
    with pytest.raises(ValueError, match="'both' for both"):
        Distiller(both, both, LogitsDistillation())
    assert both.trainable


def distiller_of(losses=None, student=None, **options):
    losses = LogitsDistillation() if losses is None else losses
    student = model(tfkit, 4) if student is None else student
    teacher = model(tfkit, 8)
    try:
        return Distiller(teacher, student, losses, **options)
    except (TypeError, ValueError):
        assert teacher.trainable  # Nothing has changed after a refused call.
        raise


def test_models_that_are_not_built_are_built_by_the_first_batch(tmp_path):
    teacher, student = (tfkit.Sequential([layers.Dense(5)]) for _ in range(2))
    distiller = Distiller(teacher, student, LogitsDistillation())
    distiller.compile("sgd", labels_loss(tfkit))
    distiller.fit(X, Y, verbose=0)
    assert len(teacher.weights) == len(distiller.trainable_weights) == 2
    distiller.save(tmp_path / "distiller.keras")
    loaded = tfkit.models.load_model(tmp_path / "distiller.keras")
    np.testing.assert_array_equal(loaded.teacher(X), teacher(X))


def test_a_loss_of_a_user_is_used():
    class Distance(distillation.DistillationLoss):
        def compute_loss(self, teacher_outputs, student_outputs, **kwargs):
            return tfkit.ops.mean(tfkit.ops.abs(teacher_outputs - student_outputs))

    _, history = trained(tfkit, Distance(), student_loss_weight=0.0)
    np.testing.assert_allclose(history["loss"], history["distillation_loss"])


class Counter(layers.Layer):
    def build(self, input_shape):
        self.calls = self.add_weight((), "zeros", trainable=False)

    def call(self, x):
        self.calls.assign_add(1.0)
        return x


def counted():
    """A student that counts its calls, and drops entries behind a normalization."""
    parts = [layers.Dense(8), Counter(), layers.BatchNormalization(), layers.Dropout(0.5, seed=1)]
    hidden = layers.Dense(8, name="hidden")
    return tfkit.Sequential([tfkit.Input((3,)), *parts, hidden, layers.Dense(5, name="scores")])


@pytest.mark.parametrize("options", [{"run_eagerly": True}, {"jit_compile": True}, {}], ids=str)
def test_a_step_runs_the_student_once(options):
    """Keras's runs it twice: with other draws, and with moving averages that move twice."""
    student = counted()
    loss = FeatureDistillation("mse", "hidden", "hidden")
    distiller = Distiller(model(tfkit, 8), student, [loss, LogitsDistillation()])
    distiller.compile("sgd", labels_loss(tfkit), **options)
    mean = (X @ student.weights[0].numpy()).mean(axis=0)
    distiller.train_on_batch(X, Y)
    _, counter, normalization, *_ = student.layers
    assert float(counter.calls) == 1
    np.testing.assert_allclose(normalization.moving_mean, 0.01 * mean, rtol=1e-4, atol=1e-7)
    distiller.fit(X, Y, batch_size=4, verbose=0)
    assert float(counter.calls) == 4


def test_features_and_outputs_have_the_same_draws():
    """The last layer gives the outputs: both losses are one, and their weights cancel them."""
    student, teacher = counted(), counted()
    of_features = FeatureDistillation("mse", "scores", "scores")
    losses = [of_features, FeatureDistillation("mse")]
    distiller = Distiller(teacher, student, losses, [1.0, -1.0], student_loss_weight=0.0)
    distiller.compile(tfkit.optimizers.SGD(0.0))
    logs = distiller.train_on_batch(X, return_dict=True)
    assert abs(logs["distillation_loss"]) < 1e-6


def test_a_student_with_a_call_of_its_own_or_a_penalty_is_called():
    class Doubled(tfkit.Sequential):
        def call(self, inputs, training=None, mask=None):
            return 2 * super().call(inputs, training=training)

    inside = [tfkit.Input((3,)), layers.Dense(8, name="hidden"), layers.Dense(5, name="scores")]
    penalized = model(tfkit, 8)
    penalized.activity_regularizer = tfkit.regularizers.L2(1.0)
    for student, factor, penalty in ((Doubled(inside), 2, 0), (penalized, 1, 1)):
        loss = FeatureDistillation("mse", "hidden", "hidden")
        distiller = Distiller(model(tfkit, 8), student, loss, student_loss_weight=1.0)
        distiller.compile(tfkit.optimizers.SGD(0.0), "mse")
        outputs = factor * tfkit.Model(student.inputs, student.outputs)(X).numpy()
        logs = distiller.train_on_batch(X, np.zeros_like(outputs), return_dict=True)
        expected = (outputs**2).mean() + penalty * (outputs**2).sum() / len(X)
        np.testing.assert_allclose(logs["loss"], expected, rtol=1e-5)
