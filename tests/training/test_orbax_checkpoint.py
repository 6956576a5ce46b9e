import inspect
import json
import os
import sys

import keras
import numpy as np
import pytest

import tfkit
from tfkit.src.files.saving import orbax
from tfkit.src.files.saving.errors import LoadError

X = np.random.default_rng(0).random((16, 3), "float32")
Y = X.sum(1, keepdims=True)


@pytest.fixture
def ocp(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")  # Orbax uses JAX, which would take a GPU's memory.
    return pytest.importorskip("orbax.checkpoint", reason="`pip install 'tfkit-dl[orbax]'`")


def compiled(units=4):
    model = tfkit.Sequential(
        [
            tfkit.Input((3,)),
            tfkit.layers.Dense(units, name="a"),
            tfkit.layers.Dropout(0.1),
            tfkit.layers.BatchNormalization(name="b.c"),
            tfkit.layers.Dense(1),
        ]
    )
    model.compile("adam", "mse", metrics=["mae"])
    return model


def trained(folder, model=None, epochs=2, initial_epoch=0, before=(), **options):
    model = model or compiled()
    callback = tfkit.callbacks.OrbaxCheckpoint(folder, **options)
    model.fit(
        X, Y, batch_size=4, epochs=epochs, initial_epoch=initial_epoch, verbose=0,
        callbacks=[*before, callback],
    )  # fmt: skip
    return model, callback


def steps(folder):
    return list(orbax.steps(folder))


def assert_equal(model, other):
    for weight, same in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(weight, same)


def test_the_arguments_are_those_of_keras():
    mine, theirs = (
        {
            name: each.default
            for name, each in inspect.signature(
                library.callbacks.OrbaxCheckpoint
            ).parameters.items()
        }
        for library in (tfkit, keras)
    )
    assert list(mine.items()) == list(theirs.items())


def test_without_the_package_the_error_names_the_line_that_installs_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "orbax.checkpoint", None)
    with pytest.raises(ImportError, match=r"pip install 'tfkit-dl\[orbax\]'"):
        tfkit.callbacks.OrbaxCheckpoint(tmp_path / "new")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("bad", [{"save_freq": 0}, {"save_freq": "batch"}, {"max_to_keep": 0}])
def test_bad_arguments(bad, tmp_path):
    with pytest.raises(ValueError, match=f"`{next(iter(bad))}` must be"):
        tfkit.callbacks.OrbaxCheckpoint(tmp_path, **bad)


@pytest.mark.parametrize("background", [True, False])
def test_a_model_is_loaded_with_its_optimizer(ocp, background, tmp_path):
    model, callback = trained(tmp_path / "new" / "deep", save_on_background=background)
    assert steps(tmp_path / "new" / "deep") == [1]  # The second epoch; one is kept.
    loaded = tfkit.saving.load_model(tmp_path / "new" / "deep")
    assert_equal(model, loaded)
    for variable, same in zip(model.optimizer.variables, loaded.optimizer.variables, strict=True):
        np.testing.assert_array_equal(variable, same)
    assert int(loaded.optimizer.iterations) == 8
    for each in (model, loaded):  # Seeds, too: the next epoch is the same.
        each.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
    assert_equal(model, loaded)
    assert callback.is_primary_host()
    assert not callback.is_multihost_enabled()


def test_orbax_itself_reads_the_arrays_by_attribute_path(ocp, tmp_path):
    model, _ = trained(tmp_path, save_weights_only=True)
    handler = ocp.StandardCheckpointHandler()
    tree = handler.restore(tmp_path / "1" / "weights", args=ocp.args.StandardRestore())
    handler.close()
    np.testing.assert_array_equal(tree["a"]["kernel"], model.get_layer("a").kernel)
    assert "gamma" in tree["b%2Ec"]  # Orbax joins keys with dots.
    assert not {each.suffix for each in tmp_path.rglob("*")} & {".pkl", ".pickle", ".npy"}


