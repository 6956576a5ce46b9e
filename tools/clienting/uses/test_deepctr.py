"""Programs that use deepctr: its layers alone, and its models of clicks."""

import deepctr.layers as layers
import deepctr.models as models
import keras
import numpy as np
import pytest
from deepctr.feature_column import DenseFeat, SparseFeat, VarLenSparseFeat, get_feature_names

RANDOM = np.random.default_rng(0)
FIELDS = RANDOM.normal(size=(6, 4, 5)).astype("float32")
ROWS = RANDOM.normal(size=(6, 8)).astype("float32")
COLUMNS = [
    *(SparseFeat(f"s{i}", 7, embedding_dim=4) for i in range(3)),
    *(DenseFeat(f"d{i}", 1) for i in range(2)),
]
DATA = {
    **{f"s{i}": RANDOM.integers(0, 7, 24) for i in range(3)},
    **{f"d{i}": RANDOM.normal(size=24).astype("float32") for i in range(2)},
}
CLICKS = RANDOM.integers(0, 2, 24)

LAYERS = {
    "FM": (lambda: layers.FM(), FIELDS),
    "BiInteractionPooling": (lambda: layers.BiInteractionPooling(), FIELDS),
    "CrossNet": (lambda: layers.CrossNet(2), ROWS),
    "CrossNetMatrix": (lambda: layers.CrossNet(2, parameterization="matrix"), ROWS),
    "CrossNetMix": (lambda: layers.CrossNetMix(low_rank=4, num_experts=2, layer_num=2), ROWS),
    "CIN": (lambda: layers.CIN((4, 4)), FIELDS),
    "InteractingLayer": (lambda: layers.InteractingLayer(3, 2), FIELDS),
    "DNN": (lambda: layers.DNN((8, 4), use_bn=True, seed=3), ROWS),
    "PredictionLayer": (lambda: layers.PredictionLayer("binary"), ROWS[:, :1]),
    "SENETLayer": (lambda: layers.SENETLayer(2), np.split(FIELDS, 4, axis=1)),
    "InnerProductLayer": (lambda: layers.InnerProductLayer(), np.split(FIELDS, 4, axis=1)),
    "OutterProductLayer": (lambda: layers.OutterProductLayer(), np.split(FIELDS, 4, axis=1)),
    "BilinearInteraction": (
        lambda: layers.BilinearInteraction("interaction"),
        np.split(FIELDS, 4, axis=1),
    ),
    "AFMLayer": (lambda: layers.AFMLayer(4), np.split(FIELDS, 4, axis=1)),
    "FwFMLayer": (lambda: layers.FwFMLayer(4, 0.0), np.split(FIELDS, 4, axis=1)),
    "LayerNormalization": (lambda: layers.LayerNormalization(), FIELDS),
    "PositionEncoding": (lambda: layers.PositionEncoding(), FIELDS),
}
MODELS = (
    *("AFM", "AutoInt", "DCN", "DCNMix", "DIFM", "DeepFM", "EDCN", "FLEN", "FiBiNET", "FwFM"),
    *("IFM", "MLR", "NFM", "PNN", "WDL", "xDeepFM", "DeepFEFM", "ONN"),
)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer(name, record_property):
    keras.utils.set_random_seed(1)
    make, x = LAYERS[name]
    layer = make()
    outputs = np.asarray(layer(x), "float64")
    assert np.isfinite(outputs).all()
    record_property("outputs", outputs.round(5).ravel()[:40].tolist())
    again = type(layer).from_config(layer.get_config())
    assert np.asarray(again(x)).shape == outputs.shape


@pytest.mark.parametrize("name", MODELS)
def test_a_model(name, record_property):
    keras.utils.set_random_seed(2)
    model = getattr(models, name)(*([COLUMNS] if name == "MLR" else [COLUMNS, COLUMNS]))
    model.compile("adam", "binary_crossentropy")
    history = model.fit(DATA, CLICKS, epochs=2, batch_size=12, shuffle=False, verbose=0)
    record_property("loss", history.history["loss"])


def test_a_model_of_sequences(record_property):
    columns = [
        SparseFeat("user", 7, embedding_dim=4),
        VarLenSparseFeat(
            SparseFeat("items", 9, embedding_dim=4), maxlen=5, combiner="mean", length_name="count"
        ),
    ]
    keras.utils.set_random_seed(3)
    model = models.DeepFM(columns, columns)
    data = {
        "user": RANDOM.integers(0, 7, 24),
        "items": RANDOM.integers(0, 9, (24, 5)),
        "count": RANDOM.integers(1, 5, 24),
    }
    assert set(get_feature_names(columns)) == set(data)
    model.compile("adam", "binary_crossentropy")
    history = model.fit(data, CLICKS, epochs=2, shuffle=False, verbose=0)
    record_property("loss", history.history["loss"])
