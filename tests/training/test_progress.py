import io
import re
import sys
import types

import numpy as np
import pytest

import tfkit
from tfkit.callbacks import CallbackList, ProgbarLogger
from tfkit.src.base import settings
from tfkit.src.base import terminal as terminal_output
from tfkit.src.training import progress
from tfkit.src.training.progress import Progbar

BAR = "━" * 20


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    def __init__(self):
        self.now = 1000.0

    def time(self):
        return self.now


def write_to(monkeypatch, stdout):
    # Not the attribute of `sys`, which pytest sets again after the fixtures.
    for module in (progress, terminal_output):
        monkeypatch.setattr(module, "sys", types.SimpleNamespace(stdout=stdout))


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


@pytest.fixture
def terminal(monkeypatch):
    terminal = Terminal()
    write_to(monkeypatch, terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return terminal


@pytest.fixture
def log_file(monkeypatch):
    log_file = io.StringIO()
    write_to(monkeypatch, log_file)
    return log_file


def redraws(terminal):
    return [part.rstrip() for part in strip_colors(terminal.getvalue()).split("\r")[1:]]


def strip_colors(text):
    return re.sub(r"\x1b\[\d*m", "", text)


def test_log_file_of_a_short_epoch_gets_one_plain_line(log_file, clock):
    bar = Progbar(938)
    for step in range(938):
        clock.now += 0.0012
        bar.update(step + 1, [("loss", 0.0942)])
        assert not bar.due()
    assert log_file.getvalue() == f"938/938 {BAR} 1s 1ms/step - loss: 0.0942\n"


def test_log_file_of_a_long_epoch_gets_a_line_every_30_seconds(log_file, clock):
    bar = Progbar(20)
    for step in range(20):
        clock.now += 4.0
        bar.update(step + 1, [("loss", 0.5)])
    lines = log_file.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["8/20", "16/20", "20/20"]
    assert lines[0] == f" 8/20 {'━' * 8}{'─' * 12} 48s 4s/step - loss: 0.5000"
    assert "\r" not in log_file.getvalue()


def test_interval_of_zero_writes_each_update_to_a_log_file(log_file, clock):
    bar = Progbar(3, interval=0.0)
    for step in range(3):
        bar.update(step + 1, [("loss", float(step))])
    means = [line.partition(" - loss: ")[2] for line in log_file.getvalue().splitlines()]
    assert means == ["0.0000e+00", "0.5000", "2.0000"]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.000859, "859us/step"), (0.001, "1ms/step"), (0.06, "60ms/step"), (2.0, "2s/step")],
)
def test_step_time(log_file, clock, seconds, shown):
    bar = Progbar(10)
    for _ in range(10):
        clock.now += seconds * (1 + 1e-9)
        bar.add(1)
    assert f" {shown}\n" in log_file.getvalue()


def test_step_time_leaves_out_the_first_update_which_compiles(log_file, clock):
    bar = Progbar(100)
    clock.now += 20
    bar.update(20)
    clock.now += 0.8
    bar.update(100)
    assert log_file.getvalue() == f"100/100 {BAR} 21s 10ms/step\n"


def test_terminal_redraws_in_place_and_in_color(terminal, clock):
    bar = Progbar(20, width=10)
    clock.now += 1
    bar.update(5, [("loss", 2.0)])
    clock.now += 1
    bar.update(20, [("loss", 1.0)])
    text = terminal.getvalue()
    assert "\x1b[32m" in text
    assert text.count("\r") == 2
    assert text.count("\n") == 1
    assert redraws(terminal) == [
        " 5/20 ━━──────── 3s 200ms/step - loss: 2.0000",
        "20/20 ━━━━━━━━━━ 2s 67ms/step - loss: 1.0000",
    ]


def test_shorter_line_covers_the_longer_one_before(terminal, clock):
    bar = Progbar(10, stateless_metrics=())
    clock.now += 1
    bar.update(1, [("loss", 1e-5)])
    clock.now += 1
    bar.update(2, [("loss", 1.0)])
    first, second = strip_colors(terminal.getvalue()).split("\r")[1:]
    assert len(second) == len(first)
    assert second.endswith("loss: 1.0000    ")


RESULTS = ("loss", "accuracy", "val_loss", "val_accuracy")


@pytest.mark.parametrize(
    ("columns", "names", "lines"),
    [
        (120, RESULTS, 1),
        (80, RESULTS, 1),
        (40, RESULTS, 2),
        (80, [f"val_a_long_name_of_a_metric_{i}" for i in range(4)], 2),
        (40, ["größe", "精度" * 8, "m" * 80], 3),
        (12, RESULTS, 5),
    ],
)
def test_no_line_is_wider_than_the_terminal(terminal, clock, monkeypatch, columns, names, lines):
    monkeypatch.setenv("COLUMNS", str(columns))
    bar = Progbar(938)
    for step in (1, 300, 938):
        clock.now += 1
        bar.update(step, [(name, 0.5) for name in names])
    live, final = terminal.getvalue().rsplit("\r", 1)
    assert "\n" not in live
    final = strip_colors(final).splitlines()
    assert len(final) == lines
    for line in redraws(terminal)[:-1] + final:
        assert progress._columns(line.rstrip()) < columns
    assert "\n".join(final).count("0.5000") == (len(names) if columns > 12 else 0)


