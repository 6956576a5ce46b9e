"""Files of models with LoRA in models without it, and the reverse."""

import json

import numpy as np
import pytest

import tfkit
from tfkit.src.core import tracking
from tfkit.src.files.saving import shards

layers = tfkit.layers
X = np.random.default_rng(1).normal(size=(4, 6, 6, 6, 2)).astype("float32")


class Everything(tfkit.Model):
    """A layer of each class that can have LoRA, some of them inside of others."""

    def __init__(self):
        super().__init__()
        self.volume = layers.Conv3D(3, 2)
        self.image = layers.Conv2D(4, (2, 3), groups=1)
        self.line = layers.Conv1D(3, 2)
        self.attention = layers.MultiHeadAttention(2, 4)
        self.einsum = layers.EinsumDense("abc,cd->abd", (None, 5))
        self.dense = layers.Dense(4)
        self.words = layers.Embedding(9, 4)
        self.tied = layers.ReversibleEmbedding(9, 4)

    def call(self, inputs):
        x = self.volume(inputs)[:, 0]
        x = self.line(self.image(x)[:, 0])
        x = self.dense(self.einsum(self.attention(x, x)))
        ids = tfkit.ops.clip(tfkit.ops.cast(x[..., 0], "int32"), 0, 8)
        return self.tied(x + self.words(ids) + self.tied(ids), reverse=True)


def adaptable(model):
    parts = [part for part in tracking.all_layers(model) if hasattr(part, "enable_lora")]
    assert len(parts) == 11
    return parts


def main_of(layer):
    return "embeddings" if isinstance(layer, layers.Embedding) else "kernel"


def built(mode=None, lora=False):
    tfkit.utils.set_random_seed(7)
    model = Everything()
    model(X)
    if lora:
        give_lora(adaptable(model))
    if mode:
        model.quantize(mode)
    return model


def give_lora(parts):
    draws = np.random.default_rng(3)
    for number, layer in enumerate(parts):
        layer.enable_lora(2, lora_alpha=(3, 0.7, None)[number % 3])
        b = getattr(layer, f"lora_{main_of(layer)}_b")
        b.assign(draws.normal(0, 0.3, b.shape))


SAVERS = {
    "model.weights.h5": lambda model, path: model.save_weights(path),
    "model.h5": lambda model, path: model.save(path),
    "model.weights.json": lambda model, path: model.save_weights(path, max_shard_size=1),
    "model.safetensors": lambda model, path: model.save_weights(path),
}


@pytest.mark.parametrize("mode", [None, "int8", "int4", "float8"])
def test_a_model_without_lora_loads_the_sums(mode, tmp_path):
    model, plain = built(mode, lora=True), built(mode)
    path = tmp_path / "m.weights.h5"
    model.save_weights(path)
    report = plain.load_weights(path)
    assert not report.skipped
    assert not report.unused
    assert len(report.loaded) == len(plain.weights)
    for ours, theirs in zip(adaptable(model), adaptable(plain), strict=True):
        for name, value in ours._tfkit_merged().items():
            np.testing.assert_array_equal(vars(theirs)[name], value)  # Bit for bit.
    if mode is None:
        np.testing.assert_allclose(plain(X), model(X), rtol=1e-4, atol=1e-5)


def small(lora=False, units=4, **options):
    model = tfkit.Sequential([tfkit.Input((6,)), layers.Dense(units, name="d", **options)])
    if lora:
        give_lora([model.layers[0]])
    return model


@pytest.mark.parametrize("name", SAVERS)
def test_all_kinds_of_files_give_lora_alpha(name, tmp_path):
    model, plain = small(lora=True), small()
    SAVERS[name](model, tmp_path / name)
    plain.load_weights(tmp_path / name)
    np.testing.assert_array_equal(plain.layers[0].kernel, model.layers[0].kernel)
    again = small(lora=True)
    again.load_weights(tmp_path / name)  # With LoRA, the matrices are loaded.
    np.testing.assert_array_equal(again.layers[0].lora_kernel_a, model.layers[0].lora_kernel_a)


