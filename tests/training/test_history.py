"""What a `History` shows: a table, curves, and the names of its results."""

import copy
import pickle

import numpy as np
import pytest

import tfkit as keras
from tfkit.src.base import packages


@pytest.fixture
def history():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    x = np.ones((8, 2), "float32")
    return model.fit(x, x[:, :1], epochs=3, validation_split=0.5, verbose=0)


def long(epochs):
    history = keras.callbacks.History()
    history.history = {"<loss>": [1 / (epoch + 1) for epoch in range(epochs)]}
    return history


def test_results_are_found_by_name(history):
    assert history["loss"] is history.history["loss"]
    assert dict(history.history).keys() == {"loss", "mae", "val_loss", "val_mae"}
    assert "los" not in history.history
    assert history.history.get("los") is None


def test_an_unknown_result_is_answered_with_the_names(history):
    for results in (history, history.history, pickle.loads(pickle.dumps(history.history))):
        with pytest.raises(KeyError, match=r"no result 'los'.*'loss'.*'val_mae'"):
            results["los"]
    with pytest.raises(KeyError, match="no epoch was trained"):
        keras.callbacks.History()["loss"]
    restored = keras.callbacks.History()
    restored.set_state(copy.deepcopy(history.get_state()))
    with pytest.raises(KeyError, match="'val_mae'"):
        restored.history["los"]


def test_the_table(history):
    title, *rows = str(history).splitlines()
    assert title.split() == ["epoch", *history.history]
    assert [row.split()[0] for row in rows] == ["1", "2", "3"]
    assert float(rows[2].split()[1]) == pytest.approx(history["loss"][2], rel=1e-3)
    assert history._repr_html_().count("<tr>") == 4
    assert "<td>" not in keras.callbacks.History()._repr_html_()


def test_long_tables_are_short_and_safe():
    assert len(str(long(20)).splitlines()) == 21
    rows = str(long(1000)).splitlines()
    assert [row.split()[0] for row in rows[4:8]] == ["4", "5", "...", "996"]
    assert "<th>&lt;loss&gt;</th>" in long(3)._repr_html_()


def test_a_validation_in_some_epochs_and_results_that_are_no_numbers_are_shown():
    history = keras.callbacks.History()
    history.history = {"loss": [1.0, 0.5], "val_loss": [0.7], "matrix": [np.eye(2), np.eye(2)]}
    first, last = str(history).splitlines()[1:3]
    assert first.split()[:3] == ["1", "1", "-"]
    assert last.split()[:3] == ["2", "0.5", "0.7"]


def test_the_curves(history):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    loss, mae = history.plot()
    (alone,) = history.plot("mae")
    assert [axis.get_title() for axis in (loss, mae, alone)] == ["loss", "mae", "mae"]
    trained, validated = alone.get_lines()
    assert list(trained.get_ydata()) == history["mae"]
    assert list(validated.get_ydata()) == history["val_mae"]
    assert list(trained.get_xdata()) == [1, 2, 3]
    with pytest.raises(KeyError, match="no result 'acc'"):
        history.plot("acc")
    pyplot.close("all")


def test_without_matplotlib_one_sentence_says_what_to_install(history, monkeypatch):
    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(packages.importlib, "import_module", missing)
    with pytest.raises(
        ImportError, match=r"`History.plot` needs matplotlib.*pip install matplotlib"
    ):
        history.plot()