def test_a_narrow_terminal_gets_a_shorter_bar_and_shorter_names(terminal, clock, monkeypatch):
    shown = []
    for columns in (100, 90, 70, 60):
        monkeypatch.setenv("COLUMNS", str(columns))
        bar = Progbar(10)
        clock.now += 1
        bar.update(5, [("loss", 1.0), ("sparse_categorical_accuracy", 0.5), ("a_long_name_1", 0.5)])
        shown.append(redraws(terminal)[-1])
    full = " - loss: 1.0000 - acc: 0.5000 - a_long_name_1: 0.5000"
    assert shown == [
        f" 5/10 ━━━━━━━━━━────────── 1s 200ms/step{full}",
        f" 5/10 ━━━━━━━━──────── 1s 200ms/step{full}",
        f" 5/10 ━━━──── 1s{full}",
        " 5/10 1s - loss: 1.0000 - acc: 0.5000 - a_l…me_1: 0.5000",
    ]


@pytest.mark.parametrize(("left", "shown"), [(59, " 59s "), (125, " 2:05 "), (3725, " 1:02:05 ")])
def test_time_left(terminal, clock, left, shown):
    bar = Progbar(left + 1)
    clock.now += 1
    bar.update(1)
    assert shown in strip_colors(terminal.getvalue())


def test_unknown_target(terminal, clock):
    bar = Progbar(None)
    clock.now += 1
    bar.update(57)
    assert redraws(terminal) == ["     57/Unknown 1s 18ms/step"]


def test_redraws_wait_for_the_interval(terminal, clock):
    bar = Progbar(1000, interval=0.1)
    drawn = 0
    for step in range(500):
        clock.now += 0.01
        drawn += bar.due()
        bar.update(step + 1)
    assert drawn == len(redraws(terminal))
    assert 45 <= drawn <= 51


def test_values_are_averaged_over_steps_unless_stateful(terminal, clock):
    bar = Progbar(10, interval=0.0, stateful_metrics=["last"])
    bar.update(1, [("mean", 1.0), ("last", 1.0)])
    bar.update(4, [("mean", 2.0), ("last", 2.0)])
    assert redraws(terminal)[-1].endswith("mean: 1.7500 - last: 2.0000")


def test_stateful_and_stateless_together_are_refused():
    with pytest.raises(ValueError, match="at most one"):
        Progbar(1, stateful_metrics=["a"], stateless_metrics=["b"])


def test_verbose_2_writes_one_line(terminal, clock):
    bar = Progbar(10, verbose=2)
    clock.now += 2
    bar.update(5, [("loss", 1.0)])
    assert terminal.getvalue() == ""
    bar.update(10, [("loss", 1.0)])
    assert terminal.getvalue() == "10/10 - 2s - 0s/step - loss: 1.0000\n"


def test_verbose_0_writes_nothing(terminal, clock):
    bar = Progbar(1, verbose=0)
    bar.update(1)
    assert terminal.getvalue() == ""


def test_notebook_is_redrawn_without_colors(monkeypatch, clock):
    notebook = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    write_to(monkeypatch, notebook)
    bar = Progbar(10)
    clock.now += 1
    bar.update(5)
    assert notebook.getvalue() == "\r 5/10 ━━━━━━━━━━────────── 1s 200ms/step"


def test_console_without_the_character_gets_equals_signs(monkeypatch):
    raw = io.BytesIO()
    write_to(monkeypatch, io.TextIOWrapper(raw, encoding="ascii"))
    Progbar(1).update(1)
    assert raw.getvalue().startswith(b"1/1 " + b"=" * 20 + b" 0s ")


def test_a_console_that_lacks_the_characters_of_a_name_shows_their_numbers(monkeypatch):
    raw = io.BytesIO()
    write_to(monkeypatch, io.TextIOWrapper(raw, encoding="ascii"))
    model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1, name="größe")])
    model.compile("sgd", "mse", metrics=[tfkit.metrics.MeanSquaredError(name="größe")])
    model.fit(np.ones((2, 2)), np.ones(2))
    model.summary()
    shown = raw.getvalue().decode()
    assert "gr\\xf6\\xdfe: " in shown
    assert "gr\\xf6\\xdfe (Dense)" in shown


def test_a_process_may_have_no_standard_output(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1)])
    model.compile("sgd", "mse")
    for verbose in (1, 2):
        model.fit(np.ones((2, 2)), np.ones(2), verbose=verbose)
    model.summary()
    assert model.predict(np.ones((2, 2))).shape == (2, 1)


