"""`TensorBoard`: what stands in the event files."""

import glob
import json
import types

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit.callbacks import CallbackList, LambdaCallback, TensorBoard


class Model:
    def __init__(self, rate=0.1):
        # A variable, as the learning rate of tfkit's optimizers is.
        self.optimizer = types.SimpleNamespace(
            learning_rate=tf.Variable(rate), iterations=tf.Variable(0, dtype=tf.int64)
        )
        self.layers = []


def run_in_chunks(callback, model, epochs, steps, most):
    """Runs at most `most` steps at once, and fewer where the callback asks for it."""
    callbacks = CallbackList(callback, model=model)
    callbacks.on_train_begin()
    for epoch in range(epochs):
        callbacks.on_epoch_begin(epoch)
        done = 0
        while done < steps:
            limit = callbacks.chunk_limit(done)
            chunk = min(most, steps - done, most if limit is None else limit)
            done += chunk
            model.optimizer.iterations.assign_add(chunk)
            callbacks.on_steps_end(done - 1, chunk, {"loss": float(done)})
        callbacks.on_epoch_end(epoch, {"loss": 1.0, "val_loss": 2.0})
    callbacks.on_train_end({"loss": 1.0})


def events(folder):
    """Pairs of step and summary value, over all event files of `folder`."""
    found = []
    for path in sorted(glob.glob(f"{folder}/*tfevents*")):
        for record in tf.data.TFRecordDataset(path):
            event = tf.compat.v1.Event.FromString(record.numpy())
            found += [(event.step, value) for value in event.summary.value]
    return found


def scalars(folder):
    return {
        (value.tag, step): float(tf.make_ndarray(value.tensor))
        for step, value in events(folder)
        if value.metadata.plugin_data.plugin_name == "scalars"
    }


def tags(folder, plugin):
    return {
        value.tag for _, value in events(folder) if value.metadata.plugin_data.plugin_name == plugin
    }


def layer(name, **weights):
    variables = [tf.Variable(value, name=key, dtype="float32") for key, value in weights.items()]
    made = types.SimpleNamespace(name=name, weights=variables)
    if "embeddings" in weights:
        made.embeddings = variables[0]
    return made


def test_epochs(tmp_path):
    run_in_chunks(TensorBoard(tmp_path), Model(rate=0.25), epochs=2, steps=4, most=4)
    assert scalars(tmp_path / "train") == {
        ("epoch_loss", 0): 1.0,
        ("epoch_loss", 1): 1.0,
        ("epoch_learning_rate", 0): 0.25,
        ("epoch_learning_rate", 1): 0.25,
    }
    assert scalars(tmp_path / "validation") == {("epoch_loss", 0): 2.0, ("epoch_loss", 1): 2.0}


@pytest.mark.parametrize("most", [1, 3, 100])
@pytest.mark.parametrize(("update_freq", "steps"), [("batch", [1, 2, 3, 4]), (3, [3, 6])])
def test_batches_do_not_depend_on_the_chunks(tmp_path, update_freq, steps, most):
    callback = TensorBoard(tmp_path, update_freq=update_freq)
    run_in_chunks(callback, Model(), epochs=2 if update_freq == 3 else 1, steps=4, most=most)
    written = [step for tag, step in scalars(tmp_path / "train") if tag == "batch_loss"]
    assert sorted(written) == steps


def test_evaluation_is_written_against_the_training_steps(tmp_path):
    model = Model()
    model.optimizer.iterations.assign(30)
    callbacks = CallbackList(TensorBoard(tmp_path), model=model)
    callbacks.on_test_begin()
    callbacks.on_steps_end(3, 4)
    callbacks.on_test_end({"loss": 1.5})
    assert scalars(tmp_path / "validation") == {("evaluation_loss_vs_iterations", 30): 1.5}


def test_steps_per_second(tmp_path):
    callback = TensorBoard(tmp_path, write_steps_per_second=True, update_freq=2)
    run_in_chunks(callback, Model(), epochs=1, steps=4, most=4)
    written = scalars(tmp_path / "train")
    for tag, step in (("batch_steps_per_second", 2), ("epoch_steps_per_second", 0)):
        assert written[tag, step] > 0


