"""Configurations in `.keras` files that name an object of another kind, or have another form than a graph."""

import json
import zipfile

import pytest

import tfkit
from tfkit import layers


def data(thing):
    return tfkit.saving.serialize_keras_object(thing)


OBJECTS = {
    "layer": layers.Dense(1),
    "loss": tfkit.losses.MeanSquaredError(),
    "metric": tfkit.metrics.Mean(),
    "policy": tfkit.dtype_policies.DTypePolicy("float32"),
    "initializer": tfkit.initializers.Zeros(),
    "regularizer": tfkit.regularizers.L2(),
    "optimizer": tfkit.optimizers.SGD(),
    "schedule": tfkit.optimizers.schedules.ExponentialDecay(0.1, 1, 0.9),
}
DENSE = ("config", "layers", 1)
CALL = (*DENSE, "inbound_nodes", 0)
TENSOR = (*CALL, "args", 0, "config", "keras_history")
OPTIMIZER = ("compile_config", "optimizer", "config")
PLAIN = "Argument `{}` of .* cannot be an object"
OF_KIND = r"Expected an object of tfkit\.{}\. Received"
# Where an object is put, which, and the message.
OF_OTHER_KINDS = [
    *(((*DENSE, "config", "dtype"), it, "Invalid dtype") for it in ("layer", "loss", "metric")),
    *(
        ((*DENSE, "config", name), it, PLAIN.format(name))
        for name in ("use_bias", "units", "name", "trainable", "lora_rank")
        for it in ("policy", "metric", "schedule")
    ),
    *(
        ((*DENSE, "config", f"kernel_{kind}"), it, OF_KIND.format(f"{kind}s"))
        for kind in ("initializer", "regularizer", "constraint")
        for it in ("policy", "metric", "schedule", "layer")
    ),
    *(
        (("compile_config", "loss"), it, OF_KIND.format("losses"))
        for it in ("policy", "metric", "optimizer", "schedule", "regularizer")
    ),
    *(
        (("compile_config", "metrics"), it, OF_KIND.format("metrics"))
        for it in ("policy", "optimizer", "schedule", "initializer")
    ),
    *(
        (("compile_config", "optimizer"), it, OF_KIND.format("optimizers"))
        for it in ("policy", "layer", "loss", "schedule")
    ),
    *(
        ((*OPTIMIZER, "learning_rate"), it, OF_KIND.format(r"optimizers\.schedules"))
        for it in ("policy", "layer", "loss", "optimizer")
    ),
    *(((*OPTIMIZER, it), "layer", PLAIN.format(it)) for it in ("clipnorm", "beta_1", "use_ema")),
    (("compile_config", "loss_weights"), "layer", "`loss_weights` must hold numbers"),
    (("compile_config", "jit_compile"), "layer", "`jit_compile` must be"),
]
FORM = "in the configuration of a functional model must be"
IN, OUT = ("config", "input_layers"), ("config", "output_layers")
OF_OTHER_FORMS = [
    *((where, it, FORM) for where in (IN, OUT) for it in ("a", None, 3, [["in"]], ["in", "0", 0])),
    *((where, it, FORM) for where in (IN, OUT) for it in ([[["in"], 0, 0]], ["in", 0, None])),
    (OUT, [{}, 0, 0], FORM),
    (OUT, ["c", 0, 5], "uses output 5 of layer 'c', which has 1"),
    (OUT, ["c", 5, 0], "of no call of its layers"),
    (OUT, ["none", 0, 0], "of no call of its layers"),
    *((("config", "layers"), it, FORM) for it in ("abc", {}, [3])),
    *(((*DENSE, "inbound_nodes"), it, FORM) for it in ("a", 3, None, [3], [{}])),
    *(((*DENSE, "name"), it, FORM) for it in (3, [], None)),
    *(((*CALL, "args"), it, FORM) for it in (3, "abc", None)),
    *(((*CALL, "kwargs"), it, FORM) for it in ([1], None)),
    *((TENSOR, it, FORM) for it in (3, [], [["x"], 0, 0], "abc", ["in", -1, 0])),
    (TENSOR, ["c", 0, 0], "has a loop"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The members of a `.keras` file."""
    inputs = tfkit.Input((4,), name="in")
    hidden = layers.Dense(3, kernel_regularizer="l2", name="a")(inputs)
    model = tfkit.Model(inputs, layers.Dense(2, name="c")(hidden))
    model.compile(tfkit.optimizers.Adam(0.1), loss="mse", metrics=["mae"])
    path = tmp_path_factory.mktemp("files") / "model.keras"
    model.save(path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize(("where", "value", "message"), [*OF_OTHER_KINDS, *OF_OTHER_FORMS])
def test_it_is_refused_with_a_sentence(files, where, value, message, tmp_path):
    config = json.loads(files["config.json"])
    place = config
    for key in where[:-1]:
        place = place[key]
    thing = data(OBJECTS[value]) if isinstance(value, str) and value in OBJECTS else value
    place[where[-1]] = [thing] if where[-1] == "metrics" else thing
    with zipfile.ZipFile(tmp_path / "model.keras", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, json.dumps(config) if name == "config.json" else content)
    with pytest.raises(ValueError, match=message):
        tfkit.saving.load_model(tmp_path / "model.keras")


@pytest.mark.parametrize("kind", sorted(OBJECTS.keys() - {"policy"}))
def test_an_object_is_no_dtype(kind):
    for cls in (layers.Flatten, tfkit.metrics.Mean):
        with pytest.raises(ValueError, match="Invalid dtype"):
            cls(dtype=OBJECTS[kind])


@pytest.mark.parametrize("kind", ["initializer", "regularizer", "constraint", "activation"])
def test_a_policy_is_nothing_else(kind):
    name = kind if kind == "activation" else f"kernel_{kind}"
    with pytest.raises(ValueError, match=rf"Expected an object of tfkit\.{kind}s\. Received"):
        layers.Dense(1, **{name: OBJECTS["policy"]})