def test_logging_can_be_sent_to_absl(log_file, monkeypatch):
    received = []
    monkeypatch.setattr(progress.logging, "info", lambda form, text: received.append(form % text))
    settings.disable_interactive_logging()
    try:
        assert not settings.is_interactive_logging_enabled()
        progress.print_message("hello")
    finally:
        settings.enable_interactive_logging()
    assert received == ["hello"]
    assert log_file.getvalue() == ""


# --- ProgbarLogger -------------------------------------------------------------------------------


def train(callbacks, epochs, steps, chunk, logs, validate=False):
    callbacks.on_train_begin()
    for epoch in range(epochs):
        callbacks.on_epoch_begin(epoch)
        for end in range(chunk, steps + 1, chunk):
            callbacks.on_steps_end(end - 1, chunk, logs)
        if validate:
            callbacks.on_test_begin()
            callbacks.on_steps_end(3, 4, logs)
            callbacks.on_test_end({"loss": 9.0})
        callbacks.on_epoch_end(epoch, {"loss": 0.5})
    callbacks.on_train_end()


def test_logger_in_a_log_file(log_file, clock):
    callbacks = CallbackList(add_progbar=True, verbose=1, epochs=2, steps=8)
    train(callbacks, 2, 8, 4, {"loss": 1.0}, validate=True)
    line = f"8/8 {BAR} 0s 0s/step - loss: 0.5000\n"
    assert log_file.getvalue() == f"Epoch 1/2\n{line}Epoch 2/2\n{line}"


def test_one_epoch_has_no_header(log_file, clock):
    train(CallbackList(add_progbar=True, verbose="auto", epochs=1, steps=4), 1, 4, 4, {})
    assert log_file.getvalue().startswith("4/4 ")


def test_results_are_fetched_only_for_redraws(terminal, clock):
    fetched = []

    def fetch():
        fetched.append(clock.now)
        return {"loss": 1.0}

    callbacks = CallbackList(add_progbar=True, verbose=1, epochs=1, steps=1000)
    callbacks.on_train_begin()
    callbacks.on_epoch_begin(0)
    for step in range(1000):
        clock.now += 0.001
        callbacks.on_steps_end(step, 1, fetch)
    assert 9 <= len(fetched) <= 11  # one second at ten a second
    assert len(redraws(terminal)) == len(fetched)


def test_unknown_number_of_steps_is_known_after_the_first_epoch(log_file, clock):
    callbacks = CallbackList(add_progbar=True, verbose=1, epochs=1, steps=None)
    train(callbacks, 1, 6, 2, {})
    assert log_file.getvalue().startswith(f"6/6 {BAR}")


def test_epoch_that_was_cut_short_shows_how_far_it_came(log_file, clock):
    callbacks = CallbackList(add_progbar=True, verbose=1, epochs=1, steps=10)
    train(callbacks, 1, 4, 2, {})
    assert log_file.getvalue().startswith(" 4/10 ")


def test_an_epoch_that_reports_no_steps_is_shown_whole(log_file, clock):
    callbacks = CallbackList(add_progbar=True, verbose=1, epochs=1, steps=4)
    train(callbacks, 1, 0, 2, {})
    assert log_file.getvalue().startswith("4/4 ")


@pytest.mark.parametrize("mode", ["test", "predict"])
def test_evaluation_and_prediction_have_a_bar(log_file, clock, mode):
    callbacks = CallbackList(ProgbarLogger(), verbose=1, epochs=1, steps=4)
    for _ in range(2):
        clock.now += 5  # Time between two calls is not shown.
        getattr(callbacks, f"on_{mode}_begin")()
        callbacks.on_steps_end(3, 4, {"loss": 1.0})
        getattr(callbacks, f"on_{mode}_end")({"loss": 1.0})
    shown = " - loss: 1.0000" if mode == "test" else ""
    assert log_file.getvalue() == f"4/4 {BAR} 0s 0s/step{shown}\n" * 2


# --- Notebooks -----------------------------------------------------------------------------------


def test_a_notebook_gets_a_bar_of_html(monkeypatch, clock):
    shown = []
    handle = types.SimpleNamespace(update=lambda data, raw: shown.append(data))

    def display(data, raw, display_id):
        shown.append(data)
        return handle

    stdout = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    write_to(monkeypatch, stdout)
    monkeypatch.setattr(
        progress.notebooks, "display", lambda: types.SimpleNamespace(display=display)
    )
    bar = Progbar(10)
    for step in (5, 10):
        clock.now += 1
        bar.update(step, [("<b>", 1.0)])
    assert stdout.getvalue() == ""
    first, last = shown
    assert first["text/plain"] == " 5/10 1s 200ms/step - <b>: 1.0000"
    assert '<progress value="5" max="10"></progress> 1s' in first["text/html"]
    assert "&lt;b&gt;: 1.0000</div>" in last["text/html"]
