"""Ctrl-C in a training."""

import collections
import os
import signal
import threading
import time

import numpy as np
import pytest

from tfkit.src.training import interrupts


@pytest.fixture(autouse=True)
def _default_handler():
    # Programs that a shell starts in the background ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_soon():
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()


def test_a_long_computation_is_answered_while_it_runs(monkeypatch, capsys):
    monkeypatch.setattr(interrupts, "_PATIENCE", 0.01)
    matrix = np.ones((3000, 3000))
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt), interrupts.acknowledged():
        # Python handles no signal in a product.
        collections.deque((matrix @ matrix for _ in range(1000)), maxlen=0)
    assert capsys.readouterr().out.count("Ctrl-C was received") == 1
    assert signal.set_wakeup_fd(-1) == -1


def test_an_interrupt_that_is_handled_at_once_needs_no_answer(capsys):
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt), interrupts.acknowledged():
        time.sleep(60)
    assert capsys.readouterr().out == ""


def test_other_threads_and_the_descriptors_of_event_loops_are_left_alone():
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write)
    try:
        with interrupts.acknowledged():
            assert signal.set_wakeup_fd(write) == write
    finally:
        signal.set_wakeup_fd(-1)
        os.close(read)
        os.close(write)
    failures = []

    def run():
        try:
            with interrupts.acknowledged():
                pass
        except ValueError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert not failures