def test_weights_as_histograms_and_images(tmp_path):
    model = Model()
    kernel = np.linspace(0.0, 1.0, 12).reshape(4, 3)
    model.layers = [layer("dense", kernel=kernel, bias=np.zeros(3), deep=np.zeros((2, 2, 2, 2, 2)))]
    callback = TensorBoard(tmp_path, histogram_freq=2, write_images=True)
    run_in_chunks(callback, model, epochs=3, steps=1, most=1)
    histograms = [
        (step, tf.make_ndarray(value.tensor))
        for step, value in events(tmp_path / "train")
        if value.tag == "kernel_0/histogram"
    ]
    assert [step for step, _ in histograms] == [0, 2]
    buckets = histograms[0][1]
    assert buckets.shape == (30, 3)
    assert buckets[:, 2].sum() == 12
    assert (buckets[0, 0], buckets[-1, 1]) == (0.0, 1.0)
    assert tags(tmp_path / "train", "images") == {"kernel_0/image", "bias_0/image"}
    width, height, png = next(
        tf.make_ndarray(value.tensor)
        for _, value in events(tmp_path / "train")
        if value.tag == "kernel_0/image"
    )
    assert (width, height) == (b"4", b"3")
    assert tf.io.decode_png(png).shape == (3, 4, 1)


def test_structure_of_a_functional_model(tmp_path):
    model = type("Functional", (Model,), {"to_json": lambda self: json.dumps({"config": {}})})()
    run_in_chunks(TensorBoard(tmp_path), model, epochs=1, steps=1, most=1)
    assert tags(tmp_path / "train", "graph_keras_model") == {"keras"}


@pytest.mark.parametrize("write_graph", [False, True])
def test_no_structure_of_other_models(tmp_path, write_graph):
    run_in_chunks(TensorBoard(tmp_path, write_graph=write_graph), Model(), 1, 1, 1)
    assert not tags(tmp_path / "train", "graph_keras_model")


def test_embeddings_for_the_projector(tmp_path):
    model = Model()
    model.layers = [layer("words", embeddings=[[1.0, 2.0], [3.0, 4.0]]), layer("dense")]
    callback = TensorBoard(tmp_path, embeddings_freq=1, embeddings_metadata={"words": "labels.tsv"})
    run_in_chunks(callback, model, epochs=1, steps=1, most=1)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "words.tsv"), [[1.0, 2.0], [3.0, 4.0]])
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert 'tensor_path: "words.tsv"' in config
    assert 'metadata_path: "labels.tsv"' in config


def test_metadata_of_an_unknown_layer_is_refused(tmp_path):
    model = Model()
    model.layers = [layer("words", embeddings=[[1.0]])]
    callback = TensorBoard(tmp_path, embeddings_freq=1, embeddings_metadata={"word": "labels.tsv"})
    with pytest.raises(ValueError, match=r"Expected names among \['words'\]. Received: \['word'\]"):
        callback.set_model(model)


def test_summaries_in_the_model_are_written_every_update_freq_steps(tmp_path):
    model, callback = Model(), TensorBoard(tmp_path, update_freq=2)
    iterations = model.optimizer.iterations

    @tf.function
    def program():
        for _ in tf.range(6):
            tf.summary.write("mine", 1.0)
            iterations.assign_add(1)

    callbacks = CallbackList(callback, model=model)
    callbacks.on_train_begin()
    callbacks.on_epoch_begin(0)
    program()
    callbacks.on_epoch_end(0, {})
    callbacks.on_test_begin()
    tf.summary.write("validated", 1.0)
    callbacks.on_test_end({})
    callbacks.on_train_end()
    tf.summary.write("afterwards", 1.0, step=0)
    steps = [step for step, value in events(tmp_path / "train") if value.tag == "mine"]
    assert steps == [0, 2, 4]
    names = {value.tag for _, value in events(tmp_path / "validation")}
    assert names == {"validated"}


