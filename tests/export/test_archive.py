"""`ExportArchive` beside Keras's, and where endpoints find what they use."""

import logging

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers
from tfkit.src.export import c_api
from tfkit.src.export.signatures import call_specs


def build(framework):
    x = framework.Input((3,), name="x")
    hidden = framework.layers.Dropout(0.5, seed=1)(framework.layers.Dense(4)(x))
    return framework.Model(x, framework.layers.Dense(2, name="y")(hidden))


def write(framework, folder):
    """The same program for both."""
    model = build(framework)
    archive = framework.export.ExportArchive()
    serve = archive.track_and_add_endpoint("serve", model, [tf.TensorSpec([None, 3], name="x")])
    archive.add_endpoint(
        "training", lambda x: model.call(x, training=True), [tf.TensorSpec([None, 3])]
    )

    @tf.function
    def twice(x):
        return {"twice": serve(x) * 2}

    twice(np.ones((2, 3), "float32"))
    archive.add_endpoint("twice", twice)
    archive.add_variable_collection("first", [v for v in model.variables[:1] if framework is tfkit])
    archive.write_out(str(folder), verbose=False)
    return archive


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    base = tmp_path_factory.mktemp("archives")
    return {
        framework: (base / framework.__name__, write(framework, base / framework.__name__))
        for framework in (tfkit, keras)
    }


def test_signatures_are_those_of_keras(written):
    found = {}
    for framework, (folder, _) in written.items():
        with c_api.SavedModel(folder) as model:
            found[framework] = {
                name: {key: (spec.dtype, spec.shape) for key, spec in signature.inputs.items()}
                for name, signature in model.signatures.items()
            }
    assert set(found[tfkit]) == {"serve", "training", "twice", "serving_default"}
    assert found[tfkit] == found[keras]
    assert found[tfkit]["twice"] == {"x": ("float32", (2, 3))}


def test_methods_and_variables_are_those_of_keras(written):
    x = tf.ones((2, 3))
    loaded = {f: tf.saved_model.load(folder) for f, (folder, _) in written.items()}
    for framework, root in loaded.items():
        np.testing.assert_allclose(root.twice(x)["twice"], 2 * root.serve(x), rtol=1e-6)
        assert root.training(x).shape == (2, 2)
        assert len(root.trainable_variables) == 4
        archive = written[framework][1]
        assert len(archive.trainable_variables) == 4
    assert [v.shape for v in loaded[tfkit].first] == [(3, 4)]
    # Keras keeps the seed of the dropout of `serve` too; here it is there for `training`, which draws.
    assert len(loaded[tfkit].non_trainable_variables) == 1


def message(framework, action):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        action(framework)
    return type(caught.value)


def endpoint_twice(framework):
    archive = framework.export.ExportArchive()
    for _ in range(2):
        archive.add_endpoint("a", lambda x: x, [tf.TensorSpec([None])])


