"""The flag that keeps NaN in maxima."""

import subprocess
import sys

import pytest
import tensorflow as tf

from tfkit.src.borrowed import xla_flags

FLAG = "--xla_cpu_enable_fast_min_max=false"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", FLAG),
        ("--xla_dump_to=/tmp", f"--xla_dump_to=/tmp {FLAG}"),
        ("--xla_cpu_enable_fast_min_max=true", "--xla_cpu_enable_fast_min_max=true"),
        ("flags.txt", "flags.txt"),
    ],
)
def test_flags_of_the_user_stay(monkeypatch, given, expected):
    monkeypatch.setenv("XLA_FLAGS", given)
    xla_flags.keep_nan(tf.__version__)
    assert xla_flags.os.environ["XLA_FLAGS"] == expected


def test_without_the_flag_xla_loses_nan():
    """The workaround is not needed any more where this fails."""
    program = (
        "import tensorflow as tf\n"
        "larger = tf.function(tf.maximum, jit_compile=True)\n"
        "print(larger(tf.constant([0.0]), tf.constant([float('nan')])).numpy())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"XLA_FLAGS": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[0.]"
