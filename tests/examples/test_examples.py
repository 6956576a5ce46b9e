"""Each example runs, on a small setting, and does what it says."""

from pathlib import Path

import numpy as np
import pytest

from examples import (
    cnn_mnist,
    custom_loop,
    custom_train_step,
    diffusion_2d,
    gan_mnist,
    image_augmentation,
    language_model,
    segmentation_unet,
    structured_data,
    text_classification,
    text_lstm_mask,
    timeseries_forecast,
    transfer_learning,
    vae_mnist,
)


@pytest.fixture(autouse=True)
def picture(tmp_path, monkeypatch):
    """Each example runs in a folder of its own, where it leaves one picture."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")
    for path in tmp_path.iterdir():
        assert path.suffix == ".png"
        assert pyplot.imread(path).std() > 0.04


def test_the_autoencoder_learns_to_draw_digits(mnist, capsys):
    vae, history = vae_mnist.main(["--epochs", "2", "--limit", "1000"])
    first, second = history.history["loss"]
    assert second < first < 0.4
    assert capsys.readouterr().out.count("16/16 ━") == 2
    assert vae.decoder(np.zeros((3, 32))).shape == (3, 784)


def test_a_loop_by_hand_learns():
    losses = custom_loop.main(["--epochs", "2", "--picture", "losses.png"])
    assert losses[1] < losses[0]
    assert Path("losses.png").exists()


def test_a_step_of_ones_own_learns():
    losses = custom_train_step.main(["--epochs", "3"])
    assert losses[2] < losses[0]


def test_the_convolutional_network_reads_digits(mnist):
    assert cnn_mnist.main(["--epochs", "1", "--limit", "8000"]) > 0.85


def test_the_lstm_reads_sentences_and_no_padding(capsys):
    assert text_lstm_mask.main(["--epochs", "2", "--sentences", "4000"]) > 0.9
    assert "change the predictions by 0.0e+00" in capsys.readouterr().out


def test_a_day_and_a_week_are_learned():
    error, naive = timeseries_forecast.main(["--epochs", "4", "--hours", "4000"])
    assert error < 0.75 * naive


def test_the_language_model_writes_words():
    losses, texts = language_model.main(["--epochs", "2", "--sentences", "3000"])
    assert losses[1] < 0.4
    words = {word for part in language_model.SUBJECTS for word in part.split()}
    assert sum(text.split()[1].strip(".") in words for text in texts) >= 3


def test_augmentation_helps(mnist):
    plain, augmented = image_augmentation.main(["--epochs", "10", "--limit", "1000"])
    assert augmented > plain + 0.1


def test_strings_are_classified_and_served():
    accuracy, (good, bad) = text_classification.main(["--epochs", "3", "--reviews", "4000"])
    assert accuracy > 0.8
    assert good > 0.9 > 0.1 > bad


def test_columns_of_all_kinds_are_learned_from():
    accuracy, common = structured_data.main(["--epochs", "5", "--rows", "6000"])
    assert accuracy > 0.88 > common


def test_the_gan_draws_what_looks_like_digits_on_average(mnist):
    distance, _ = gan_mnist.main(["--epochs", "3", "--limit", "6000"])
    assert distance < 0.2


def test_noise_becomes_a_spiral():
    distance, before = diffusion_2d.main(["--epochs", "50", "--points", "10000"])
    assert distance < 0.5 * before


def test_disks_are_found():
    assert segmentation_unet.main(["--epochs", "4", "--images", "600"]) > 0.8


def test_wrong_options_are_refused():
    with pytest.raises(SystemExit):
        custom_loop.main(["--epochs", "many"])


def test_learned_features_serve_for_other_digits(mnist):
    learned, drawn = transfer_learning.main(["--epochs", "4", "--limit", "10000"])
    assert learned > drawn + 0.1