REFUSED = {
    "no endpoint": lambda f: f.export.ExportArchive().write_out("unused"),
    "name taken": endpoint_twice,
    "no signature": lambda f: f.export.ExportArchive().add_endpoint("a", lambda x: x),
    "never called": lambda f: f.export.ExportArchive().add_endpoint("a", tf.function(lambda x: x)),
    "not built": lambda f: f.export.ExportArchive().track(f.layers.Dense(1)),
    "not trackable": lambda f: f.export.ExportArchive().track(1),
    "no variables": lambda f: f.export.ExportArchive().add_variable_collection("v", ["a"]),
    "no list": lambda f: f.export.ExportArchive().add_variable_collection("v", tf.Variable(1)),
    "format": lambda f: f.export.ExportArchive("other"),
    "for JAX": lambda f: f.export.ExportArchive().add_endpoint(
        "a", lambda x: x, [tf.TensorSpec([None])], is_static=True
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_same_is_refused_as_by_keras(case):
    assert message(tfkit, REFUSED[case]) is message(keras, REFUSED[case])


def test_what_functions_use_is_found_wherever_it_is(tmp_path):
    class Plain:
        pass

    holder, file = Plain(), tmp_path / "words.txt"
    file.write_text("a\nb\n")
    holder.variable = tf.Variable([1.0, 2.0])
    holder.table = tf.lookup.StaticVocabularyTable(
        tf.lookup.TextFileInitializer(
            str(file), tf.string, 0, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
        ),
        num_oov_buckets=1,
    )
    holder.seen = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    holder.seen.insert(tf.constant(["b"]), tf.constant([7], tf.int64))

    archive = tfkit.export.ExportArchive()
    spec = [tf.TensorSpec([None], tf.string)]
    archive.add_endpoint("ids", lambda words: holder.table.lookup(words), spec)
    archive.add_endpoint("seen", lambda words: holder.seen.lookup(words), spec)
    archive.add_endpoint("sum", lambda x: x + tf.reduce_sum(holder.variable), [tf.TensorSpec([])])
    archive.write_out(tmp_path / "m", verbose=False)
    file.unlink()
    with c_api.SavedModel(tmp_path / "m") as model:
        words = np.array(["a", "b", "c"], object)
        assert model.run("ids", words=words)["output_0"].tolist() == [0, 1, 2]
        assert model.run("seen", words=words)["output_0"].tolist() == [-1, 7, -1]
        assert model.run("sum", x=np.float32(1))["output_0"] == 4


def test_methods_run_as_calls_do(tmp_path):
    """Weights in the compute dtype, layers inside not training, `if` on tensors converted."""

    class Method(tfkit.Model):
        def __init__(self):
            super().__init__(dtype="mixed_float16")
            self.dropout = layers.Dropout(0.9, dtype="mixed_float16")
            self.scale = self.add_weight(shape=(3,), initializer="ones")

        def call(self, x):
            return x

        def scaled(self, x):
            if tf.reduce_sum(x) > 0:
                x = -x
            return self.dropout(x) * self.scale

    model = Method()
    model(np.ones((1, 3)))
    archive = tfkit.export.ExportArchive()
    archive.add_endpoint("scaled", model.scaled, [tf.TensorSpec([None, 3])])
    archive.write_out(tmp_path / "m", verbose=False)
    with c_api.SavedModel(tmp_path / "m") as loaded:
        found = loaded.run("scaled", x=np.ones((1, 3), "float32"))["output_0"]
    assert found.dtype == "float16"
    assert found.tolist() == [[-1, -1, -1]]


def test_tensorflow_calls_an_endpoint_by_the_names_of_its_arguments(tmp_path):
    class Difference(tfkit.Model):
        def call(self, left, right):
            return left - right

    model, one = Difference(), np.ones((1, 2), "float32")
    model(one, one)
    model.export(tmp_path / "m", verbose=False)
    serve = tf.saved_model.load(tmp_path / "m").serve
    assert serve(right=one, left=3 * one).numpy().tolist() == [[2, 2]]


def test_names_that_clash_are_told_apart(tmp_path):
    class Clash(tfkit.Model):
        def call(self, a, b):
            return {"u": {"x": a["x-1"]}, "v": {"x": b["x-1"] + b["_"]}}

    model, one = Clash(), np.ones((1, 1), "float32")
    model({"x-1": one}, {"x-1": one, "_": one})
    model.export(tmp_path / "m", verbose=False)
    with c_api.SavedModel(tmp_path / "m") as loaded:
        signature = loaded.signatures["serve"]
    assert set(signature.inputs) == {"a_x_1", "b_x_1", "arg__"}
    assert set(signature.outputs) == {"u_x", "v_x"}


@pytest.mark.parametrize(
    ("signature", "names"),
    [
        ([[tf.TensorSpec([None, 2], name="left"), tf.TensorSpec([None, 2])]], {"left", "two"}),
        ([[tf.TensorSpec([None, 2]), tf.TensorSpec([None, 2], name="right")]], {"one", "right"}),
        (None, {"one", "two"}),
    ],
)
def test_inputs_have_the_names_of_the_signature_else_those_of_the_model(signature, names, tmp_path):
    inputs = [tfkit.Input((2,), name=name) for name in ("one", "two")]
    model = tfkit.Model(inputs, tfkit.layers.Add()(inputs))
    model.export(tmp_path / "m", verbose=False, input_signature=signature)
    with c_api.SavedModel(tmp_path / "m") as loaded:
        assert set(loaded.signatures["serve"].inputs) == names


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ([tf.TensorSpec([5, None], tf.int64)], ("int64", (5, None))),
        (tfkit.InputSpec(shape=(None, 7), dtype="int16"), ("int16", (None, 7))),
        ([tfkit.KerasTensor((3, 4), "int32")], ("int32", (None, 4))),
        ([np.zeros((2, 2), "uint8")], ("uint8", (None, 2))),
    ],
)
def test_input_signatures_replace_what_was_seen(tmp_path, signature, expected):
    class Cast(tfkit.Model):
        def call(self, ids):
            return tf.cast(ids, tf.float32)

    Cast().export(tmp_path / "m", verbose=False, input_signature=signature)
    with c_api.SavedModel(tmp_path / "m") as loaded:
        spec = loaded.signatures["serve"].inputs["ids"]
    assert (spec.dtype, spec.shape) == expected


