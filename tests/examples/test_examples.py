"""Each example runs, on a small setting, and does what it says."""

import pytest

from examples import cnn_mnist, custom_loop, custom_train_step, text_lstm_mask


def test_a_loop_by_hand_learns():
    losses = custom_loop.main(["--epochs", "2"])
    assert losses[1] < losses[0]


def test_a_step_of_ones_own_learns():
    losses = custom_train_step.main(["--epochs", "3"])
    assert losses[2] < losses[0]


def test_the_convolutional_network_reads_digits(mnist):
    assert cnn_mnist.main(["--epochs", "1", "--limit", "8000"]) > 0.85


def test_the_lstm_reads_sentences_and_no_padding(capsys):
    assert text_lstm_mask.main(["--epochs", "2", "--sentences", "4000"]) > 0.9
    assert "change the answers by 0.0e+00" in capsys.readouterr().out


def test_wrong_options_are_refused():
    with pytest.raises(SystemExit):
        custom_loop.main(["--epochs", "many"])