def test_edited_files_give_lora_alpha(tmp_path):
    model, path = small(lora=True), tmp_path / "new.weights.h5"
    model.save_weights(tmp_path / "m.weights.h5")
    editor = tfkit.saving.KerasFileEditor(tmp_path / "m.weights.h5")
    editor.rename_object("d", "e")
    editor.save(path)
    plain = small()
    plain.load_weights(path, rename={"e": "d"})
    np.testing.assert_array_equal(plain.layers[0].kernel, model.layers[0].kernel)


def test_checkpoints_of_orbax_give_lora_alpha(tmp_path):
    pytest.importorskip("orbax.checkpoint")
    model, plain = small(lora=True), small()
    saver = tfkit.callbacks.OrbaxCheckpoint(tmp_path / "steps", save_weights_only=True)
    model.compile("sgd", "mse")
    model.fit(
        X[:, 0, 0, 0] @ np.ones((2, 6), "float32"), np.ones((4, 4)), verbose=0, callbacks=[saver]
    )
    plain.load_weights(tmp_path / "steps")
    np.testing.assert_array_equal(plain.layers[0].kernel, model.layers[0].kernel)


@pytest.mark.parametrize("mode", [None, "int8", "int4"])
def test_a_model_with_lora_takes_weights_without_it_as_sums(mode, tmp_path):
    plain, model = built(mode), built(mode, lora=True)
    plain.save_weights(tmp_path / "m.weights.h5")
    firsts = [getattr(it, f"lora_{main_of(it)}_a").numpy() for it in adaptable(model)]
    report = model.load_weights(tmp_path / "m.weights.h5")
    assert len(report.skipped) == 2 * len(firsts)
    assert "the weight is the sum" in report.skipped["dense/lora_kernel_b"]
    for layer, first in zip(adaptable(model), firsts, strict=True):
        np.testing.assert_array_equal(getattr(layer, f"lora_{main_of(layer)}_a"), first)
        assert not np.any(getattr(layer, f"lora_{main_of(layer)}_b"))
    np.testing.assert_allclose(model(X), plain(X), rtol=1e-4, atol=1e-5)


def values(model):
    return [weight.numpy() for weight in model.weights]


def test_what_does_not_fit_is_named_once_and_changes_nothing(tmp_path):
    path = tmp_path / "m.weights.h5"
    small(lora=True).save_weights(path)
    plain = small(units=5)
    before = values(plain)
    with pytest.raises(ValueError, match=r"different:  +d/kernel: the file has \(6, 4\)") as caught:
        plain.load_weights(path)
    assert "lora" not in str(caught.value)
    report = plain.load_weights(path, skip_mismatch=True)
    assert set(report.unused) == {"d/lora_kernel_a", "d/lora_kernel_b"}
    assert not report.loaded
    for value, weight in zip(before, plain.weights, strict=True):
        np.testing.assert_array_equal(weight, value)


def edited(path, **weights):
    editor = tfkit.saving.KerasFileEditor(path)
    editor.add_weights("d", weights)
    editor.save(path)


def test_matrices_that_do_not_fit_are_named(tmp_path):
    path, plain = tmp_path / "m.weights.h5", small()
    small(lora=True).save_weights(path)
    edited(path, lora_kernel_a=np.ones((5, 2), "float32"))
    before = values(plain)
    message = r"d/kernel: the file has LoRA of \(5, 2\) float32 and \(2, 4\) float32 for it"
    with pytest.raises(ValueError, match=message):
        plain.load_weights(path)
    report = plain.load_weights(path, skip_mismatch=True)
    assert report.loaded == ["d/bias"]
    np.testing.assert_array_equal(plain.layers[0].kernel, before[0])


def test_parts_of_integers_fit_together_or_not_at_all(tmp_path):
    path, model, plain = tmp_path / "m.weights.h5", small(lora=True), small()
    model.quantize("int4")
    plain.quantize("int4")
    model.save_weights(path)
    groups = np.full([6], 3, "float32")  # There is one group.
    edited(path, g_idx=groups)
    before = values(plain)
    with pytest.raises(ValueError, match="`d/kernel` and its LoRA have no sum"):
        plain.load_weights(path)
    edited(path, g_idx=np.zeros([6], "float32"), kernel_scale=np.ones((2, 4), "float32"))
    report = plain.load_weights(path, skip_mismatch=True)
    assert report.loaded == ["d/bias"]
    assert "`d/kernel_scale` does not fit" in report.skipped["d/kernel"]
    for value, weight in list(zip(before, plain.weights, strict=True))[1:]:
        np.testing.assert_array_equal(weight, value)