def test_weights_alone(ocp, tmp_path):
    model, _ = trained(tmp_path, epochs=3, save_weights_only=True, max_to_keep=2)
    assert steps(tmp_path) == [1, 2]
    other = compiled()
    report = other.load_weights(tmp_path)
    assert_equal(model, other)
    assert not report.skipped
    assert not report.unused
    other.load_weights(tmp_path / "1")  # That of an earlier epoch.
    assert not np.array_equal(model.get_layer("a").kernel, other.get_layer("a").kernel)
    with pytest.raises(LoadError, match="contains only weights"):
        tfkit.saving.load_model(tmp_path)


def test_the_weights_of_a_checkpoint_with_everything(ocp, tmp_path):
    model, _ = trained(tmp_path)
    other = compiled()
    other.load_weights(tmp_path)
    assert_equal(model, other)


def test_every_few_batches_the_number_of_batches_names_the_checkpoint(ocp, tmp_path):
    model, _ = trained(tmp_path, save_freq=3, max_to_keep=None)
    assert steps(tmp_path) == [3, 6]
    trained(tmp_path, model, save_freq=3, max_to_keep=None)
    assert steps(tmp_path) == [3, 6, 11, 14]  # The optimizer knows the eight batches before.


@pytest.mark.parametrize(
    ("mode", "threshold", "expected"),
    [("max", None, [0, 1, 3]), ("min", None, [0]), ("max", 2.5, [1, 3]), ("min", 0.5, [])],
)
def test_only_the_best(ocp, mode, threshold, expected, tmp_path):
    class Scores(tfkit.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs["score"] = [1.0, 3.0, 2.0, 4.0][epoch]

    _, callback = trained(
        tmp_path, epochs=4, before=[Scores()], monitor="score", mode=mode, save_best_only=True,
        initial_value_threshold=threshold, max_to_keep=None,
    )  # fmt: skip
    assert steps(tmp_path) == expected
    assert callback.best == {"max": 4.0, "min": threshold or 1.0}[mode]


def test_only_the_best_every_few_batches(ocp, tmp_path):
    best = {"save_best_only": True, "monitor": "loss", "save_freq": 4, "max_to_keep": None}
    trained(tmp_path / "all", epochs=1, initial_value_threshold=1e9, **best)
    trained(tmp_path / "none", epochs=1, initial_value_threshold=1e-9, **best)
    assert (steps(tmp_path / "all"), steps(tmp_path / "none")) == ([4], [])


def test_where_the_result_is_missing_nothing_is_saved(ocp, tmp_path):
    with pytest.warns(UserWarning, match="saves nothing at step 0.*'val_loss'"):
        trained(tmp_path / "missing", epochs=1, save_best_only=True)
    assert steps(tmp_path / "missing") == []


@pytest.mark.parametrize("what", ["different", "missing"])
def test_nothing_changes_when_weights_do_not_fit(ocp, what, tmp_path):
    trained(tmp_path)
    if what == "different":
        other = compiled(units=5)
    else:
        other = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(4, name="a")])
    before = other.get_weights()
    with pytest.raises(LoadError, match="nothing was loaded"):
        other.load_weights(tmp_path)
    for weight, same in zip(other.get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight, same)
    report = other.load_weights(tmp_path, skip_mismatch=True)
    assert bool(report.loaded)
    assert bool(report.skipped or report.unused)


def test_no_memory_is_taken_for_arrays_that_no_file_has(ocp, tmp_path):
    trained(tmp_path)
    document = tmp_path / "1" / "tfkit" / "metadata"
    changed = document.read_text().replace('"units": 4', f'"units": {1 << 30}')
    document.write_text(changed.replace("[3, 4]", f"[3, {1 << 30}]"))
    with pytest.raises(LoadError, match=r"lists arrays of .* bytes, but has files of"):
        tfkit.models.load_model(tmp_path)


