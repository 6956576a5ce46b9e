"""The way from `fit` to the loss is short, and the steps on it can be copied."""

import importlib.util
import inspect
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfkit

SOURCE = Path(tfkit.__file__).parent / "src"
X = np.random.default_rng(0).normal(size=(10, 3)).astype("float32")
Y = X[:, :1]

PROGRAM = """
from typing import Any

import tensorflow as tf
import tfkit
from tfkit.utils import unpack_x_y_sample_weight


class Plain(tfkit.Model):
    def __init__(self):
        super().__init__()
        self.dense = tfkit.layers.Dense(4, activation="relu", kernel_regularizer="l2")
        self.dropout = tfkit.layers.Dropout(0.5)
        self.out = tfkit.layers.Dense(1)

    def call(self, inputs):
        return self.out(self.dropout(self.dense(inputs)))


class Copied(Plain):
"""


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    """A model, and one that has the text of tfkit's steps pasted into it, in a file of a user's."""
    steps = [tfkit.Model.train_step, tfkit.Model.test_step, tfkit.Model.predict_step]
    file = tmp_path_factory.mktemp("pasted") / "program.py"
    file.write_text(PROGRAM + "\n".join(map(inspect.getsource, steps)))
    spec = importlib.util.spec_from_file_location("pasted_program", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Plain, module.Copied


def results(model_class, optimizer=tfkit.optimizers.Adam, **options):
    tfkit.utils.set_random_seed(3)
    model = model_class()
    model.compile(optimizer and optimizer(), "mse", **options)
    weights = np.linspace(0.5, 2, len(X))
    history = model.fit(X, Y, 4, epochs=2, verbose=0, sample_weight=weights)
    history.history["evaluate"] = model.evaluate(X, Y, verbose=0)
    return history.history, [*model.get_weights(), model.predict(X, verbose=0)]


SETTINGS = {
    "xla": {"metrics": ["mae"]},
    "graph": {"weighted_metrics": ["mae"], "jit_compile": False},
    "eager": {"metrics": ["mae"], "run_eagerly": True},
    "no optimizer": {"optimizer": None},
    "scaled losses": {
        "optimizer": lambda: tfkit.optimizers.LossScaleOptimizer(tfkit.optimizers.SGD())
    },
}


@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)
def test_a_copy_of_the_steps_gives_the_same_numbers(options, classes):
    (history, values), (history_of_copy, values_of_copy) = (
        results(model_class, **options) for model_class in classes
    )
    assert history == history_of_copy
    for value, of_copy in zip(values, values_of_copy, strict=True):
        np.testing.assert_array_equal(value, of_copy)


def test_the_step_is_a_dozen_plain_lines():
    source, _ = inspect.getsourcelines(tfkit.Model.train_step)
    docstring = sum('"""' in line for line in source)
    assert docstring == 2
    end = [number for number, line in enumerate(source) if '"""' in line][1]
    assert len(source) - end - 1 <= 12
    assert not any("#" in line for line in source)


def test_a_step_calls_its_loss_by_four_calls():
    hops = []

    def loss(y, y_pred):
        frame, count = sys._getframe(), 0
        while frame.f_code is not tfkit.Model.train_step.__code__:
            frame, count = frame.f_back, count + 1
        hops.append(count)
        return tf.reduce_mean((y - y_pred) ** 2, axis=-1)

    model = tfkit.Sequential([tfkit.layers.Dense(1)])
    model.compile("sgd", loss, run_eagerly=True)
    model.fit(X, Y, verbose=0)
    assert hops == [4]


def entered(run):
    """The functions of tfkit that each program of a `fit` enters, without comprehensions, as a set each."""
    programs = []
    depth = 0

    def note(frame, event, argument):
        nonlocal depth
        code = frame.f_code
        if not code.co_filename.startswith(str(SOURCE)):
            return
        if code.co_name == "_run_program":
            depth += {"call": 1, "return": -1}.get(event, 0)
            if event == "call":
                programs.append(set())
        if event == "call" and depth and not code.co_name.endswith(("comp>", "expr>")):
            programs[-1].add((code.co_filename, code.co_qualname))

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return programs


FORMS = {
    "arrays": lambda: (X, Y),
    "a dataset": lambda: (tf.data.Dataset.from_tensor_slices((X, Y)).batch(5).map(lambda *xy: xy),),
}


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS)
def test_a_warm_program_enters_few_functions(data):
    model = tfkit.Sequential([tfkit.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"], steps_per_execution=1)
    data = data()
    model.fit(*data, verbose=0)
    *_, last = entered(lambda: model.fit(*data, epochs=2, verbose=0))
    assert len(last) <= 20
    assert len({file for file, _ in last}) <= 11