def test_what_was_never_called_is_not_exported(tmp_path):
    class Never(tfkit.Model):
        def call(self, x):
            return x

    with pytest.raises(ValueError, match="It must be built"):
        Never().export(tmp_path / "m")
    with pytest.raises(ValueError, match="The `shape` and `dtype` must be provided"):
        Never().export(tmp_path / "m", input_signature=[tfkit.InputSpec(ndim=2)])
    model, spec = build(tfkit), tf.TensorSpec([None, 3])
    with pytest.raises(ValueError, match=r"has 1 inputs: \['x'\]"):
        model.export(tmp_path / "m", input_signature=[[spec, spec]])
    assert not list(tmp_path.iterdir())


def test_sparse_inputs_are_named_in_the_error(tmp_path):
    class Sparse(tfkit.Model):
        def call(self, x):
            return tf.sparse.to_dense(x)

    model = Sparse()
    model(tf.sparse.from_dense(np.eye(3, dtype="float32")))
    with pytest.raises(ValueError, match="Endpoint 'serve' takes SparseTensorSpec"):
        model.export(tmp_path / "m")


def test_the_endpoints_are_printed(tmp_path, capsys):
    build(tfkit).export(tmp_path / "m")
    printed = capsys.readouterr().out
    assert (
        "Endpoint 'serve'\n    takes x: float32 (None, 3)\n    gives y: float32 (None, 2)"
        in printed
    )


class Nameless(tfkit.Model):
    def __init__(self):
        super().__init__(dtype="mixed_float16")
        self.dense = layers.Dense(2, dtype="mixed_float16")

    def call(self, x):
        return self.dense(x)


def test_mixed_precision_takes_what_users_send_before_any_call(tmp_path):
    called = Nameless()
    called(np.ones((1, 3), "float32"))
    called.save(tmp_path / "m.h5")
    loaded = tfkit.models.load_model(tmp_path / "m.h5", {"Nameless": Nameless})
    built, symbolic = Nameless(), Nameless()
    built.build((None, 3))
    symbolic(tfkit.Input((3,)))
    called.compute_output_shape((None, 3))
    for model in (loaded, built, symbolic, called):
        assert call_specs(model)["x"] == tf.TensorSpec([None, 3], tf.float32)
    loaded.export(tmp_path / "exported", verbose=False)
    with c_api.SavedModel(tmp_path / "exported") as model:
        assert model.signatures["serve"].inputs["x"].dtype == "float32"
        assert model.run("serve", x=np.ones((2, 3), "float32"))["output_0"].dtype == np.float16


def test_mixed_precision_without_casts_takes_what_it_is_called_with():
    class Same(tfkit.layers.Layer):
        def call(self, x):
            return x

    for dtype in ("float16", "float32"):
        layer = Same(dtype="mixed_float16", autocast=False)
        layer(tfkit.Input((3,), dtype=dtype))
        assert call_specs(layer)["x"] == tf.TensorSpec([None, 3], dtype)


def test_default_floats_of_numpy_are_exported_as_float32_as_keras_does(tmp_path):
    """`np.ones` makes float64, which nobody has chosen."""
    for framework in (keras, tfkit):
        model = framework.Sequential([framework.layers.Dense(2)])
        model(np.ones((1, 3)))
        model.export(tmp_path / framework.__name__, verbose=False)
        with c_api.SavedModel(tmp_path / framework.__name__) as exported:
            ((_, spec),) = exported.signatures["serve"].inputs.items()
        assert (spec.dtype, spec.shape) == ("float32", (None, 3)), framework


@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
def test_dtypes_are_those_of_the_inputs_of_functional_models(dtype):
    inputs = tfkit.Input((2,), dtype=dtype)
    model = tfkit.Model(inputs, layers.Rescaling(2.0)(inputs))
    model(np.arange(4).reshape(2, 2))  # Computed in the dtype of `inputs`, too.
    assert call_specs(model)["inputs"].dtype == dtype


def test_dtypes_are_those_of_the_callers():
    """NumPy's default floats count as the default float type; tensors as what they are."""

    class Plain(tfkit.Model):
        def call(self, x):
            return x

    for given, expected in (
        (np.ones((1, 2)), "float32"),
        (tf.ones((1, 2), tf.float64), "float64"),
        (np.ones((1, 2), "float16"), "float16"),
        (np.ones((1, 2), "uint8"), "uint8"),
    ):
        model = Plain(dtype="mixed_bfloat16")
        for _ in range(3):  # From the second call on it is compiled.
            model(given)
        assert model._tfkit.given["x"].dtype == expected
    model.compile("sgd", "mse")
    model.predict(np.ones((4, 2)), verbose=0)
    assert model._tfkit.given["x"].dtype == "float32"


def test_an_export_logs_no_path_of_its_own_in_a_notebook(tmp_path, caplog):
    model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1)])
    with caplog.at_level(logging.INFO, logger="tensorflow"):
        model.export(tmp_path / "model", verbose=False)
        assert tf.get_logger().level == logging.INFO
    assert not [record for record in caplog.records if "written to" in record.getMessage()]
