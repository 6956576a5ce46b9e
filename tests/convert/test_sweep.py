"""A sample of `./tools/conversions` in narrow floats, and that it would see what is wrong."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed: pip install 'tfkit-dl[jax]'")
pytest.importorskip("torch", reason="`pip install 'tfkit-dl[torch]'`")
sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))  # As tools/conversions has it.

from converting import __main__ as sweep
from converting import calls, cases

NAMES = ("matmul-", "softmax-", "logsumexp-", "gelu-", "var-", "Dense-", "GRU-")
ITEMS = [
    next(it for it in [*cases.op_cases(), *cases.layer_cases()] if it.name.startswith(name))
    for name in NAMES
]


@pytest.mark.parametrize("framework", calls.CALLS)
@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)
def test_a_sample_is_equal_in_16_bits(item, framework):
    records = sweep.run(item, "bfloat16", framework)
    assert records
    assert {it["result"] for it in records} == {"equal"}, records


def test_what_is_wrong_is_seen():
    expected = calls.Result([np.ones(3, "float32")], {}, [np.ones(2, "float32")])
    for wrong, fault in (
        (
            calls.Result([np.full(3, 1.0001, "float32")], {}, expected.gradients),
            "output 0 is off by",
        ),
        (calls.Result([np.ones(3, "float16")], {}, None), "output 0 is float32, not float16"),
        (calls.Result([np.ones(4, "float32")], {}, None), "shape (3,), not"),
        (calls.Result(expected.outputs, {}, [np.array([1, np.nan], "float32")]), "not finite"),
    ):
        (found,) = calls.differences(expected, wrong, "float32")
        assert fault in found
    assert calls.differences(expected, expected, "float32") == []
