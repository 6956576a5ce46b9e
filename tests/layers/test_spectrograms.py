import keras
import numpy as np
import pytest

import tfkit
from tfkit import layers
from tfkit.src.weights.initializers.constant import NAMED_WINDOWS

SOUNDS = np.random.default_rng(0).normal(size=(2, 40, 2)).astype("float32")


@pytest.mark.parametrize("mode", ["log", "magnitude", "psd", "real", "imag", "angle", "stft"])
@pytest.mark.parametrize("expand_dims", [False, True])
def test_channels_first_is_the_same_with_other_axes(mode, expand_dims):
    """Keras has no such kernel on CPUs without AVX-512."""
    options = {"mode": mode, "frame_length": 8, "fft_length": 16, "expand_dims": expand_dims}
    last = layers.STFTSpectrogram(**options)(SOUNDS).numpy()
    first = layers.STFTSpectrogram(data_format="channels_first", **options)(
        SOUNDS.transpose(0, 2, 1)
    ).numpy()
    np.testing.assert_allclose(np.moveaxis(first, 1, -1), last, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("window", NAMED_WINDOWS)
@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("length", [7, 8])
def test_windows_are_those_of_keras(window, periodic, length):
    options = {"mode": "magnitude", "frame_length": length, "window": window, "periodic": periodic}
    ours, theirs = (module.layers.STFTSpectrogram(**options) for module in (tfkit, keras))
    for layer in (ours, theirs):
        layer.build((None, 40, 2))
    for a, b in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_what_is_refused():
    with pytest.raises(TypeError, match="Received inputs of dtype int64"):
        layers.STFTSpectrogram()(np.ones((2, 400, 1), "int64"))
    with pytest.raises(ValueError, match="`fft_length` must be greater than or equal to"):
        layers.MelSpectrogram(fft_length=256, sequence_length=512)
