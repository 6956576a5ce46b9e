import numpy as np
import pytest

from tfkit import layers

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
