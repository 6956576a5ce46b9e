"""Names, which a file decides, where they are shown: nothing that a terminal or a browser obeys."""

import xml.dom.minidom

import h5py
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit.src.training.models.summary import html_summary

BAD = "\x1b[2J<script>&\"'\\N\n]]>{|}\u202e"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    entry = tfkit.Input((2,), name="i")
    inner = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(2, name=BAD)], name=BAD + "2")
    model = tfkit.Model(entry, inner(entry), name=BAD)
    model.compile("sgd", "mse", metrics=[tfkit.metrics.MeanSquaredError(name=BAD)])
    path = tmp_path_factory.mktemp("model") / "model.h5"
    model.save(path)
    return tfkit.models.load_model(path)


def harmless(text):
    return all(each.isprintable() or each in "\n\r" for each in text)


def test_summaries(model, capsys):
    model.summary(expand_nested=True)
    text = capsys.readouterr().out
    assert "x1b[2J" in text
    assert harmless(text)
    assert "<script" not in html_summary(model)
    assert harmless(html_summary(model))
    assert harmless(repr([model, *model.layers, *model.inputs, *model.outputs]))


def test_pictures(model, tmp_path):
    for ending in ("svg", "dot", "png", "pdf"):
        path = tmp_path / f"m.{ending}"
        tfkit.utils.plot_model(
            model, path, show_layer_names=True, show_shapes=True, expand_nested=True
        )
        if ending in ("svg", "dot"):
            assert harmless(path.read_text())
    xml.dom.minidom.parse(str(tmp_path / "m.svg"))
    assert "script>" not in (tmp_path / "m.svg").read_text()


def test_long_names_are_cut_in_pictures(tmp_path):
    long = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(2, name="a" * 3_900)])
    for ending in ("svg", "dot", "png", "pdf"):
        tfkit.utils.plot_model(long, tmp_path / f"m.{ending}", show_layer_names=True)
        assert (tmp_path / f"m.{ending}").stat().st_size < 200_000


@pytest.mark.parametrize("verbose", [1, 2])
def test_progress(model, capsys, verbose):
    x = np.ones((2, 2), "float32")
    model.fit(x, x, verbose=verbose)
    text = capsys.readouterr().out
    assert "x1b[2J" in text
    assert harmless(text)


def test_exports(tmp_path, capsys):
    archive = tfkit.export.ExportArchive()
    archive.add_endpoint(BAD, lambda x: x, [tf.TensorSpec((None, 2))])
    archive.write_out(tmp_path / "\x1b[2J")
    text = capsys.readouterr().out
    assert text.count("x1b[2J") == 2
    assert harmless(text)


def test_the_editor(model, tmp_path, capsys):
    with h5py.File(tmp_path / "m.weights.h5", "w") as file:
        file["layers/\x1b[2J/vars/0"] = np.ones(2, "float32")
    editor = tfkit.saving.KerasFileEditor(tmp_path / "m.weights.h5")
    editor.summary()
    editor.compare(model)
    text = capsys.readouterr().out
    assert text.count("x1b[2J") > 1
    assert harmless(text)


def test_errors(model):
    for wrong in (lambda: model(np.ones((2, 5))), lambda: model.get_layer(BAD + "2")("text")):
        with pytest.raises((ValueError, TypeError)) as raised:
            wrong()
        assert harmless(str(raised.value))
