"""What is done with an object of a class that is a part of a model, or a helper around one."""

import functools
import os
import tempfile

import numpy as np
import tensorflow as tf

from tests.overrides.scenarios import X, Y

WORDS = np.array([["a"], ["b"]] * 4)
PIXELS = np.random.default_rng(1).random((2, 6, 6, 3)).astype("float32")


def _trained(k, counts, layer, optimizer="sgd", known=(), **settings):
    """A model with a layer of 3 units, called, trained, saved and loaded."""

    def make():
        model = k.Sequential([k.Input((4,)), layer(), k.layers.Activation("softmax")])
        model.compile(optimizer, "categorical_crossentropy", **settings)
        return model

    def save(ending):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, f"m.{ending}")
            model.save(path)
            k.models.load_model(path, custom_objects={cls.__name__: cls for cls in known})

    model = counts.run("model", make)
    counts.run("model call", lambda: model(X))
    counts.run("fit", lambda: model.fit(X, Y, batch_size=4, epochs=2, verbose=0))
    counts.run("evaluate", lambda: model.evaluate(X, Y, verbose=0))
    counts.run("saved", lambda: save("keras"))

    def clone():
        with k.saving.CustomObjectScope({cls.__name__: cls for cls in known}):
            k.models.clone_model(model)

    counts.run("clone", clone)


def _configured(cls, part, counts):
    counts.run("config", lambda: cls.from_config(part.get_config()))


def use_part(k, cls, counts, role, arguments=None, method=None, used=True):
    """An initializer, a regularizer or a constraint, alone and in a layer."""
    if method is not None:  # For a base class, a subclass that defines it.
        parts = {"__call__": method, "get_config": lambda self: {}, "__module__": "user"}
        cls = type(cls)(cls.__name__, (cls,), parts)
    part = counts.run("make", lambda: cls(**(arguments or {})))
    values = {
        "kernel_initializer": ((4, 3), "float32") if used else ((3, 1, 4), "float32"),
        "kernel_regularizer": (tf.ones((4, 3)),),
        "kernel_constraint": (tf.ones((4, 3)),),
    }
    counts.run("call", lambda: part(*values[role]))
    _configured(cls, part, counts)
    if hasattr(part, "clone"):
        counts.run("cloned", part.clone)
    if used:
        _trained(k, counts, lambda: k.layers.Dense(3, **{role: part}), known=[cls])


def use_schedule(k, cls, counts, arguments, method=None):
    if method is not None:
        parts = {"__call__": method, "get_config": lambda self: {}}
        cls = type(cls)(cls.__name__, (cls,), {**parts, "__module__": "user"})
    schedule = counts.run("make", lambda: cls(**arguments))
    counts.run("call", lambda: schedule(3))
    _configured(cls, schedule, counts)
    optimizer = counts.run("optimizer", lambda: k.optimizers.Adam(schedule))
    counts.run("rate", lambda: float(optimizer.learning_rate))
    _trained(k, counts, lambda: k.layers.Dense(3), optimizer, [cls])


def use_data(k, cls, counts, **options):
    class Rows(cls):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return X[4 * index : 4 * index + 4], Y[4 * index : 4 * index + 4]

    data = counts.run("make", lambda: Rows(**options))
    model = k.Sequential([k.Input((4,)), k.layers.Dense(3, activation="softmax")])
    model.compile("sgd", "categorical_crossentropy")
    for shuffle in (False, True):
        fit = {"epochs": 2, "verbose": 0, "shuffle": shuffle, "validation_data": data}
        counts.run(f"fit {shuffle}", lambda fit=fit: model.fit(data, **fit))
    counts.run("evaluate", lambda: model.evaluate(data, verbose=0))
    counts.run("predict", lambda: model.predict(data, verbose=0))
    counts.run("steps", lambda: model.fit(data, steps_per_epoch=1, epochs=3, verbose=0))


def use_seeds(k, cls, counts):
    seeds = counts.run("make", lambda: cls(3))
    counts.run("next", seeds.next)
    counts.run("draw", lambda: k.random.normal((2,), seed=seeds))
    _configured(cls, seeds, counts)

    class Noise(k.layers.Layer):
        def __init__(self):
            super().__init__()
            self.seeds = seeds

        def call(self, x):
            return x + k.random.normal((4,), seed=self.seeds)

    layer = counts.run("layer", Noise)
    counts.run("in a layer", lambda: layer(X))
    counts.run("weights", lambda: layer.variables)
    counts.run("stateless", lambda: layer.stateless_call([], layer.variables, X))