@pytest.mark.parametrize("most", [1, 100])
def test_profile_covers_the_steps_asked_for(tmp_path, monkeypatch, most):
    profiled, model = [], Model()
    steps = model.optimizer.iterations
    profiler = tf.profiler.experimental
    monkeypatch.setattr(profiler, "start", lambda folder: profiled.append(("start", int(steps))))
    monkeypatch.setattr(profiler, "stop", lambda: profiled.append(("stop", int(steps))))
    run_in_chunks(TensorBoard(tmp_path, profile_batch=(3, 5)), model, epochs=2, steps=4, most=most)
    assert profiled == [("start", 2), ("stop", 5)]


def test_profile_of_the_first_batch_writes_files(tmp_path):
    run_in_chunks(TensorBoard(tmp_path, profile_batch=1), Model(), epochs=1, steps=2, most=2)
    assert glob.glob(f"{tmp_path}/train/plugins/profile/*/*.xplane.pb")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"update_freq": "step"}, "Received: update_freq='step'"),
        ({"update_freq": 0}, "Received: update_freq=0"),
        ({"profile_batch": -1}, "Received: profile_batch=-1"),
        ({"profile_batch": (5, 3)}, r"Received: profile_batch=\(5, 3\)"),
        ({"profile_batch": "1,2,3"}, "Received: profile_batch='1,2,3'"),
        ({"write_images": True}, "Received: histogram_freq=0"),
        ({"embeddings_metadata": "labels.tsv"}, "Received: embeddings_freq=0"),
    ],
)
def test_arguments_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        TensorBoard(**options)


@pytest.mark.parametrize("reads", [False, True])
def test_tensors_are_fetched_where_another_callback_reads_them(reads, tmp_path, monkeypatch):
    seen, fetched = [], []
    readers = [LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(logs["loss"]))]
    callbacks = CallbackList([TensorBoard(tmp_path), *readers[: int(reads)]], model=Model())
    loss = tf.constant(2.0)
    monkeypatch.setattr(loss, "numpy", lambda: fetched.append(1) or np.float32(2.0), raising=False)
    callbacks.on_train_begin()
    callbacks.on_epoch_begin(0)
    callbacks.on_train_batch_end(0, {"loss": loss})
    callbacks.on_test_begin()
    callbacks.on_test_end({"loss": loss})
    assert fetched == []  # It would wait for the device.
    callbacks.on_epoch_end(0, {"loss": loss})
    callbacks.on_train_end()
    assert (fetched, seen) == (([1], [2.0]) if reads else ([], []))
    assert scalars(tmp_path / "train")["epoch_loss", 0] == 2.0


def test_a_training_that_fails_leaves_no_writer_behind(tmp_path):
    """Summaries of the program's own would go to the folder of the failed training."""

    def fail(step, logs):
        raise ArithmeticError("stopped")

    model = tfkit.Sequential([tfkit.layers.Dense(1)])
    model.compile("sgd", "mse")
    rows = np.ones((4, 2), "float32")
    callbacks = [TensorBoard(tmp_path, update_freq=2), LambdaCallback(on_train_batch_end=fail)]
    with pytest.raises(ArithmeticError, match="stopped"):
        model.fit(rows, rows[:, :1], verbose=0, callbacks=callbacks)
    assert not tf.summary.should_record_summaries()
    assert not tf.summary.write("own", 1.0, step=1)


def test_weights_that_are_not_finite_do_not_end_the_training(tmp_path):
    model = Model()
    model.layers = [layer("dense", kernel=np.array([np.nan, 1.0, np.inf]), bias=np.full(3, np.nan))]
    run_in_chunks(TensorBoard(tmp_path, histogram_freq=1), model, epochs=1, steps=1, most=1)
    counts = {
        value.tag: tf.make_ndarray(value.tensor)[:, 2].sum()
        for _, value in events(tmp_path / "train")
        if value.tag.endswith("/histogram")
    }
    assert counts == {"kernel_0/histogram": 1, "bias_0/histogram": 0}