def test_damage_is_found_before_anything_changes(ocp, tmp_path):
    trained(tmp_path)
    model = compiled()
    before = model.get_weights()
    document = tmp_path / "1" / "tfkit" / "metadata"
    good = document.read_text()
    shape, dtype, checksum = json.loads(good)["arrays"]["weights"]["dense/bias"]
    for bad in (
        [shape, dtype, "0" * 8],
        [[1 << 40], dtype, checksum],
        [[1 << 34], dtype, checksum],
        [shape, "object", checksum],
        [[-1], dtype, checksum],
        7,
    ):
        changed = json.loads(good)
        changed["arrays"]["weights"]["dense/bias"] = bad
        document.write_text(json.dumps(changed))
        with pytest.raises(LoadError):
            model.load_weights(tmp_path)
    for text in ("{", "[]", good.replace('"format": "tfkit"', '"format": "other"')):
        document.write_text(text)
        with pytest.raises(LoadError):
            model.load_weights(tmp_path)
    document.write_text(good)
    for make in (lambda: document.symlink_to(tmp_path / "other"), lambda: os.mkfifo(document)):
        document.rename(tmp_path / "other")
        make()
        with pytest.raises(LoadError, match="`tfkit/metadata` is no plain file"):
            model.load_weights(tmp_path)
        document.unlink()
        (tmp_path / "other").rename(document)
    for file in (tmp_path / "1" / "weights").rglob("*"):
        if file.is_file():
            file.write_bytes(b"")
    with pytest.raises(LoadError, match="is damaged"):
        model.load_weights(tmp_path)
    document.unlink()
    with pytest.raises(LoadError, match="not one of tfkit's"):
        model.load_weights(tmp_path)
    for weight, same in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight, same)


@pytest.mark.parametrize("dense", [False, True])
def test_later_checkpoints_are_refused_before_training(ocp, dense, tmp_path):
    every_batch = tfkit.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: None)
    model, _ = trained(tmp_path, epochs=3)
    before = model.get_weights()
    with pytest.raises(ValueError, match=r"checkpoints of the steps \[2\].*begins at 0"):
        trained(tmp_path, model, before=[every_batch] * dense)
    for weight, same in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight, same)
    trained(tmp_path, model, epochs=4, initial_epoch=3)
    assert steps(tmp_path) == [3]


def test_a_restored_training_replaces_the_checkpoints_after_its_state(ocp, tmp_path):
    class Stop(tfkit.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 2:
                raise KeyboardInterrupt

    def run(*last):
        model = compiled()
        backup = tfkit.callbacks.BackupAndRestore(tmp_path / "backup", save_freq=10)
        callback = tfkit.callbacks.OrbaxCheckpoint(
            tmp_path / "new", save_freq=3, max_to_keep=None, save_on_background=False
        )
        model.fit(X, Y, batch_size=4, epochs=4, verbose=0, callbacks=[backup, callback, *last])

    with pytest.raises(KeyboardInterrupt):
        run(Stop())
    assert steps(tmp_path / "new") == [3, 6, 9, 12]
    run()
    assert steps(tmp_path / "new") == [3, 6, 9, 12, 15]


def test_training_is_not_cut_into_batches(ocp, tmp_path):
    callback = tfkit.callbacks.OrbaxCheckpoint(tmp_path)
    assert not tfkit.callbacks.CallbackList([callback]).needs_train_batches


def test_every_dtype_and_arrays_without_elements(ocp, tmp_path):
    arrays = {f"x/{dtype}": np.ones((2, 3)).astype(dtype) for dtype in ("float64", "int8", "bool")}
    arrays |= {
        "x.y": np.ones(2, tfkit.ops.cast(0, "bfloat16").numpy().dtype),
        "x/z": np.zeros((0, 3)),
    }
    arrays |= {"scalar": np.array(2**40), "a%2Fb/c": np.ones(1, "complex64")}
    writer = orbax.Writer(tmp_path, None, True)
    writer.write(0, {"config": {"a": 1}}, {"weights": arrays})
    for array in arrays.values():
        array[...] = 0  # The values have been copied.
    writer.close()
    with orbax.Reader(tmp_path) as reader:
        assert reader.text("config") == {"a": 1}
        assert reader.text("compile") is None
        assert set(reader.shapes("weights")) == set(arrays)
        assert not reader.shapes("optimizer")
        for path, array in arrays.items():
            value = reader.value("weights", path)
            assert (value.shape, value.dtype) == (array.shape, array.dtype)
            # TensorFlow ends the process otherwise; memory of no bytes is not shared.
            assert not value.size or value.ctypes.data % 64 == 0
            expected = 2**40 if path == "scalar" else 1
            np.testing.assert_array_equal(value, np.full_like(array, expected))