def use_policy(k, cls, counts, name):
    policy = counts.run("make", lambda: cls(name))
    counts.run("names", lambda: (policy.name, policy.compute_dtype, policy.variable_dtype))
    _configured(cls, policy, counts)
    layer = counts.run("layer", lambda: k.layers.Dense(3, dtype=policy))
    counts.run("call", lambda: layer(X))
    counts.run("layer's config", layer.get_config)
    _trained(k, counts, lambda: k.layers.Dense(3, dtype=policy), known=[cls])


def use_quantizer(k, cls, counts, method=None):
    if method is not None:
        parts = {"__call__": method, "get_config": lambda self: {}}
        cls = type(cls)(cls.__name__, (cls,), {**parts, "__module__": "user"})
    quantizer = counts.run("make", lambda: cls(axis=0) if method is None else cls())
    counts.run("call", lambda: quantizer(tf.constant(X)))
    _configured(cls, quantizer, counts)


def use_quantization(k, cls, counts):
    settings = counts.run("make", cls)
    _configured(cls, settings, counts)
    model = k.Sequential([k.Input((4,)), k.layers.Dense(4)])
    counts.run("quantize", lambda: model.quantize(settings.mode, config=settings))
    counts.run("call", lambda: model(X))


def use_preprocessing(k, cls, counts, arguments, data, adapts=False, joined=False):
    """A layer that is not in the table of conformance."""
    arguments = {name: it(k) if callable(it) else it for name, it in arguments.items()}
    layer = counts.run("make", lambda: cls(**arguments))
    if adapts:
        counts.run("adapt", lambda: layer.adapt(data[0]))
        counts.run("vocabulary", lambda: (layer.get_vocabulary(), layer.vocabulary_size()))

    def call(values, **options):
        return layer(list(values), **options) if joined else layer(*values, **options)

    counts.run("call", lambda: call(data))
    _configured(cls, layer, counts)
    mapped = tf.data.Dataset.from_tensor_slices(tuple(data)).batch(2)
    counts.run("dataset", lambda: list(mapped.map(lambda *batch: call(batch))))

    def saved():
        given = [tf.convert_to_tensor(value) for value in data]
        inputs = [k.Input(it.shape[1:], dtype=it.dtype.name) for it in given]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.keras")
            k.Model(inputs, call(inputs)).save(path)
            k.models.load_model(path, custom_objects={cls.__name__: cls})

    counts.run("saved", saved)


def use_cells(k, cls, counts):
    cells = counts.run("make", lambda: cls([k.layers.GRUCell(3), k.layers.LSTMCell(3)]))
    layer = k.layers.RNN(cells)
    counts.run("call", lambda: layer(np.ones((2, 3, 4), "float32")))
    _configured(cls, cells, counts)


def _twice(cls):
    class Twice(cls):
        def call(self, x):
            return 2 * self.layer(x)

    return Twice


def use_wrapper(k, cls, counts):
    Twice = _twice(cls)
    layer = counts.run("make", lambda: Twice(k.layers.Dense(3)))
    counts.run("call", lambda: layer(X))
    _configured(Twice, layer, counts)
    _trained(k, counts, lambda: Twice(k.layers.Dense(3)), known=[Twice])


def use_lambda(k, cls, counts):
    layer = counts.run("make", lambda: cls(k.ops.abs, output_shape=(4,)))
    counts.run("call", lambda: layer(X))
    counts.run("symbolic", lambda: layer(k.Input((4,))))
    counts.run("config", layer.get_config)


def use_input_layer(k, cls, counts):
    layer = counts.run("make", lambda: cls((4,)))
    _configured(cls, layer, counts)
    counts.run("model", lambda: k.Model(layer.output, k.layers.Dense(3)(layer.output))(X))