def test_files_without_lora_alpha_are_refused(tmp_path, monkeypatch):
    """Those that tfkit wrote before it stored that number."""
    path, plain = tmp_path / "m.safetensors", small()
    with monkeypatch.context() as patch:
        patch.setattr("tfkit.src.files.saving.contents.texts", lambda model: {"names": {}})
        small(lora=True).save_weights(path)
    with pytest.raises(ValueError, match="has no `lora_alpha`"):
        plain.load_weights(path)
    small(lora=True).load_weights(path)


def test_a_lora_alpha_that_is_no_number_is_refused(tmp_path):
    index = tmp_path / "m.weights.json"
    small(lora=True).save_weights(index, max_shard_size=1)
    for alpha in ("3", True, [1], None, 10**400):
        document = json.loads(index.read_text())
        document.pop("crc32")
        document["lora"] = {"d": alpha}
        index.write_text(json.dumps(document | {"crc32": shards.checksum(document)}))
        with pytest.raises(ValueError, match=r"lora|digits"):
            small().load_weights(index)
    with pytest.raises(ValueError, match="`lora_alpha`"):
        small().layers[0].enable_lora(2, lora_alpha=float("nan"))


def test_a_weight_that_layers_share_is_no_sum(tmp_path):
    class Tied(layers.Layer):
        def __init__(self, dense):
            super().__init__()
            self.weight = vars(dense)["kernel"]

        def call(self, inputs):
            return inputs @ self.weight

    def shared():
        dense = layers.Dense(6, name="d")
        dense.build((None, 6))
        return tfkit.Sequential([tfkit.Input((6,)), dense, Tied(dense)])

    model, plain = shared(), shared()
    give_lora(model.layers[:1])
    model.save_weights(tmp_path / "m.weights.h5")
    before = values(plain)
    with pytest.raises(ValueError, match="or layers share the weight"):
        plain.load_weights(tmp_path / "m.weights.h5")
    for value, weight in zip(before, plain.weights, strict=True):
        np.testing.assert_array_equal(weight, value)


def test_sums_are_found_by_name_and_left_out_on_demand(tmp_path):
    path, model, plain = tmp_path / "m.weights.h5", small(lora=True), small()
    model.save_weights(path)
    plain.load_weights(path, by_name=True)
    np.testing.assert_array_equal(plain.layers[0].kernel, model.layers[0].kernel)
    other = small()
    before = values(other)
    other.load_weights(path, objects_to_skip=[other.layers[0]])
    np.testing.assert_array_equal(other.layers[0].kernel, before[0])


@pytest.mark.filterwarnings("ignore:File .*float:UserWarning")
def test_sums_are_made_in_the_dtype_of_the_file(tmp_path):
    path, model, plain = tmp_path / "m.weights.h5", small(lora=True), small(dtype="float16")
    model.save_weights(path)
    plain.load_weights(path)
    expected = model.layers[0].kernel.numpy().astype("float16")
    np.testing.assert_array_equal(plain.layers[0].kernel, expected)
    model.layers[0].lora_kernel_b.assign(np.full((2, 4), 1e6))  # The sum is beyond float16.
    model.save_weights(path)
    with pytest.raises(ValueError, match="d/kernel"):
        plain.load_weights(path)
    np.testing.assert_array_equal(plain.layers[0].kernel, expected)


def test_matrices_that_would_be_scaled_otherwise_are_refused(tmp_path):
    path, model, other = tmp_path / "m.weights.h5", small(lora=True), small()
    model.save_weights(path)
    alpha = model.layers[0].lora_alpha
    other.layers[0].enable_lora(2, lora_alpha=alpha + 1)
    before = values(other)
    message = rf"the file's `lora_alpha` is {alpha}, the layer's {alpha + 1}: make it with"
    with pytest.raises(ValueError, match=message):
        other.load_weights(path)
    assert other.load_weights(path, skip_mismatch=True).loaded == ["d/bias"]
    for value, weight in zip(before, values(other), strict=True):
        if value.shape != (4,):
            np.testing.assert_array_equal(weight, value)
