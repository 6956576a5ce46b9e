"""Tracebacks show the user's lines and no others, while a step is traced and while it runs."""

import os
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit.src.base.errors import frames, tracebacks

ROOT = Path(tfkit.__file__).parent
X = np.ones((8, 4), "float32")
Y = np.ones((8, 1), "float32")


@pytest.fixture(autouse=True)
def filtered():
    was_on = tfkit.config.is_traceback_filtering_enabled()
    tfkit.config.enable_traceback_filtering()
    yield
    config = tfkit.config
    (config.enable_traceback_filtering if was_on else config.disable_traceback_filtering)()


def lines_of(error):
    """Function and text of each line that is shown."""
    return [(frame.name, frame.line) for frame in traceback.extract_tb(error.__traceback__)]


def shown(call, kind=Exception):
    """What is shown below the test's own lines."""
    with pytest.raises(kind) as caught:
        call()
    for frame in traceback.extract_tb(caught.value.__traceback__):
        assert frame.filename == __file__
    lines = [text for _, text in lines_of(caught.value)]
    return lines[2:], caught.value


def dense():
    return tfkit.layers.Dense(1)


def mlp(loss="mse", **options):
    model = tfkit.Sequential([tfkit.Input((4,)), dense()])
    model.compile("sgd", loss, **options)
    return model


class Modelled(tfkit.Model):
    """A model that calls a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.dense = dense()
        self.compile("sgd", "mse")

    def call(self, inputs):
        return self.dense(self.function(inputs))


CALL = "return self.dense(self.function(inputs))"


def test_a_refused_argument_shows_the_users_line_alone():
    for call in (
        lambda: mlp().fit(X[:, :3], Y, verbose=0),
        lambda: mlp().predict(X[:, :3], verbose=0),
        lambda: mlp().train_on_batch(X[:, :3], Y),
        lambda: mlp()(X[:, :3]),
        lambda: tfkit.layers.Dense("8"),
        lambda: tfkit.optimizers.Adam(learning_rate=[]).build([1]),
        lambda: tfkit.models.load_model("missing.keras"),
        lambda: mlp().compile("no such optimizer"),
        lambda: tfkit.Sequential([dense]),
        lambda: mlp().set_weights([]),
        lambda: tfkit.losses.get("no such loss"),
    ):
        lines, error = shown(call)
        assert lines == []
        assert error.__cause__ is None
        assert error.__context__ is None or error.__suppress_context__


def test_filtering_can_be_switched_off():
    tfkit.config.disable_traceback_filtering()
    with pytest.raises(ValueError, match="expected axis") as caught:
        mlp().fit(X[:, :3], Y, verbose=0)
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert str(ROOT / "src" / "core" / "layer.py") in files
    assert any("polymorphic_function" in file for file in files)


def with_an_if(inputs):
    if tf.reduce_sum(inputs) > 1e9:
        inputs = inputs * 2
    for _ in tf.range(2):
        inputs = inputs + undefined  # noqa: F821
    return inputs


def test_code_that_autograph_rewrites_is_shown_as_it_was_written():
    lines, _ = shown(lambda: Modelled(with_an_if).fit(X, Y, verbose=0), NameError)
    assert lines == [CALL, "inputs = inputs + undefined  # noqa: F821"]


class UnfitError(Exception):
    """An error with arguments of its own, which AutoGraph cannot make again."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


def unfit(inputs):
    raise UnfitError(1, 2)


def with_a_cause(inputs):
    try:
        inputs.nothing  # noqa: B018
    except AttributeError as error:
        raise RuntimeError("not so") from error


@pytest.mark.parametrize("use", ["fit", "predict", "__call__"])
def test_errors_of_the_users_keep_their_type_and_their_cause(use):
    arguments = {"fit": (X, Y), "predict": (X,), "__call__": (X,)}[use]
    lines, _ = shown(lambda: getattr(Modelled(unfit), use)(*arguments), UnfitError)
    assert lines == [CALL, "raise UnfitError(1, 2)"]
    lines, error = shown(lambda: getattr(Modelled(with_a_cause), use)(*arguments), RuntimeError)
    assert lines == [CALL, 'raise RuntimeError("not so") from error']
    assert lines_of(error.__cause__) == [("with_a_cause", "inputs.nothing  # noqa: B018")]


def out_of_range(inputs):
    return tf.gather(inputs, tf.cast(inputs[:, 0] + 90, "int32"))


@pytest.mark.parametrize("use", ["fit", "evaluate", "predict", "train_on_batch", "__call__"])
@pytest.mark.parametrize("times", [1, 2])
def test_an_error_while_a_program_runs_shows_the_lines_that_made_the_operation(use, times):
    model = Modelled(out_of_range)
    arguments = (X,) if use in ("predict", "__call__") else (X, Y)
    for _ in range(times):
        lines, error = shown(
            lambda: getattr(model, use)(*arguments), tf.errors.InvalidArgumentError
        )
    assert lines == [CALL, 'return tf.gather(inputs, tf.cast(inputs[:, 0] + 90, "int32"))']
    assert "{{" not in str(error)
    assert "GatherV2" in str(error)


