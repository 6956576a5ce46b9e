"""`to_serving`: versions that appear whole, checked, with warm-up requests, and go away as whole."""

import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers
from tfkit.export import VerificationError
from tfkit.src.export import c_api, serving, verification, warmup
from tfkit.src.export.verification import run_elsewhere

WORDS = np.array(["yes", "no"], object)


class Tagger(tfkit.Model):
    """Two inputs, a vocabulary file, and two methods that are endpoints."""

    def __init__(self, vocabulary):
        super().__init__()
        initializer = tf.lookup.TextFileInitializer(
            vocabulary, tf.string, 0, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
        )
        self.tools = {"table": tf.lookup.StaticHashTable(initializer, -1)}
        self.embedding = layers.Embedding(4, 3)
        self.dense = layers.Dense(2, activation="softmax")

    def call(self, words, weights):
        return self.dense(self.embed(words) * weights)

    @tfkit.export.endpoint
    def embed(self, words):
        return self.embedding(self.tools["table"].lookup(words) + 1)

    @tfkit.export.endpoint(name="double", input_signature=[tf.TensorSpec([None], tf.float16)])
    def twice(self, x):
        return {"twice": x * 2}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tmp_path_factory.mktemp("base")


@pytest.fixture(scope="module")
def sample():
    return {"words": WORDS, "weights": np.array([[1.0], [2.0]], "float32")}


@pytest.fixture(scope="module")
def tagger(tmp_path_factory, sample):
    vocabulary = tmp_path_factory.mktemp("words") / "vocabulary.txt"
    vocabulary.write_text("yes\nno\n")
    model = Tagger(str(vocabulary))
    model(**sample)
    return model, vocabulary


@pytest.fixture(scope="module")
def published(tagger, base, sample):
    model, vocabulary = tagger
    answers = {
        "labels": tfkit.export.classify(model, ["good", "bad"], top=1),
        "add": (lambda a, b: a + b, [tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32)]),
    }
    with pytest.warns(
        UserWarning, match="Endpoint 'double' has tensors of float16: .* not over REST"
    ):
        folder = tfkit.export.to_serving(model, base, "tagger", endpoints=answers, warmup=sample)
    vocabulary.rename(vocabulary.with_suffix(".gone"))
    yield folder
    vocabulary.with_suffix(".gone").rename(vocabulary)


def test_the_first_version_is_1_and_nothing_else_is_there(published, base):
    assert published == base / "tagger" / "1"
    assert os.listdir(base / "tagger") == ["1"]
    assert published.stat().st_mode & 0o755 == 0o755


def test_all_endpoints_answer_without_the_vocabulary_file(published, tagger, sample):
    model, _ = tagger
    examples = tfkit.export.classify(model).serialize(sample)
    cases = [("serve", sample), ("embed", {"words": WORDS}), ("labels", {"inputs": examples})]
    cases += [("double", {"x": np.array([2], "float16")})]
    cases += [("add", {"a": np.array([1], "int32"), "b": np.array(2, "int32")})]
    ((scores, vectors, labels, twice, total),) = run_elsewhere([(published, cases)])
    np.testing.assert_allclose(scores["output_0"], model(**sample), atol=1e-6)
    np.testing.assert_allclose(vectors["output_0"], model.embed(tf.constant(WORDS)), atol=1e-6)
    best = np.argmax(scores["output_0"], 1)
    assert labels["classes"].tolist() == [[[b"good", b"bad"][index]] for index in best]
    assert twice["twice"].tolist() == [4]
    assert total["output_0"].tolist() == [3]


def test_endpoints_share_the_variables(published, tagger):
    model, _ = tagger
    reader = tf.train.load_checkpoint(str(published / "variables" / "variables"))
    shapes = [v for k, v in reader.get_variable_to_shape_map().items() if not k.startswith("_")]
    assert sorted(shapes) == sorted(weight.shape.as_list() for weight in model.weights)


def test_signatures_have_the_method_names_of_tf_serving(published):
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    model = SavedModel.FromString((published / "saved_model.pb").read_bytes())
    names = {k: s.method_name for k, s in model.meta_graphs[0].signature_def.items() if k[0] != "_"}
    predict = "tensorflow/serving/predict"
    others = dict.fromkeys(("serve", "serving_default", "embed", "double", "add"), predict)
    assert names == {"labels": "tensorflow/serving/classify", **others}
    tf.saved_model.experimental.read_fingerprint(str(published))


