"""What is done with an object of each public class, in Keras and in tfkit alike."""

import os
import tempfile
import warnings

import numpy as np
import tensorflow as tf

X = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
Y = np.eye(3, dtype="float32")[np.arange(8) % 3]


def small_model(k, **layers):
    return k.Sequential([k.Input((4,)), k.layers.Dense(3, activation="softmax")])


def use_model(k, cls, counts):
    class Body(cls):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.dense = k.layers.Dense(3, activation="softmax")

        def call(self, x, training=None):
            return self.dense(x)

    k.utils.get_custom_objects()["user>Body"] = Body
    k.utils.get_custom_objects()["Body"] = Body
    model = counts.run("make", Body)
    counts.run("call", lambda: model(X))
    trained(k, model, counts)
    filed(k, model, counts)


def trained(k, model, counts):
    counts.run(
        "compile", lambda: model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
    )
    counts.run(
        "fit", lambda: model.fit(X, Y, batch_size=4, epochs=2, validation_data=(X, Y), verbose=0)
    )
    counts.run("evaluate", lambda: model.evaluate(X, Y, verbose=0))
    counts.run("predict", lambda: model.predict(X, verbose=0))
    counts.run("train_on_batch", lambda: model.train_on_batch(X, Y))
    counts.run("test_on_batch", lambda: model.test_on_batch(X, Y))
    counts.run("predict_on_batch", lambda: model.predict_on_batch(X))


def filed(k, model, counts):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.keras")
        counts.run("save", lambda: model.save(path))
        counts.run(
            "load",
            lambda: k.models.load_model(path, custom_objects={type(model).__name__: type(model)}),
        )
        path = os.path.join(folder, "m.weights.h5")
        counts.run("save_weights", lambda: model.save_weights(path))
        counts.run("load_weights", lambda: model.load_weights(path))
        counts.run("summary", lambda: model.summary(print_fn=lambda *a, **b: None))
        counts.run("export", lambda: model.export(os.path.join(folder, "e"), verbose=False))
        counts.run("get_config", lambda: type(model).from_config(model.get_config()))
        counts.run("clone", lambda: k.models.clone_model(model))
        counts.run("to_json", lambda: model.to_json())
        counts.run("quantize", lambda: model.quantize("int8"))


def use_functional(k, cls, counts):
    x = k.Input((4,))
    y = k.layers.Dense(3, activation="softmax")(x)
    model = counts.run("make", lambda: cls(x, y))
    k.utils.get_custom_objects()[cls.__name__] = cls
    counts.run("call", lambda: model(X))
    trained(k, model, counts)
    filed(k, model, counts)


def use_sequential(k, cls, counts):
    k.utils.get_custom_objects()[cls.__name__] = cls
    model = counts.run("make", lambda: cls([k.layers.Dense(3, activation="softmax")]))
    counts.run("call", lambda: model(X))
    trained(k, model, counts)
    filed(k, model, counts)


def use_dense(k, cls, counts, **options):
    """A layer between others in a model that is trained and saved."""
    k.utils.get_custom_objects()[cls.__name__] = cls
    layer = counts.run("make", lambda: cls(**options))
    shape = (4,)
    inputs = k.Input(shape)
    x = counts.run("symbolic", lambda: layer(inputs))
    out = k.layers.Dense(3, activation="softmax")(k.layers.Flatten()(x))
    model = k.Model(inputs, out)
    counts.run("call", lambda: model(X))
    trained(k, model, counts)
    filed(k, model, counts)


def use_layer_case(k, case, cls, counts):
    """A layer alone."""
    k.utils.get_custom_objects()[cls.__name__] = cls
    arguments = {
        name: getattr(k.layers, value[0])(**value[1])
        if isinstance(value, tuple) and value and isinstance(value[0], str)
        else value
        for name, value in case.arguments.items()
    }
    layer = counts.run("make", lambda: cls(**arguments))
    data = case.data()
    if hasattr(layer, "adapt"):
        counts.run("adapt", lambda: layer.adapt(data[0]))
    counts.run("call", lambda: layer(*data))
    counts.run("call in training", lambda: layer(*data, training=True))
    counts.run("call", lambda: layer(*data))
    shapes = lambda v: k.Input(batch_shape=v.shape, dtype=v.dtype)
    specs = [tf.nest.map_structure(shapes, v) for v in data]
    other = counts.run("config", lambda: cls.from_config(layer.get_config()))
    if other is not None:
        outputs = counts.run("symbolic", lambda: other(*specs))

        def saved():
            model = k.Model(specs, outputs)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "m.keras")
                model.save(path)
                k.models.load_model(path)

        if outputs is not None:
            counts.run("saved", saved)


