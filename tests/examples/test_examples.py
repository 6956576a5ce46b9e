"""Each example runs, on a small setting, and does what it says."""

import pytest

from examples import cnn_mnist, custom_loop, custom_train_step


def test_a_loop_by_hand_learns():
    losses = custom_loop.main(["--epochs", "2"])
    assert losses[1] < losses[0]


def test_a_step_of_ones_own_learns():
    losses = custom_train_step.main(["--epochs", "3"])
    assert losses[2] < losses[0]


def test_the_convolutional_network_reads_digits(mnist):
    assert cnn_mnist.main(["--epochs", "1", "--limit", "8000"]) > 0.85


def test_wrong_options_are_refused():
    with pytest.raises(SystemExit):
        custom_loop.main(["--epochs", "many"])
