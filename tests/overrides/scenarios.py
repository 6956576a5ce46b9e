"""What is done with an object of each public class, in Keras and in tfkit alike."""

import os
import tempfile

import numpy as np
import tensorflow as tf

X = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
Y = np.eye(3, dtype="float32")[np.arange(8) % 3]


def use_model(k, cls, counts):
    """A subclassed model."""

    class Body(cls):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.dense = k.layers.Dense(3, activation="softmax")

        def call(self, x, training=None):
            return self.dense(x)

        def build(self, input_shape):
            self.dense.build(input_shape)
            super().build(input_shape)

    _use_in_training(k, counts.run("make", Body), counts)


def use_functional(k, cls, counts):
    x = k.Input((4,))
    y = k.layers.Dense(3, activation="softmax")(x)
    _use_in_training(k, counts.run("make", lambda: cls(x, y)), counts)


def use_sequential(k, cls, counts):
    layers = [k.layers.Dense(3, activation="softmax")]
    _use_in_training(k, counts.run("make", lambda: cls(layers)), counts)


def _use_in_training(k, model, counts):
    fit = {"batch_size": 4, "epochs": 2, "validation_data": (X, Y), "verbose": 0}
    settings = ("adam", "categorical_crossentropy")
    known = {type(model).__name__: type(model)}
    run = counts.run
    run("call", lambda: model(X))
    run("compile", lambda: model.compile(*settings, metrics=["accuracy"]))
    run("fit", lambda: model.fit(X, Y, **fit))
    run("evaluate", lambda: model.evaluate(X, Y, verbose=0))
    run("predict", lambda: model.predict(X, verbose=0))
    run("train_on_batch", lambda: model.train_on_batch(X, Y))
    run("test_on_batch", lambda: model.test_on_batch(X, Y))
    run("predict_on_batch", lambda: model.predict_on_batch(X))
    with tempfile.TemporaryDirectory() as folder:
        path, weights = os.path.join(folder, "m.keras"), os.path.join(folder, "m.weights.h5")
        run("save", lambda: model.save(path))
        run("load", lambda: k.models.load_model(path, custom_objects=known))
        run("save_weights", lambda: model.save_weights(weights))
        run("load_weights", lambda: model.load_weights(weights))
        run("export", lambda: model.export(os.path.join(folder, "exported"), verbose=False))
    run("summary", lambda: model.summary(print_fn=lambda *args, **kwargs: None))
    run("config", lambda: type(model).from_config(model.get_config()))
    run("quantize", lambda: model.quantize("int8"))


def use_layer(k, case, cls, counts):
    """A layer alone, and in a functional model that is saved and loaded."""
    arguments = {
        name: getattr(k.layers, value[0])(**value[1])
        if isinstance(value, tuple) and value and isinstance(value[0], str)
        else value
        for name, value in case.arguments.items()
    }
    layer = counts.run("make", lambda: cls(**arguments))
    data = case.data()
    if hasattr(layer, "adapt") and "mean" not in arguments:
        counts.run("adapt", lambda: layer.adapt(data[0]))
    counts.run("call", lambda: layer(*data))
    counts.run("call in training", lambda: layer(*data, training=True))
    counts.run("call again", lambda: layer(*data))
    other = counts.run("config", lambda: cls.from_config(layer.get_config()))
    inputs = [
        tf.nest.map_structure(lambda x: k.Input(batch_shape=x.shape, dtype=x.dtype), x)
        for x in data
    ]
    outputs = other and counts.run("symbolic", lambda: other(*inputs))

    def saved():
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.keras")
            k.Model(inputs, outputs).save(path)
            k.models.load_model(path, custom_objects={cls.__name__: cls})

    if outputs is not None:
        counts.run("saved", saved)


def _small(k, optimizer="sgd", loss="categorical_crossentropy", **settings):
    model = k.Sequential([k.Input((4,)), k.layers.Dense(3, activation="softmax")])
    model.compile(optimizer, loss, **settings)
    return model


def _fit(model, **options):
    model.fit(X, Y, batch_size=4, epochs=2, validation_data=(X, Y), verbose=0, **options)


def _saved(k, model, ending, cls):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"model.{ending}")
        model.save(path)
        k.models.load_model(path, custom_objects={cls.__name__: cls})


def use_optimizer(k, cls, counts):
    optimizer = counts.run(
        "make",
        lambda: cls(clipnorm=1.0, use_ema=True, ema_overwrite_frequency=2, weight_decay=0.01),
    )
    counts.run("config", lambda: cls.from_config(optimizer.get_config()))
    model = counts.run("compile", lambda: _small(k, optimizer))
    counts.run("fit", lambda: _fit(model))
    counts.run("saved", lambda: _saved(k, model, "keras", cls))
    weights = model.trainable_variables
    gradients = [tf.ones(weight.shape) for weight in weights]
    counts.run("apply", lambda: optimizer.apply(gradients, weights))
    pairs = list(zip(gradients, weights, strict=True))
    counts.run("apply_gradients", lambda: optimizer.apply_gradients(pairs))


def use_metric(k, cls, counts, arguments, data):
    metric = counts.run("make", lambda: cls(**arguments))
    counts.run("call", lambda: metric(*data))
    counts.run("update", lambda: metric.update_state(*data))
    counts.run("result", metric.result)
    counts.run("reset", metric.reset_state)
    state = metric.variables
    counts.run("stateless", lambda: metric.stateless_update_state(state, *data))
    counts.run("stateless", lambda: metric.stateless_result(state))
    counts.run("config", lambda: cls.from_config(metric.get_config()))


def use_metric_in_training(k, cls, counts):
    metric = counts.run("make", cls)
    model = counts.run("compile", lambda: _small(k, metrics=[metric]))
    counts.run("fit", lambda: _fit(model))
    counts.run("evaluate", lambda: model.evaluate(X, Y, verbose=0))
    counts.run("train_on_batch", lambda: model.train_on_batch(X, Y))
    counts.run("saved", lambda: _saved(k, model, "keras", cls))


def use_loss(k, cls, counts, data):
    loss = counts.run("make", cls)
    counts.run("call", lambda: loss(*data))
    counts.run("config", lambda: cls.from_config(loss.get_config()))


def use_loss_in_training(k, cls, counts):
    loss = counts.run("make", cls)
    model = counts.run("compile", lambda: _small(k, loss=loss))
    counts.run("fit", lambda: _fit(model))
    counts.run("saved", lambda: _saved(k, model, "keras", cls))


def use_callback(k, cls, counts, arguments):
    with tempfile.TemporaryDirectory() as folder:
        arguments = {
            name: os.path.join(folder, value[1:]) if str(value).startswith("/") else value
            for name, value in arguments.items()
        }
        callback = counts.run("make", lambda: cls(**arguments))
        model = _small(k, k.optimizers.SGD(0.1, use_ema=cls.__name__ == "SwapEMAWeights"))
        counts.run("fit", lambda: _fit(model, callbacks=[callback]))
        counts.run("evaluate", lambda: model.evaluate(X, Y, verbose=0, callbacks=[callback]))
        counts.run("predict", lambda: model.predict(X, verbose=0, callbacks=[callback]))
