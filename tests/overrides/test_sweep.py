"""A sample of the sweep over all classes, which `tools/overrides.py` runs as a whole."""

import pytest

from tests.overrides.sweep import cases, findings

CASES = cases()
SAMPLE = [
    *("Sequential", "Attention", "BatchNormalization", "Dense", "LSTM", "MultiHeadAttention"),
    *("GroupQueryAttention", "Discretization", "RandomFlip", "SpatialDropout1D", "optimizers.Adam"),
    *("metrics.AUC", "losses.Huber", "callbacks.EarlyStopping", "callbacks.ModelCheckpoint"),
    *("callbacks.CallbackList", "mixed_precision.LossScaleOptimizer"),
    *("layers.StringLookup", "layers.Wrapper", "CategoryEncoding"),
    *("initializers.Orthogonal", "constraints.MaxNorm"),
]


@pytest.mark.parametrize("name", SAMPLE)
def test_what_keras_calls_is_called_or_warned_of(name):
    assert not findings(*CASES[name])