def test_an_error_that_shows_with_the_known_size_of_a_batch_has_its_line():
    """The step is traced for any batch and passes; XLA's trace, for this one, does not."""
    lines, error = shown(lambda: Modelled(fixed).fit(X, Y, verbose=0), ValueError)
    assert lines == [CALL, "return tf.reshape(inputs, (4, 4))"]
    assert "Cannot reshape a tensor with 32 elements" in str(error)


def fixed(inputs):
    return tf.reshape(inputs, (4, 4))


def test_lines_of_losses_metrics_steps_callbacks_and_generators_are_shown():
    def failing(*args, **kwargs):
        raise KeyError("mine")

    class Step(Modelled):
        def train_step(self, data):
            return failing()

    def batches():
        for index in range(9):
            yield X[: 8 if index < 6 else failing()], Y

    callback = tfkit.callbacks.LambdaCallback(on_epoch_end=failing)
    for call in (
        lambda: mlp(failing).fit(X, Y, verbose=0),
        lambda: mlp(metrics=[failing]).fit(X, Y, verbose=0),
        lambda: mlp(failing, run_eagerly=True).fit(X, Y, verbose=0),
        lambda: Step(tf.identity).fit(X, Y, verbose=0),
        lambda: mlp().fit(X, Y, callbacks=[callback], verbose=0),
        lambda: mlp().fit(batches(), steps_per_epoch=9, verbose=0),
    ):
        assert shown(call, KeyError)[0][-1] == 'raise KeyError("mine")'


def test_operations_outside_of_programs_name_no_nodes():
    lines, error = shown(lambda: tf_in_layer()(X))
    assert lines[-1] == "return tf.matmul(inputs, inputs)"
    assert "{{" not in str(error)
    assert "Raised by the operation MatMul." in str(error)
    assert error.__notes__ == ["Raised in the call of layer 'squared' (of type Squared)."]


def tf_in_layer():
    class Squared(tfkit.layers.Layer):
        def call(self, inputs):
            return tf.matmul(inputs, inputs)

    return Squared()


def test_an_error_that_was_not_raised_on_purpose_shows_the_innermost_line_of_tfkit():
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tfkit.ops.matmul(X, X)
    assert [name for name, _ in lines_of(caught.value)][1:] == ["matmul"]


def test_what_raises_nothing_is_handed_on():
    assert tracebacks.shortened(max)(1, 2) == 2
    assert tracebacks.shortened(test_what_raises_nothing_is_handed_on).__name__.startswith("test_")


# --- Warnings -----------------------------------------------------------------------------------------


def test_warnings_point_at_the_line_of_the_user():
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)
    model = mlp()
    for call in (
        lambda: model.evaluate(data, batch_size=4, verbose=0),
        lambda: model.fit(data, batch_size=4, verbose=0),
        lambda: model.predict(data, batch_size=4, verbose=0),
        lambda: tfkit.layers.Embedding(2, 2, input_length=3),
    ):
        with pytest.warns(UserWarning, match="batch_size|input_length") as caught:
            call()
        assert {each.filename for each in caught} == {__file__}


def test_a_warning_out_of_rewritten_code_points_at_the_code_as_it_was_written():
    def warned(inputs):
        frames.warn("here")
        return inputs

    with pytest.warns(UserWarning, match="here") as caught:
        Modelled(warned).predict(X, verbose=0)
    line = warned.__code__.co_firstlineno + 1
    # On Python 3.13, AutoGraph's syntax trees warn as well.
    own = [each for each in caught if each.category is UserWarning]
    assert [(each.filename, each.lineno) for each in own] == [(__file__, line)]


def test_no_warning_counts_frames_by_number():
    found = [
        path for path in ROOT.rglob("*.py") if "stacklevel" in path.read_text(encoding="utf-8")
    ]
    assert not found, "use `tfkit.src.base.errors.frames.warn`"


# --- Ctrl-C -------------------------------------------------------------------------------------------

INTERRUPTED = """
import signal, numpy as np, tfkit
signal.signal(signal.SIGINT, signal.default_int_handler)  # A job in the background ignores it.
class Stop(tfkit.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 2:
            signal.raise_signal(signal.SIGINT)
model = tfkit.Sequential([tfkit.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((80, 4)), np.ones((80, 1)), epochs=3, batch_size=8, callbacks=[Stop()])
"""


def test_ctrl_c_in_fit_says_how_far_the_training_came(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    run = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT.parent)},
    )
    trace = run.stderr[run.stderr.index("Traceback") :].splitlines()
    assert len(trace) <= 13
    assert trace[-2:] == [
        "KeyboardInterrupt",
        "Training was interrupted in epoch 1 of 3, after step 3. The model keeps its current weights.",
    ]
    assert run.stdout.endswith("\n")