def use_metric_base(k, cls, counts):
    class Count(cls):
        def __init__(self, **options):
            super().__init__(**options)
            self.total = self.add_weight(shape=(), initializer="zeros", name="total")

        def update_state(self, y_true, y_pred, sample_weight=None):
            self.total.assign_add(k.ops.sum(y_true))

        def result(self):
            return self.total + 0.0

    metric = counts.run("make", Count)
    counts.run("call", lambda: metric(Y, Y))
    counts.run("update", lambda: metric.update_state(Y, Y))
    counts.run("reset", metric.reset_state)
    counts.run("stateless", lambda: metric.stateless_update_state(metric.variables, Y, Y))
    counts.run("stateless", lambda: metric.stateless_result(metric.variables))
    counts.run("stateless", metric.stateless_reset_state)
    _configured(Count, metric, counts)
    _trained(k, counts, lambda: k.layers.Dense(3), known=[Count], metrics=[metric])


def use_loss_base(k, cls, counts):
    class Square(cls):
        def call(self, y_true, y_pred):
            return k.ops.mean(k.ops.square(y_true - y_pred), axis=-1)

    loss = counts.run("make", Square)
    counts.run("call", lambda: loss(Y, Y))
    counts.run("weighed", lambda: loss(Y, Y, sample_weight=np.ones(8)))
    counts.run("config", loss.get_config)

    def train():
        model = k.Sequential([k.Input((4,)), k.layers.Dense(3)])
        model.compile("sgd", loss)
        model.fit(X, Y, verbose=0)
        model.evaluate(X, Y, verbose=0)

    counts.run("fit", train)


def use_optimizer_base(k, cls, counts):
    class Plain(cls):
        def __init__(self, learning_rate=0.1, **options):
            super().__init__(learning_rate=learning_rate, **options)

        def update_step(self, gradient, variable, learning_rate):
            self.assign_sub(variable, gradient * k.ops.cast(learning_rate, variable.dtype))

    make = functools.partial(Plain, weight_decay=0.1, use_ema=True, clipvalue=1.0)
    optimizer = counts.run("make", make)
    _configured(Plain, optimizer, counts)
    _trained(k, counts, lambda: k.layers.Dense(3), optimizer, known=[Plain])


def use_loss_scale(k, cls, counts):
    optimizer = counts.run("make", lambda: cls(k.optimizers.SGD(0.1), dynamic_growth_steps=1))
    _configured(cls, optimizer, counts)
    counts.run("scale", lambda: optimizer.scale_loss(1.0))
    _trained(k, counts, lambda: k.layers.Dense(3), optimizer, known=[cls])


def use_operation(k, cls, counts):
    class Double(cls):
        def call(self, x):
            return 2 * x

        def compute_output_spec(self, x):
            return k.KerasTensor(x.shape, x.dtype)

    operation = counts.run("make", Double)
    counts.run("call", lambda: operation(tf.constant(X)))
    x = k.Input((4,))
    y = counts.run("symbolic", lambda: operation(x))
    model = counts.run("model", lambda: k.Model(x, y))
    counts.run("model call", lambda: model(X))


def use_layer_base(k, cls, counts):
    class Linear(cls):
        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1], 3), name="w", regularizer="l2")
            self.built = True

        def call(self, x, training=None, mask=None):
            self.add_loss(k.ops.mean(x))
            return k.ops.matmul(x, self.w)

    layer = counts.run("make", lambda: Linear(activity_regularizer="l2"))
    counts.run("call", lambda: layer(X))
    counts.run("losses", lambda: layer.losses)
    counts.run("weights", lambda: layer.set_weights(layer.get_weights()))
    values = [tf.ones((4, 3))]
    counts.run("stateless", lambda: layer.stateless_call(values, [], X, return_losses=True))
    _configured(Linear, Linear(), counts)
    _trained(k, counts, Linear, known=[Linear])


def use_function(k, cls, counts):
    x = k.Input((4,))
    y = k.layers.Dense(3)(x)
    function = counts.run("make", lambda: cls(x, y))
    counts.run("call", lambda: function(tf.constant(X)))
    counts.run("shape", lambda: function.compute_output_shape((2, 4)))
    counts.run("symbolic", lambda: function(k.Input((4,))))


def use_callback_list(k, cls, counts):
    model = k.Sequential([k.Input((4,)), k.layers.Dense(3)])
    model.compile("sgd", "mse")
    made = {"add_history": True, "model": model, "epochs": 2, "steps": 2}
    callbacks = counts.run("make", lambda: cls([k.callbacks.TerminateOnNaN()], **made))
    counts.run("fit", lambda: model.fit(X, Y, epochs=2, callbacks=callbacks, verbose=0))
    counts.run("evaluate", lambda: model.evaluate(X, Y, callbacks=callbacks, verbose=0))
    counts.run("predict", lambda: model.predict(X, callbacks=callbacks, verbose=0))