def use_optimizer(k, cls, counts, make):
    k.utils.get_custom_objects()[cls.__name__] = cls
    optimizer = counts.run("make", make)
    if optimizer is None:
        return
    counts.run("config", lambda: cls.from_config(optimizer.get_config()))
    model = small_model(k)
    counts.run("compile", lambda: model.compile(optimizer, "categorical_crossentropy"))
    counts.run("fit", lambda: model.fit(X, Y, batch_size=4, epochs=2, verbose=0))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.keras")
        counts.run("save", lambda: model.save(path))
        counts.run("load", lambda: k.models.load_model(path))
        path = os.path.join(folder, "m.h5")
        counts.run("save h5", lambda: model.save(path))
        counts.run("load h5", lambda: k.models.load_model(path))
    w = model.trainable_variables
    grads = [tf.ones(v.shape) for v in w]
    counts.run("apply", lambda: optimizer.apply(grads, w))
    counts.run("apply_gradients", lambda: optimizer.apply_gradients(zip(grads, w)))


def use_metric(k, cls, counts, make, data):
    k.utils.get_custom_objects()[cls.__name__] = cls
    metric = counts.run("make", make)
    if metric is None:
        return
    counts.run("call", lambda: metric(*data))
    counts.run("update", lambda: metric.update_state(*data))
    counts.run("result", lambda: metric.result())
    counts.run("reset", lambda: metric.reset_state())
    counts.run(
        "stateless",
        lambda: metric.stateless_result(metric.stateless_update_state(metric.variables, *data)),
    )
    counts.run("config", lambda: cls.from_config(metric.get_config()))


def use_metric_in_model(k, cls, counts):
    k.utils.get_custom_objects()[cls.__name__] = cls
    metric = counts.run("make", cls)
    model = small_model(k)
    counts.run(
        "compile", lambda: model.compile("sgd", "categorical_crossentropy", metrics=[metric])
    )
    counts.run(
        "fit", lambda: model.fit(X, Y, batch_size=4, epochs=2, validation_data=(X, Y), verbose=0)
    )
    counts.run("evaluate", lambda: model.evaluate(X, Y, verbose=0))
    counts.run("train_on_batch", lambda: model.train_on_batch(X, Y))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.keras")
        counts.run("save", lambda: model.save(path))
        counts.run("load", lambda: k.models.load_model(path))


def use_loss(k, cls, counts, make, data):
    k.utils.get_custom_objects()[cls.__name__] = cls
    loss = counts.run("make", make)
    if loss is None:
        return
    counts.run("call", lambda: loss(*data))
    counts.run("config", lambda: cls.from_config(loss.get_config()))


def use_loss_in_model(k, cls, counts):
    k.utils.get_custom_objects()[cls.__name__] = cls
    loss = counts.run("make", cls)
    model = small_model(k)
    counts.run("compile", lambda: model.compile("sgd", loss))
    counts.run(
        "fit", lambda: model.fit(X, Y, batch_size=4, epochs=2, validation_data=(X, Y), verbose=0)
    )
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.keras")
        counts.run("save", lambda: model.save(path))
        counts.run("load", lambda: k.models.load_model(path))


def use_callback(k, cls, counts, make):
    callback = counts.run("make", make)
    if callback is None:
        return
    model = small_model(k)
    model.compile(k.optimizers.SGD(0.1, use_ema="EMA" in cls.__name__), "categorical_crossentropy")
    counts.run(
        "fit",
        lambda: model.fit(
            X, Y, batch_size=4, epochs=3, validation_data=(X, Y), verbose=0, callbacks=[callback]
        ),
    )
    counts.run("evaluate", lambda: model.evaluate(X, Y, verbose=0, callbacks=[callback]))
    counts.run("predict", lambda: model.predict(X, verbose=0, callbacks=[callback]))
