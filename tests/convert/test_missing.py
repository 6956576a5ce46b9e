"""Without JAX nothing of it is imported, and the error names the command that installs it."""

import subprocess
import sys

WITHOUT = """
import sys
sys.modules["jax"] = None
import tfkit, numpy as np
try:
    tfkit.interop.to_jax(tfkit.layers.Dense(1), np.ones((1, 2), "float32"))
except ImportError as error:
    assert "pip install 'tfkit-dl[jax]'" in str(error), error
else:
    raise AssertionError("no error")
"""
UNASKED = (
    # TensorFlow itself imports JAX where it is installed.
    "import sys, tfkit; "
    "assert not [it for it in sys.modules if it.startswith('tfkit.src.export.convert.jax.')]"
)


def test_jax_is_imported_when_it_is_asked_for():
    subprocess.run([sys.executable, "-c", WITHOUT], check=True, timeout=120)
    subprocess.run([sys.executable, "-c", UNASKED], check=True, timeout=120)
