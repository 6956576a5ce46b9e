"""Without JAX or PyTorch nothing of it is imported, and the error names the command that installs it."""

import subprocess
import sys

import pytest

WITHOUT = """
import sys
package, advice = sys.argv[1:]
sys.modules[package] = None
import tfkit, numpy as np
try:
    getattr(tfkit.interop, f"to_{package}")(tfkit.layers.Dense(1), np.ones((1, 2), "float32"))
except ImportError as error:
    assert str(error).endswith(advice), error
else:
    raise AssertionError("no error")
"""
UNASKED = (
    # TensorFlow itself imports JAX where it is installed.
    "import sys, tfkit; "
    "assert not [it for it in sys.modules if it.startswith('tfkit.src.export.convert.jax.')]"
)


@pytest.mark.parametrize(
    ("package", "advice"),
    [
        ("jax", "Install it: pip install 'tfkit-dl[jax]'"),
        # The build for CPUs: the one on indexes is for GPUs.
        ("torch", "Install it: pip install torch --index-url https://download.pytorch.org/whl/cpu"),
    ],
)
def test_without_a_package_the_command_that_installs_it_is_named(package, advice):
    subprocess.run([sys.executable, "-c", WITHOUT, package, advice], check=True, timeout=120)


def test_jax_is_imported_when_something_needs_it():
    subprocess.run([sys.executable, "-c", UNASKED], check=True, timeout=120)