def test_warm_up_requests_are_those_of_the_real_package(published, tagger, sample):
    logs = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
    records = tf.data.TFRecordDataset(str(published / warmup.FILE))
    found = [logs.PredictionLog.FromString(record.numpy()) for record in records]
    requests = {}
    for log in found:
        ((_, content),) = log.ListFields()
        assert content.request.model_spec.name == "tagger"
        requests[content.request.model_spec.signature_name] = content.request
    assert set(requests) == {"serve", "embed", "labels"}
    assert tf.make_ndarray(requests["serve"].inputs["words"]).tolist() == [b"yes", b"no"]
    np.testing.assert_array_equal(
        tf.make_ndarray(requests["serve"].inputs["weights"]), sample["weights"]
    )
    examples = requests["labels"].input.example_list.examples
    assert examples[0].features.feature["words"].bytes_list.value == [b"yes"]
    assert [name for name, _ in warmup.read_warmup(published)] == ["serve", "embed", "labels"]


@pytest.mark.parametrize(
    ("method", "inputs"),
    [
        ("tensorflow/serving/predict", {"a" * 200: np.zeros((0, 3), "int64"), "b": WORDS}),
        ("tensorflow/serving/predict", {}),
        ("tensorflow/serving/regress", {"inputs": np.array([b"", b"x" * 300], object)}),
    ],
)
def test_messages_survive_both_ways(method, inputs):
    logs = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
    record = warmup.encode_request("model", "signature", method, inputs)
    if method.endswith("predict"):
        message = logs.PredictionLog.FromString(record)
        assert set(message.predict_log.request.inputs) == set(inputs)
        record = message.SerializeToString()
    signature, found = warmup.decode_request(record)
    assert signature == "signature"
    assert found.keys() == inputs.keys()
    for name, array in inputs.items():
        assert found[name].shape == array.shape
        assert [text.encode() if isinstance(text, str) else text for text in array.flat] == list(
            found[name].flat
        )


@pytest.fixture(scope="module")
def dense():
    return tfkit.Sequential([tfkit.Input((2,)), layers.Dense(1)])


def fake_version(folder, number):
    (folder / str(number)).mkdir(parents=True)
    (folder / str(number) / "saved_model.pb").write_bytes(b"old")


def test_the_next_number_and_old_versions_pruned(dense, tmp_path):
    folder = tmp_path / "dense"
    for number in (2, 9, 10):
        fake_version(folder, number)
    (folder / "notes").mkdir()
    (folder / "7").write_text("a file of the user's")
    (folder / "2024" / "photos").mkdir(parents=True)
    (folder / ".tfkit.dead.tmp").mkdir()
    (folder / ".tfkit.alive.tmp").mkdir()
    alive = os.open(folder / ".tfkit.alive.tmp", os.O_RDONLY)
    fcntl.flock(alive, fcntl.LOCK_EX)
    published = tfkit.export.to_serving(dense, tmp_path, name="dense", version=11, keep=2)
    assert published.name == "11"
    kept = [".tfkit.alive.tmp", "10", "11", "2024", "7", "notes"]
    assert sorted(os.listdir(folder)) == kept
    os.close(alive)
    with c_api.SavedModel(published) as model:
        assert set(model.signatures) == {"serve", "serving_default"}


def test_a_version_that_does_not_hold_is_not_published(dense, tmp_path, monkeypatch):
    fake_version(tmp_path / "dense", 1)
    write = serving.ExportArchive.write_into

    def tampered(self, folder, options=None):
        kernel = dense.weights[0]
        before = kernel.numpy()
        kernel.assign_add(tf.ones_like(kernel))
        write(self, folder, options)
        kernel.assign(before)

    monkeypatch.setattr(serving.ExportArchive, "write_into", tampered)
    with pytest.raises(
        VerificationError, match=r"Signature 'serve' .* gives other values as 'dense"
    ):
        tfkit.export.to_serving(dense, tmp_path, name="dense", keep=1)
    assert os.listdir(tmp_path / "dense") == ["1"]


