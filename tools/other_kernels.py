"""Runs tests on TensorFlow's other CPU kernels: without oneDNN if it is on, else with it.

TensorFlow decides by the CPU, or by `TF_ENABLE_ONEDNN_OPTS`, when it is imported; so these are other
processes than those of the whole suite.
"""

import os
import subprocess
import sys
from pathlib import Path

# Tests that concern convolutions, products and pooling; but not the wide ones, which are more of the same.
TESTS = (
    "tests/test_tensorflow_faults.py",
    "tests/test_rectifiers.py",
    "tests/ops/test_against_keras.py::test_values_and_dtypes",
    "tests/ops/test_against_keras.py::test_compiles_with_xla",
    "tests/ops/test_details.py",
    "tests/ops/test_convolution_gradients.py",
    "tests/ops/test_image.py",
    "tests/conformance/test_layers.py::test_numbers_are_those_of_keras",
    "tests/conformance/test_layers.py::test_traced_and_compiled_calls_give_what_eager_ones_do",
    "tests/layers/test_attention.py",
    "tests/models/test_sequential.py",
    "tests/interop/test_keras_goldens.py",
)


def main() -> int:
    """Returns pytest's exit status; arguments are pytest's."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    code = "from tfkit.src.engine.machine import onednn_is_on; print(onednn_is_on())"
    root = Path(__file__).parents[1]
    asked = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    is_on = asked.stdout.split()[-1] == "True"
    here, other = ("on", "off") if is_on else ("off", "on")
    print(f"oneDNN is {here}; these tests run with it {other}", flush=True)
    environment = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": "0" if is_on else "1"}
    command = [sys.executable, "-m", "pytest", *(sys.argv[1:] or ["-q", "-n", "2"])]
    command += ["-m", "not wide", *TESTS]
    return subprocess.run(command, env=environment, cwd=root, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
