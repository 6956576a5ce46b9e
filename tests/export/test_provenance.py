"""Exports say what wrote them and what they can be asked, where TensorFlow does not look."""

import hashlib
import json

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.serving.conftest import serving

FILE = "assets.extra/tfkit_provenance.json"


@pytest.fixture
def model():
    x = tfkit.Input((2,), name="x")
    word = tfkit.Input((), dtype="string", name="word")
    lengths = tfkit.layers.Lambda(lambda words: tf.cast(tf.strings.length(words), "float32"))(word)
    return tfkit.Model([x, word], tfkit.layers.Dense(1)(x)[:, 0] + lengths, name="m")


def provenance(folder):
    content = json.loads((folder / FILE).read_text(encoding="utf-8"))
    files = [path for path in folder.rglob("*") if path.is_file() and path != folder / FILE]
    assert content["sha256"] == {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
    assert (content["tfkit"], content["tensorflow"]) == (tfkit.__version__, tf.__version__)
    return content["examples"]


def test_an_export_says_what_wrote_it(model, tmp_path):
    model.export(tmp_path / "1", verbose=False)
    assert provenance(tmp_path / "1") == {}
    assert (tmp_path / "1" / "fingerprint.pb").exists()
    model.export(tmp_path / "1", verbose=False)  # It is ours to replace.


def test_the_sample_becomes_a_request_that_the_server_answers(model, tmp_path):
    sample = [np.array([[0.1, 2], [3, 4]], "float32"), np.array([b"a\xff", b"b"], object)]
    folder = tfkit.export.to_serving(model, tmp_path, warmup=sample)
    examples = provenance(folder)
    assert examples == {
        "serve": {
            "signature_name": "serve",
            "inputs": {"x": [[0.1, 2.0]], "word": [{"b64": "Yf8="}]},
        }
    }
    with serving(tmp_path) as client:
        status, answer = client("m:predict", examples["serve"])
    assert status == 200
    np.testing.assert_allclose(answer["outputs"], model(sample).numpy()[:1], rtol=1e-5)


def test_what_json_cannot_say_or_is_long_is_no_example(tmp_path):
    for dtype, width in (("float16", 3), ("float32", 30_000)):
        layer = tfkit.layers.ReLU(dtype=dtype)
        layer.build((None, width))
        sample = np.zeros((1, width), dtype)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tfkit.src.export.serving.warn_of_others", lambda endpoints: None)
            folder = tfkit.export.to_serving(
                layer,
                tmp_path,
                name=dtype,
                warmup=sample,
                input_signature=[tf.TensorSpec([None, width], dtype)],
            )
        assert provenance(folder) == {}
