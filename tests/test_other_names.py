"""Names of older versions and other libraries, and values that cannot be meant."""

import copy
import pickle

import numpy as np
import pytest
import tensorflow as tf

import tfkit

X = np.random.RandomState(0).rand(16, 4).astype("float32")
Y = X.sum(axis=1, keepdims=True)


def mlp(loss="mse", units=1, **options):
    model = tfkit.Sequential(
        [tfkit.Input((4,)), tfkit.layers.Dense(units, activation="softmax" if units > 1 else None)]
    )
    model.compile("sgd", loss, **options)
    return model


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (lambda: tfkit.layers.Dense(4, init="uniform"), "`init` is called `kernel_initializer`"),
        (lambda: tfkit.layers.Dense(output_dim=4), "`output_dim` is called `units`"),
        (
            lambda: tfkit.layers.Conv2D(nb_filter=4, kernel_size=3),
            "`nb_filter` is called `filters`",
        ),
        (lambda: tfkit.layers.LSTM(4, batch_first=True), "The batch is always the first axis"),
        (lambda: tfkit.layers.Dropout(p=0.5), "`p` is called `rate`"),
        (lambda: tfkit.optimizers.Adam(eps=1e-8), "`eps` is called `epsilon`"),
        (lambda: tfkit.optimizers.Adam(lr=0.1), "`lr` is called `learning_rate`"),
        (lambda: mlp().fit(X, Y, nb_epoch=3), "`nb_epoch` is called `epochs`"),
        (lambda: tfkit.ops.cat([X, X]), "It is called `concatenate`"),
        (lambda: mlp().fit_generator(iter([])), "accepts generators as well"),
        (lambda: mlp().parameters(), "`trainable_variables`"),
        (lambda: mlp().optimizer.lr, "It is called `learning_rate`"),
        (lambda: tfkit.Dense(1), "It is `tfkit.layers.Dense`"),
        (lambda: tfkit.Input((4,)).view(-1), "`ops.reshape"),
    ],
)
def test_names_of_other_libraries_are_explained(make, advice):
    with pytest.raises((ValueError, TypeError, AttributeError)) as caught:
        make()
    assert advice in str(caught.value)


def test_input_and_output_of_a_model():
    i = tfkit.Input((4,))
    o = tfkit.layers.Dense(1)(i)
    with pytest.raises(
        ValueError, match=r"`input` is called `inputs`\. `output` is called `outputs`"
    ):
        tfkit.Model(input=i, output=o)
    with pytest.raises(ValueError, match="`output` is called `outputs`"):
        tfkit.Model(i, output=o)


def test_no_name_is_guessed_that_is_not_similar():
    with pytest.raises(ValueError, match=r"passed to Dense: \{'zzz': 1\}\.$"):
        tfkit.layers.Dense(4, zzz=1)


def test_users_may_have_these_names():
    class Own(tfkit.layers.Layer):
        def __init__(self, p, init=None):
            super().__init__()
            self.p = p

        def train(self):
            return self.p

        def call(self, inputs):
            return inputs

    class Rate(tfkit.optimizers.SGD):
        def __init__(self, lr=-1.0):
            super().__init__(0.1)
            self.lr, self.beta_1 = lr, 9

    assert Own(p=0.5, init=1).p == 0.5
    assert Rate().lr == -1.0
    layer = Own(1)
    layer.parameters = 3
    assert layer.parameters == 3
    assert not hasattr(Own(1), "state_dict")
    assert not hasattr(mlp(), "fit_generator")


def test_names_in_modules_show_the_users_line_alone():
    for make in (lambda: tfkit.layers.Linear, lambda: tfkit.ops.cat, lambda: tfkit.nothing_here):
        with pytest.raises(AttributeError) as caught:
            make()
        files = {frame.path.name for frame in caught.traceback}
        assert files == {"test_other_names.py"}


@pytest.mark.parametrize(
    "options",
    [
        {"learning_rate": -0.1},
        {"learning_rate": float("nan")},
        {"beta_1": 9},
        {"beta_2": 1.0},
        {"beta_2": -0.5},
        {"epsilon": -1e-7},
        {"weight_decay": -0.1},
        {"clipnorm": -1.0},
    ],
)
def test_values_that_an_optimizer_cannot_work_with(options):
    (name,) = options
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        tfkit.optimizers.Adam(**options)


def test_values_that_an_optimizer_accepts():
    for rate in (0.0, lambda: 0.1, tfkit.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)):
        tfkit.optimizers.Adam(rate, beta_1=0.0, epsilon=0.0, weight_decay=0.0)


