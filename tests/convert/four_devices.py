"""Checks of trainings on four devices of JAX, in one process: XLA makes four of a CPU when it starts.

`python -m tests.convert.four_devices FILE` runs all functions whose names begin with `check_`, and writes to
the file, as JSON, for each name the traceback of its failure, or nothing.
"""

import gc
import json
import os
import re
import sys
import tempfile
import time
import traceback
from pathlib import Path

# Without optimizations of XLA, which do not matter here: they are most of the time of a compilation.
os.environ["XLA_FLAGS"] = (
    "--xla_force_host_platform_device_count=4 --xla_backend_optimization_level=0"
)

import jax
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import distribution, layers, losses, optimizers

WIDTH, HEADS, WORDS, LENGTH, BATCH = 16, 4, 32, 6, 8
IDS = np.random.default_rng(0).integers(0, WORDS, (64, LENGTH + 1)).astype("int32")
X, Y = IDS[:, :-1], IDS[:, 1:]


class Block(layers.Layer):
    def __init__(self):
        super().__init__()
        self.norm = layers.LayerNormalization()
        self.attention = layers.MultiHeadAttention(HEADS, WIDTH // HEADS, dropout=0.1)
        self.up = layers.Dense(4 * WIDTH, "gelu")
        self.down = layers.Dense(WIDTH)
        self.drop = layers.Dropout(0.1)

    def call(self, x):
        y = self.norm(x)
        x = x + self.attention(y, y, use_causal_mask=True)
        return x + self.drop(self.down(self.up(x)))


@tfkit.saving.register_keras_serializable("four_devices")
class Language(tfkit.Model):
    def __init__(self):
        super().__init__()
        self.embedding = layers.Embedding(WORDS, WIDTH)
        self.blocks = [Block() for _ in range(1)]
        self.head = layers.Dense(WORDS)

    def call(self, ids):
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


RULES = {
    ".*embedding/embeddings": ("model", None),
    ".*attention/(query|key|value)/kernel": (None, "model", None),
    ".*attention/(query|key|value)/bias": ("model", None),
    ".*attention_output/kernel": ("model", None, None),
    ".*(up|head)/kernel": (None, "model"),
    ".*(up|head)/bias": ("model",),
    ".*down/kernel": ("model", None),
}


def parallel(shape, rules=RULES, **options):
    devices = [f"cpu:{index}" for index in range(int(np.prod(shape)))]
    mesh = distribution.DeviceMesh(shape, ["data", "model"], devices)
    layout_map = distribution.LayoutMap(mesh)
    for rule, axes in rules.items():
        layout_map[rule] = axes
    return distribution.ModelParallel(layout_map=layout_map, batch_dim_name="data", **options)


def data_parallel(**options):
    return distribution.DataParallel(devices=[f"cpu:{index}" for index in range(4)], **options)


def made(of, make, optimizer="adam", loss=None, **options):
    """Returns a compiled model, with the same first weights in each call."""
    tfkit.utils.set_random_seed(0)
    distribution.set_distribution(of)
    try:
        model, x = make()
        loss = loss or losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(optimizer, loss, **{"engine": "jax", **options})
        model(x[:1])
    finally:
        distribution.set_distribution(None)
    return model


def language():
    return Language(), X


def images():
    model = tfkit.Sequential(
        [
            tfkit.Input((6, 6, 3)),
            layers.Conv2D(8, 3, padding="same"),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.Flatten(),
            layers.Dense(8, kernel_regularizer="l2"),
        ]
    )
    return model, IMAGES


IMAGES = np.random.default_rng(1).normal(size=(64, 6, 6, 3)).astype("float32")
LABELS = (IMAGES.sum((1, 2, 3)) > 0).astype("int32")
OF_IMAGES = {
    ".*conv2d.*/kernel": (None, None, None, "model"),
    ".*batch_normalization.*/.*": ("model",),
    ".*dense.*/kernel": ("model", None),
}


def layers_of_floats(width=16):
    def make():
        tfkit.backend.clear_session()
        model = tfkit.Sequential(
            [
                tfkit.Input((16,)),
                layers.Dense(width, "relu", name="up"),
                layers.Dense(16, name="down"),
            ]
        )
        return model, ROWS

    return make


ROWS = np.random.default_rng(2).normal(size=(64, 16)).astype("float32")
SUMS = np.cumsum(ROWS, 1)
OF_FLOATS = {
    ".*up/kernel": (None, "model"),
    ".*up/bias": ("model",),
    ".*down/kernel": ("model", None),
}


def trained(model, x=X, y=Y, **options):
    """Returns the results of each epoch, and the weights."""
    options = {"batch_size": BATCH, "epochs": 2, "shuffle": False, "verbose": 0} | options
    options["callbacks"] = [*options.get("callbacks", ()), Arrays()]
    return model.fit(x, y, **options).history, model.get_weights()


def assert_equal(found, expected, atol=1e-5):
    for one, two in zip(*map(tf.nest.flatten, (found, expected)), strict=True):
        np.testing.assert_allclose(one, two, atol=atol, rtol=1e-5)


class Arrays(tfkit.callbacks.Callback):
    """Keeps the arrays of JAX with the values of variables, at the end of the latest training."""

    latest = None

    def on_train_end(self, logs=None):
        values = self.model._tfkit_programs.values
        Arrays.latest = self.model, [(it[0], it[2]) for it in values._arrays.values()]


def arrays_of(model):
    """Returns the arrays of the latest training, with their variables."""
    of, pairs = Arrays.latest
    assert of is model
    return pairs


def bytes_of(arrays, device=0):
    """Returns the bytes of arrays on a device. Arrays of JAX may share memory, which counts once."""
    found = {}
    for array in arrays:
        for shard in array.addressable_shards:
            if shard.device.id == device:
                found[shard.data.unsafe_buffer_pointer()] = shard.data.nbytes
    return sum(found.values())


def has_rule(variable, rules):
    weight = variable.slot.weight if hasattr(variable, "slot") else variable
    layout_map = distribution.LayoutMap(None)
    layout_map.update(rules)
    return layout_map[weight.path] is not None


def check_a_transformer_has_the_losses_of_one_device():
    def optimizer():
        return optimizers.AdamW(1e-2, clipnorm=1.0)

    expected = trained(made(None, language, optimizer(), metrics=["accuracy"]))
    # Batches alone are divided in the convolution below.
    for shape in ((1, 4), (2, 2)):
        model = made(parallel(shape), language, optimizer(), metrics=["accuracy"])
        history, weights = trained(model)
        assert_equal(history, expected[0])
        for weight, one, two in zip(model.weights, weights, expected[1], strict=True):
            # The exact gradient of a key's bias is 0: Adam scales what rounding leaves of it to full steps.
            if not weight.path.endswith("key/bias"):
                assert_equal(one, two, atol=1e-4)
        assert_divided(model, RULES, shape[1])


def check_a_convolution_has_the_losses_of_one_device():
    def optimizer():
        return optimizers.SGD(0.05, momentum=0.9)

    expected = trained(made(None, images, optimizer()), IMAGES, LABELS)
    for shape in ((4, 1), (2, 2)):
        model = made(parallel(shape, OF_IMAGES), images, optimizer())
        assert_equal(trained(model, IMAGES, LABELS), expected)
        assert_divided(model, OF_IMAGES, shape[1])


def assert_divided(model, rules, parts):
    """Weights and slots with a rule take a part of their bytes on each device, after a training."""
    pairs = arrays_of(model)
    divided = [array for variable, array in pairs if has_rule(variable, rules)]
    others = [array for variable, array in pairs if not has_rule(variable, rules)]
    assert len(divided) >= 6
    for device in range(4):
        assert bytes_of(divided, device) == sum(it.nbytes for it in divided) // parts
        assert bytes_of(others, device) == sum(it.nbytes for it in others)


def check_a_model_larger_than_a_device():
    """Its weights alone are as large as the limit, which no device comes near.

    Measured are the arrays that are alive on each device whenever one is placed or a batch ends, and the
    memory that XLA plans for a device in the compiled program: arguments, results and temporary values.
    """
    make = layers_of_floats(2048)
    Arrays.latest = None
    gc.collect()  # Of the models of other checks.
    placed, largest, before = type_of_layouts()._in_parts, [0], bytes_of(jax.live_arrays())

    def measure():
        arrays = jax.live_arrays()
        largest[0] = max(largest[0], *(bytes_of(arrays, it.id) - before for it in jax.devices()))

    def noting(self, array, sharding):
        result = placed(self, array, sharding)
        measure()
        return result

    class Noting(tfkit.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            measure()

    type_of_layouts()._in_parts = noting
    try:
        model = made(parallel((1, 4), OF_FLOATS), make, "sgd", loss="mse")
        limit = sum(it.numpy().nbytes for it in model.weights)
        history, _ = trained(model, ROWS, SUMS, callbacks=[Noting()])
    finally:
        type_of_layouts()._in_parts = placed
    assert history["loss"][1] < history["loss"][0]
    assert 0.25 * limit < largest[0] < 0.3 * limit, largest[0] / limit
    memory = compiled(model, ROWS, SUMS).memory_analysis()
    planned = memory.argument_size_in_bytes + memory.temp_size_in_bytes
    planned += memory.output_size_in_bytes - memory.alias_size_in_bytes
    # The gradients are a quarter as well.
    assert planned < 0.7 * limit, (planned / limit, memory)


def type_of_layouts():
    from tfkit.src.training.jax.layouts import Layouts

    return Layouts


def compiled(model, x, y):
    """Returns the program that a model was trained with, compiled once more."""
    program, found = model._tfkit_programs._latest["train"], []
    run = program._steps

    def noting(*args):
        found.append(run.lower(*args).compile())
        return run(*args)

    program._steps = noting
    trained(model, x, y, epochs=1)
    return found[0]


def check_the_state_of_an_optimizer_is_divided():
    expected = trained(made(None, layers_of_floats(), loss="mse"), ROWS, SUMS)
    whole = made(data_parallel(), layers_of_floats(), loss="mse")
    divided = made(data_parallel(shard_optimizer_state=True), layers_of_floats(), loss="mse")
    both = made(
        parallel((2, 2), OF_FLOATS, shard_optimizer_state=True), layers_of_floats(), loss="mse"
    )
    for model, of_slots, of_weights in ((whole, 1, 1), (divided, 4, 1), (both, 4, 2)):
        assert_equal(trained(model, ROWS, SUMS), expected)
        for parts, has_slot in ((of_slots, True), (of_weights, False)):
            arrays = [
                array
                for variable, array in arrays_of(model)
                if variable.shape.rank == 2 and hasattr(variable, "slot") == has_slot
            ]
            assert len(arrays) == (4 if has_slot else 2)
            assert bytes_of(arrays) == sum(it.nbytes for it in arrays) // parts


def check_data_of_any_kind_and_all_methods():
    def run(of):
        model = made(of, layers_of_floats(), loss="mse", metrics=["mae"])
        found = [trained(model, ROWS[:61], SUMS[:61], validation_split=0.2, shuffle=True)]
        dataset = tf.data.Dataset.from_tensor_slices((ROWS[:61], SUMS[:61])).batch(BATCH)
        found.append(model.fit(dataset, epochs=2, verbose=0).history)
        found.append(model.fit(((ROWS[:k], SUMS[:k]) for k in (8, 8, 3)), verbose=0).history)
        found += [model.train_on_batch(ROWS[:k], SUMS[:k]) for k in (8, 5)]
        found += [model.test_on_batch(ROWS, SUMS), model.evaluate(ROWS[:61], SUMS[:61], 16, 0)]
        found += [model.evaluate(dataset, verbose=0), model.predict_on_batch(ROWS)]
        return [*found, model.predict(ROWS[:61], 8, 0), model.predict(dataset, verbose=0)]

    expected = run(None)
    assert_equal(run(parallel((2, 2), OF_FLOATS)), expected, atol=1e-4)


def check_averages_accumulation_files_and_callbacks():
    folder = Path(tempfile.mkdtemp())

    def run(of, name):
        optimizer = optimizers.Adam(1e-2, use_ema=True, gradient_accumulation_steps=2)
        model = made(of, layers_of_floats(), optimizer, loss="mse")
        callbacks = [
            tfkit.callbacks.ModelCheckpoint(
                str(folder / f"{name}.weights.h5"), save_weights_only=True
            ),
            tfkit.callbacks.EarlyStopping("loss", patience=1, restore_best_weights=True),
            tfkit.callbacks.BackupAndRestore(folder / name),
        ]
        found = [trained(model, ROWS, SUMS, callbacks=callbacks)]
        model.save(folder / f"{name}.h5")
        distribution.set_distribution(of)
        loaded = tfkit.models.load_model(folder / f"{name}.h5")
        distribution.set_distribution(None)
        assert_equal(loaded.get_weights(), found[0][1], atol=0)
        assert_equal(loaded.optimizer.variables, model.optimizer.variables, atol=0)
        found.append(trained(loaded, ROWS, SUMS))
        if of is not None:
            assert_divided(loaded, OF_FLOATS, 2)
        model.load_weights(folder / f"{name}.weights.h5")
        return [*found, model.get_weights()]

    assert_equal(run(parallel((2, 2), OF_FLOATS), "four"), run(None, "one"), atol=1e-4)


class Placed(layers.Layer):
    def call(self, x):
        mesh = distribution.DeviceMesh((2, 2), ["data", "model"], [f"cpu:{i}" for i in range(4)])
        return distribution.distribute_tensor(x, distribution.TensorLayout(("data", "model"), mesh))


def check_activations_have_layouts():
    def make():
        model, x = layers_of_floats()()
        return tfkit.Sequential([*model.layers, Placed()]), x

    rules = {**OF_FLOATS, ".*up/output": ("data", "model")}
    expected = trained(made(None, layers_of_floats(), loss="mse"), ROWS, SUMS)
    model, seen = made(parallel((2, 2), rules), make, loss="mse"), []
    constrain = jax.lax.with_sharding_constraint

    def noting(array, sharding):
        if getattr(array, "ndim", 0) == 2 and tuple(array.shape) == (BATCH, 16):
            seen.append(tuple(sharding.spec))
        return constrain(array, sharding)

    jax.lax.with_sharding_constraint = noting
    try:
        found = trained(model, ROWS, SUMS)
    finally:
        jax.lax.with_sharding_constraint = constrain
    assert_equal(found, expected)
    assert seen.count(("data", "model")) >= 2
    assert model.layers[0]._tfkit.placing is None
    with pytest.raises(ValueError, match="in the `call` of a layer"):
        Placed().call(tf.ones((2, 2)))


def check_the_plan_lists_weights_without_a_rule():
    model = made(parallel((2, 2), {".*up/kernel": (None, "model")}), layers_of_floats(), loss="mse")
    trained(model, ROWS, SUMS, epochs=1)
    plan = str(model.plan)
    assert "on 4 of CPU (data 2 x model 2); on all devices: sequential/up/bias, " in plan, plan


def check_what_is_refused():
    def refused(rules, match, of=None, **options):
        model = made(of or parallel((2, 2), rules), layers_of_floats(), loss="mse", **options)
        before = model.get_weights()
        with pytest.raises(ValueError, match=match):
            model.fit(ROWS, SUMS, verbose=0)
        assert_equal(model.get_weights(), before, atol=0)
        assert int(model.optimizer.iterations) == 0

    refused({"nothing/.*": ("model",)}, r"'nothing/\.\*'.*matches nothing.*sequential/up/kernel")
    refused({".*up/bias": (None, "model")}, r"does not fit 'sequential/up/bias' of shape \(16,\)")
    refused({".*/kernel": ("model",), ".*up/.*": ()}, "Several keys match")
    mesh = distribution.DeviceMesh((3,), ["data"], ["cpu:0", "cpu:1", "cpu:2"])
    layout_map = distribution.LayoutMap(mesh)
    layout_map[".*up/kernel"] = ("data",)
    of = distribution.ModelParallel(layout_map=layout_map)
    refused({}, r"\(16, 16\).*'data': 3.*parts of equal size", of)
    of = distribution.ModelParallel(
        layout_map=distribution.LayoutMap(distribution.DeviceMesh((1,), ["data"], ["cpu:9"]))
    )
    refused({}, "JAX has no device 'cpu:9'", of)
    mesh = distribution.DeviceMesh((2,), ["data"], ["cpu:1", "cpu:1"])
    of = distribution.ModelParallel(layout_map=distribution.LayoutMap(mesh))
    refused({}, r"different devices. Received: \['cpu:1', 'cpu:1'\]", of)
    refused(OF_FLOATS, "Pass `engine='jax'` to `compile", engine="tensorflow")


def check_the_example_of_the_documentation():
    page = (Path(__file__).parents[2] / "docs" / "jax.md").read_text()
    section = page.partition("## Larger than a device")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    os.chdir(tempfile.mkdtemp())
    exec("import jax, numpy as np, tfkit as keras\nfrom tfkit import layers\n" + block, {})


def main(file):
    # `DataParallel` on JAX's devices, which `list_devices` lists.
    distribution.initialize(engine="jax")
    assert distribution.list_devices() == [f"cpu:{index}" for index in range(4)]
    found = {}
    for name, check in list(globals().items()):
        began = time.process_time()
        if name.startswith("check_") and (len(sys.argv) < 3 or name in sys.argv[2:]):
            try:
                found[name] = check()
            except Exception:
                found[name] = traceback.format_exc()
                print(found[name])
        if name.startswith("check_"):
            print(name, time.process_time() - began, flush=True)
    Path(file).write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
