"""How often XLA compiles: once for each program, whatever the values of a batch are."""

import os
import subprocess
import sys

PROGRAM = """
import os, sys
import numpy as np, tensorflow as tf
import tfkit as keras

class Product(keras.layers.Layer):
    def call(self, x):
        # Checks of sizes, of a table's rows and of a slice that is computed.
        squares = tf.einsum("bi,bi->b", x, x)
        rows = tf.gather(tf.ones([4, 2]), tf.cast(x[:, 0] > 0, tf.int32))
        return x + rows + tf.broadcast_to(tf.reduce_mean(squares), tf.shape(x))[: tf.shape(x)[0]]

keras.config.set_compile_after(0)
x = np.random.default_rng(0).normal(size=(64, 2)).astype("float32")
model = keras.Sequential([keras.Input((2,)), Product(), keras.layers.Dense(2)])
model.compile("adam", "mse", steps_per_execution=3)
for epochs in (1, 4):
    model.fit(x, x, batch_size=4, epochs=epochs, verbose=0)
    print("compiled", len(os.listdir(sys.argv[1])))
print(model.plan)
"""


def test_a_program_is_compiled_once(tmp_path):
    """Of what is a constant to XLA, as the row that a step begins with might be, it compiles each value."""
    environment = {
        **os.environ,
        # TensorFlow then keeps a file for each program that it has compiled.
        "TF_XLA_FLAGS": f"--tf_xla_persistent_cache_directory={tmp_path}",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = run.stdout.splitlines()
    assert "train: XLA loop" in lines[-1]
    first, later = (int(line.split()[1]) for line in lines if line.startswith("compiled"))
    assert 1 <= first == later