def test_attributes_of_an_optimizer_are_checked():
    optimizer = tfkit.optimizers.Adam()
    with pytest.raises(AttributeError, match="is called `learning_rate`"):
        optimizer.lr = 0.5
    with pytest.raises(ValueError, match="minimize its negative"):
        optimizer.learning_rate = -1.0
    optimizer.learning_rate = tf.constant(0.25)
    assert float(optimizer.learning_rate) == 0.25


def test_fractions_are_no_class_ids():
    model = mlp("sparse_categorical_crossentropy", 3)
    labels = np.full((16,), 0.5)
    for use in (
        lambda: model.fit(X, labels, verbose=0),
        lambda: model.evaluate(X, labels, verbose=0),
        lambda: model.train_on_batch(X, labels),
    ):
        with pytest.raises(ValueError, match=r"class ids, whole numbers.*label of 0\.5"):
            use()
    model.fit(X, np.zeros(16), verbose=0)  # Whole numbers of a float dtype.
    mlp("categorical_crossentropy", 2).fit(X, np.full((16, 2), 0.5), verbose=0)


def test_words_and_fractions_are_no_categories():
    for values in (["cat"], [0.5, 1.5]):
        with pytest.raises(ValueError, match="needs class ids"):
            tfkit.utils.to_categorical(values)
    assert tfkit.utils.to_categorical([1.0, 0.0]).tolist() == [[0, 1], [1, 0]]


def test_the_list_of_layers_warns_of_changes():
    model, added = mlp(), tfkit.layers.Dense(1)
    layers, expected = model.layers, list(model.layers)
    for change in (
        lambda it: it.append(added),
        lambda it: it.pop(),
        lambda it: it.__setitem__(0, added),
        lambda it: it.__delitem__(0),
    ):
        with pytest.warns(UserWarning, match="is a copy"):
            change(layers)
        change(expected)
        assert layers == expected
        assert len(model.layers) == 1
    layers = model.layers
    assert type(layers[:]) is type(layers + []) is type(copy.copy(layers)) is list
    assert len(pickle.loads(pickle.dumps(layers))) == 1
    assert model.layers == list(layers)


def test_epochs_that_cannot_be_meant():
    for options in ({"epochs": 3, "initial_epoch": 5}, {"epochs": -1}):
        with pytest.raises(ValueError, match="initial_epoch <= epochs"):
            mlp().fit(X, Y, verbose=0, **options)
    mlp().fit(X, Y, epochs=3, initial_epoch=3, verbose=0)


def test_loss_weights_are_numbers():
    with pytest.raises(ValueError, match="Metrics are a separate argument"):
        mlp().compile("sgd", "mse", ["mae"])


def test_an_endless_dataset_is_reported(monkeypatch):
    monkeypatch.setattr("tfkit.src.training.loop.LONG_EPOCH", 0.0)

    class Stop(tfkit.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.stop_training = batch >= 3

    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8).repeat()
    with pytest.warns(UserWarning, match=r"endless.*`steps_per_epoch`"):
        mlp().fit(data, callbacks=[Stop()], verbose=0)


def test_targets_that_are_missing():
    a = tfkit.Input((4,))
    outputs = {name: tfkit.layers.Dense(1, name=name)(a) for name in "pq"}
    model = tfkit.Model(a, outputs)
    model.compile("sgd", {"p": "mse", "q": "mse"})
    with pytest.raises(ValueError, match=r"lacks the targets of \['q'\]"):
        model.fit(X, {"p": Y}, verbose=0)
    model.compile("sgd", {"p": "mse"})
    model.evaluate(X, {"p": Y}, verbose=0)


def test_messages_are_short():
    for use, advice in (
        (lambda: mlp().fit(list(X), Y[:3], verbose=0), "np.array"),
        (lambda: mlp().predict(X, Y), "`predict` needs none"),
        (lambda: mlp().evaluate(y_pred=X, y_true=Y), "not recognized"),
        (lambda: mlp().fit((None for _ in range(3)), verbose=0), "yield"),
        (lambda: tfkit.layers.Conv1D(2, 3)(tfkit.Input((8, 8, 3))), "needs inputs with 3 axes"),
        (
            lambda: tfkit.layers.LSTM(2)(tfkit.layers.LSTM(2)(tfkit.Input((5, 3)))),
            "return_sequences=True",
        ),
    ):
        with pytest.raises((ValueError, TypeError)) as caught:
            use()
        assert advice in str(caught.value)
        assert len(str(caught.value)) < 700


def test_attributes_that_are_computed():
    for name in ("weights", "losses", "metrics", "variables"):
        with pytest.raises(AttributeError, match=rf"`{name}` of Dense cannot be set.*my_{name}"):
            setattr(tfkit.layers.Dense(1), name, 3)
