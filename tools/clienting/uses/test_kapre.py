"""Programs that use kapre: sound in the first layers of a network."""

import keras
import numpy as np
import pytest
from kapre import (
    STFT,
    Delta,
    Energy,
    Frame,
    InverseSTFT,
    Magnitude,
    MagnitudeToDecibel,
    Phase,
)
from kapre.augmentation import ChannelSwap, SpecAugment
from kapre.composed import (
    get_frequency_aware_conv2d,
    get_melspectrogram_layer,
    get_perfectly_reconstructing_stft_istft,
    get_stft_mag_phase,
    get_stft_magnitude_layer,
)

SOUND = np.random.default_rng(0).normal(size=(3, 800, 1)).astype("float32")
SHAPE = {"input_shape": (800, 1), "n_fft": 64, "hop_length": 32}
LAYERS = {
    "magnitude": lambda: get_stft_magnitude_layer(**SHAPE, return_decibel=True),
    "mel": lambda: get_melspectrogram_layer(**SHAPE, sample_rate=8000, n_mels=12),
    "mel-decibel": lambda: get_melspectrogram_layer(
        **SHAPE, sample_rate=8000, n_mels=12, return_decibel=True
    ),
    "phase": lambda: get_stft_mag_phase(**SHAPE, return_decibel=True),
    "frames": lambda: keras.Sequential([keras.Input((800, 1)), Frame(100, 50)]),
    "energy": lambda: keras.Sequential([keras.Input((800, 1)), Energy(8000, 0.1, 100, 50)]),
}


def values(output):
    array = np.asarray(output)
    return [list(array.shape), float(np.abs(array).mean()), float(array.std())]


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name, record_property):
    record_property("values", values(LAYERS[name]()(SOUND)))


def test_models_are_trained_and_saved(tmp_path, record_property):
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            get_melspectrogram_layer(**SHAPE, sample_rate=8000, n_mels=12),
            Delta(win_length=5),
            keras.layers.Conv2D(2, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(1),
        ]
    )
    model.compile("sgd", "mse")
    history = model.fit(SOUND, SOUND[:, 0], epochs=2, shuffle=False, verbose=0)
    record_property("losses", history.history["loss"])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(
        loaded.predict(SOUND, verbose=0), model.predict(SOUND, verbose=0), rtol=1e-4, atol=1e-5
    )


def test_there_and_back(record_property):
    there, back = get_perfectly_reconstructing_stft_istft(64, 32, "channels_last", "channels_last")
    found = np.asarray(keras.Sequential([keras.Input((800, 1)), there, back])(SOUND))
    record_property("values", values(found))


def test_complex_numbers(record_property):
    model = keras.Sequential([keras.Input((800, 1)), STFT(n_fft=64, hop_length=32)])
    spectrum = model(SOUND)
    assert np.asarray(spectrum).dtype == "complex64"
    record_property("magnitude", values(Magnitude()(spectrum)))
    record_property("phase", values(Phase()(spectrum)))
    record_property("decibel", values(MagnitudeToDecibel()(Magnitude()(spectrum))))
    record_property("back", values(InverseSTFT(n_fft=64, hop_length=32)(spectrum)))


def test_convolution_that_knows_the_frequency(record_property):
    keras.utils.set_random_seed(1)
    model = get_frequency_aware_conv2d(data_format="channels_last", filters=2, kernel_size=3)
    record_property("values", values(model(np.ones((2, 8, 8, 1), "float32"))))


def test_augmentation():
    images = np.random.default_rng(0).uniform(size=(4, 20, 16, 2)).astype("float32")
    layer = SpecAugment(
        5, 3, n_freq_masks=2, n_time_masks=2, mask_value=0.0, data_format="channels_last"
    )
    assert (np.asarray(layer(images, training=True)) == 0).any()
    np.testing.assert_array_equal(layer(images, training=False), images)
    swapped = np.asarray(ChannelSwap()(images, training=True))
    np.testing.assert_allclose(np.sort(swapped, -1), np.sort(images, -1))


@pytest.mark.parametrize("kind", [Delta, Magnitude, MagnitudeToDecibel, Phase])
def test_configurations(kind):
    layer = kind()
    again = kind.from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