def use_progbar(k, cls, counts):
    bar = counts.run("make", lambda: cls(3, verbose=0))
    counts.run("update", lambda: bar.update(1, [("loss", 1.0)]))
    counts.run("add", lambda: bar.add(1))
    counts.run("finalize", lambda: bar.update(3, finalize=True))


def use_distiller(k, cls, counts):
    teacher, student = (k.Sequential([k.Input((4,)), k.layers.Dense(3)]) for _ in range(2))
    loss = k.distillation.LogitsDistillation()
    parts = {"teacher": teacher, "student": student, "distillation_losses": loss}
    model = counts.run("make", lambda: cls(**parts))
    counts.run("call", lambda: model(X))
    counts.run("compile", lambda: model.compile("sgd", "mse"))
    counts.run("fit", lambda: model.fit(X, Y, verbose=0))
    counts.run("evaluate", lambda: model.evaluate(X, Y, verbose=0))
    counts.run("config", model.get_config)

    def saved():
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.keras")
            model.save(path)
            k.models.load_model(path, custom_objects={cls.__name__: cls})

    counts.run("saved", saved)


def use_distillation_loss(k, cls, counts, base=False, **arguments):
    if base:

        class Distance(cls):
            def compute_loss(self, teacher_outputs, student_outputs, **options):
                return k.ops.mean(k.ops.square(teacher_outputs - student_outputs))

        cls = Distance
    teacher, student = (
        k.Sequential([k.Input((4,)), k.layers.Dense(3, name="last")]) for _ in range(2)
    )
    loss = counts.run("make", lambda: cls(**arguments))
    counts.run("compute", lambda: loss.compute_loss(tf.constant(Y), tf.constant(Y)))

    def train():
        model = k.distillation.Distiller(teacher, student, loss)
        model.compile("sgd", "mse")
        model.fit(X, Y, verbose=0)

    counts.run("fit", train)


def use_space(k, cls, counts):
    features = {"a": cls.float_normalized(), "b": cls.string_categorical()}
    options = {"crosses": [("b", "c")], "crossing_dim": 4, "output_mode": "concat"}
    features["c"] = cls.integer_categorical(num_oov_indices=0)
    space = counts.run("make", lambda: cls(features=features, **options))
    rows = {"a": X[:, 0], "b": WORDS[:, 0], "c": np.arange(8) % 2}
    data = tf.data.Dataset.from_tensor_slices(rows)
    counts.run("adapt", lambda: space.adapt(data.batch(4)))
    counts.run("call", lambda: space(next(iter(data.batch(4)))))
    counts.run("inputs", lambda: (space.get_inputs(), space.get_encoded_features()))
    counts.run("config", space.get_config)

    def saved():
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.keras")
            space.save(path)
            k.models.load_model(path, custom_objects={cls.__name__: cls})

    counts.run("saved", saved)


def use_estimator(k, cls, counts, method):
    def model(X, y=None, **settings):
        layers = [k.Input((4,)), k.layers.Dense(3 if method == "predict_proba" else 1)]
        made = k.Sequential(layers)
        made.compile("sgd", "mse")
        return made

    targets = np.arange(8) % 3 if method == "predict_proba" else X.sum(1)
    estimator = counts.run("make", lambda: cls(model, fit_kwargs={"verbose": 0}))
    counts.run("fit", lambda: estimator.fit(X, targets))
    used = "transform" if method == "transform" else "predict"
    counts.run(used, lambda: getattr(estimator, used)(X))
    counts.run("parameters", estimator.get_params)


def use_archive(k, cls, counts):
    model = k.Sequential([k.Input((4,)), k.layers.Dense(3)])
    archive = counts.run("make", cls)
    counts.run("track", lambda: archive.track(model))
    spec = [tf.TensorSpec((None, 4), "float32")]
    counts.run("endpoint", lambda: archive.add_endpoint("serve", model.call, input_signature=spec))
    counts.run("variables", lambda: archive.add_variable_collection("all", model.variables))
    with tempfile.TemporaryDirectory() as folder:
        counts.run("write", lambda: archive.write_out(folder, verbose=False))
