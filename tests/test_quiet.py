"""What the first programs print on the standard error stream: nothing that nobody asked for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tfkit.src.borrowed import log_lines


def errors_of(program, folder, **environment):
    program = ["-c", program] if isinstance(program, str) else [str(program)]
    kept = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    done = subprocess.run(
        [sys.executable, *program],
        cwd=folder,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr


def test_first_programs_print_nothing(tmp_path):
    assert errors_of(Path(__file__).parent / "first_programs.py", tmp_path) == ""


def test_everything_is_shown_when_asked_for(tmp_path):
    shown = errors_of(
        "import tfkit, tensorflow as tf; tf.zeros(1)", tmp_path, TF_CPP_MIN_LOG_LEVEL="0"
    )
    assert "absl::InitializeLog" in shown


def test_a_tensorflow_that_was_imported_before_stays_quiet_about_cuda(tmp_path):
    if log_lines.has_cuda_driver():
        pytest.skip("the machine has a CUDA driver, of which TensorFlow reports errors")
    program = "import tensorflow, os; os.write(2, b'| '); import tfkit; tensorflow.zeros(1)"
    assert errors_of(program, tmp_path).rpartition("| ")[2] == ""


def test_other_lines_are_written_and_the_environment_is_as_before(tmp_path):
    program = """
import os, sys
from tfkit.src.borrowed.log_lines import without_log_lines
with without_log_lines():
    print("from Python", file=sys.stderr)
    os.write(2, b"I0000 00:00:17.6 1 port.cc:153] oneDNN custom operations are on.\\n")
    os.write(2, b"E0000 00:00:17.6 1 cuda_platform.cc:52] failed call to cuInit: INTERNAL\\n")
    os.write(2, b"E0000 00:00:17.6 1 other.cc:1] a real error\\n")
assert "TF_CPP_MIN_LOG_LEVEL" not in os.environ
"""
    assert errors_of(program, tmp_path).splitlines() == [
        "from Python",
        "E0000 00:00:17.6 1 other.cc:1] a real error",
    ]


def test_lines_are_written_when_the_import_fails(tmp_path):
    program = """
from tfkit.src.borrowed.log_lines import without_log_lines
try:
    with without_log_lines():
        import os; os.write(2, b"the reason\\n")
        raise ImportError
except ImportError:
    pass
"""
    assert errors_of(program, tmp_path) == "the reason\n"


def test_lazy_modules_are_loaded_by_their_attributes_alone(tmp_path):
    program = """
import inspect, sys
import tfkit
import tensorflow as tf
module = sys.modules["tensorflow._api.v2.lite"]
inspect.getmodule(tfkit.Model)
assert "Interpreter" not in vars(module)
assert module.Interpreter.__name__ == "Interpreter"
assert "TFLiteConverter" in dir(module)
assert tf.lite is module
graph = tf.compat.v1.get_default_graph
assert "Session" not in vars(tf.compat.v1)
assert tf.compat.v1.Session and tf.compat.v1.get_default_graph is graph
assert tf.compat.v1.train.exponential_decay and tf.compat.v2.add is tf.add
assert tf.profiler.experimental.Profile and tf.feature_column.numeric_column
import tensorflow.compat.v1 as v1
assert v1.Session is tf.compat.v1.Session
"""
    assert errors_of(program, tmp_path) == ""


def test_names_that_tensorflow_takes_from_an_older_keras_are_found_when_they_are_used(tmp_path):
    program = """
import sys
import tfkit
import tensorflow as tf
from tensorflow.python.training import training
assert "tensorflow.python.keras" not in sys.modules
assert not hasattr(tf.nn, "unknown")
assert tf.nn.RNNCellDropoutWrapper.__name__ == "DropoutWrapper"
from tensorflow.nn import RNNCellDeviceWrapper
assert training.cosine_decay.__name__ == "cosine_decay"
"""
    assert errors_of(program, tmp_path) == ""
