"""Correct programs make no noise: all warnings are errors, and nothing is logged."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

# What TensorFlow's C++ says, which no Python can silence: information (of the machine, of XLA), and that
# there is no GPU.
FROM_CPP = re.compile(
    r"WARNING: All log messages before absl::InitializeLog\(\) is called are written to STDERR"
    r"|To enable the following instructions: .*, in other operations, rebuild TensorFlow .*"
    r"|I\d{4} .*\.(cc|h):\d+\] .*"
    r"|[WE]\d{4} .* (cudart_stub|cuda_platform|cuda_executor|gpu_device)\.cc:\d+\] .*"
)

PROGRAM = """
import sys
import numpy as np
import tensorflow as tf
import tfkit
from tfkit import layers

folder = sys.argv[1]
tfkit.utils.set_random_seed(0)
x = np.random.normal(size=(50, 6)).astype("float32")
y = x.sum(1, keepdims=True)

@tfkit.saving.register_keras_serializable()
class Net(tfkit.Model):
    def __init__(self):
        super().__init__()
        self.hidden = [layers.Dense(8, activation="relu") for _ in range(2)]
        self.norm = layers.BatchNormalization()
        self.dropout = layers.Dropout(0.2)
        self.head = layers.Dense(1)

    def call(self, inputs):
        for layer in self.hidden:
            inputs = layer(inputs)
        self.add_loss(1e-3 * tf.reduce_mean(inputs))
        return self.head(self.dropout(self.norm(inputs)))

def functional():
    inputs = tfkit.Input((6,))
    hidden = layers.Dense(8, activation="tanh")(inputs)
    return tfkit.Model(inputs, layers.Dense(1)(layers.Concatenate()([inputs, hidden])))

def sequential():
    return tfkit.Sequential([layers.Reshape((3, 2)), layers.LSTM(4), layers.Dense(1)])

for build in (Net, functional, sequential):
    model = build()
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(x, y, batch_size=16, epochs=2, validation_data=(x[:7], y[:7]), verbose=2)
    model.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(16), verbose=2)
    model.evaluate(x, y, batch_size=16, verbose=0)
    for size in (1, 3, 16, 33, 50, 2):
        assert model.predict(x[:size], verbose=0).shape == (size, 1)
    for size in range(1, 11):
        assert model(x[:size]).shape == (size, 1)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x[:size], training=True))
        model.optimizer.apply(tape.gradient(loss, model.trainable_variables))
    model.summary()
    path = f"{folder}/{build.__name__}"
    model.save(path + ".h5")
    model.save(path + ".h5")
    loaded = tfkit.saving.load_model(path + ".h5")
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), model.predict(x, verbose=0))
    model.save_weights(path + ".weights.h5")
    loaded.load_weights(path + ".weights.h5")
    model.export(path)
    tf.saved_model.load(path).signatures["serving_default"]
print("done")
"""


def run(program, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def noise(stderr):
    return [line for line in stderr.splitlines() if line and not FROM_CPP.fullmatch(line)]


def test_a_correct_program_is_silent(tmp_path):
    done = run(PROGRAM, tmp_path)
    assert "\n".join(noise(done.stderr)) == ""
    assert done.returncode == 0
    assert done.stdout.endswith("done\n")


def test_noise_would_be_heard():
    program = """if True:
        import absl.logging, tensorflow, warnings
        absl.logging.warning("heard one")
        tensorflow.get_logger().warning("heard two")
        warnings.warn("heard three")
    """
    heard = " ".join(noise(run(program).stderr))
    assert [word for word in ("one", "two", "three") if f"heard {word}" in heard] == [
        "one",
        "two",
        "three",
    ]