def test_a_version_is_never_replaced(dense, tmp_path):
    fake_version(tmp_path / "m", 3)
    with pytest.raises(FileExistsError, match="Version 3 already exists"):
        tfkit.export.to_serving(dense, tmp_path, name="m", version=3)
    assert (tmp_path / "m" / "3" / "saved_model.pb").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "a/b"}, "name='a/b'"),
        ({"name": ".a"}, "name='.a'"),
        ({"name": "a:b"}, "name='a:b'"),
        ({"name": "a", "version": 0}, "version=0"),
        ({"name": "a", "version": True}, "version=True"),
        ({"name": "a", "version": 20261122083000123456}, "largest that TF Serving can read"),
        ({"name": "a", "keep": 0}, "keep=0"),
        ({"name": "a", "warmup": np.zeros((2, 3))}, r"Expected: float32 \(None, 2\)"),
        ({"name": "a", "warmup": WORDS}, "Received: object"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_written(dense, tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        tfkit.export.to_serving(dense, tmp_path, **arguments)
    assert not os.listdir(tmp_path)


def test_a_folder_whose_number_tf_serving_cannot_read_is_no_version(dense, tmp_path):
    fake_version(tmp_path / "m", 20261122083000123456)
    fake_version(tmp_path / "m", "9" * 200)
    fake_version(tmp_path / "m", "٣")  # A digit, and no number to TF Serving.
    fake_version(tmp_path / "m", "007")
    assert tfkit.export.to_serving(dense, tmp_path, name="m", keep=1).name == "8"
    assert not (tmp_path / "m" / "007").exists()
    assert (tmp_path / "m" / "20261122083000123456").exists()


def test_no_version_follows_the_largest(dense, tmp_path):
    fake_version(tmp_path / "m", 2**63 - 1)
    with pytest.raises(ValueError, match="no version after 9223372036854775807"):
        tfkit.export.to_serving(dense, tmp_path, name="m")


class Counting(layers.Layer):
    """Adds how often it was called."""

    def build(self, input_shape):
        self.calls = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, x):
        self.calls.assign_add(1.0)
        return x + self.calls


def test_the_check_leaves_the_state_as_it_was(tmp_path):
    counting = Counting()
    counting(np.ones((2, 2), "float32"))
    sample = np.zeros((2, 2), "float32")
    folder = tfkit.export.to_serving(counting, tmp_path, name="counting", warmup=sample)
    assert float(counting.calls) == 1
    with c_api.SavedModel(folder) as served:  # The version begins with the state that was exported.
        (output,) = served.run(
            "serve", **{next(iter(served.signatures["serve"].inputs)): sample}
        ).values()
    np.testing.assert_array_equal(output, 2.0)


def test_a_layer_with_a_state_is_published_as_it_stands(tmp_path):
    model = tfkit.Sequential(
        [tfkit.Input(batch_shape=(2, 3, 4)), layers.GRU(3, stateful=True), layers.Dense(2)]
    )
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    model.predict(x, verbose=0)
    (before,) = (state.numpy() for state in model.layers[0].states)
    tfkit.export.to_serving(model, tmp_path, name="gru", warmup=x)
    np.testing.assert_array_equal(model.layers[0].states[0], before)


class Changeable(layers.Layer):
    """Computes one thing in eager mode and another in a trace."""

    def call(self, x):
        return x * 2 if tf.executing_eagerly() else x


def test_the_check_compares_with_plain_python(tmp_path):
    layer = Changeable()
    for _ in range(2):  # The second call is compiled.
        layer(np.ones((2, 2), "float32"))
    with pytest.raises(VerificationError, match="gives other values"):
        tfkit.export.to_serving(layer, tmp_path, name="changeable")


@pytest.mark.parametrize("scale", [1.0, 1e-3, 100.0])
@pytest.mark.parametrize(
    ("dtype", "least"),
    [("float16", 5e-3), ("bfloat16", 4e-2), ("float32", 1e-5), ("float64", 1e-5), ("int32", 1)],
)
def test_how_much_outputs_may_differ(dtype, least, scale):
    """Less than so many times the largest value, or 1 where that is larger; integers not at all."""
    dtype = tf.as_dtype(dtype).as_numpy_dtype
    wanted = np.array([0.0, -1.0, 0.5, 0.25]) * scale
    step = np.array([least * max(1.0, scale), 0, 0, 0])

    def check(factor):
        found = {"y": (wanted + factor * step).astype(dtype)}
        right = {"y": wanted.astype(dtype)}
        verification.compare(found, right, right, "Here")

    check(0.0)
    if least < 1:
        check(0.5)
    with pytest.raises(VerificationError, match="Here gives other values as 'y'"):
        check(2.0)


def test_examples_are_made_up_too(dense, tmp_path):
    endpoints = {
        "labels": tfkit.export.classify(dense),
        "numbers": tfkit.export.regress(tfkit.Sequential([tfkit.Input((2,)), layers.Dense(1)])),
    }
    folder = tfkit.export.to_serving(dense, tmp_path, name="a", endpoints=endpoints)
    with c_api.SavedModel(folder) as served:
        assert {"labels", "numbers"} <= served.signatures.keys()


@pytest.mark.parametrize(
    ("function", "shape", "options", "message"),
    [
        (tfkit.export.classify, (2,), {"labels": ["a"]}, r"Expected: \(batch, 1\), for the labels"),
        (
            tfkit.export.classify,
            (3, 2),
            {},
            r"scores of shape \(None, 3, 2\). Expected: \(batch, 2\)",
        ),
        (tfkit.export.regress, (2,), {}, r"outputs of shape \(None, 2\). Expected: one number"),
    ],
)
def test_outputs_that_are_no_answer_are_refused(function, shape, options, message):
    model = tfkit.Sequential([tfkit.Input(shape), layers.Activation("relu")])
    archive = tfkit.export.ExportArchive()
    with pytest.raises(ValueError, match=message):
        archive.add_endpoint("answer", function(model, **options))


def test_made_up_inputs_that_do_not_fit_ask_for_a_sample(dense, tmp_path):
    function = tf.function(
        lambda text: tf.io.decode_raw(text, tf.float32) + tf.strings.to_number(text)
    )
    endpoints = {"odd": (function, [tf.TensorSpec([None], tf.string)])}
    with pytest.raises(
        ValueError, match=r"(?s)endpoint 'odd' .* Pass a sample, as `warmup=\{'odd'"
    ):
        tfkit.export.to_serving(dense, tmp_path, name="a", endpoints=endpoints)


def test_exporters_at_once_never_publish_the_same_number(tmp_path):
    folder, published = tmp_path / "served", []
    folder.mkdir()
    start = threading.Barrier(8)

    def export(which):
        start.wait()
        for count in range(5):
            written = tmp_path / f"{which}-{count}"
            written.mkdir()
            (written / "saved_model.pb").write_text(written.name)
            target = serving._publish(written, folder, None)
            published.append((target.name, written.name))

    threads = [threading.Thread(target=export, args=(which,)) for which in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(number) for number, _ in published) == list(range(1, 41))
    for number, name in published:
        assert (folder / number / "saved_model.pb").read_text() == name


KILLED = """
import os, signal, sys, threading, time
import numpy as np
import tfkit
from tfkit.src.export import serving
serving.verify = lambda *arguments: None  # It writes nothing, and takes most of the time.
folder, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for kill in range(kills):
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
        continue
    # How long an export takes here is seen in the first one.
    x = tfkit.Input((2,))
    model = tfkit.Model(x, tfkit.layers.Dense(300)(x))
    sample = np.ones((1, 2))
    started = time.monotonic()
    tfkit.export.to_serving(model, folder, "m", keep=2, warmup=sample)
    duration = time.monotonic() - started
    delay = duration * 3 * ((kill * 0.618 + seed * 0.137) % 1)
    threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()
    while True:
        tfkit.export.to_serving(model, folder, "m", keep=2, warmup=sample)
"""


def test_a_kill_never_leaves_a_version_that_does_not_load(tmp_path):
    kills = int(os.environ.get("TFKIT_KILLS", "4"))
    arguments = [str(tmp_path), str(kills), "1"]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments],
        capture_output=True,
        text=True,
        timeout=100 + 20 * kills,
        env={**os.environ, "PYTHONPATH": str(Path(tfkit.__file__).parents[1])},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    versions = [name for name in os.listdir(tmp_path / "m") if name.isdigit()]
    assert len(versions) in (2, 3)
    assert max(map(int, versions)) >= kills
    inputs = {"keras_tensor": np.zeros((1, 2), "float32")}
    for number in versions:
        with c_api.SavedModel(tmp_path / "m" / number) as model:
            ((name, _),) = model.signatures["serve"].inputs.items()
            model.run("serve", **{name: inputs["keras_tensor"]})
