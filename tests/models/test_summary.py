"""The table of `Model.summary()`: its rows beside Keras's, its options, its sums."""

import keras
import numpy as np
import pytest

import tfkit


def cells(text):
    """The rows of a table, each a list of texts, and the lines with the sums under it."""
    lines = [line.replace("┃", "│") for line in text.splitlines()]
    rows = [line.strip("│").split("│") for line in lines if line.startswith("│")]
    sums = [line for line in lines if "params" in line]
    return [[cell.strip() for cell in row] for row in rows], sums


def summary(model, **options):
    texts = []
    assert model.summary(print_fn=texts.append, **options) is None
    (text,) = texts
    return text


def sequential(framework):
    layers = framework.layers
    return framework.Sequential(
        [
            framework.Input((3,)),
            layers.Dense(4, name="in_a"),
            layers.BatchNormalization(name="in_b"),
        ],
        name="inner",
    )


def chain(framework):
    layers = framework.layers
    inputs = framework.Input((3,), name="i")
    x = layers.Dense(3, name="first")(inputs)
    x = sequential(framework)(x)
    return framework.Model(inputs, layers.Dense(2, name="last", trainable=False)(x), name="outer")


def branched(framework):
    layers = framework.layers
    inputs = [framework.Input((3,), name=name) for name in "ij"]
    shared = layers.Dense(3, name="shared")
    x = layers.Concatenate(name="join")(
        [shared(inputs[0]), sequential(framework)(shared(inputs[1]))]
    )
    return framework.Model(inputs, x, name="branched")


def subclassed(framework):
    layers = framework.layers

    class Net(framework.Model):
        def __init__(self):
            super().__init__(name="net")
            self.first = layers.Dense(3, name="first")
            self.inner = sequential(framework)
            self.rest = [layers.Dense(2, name="last", use_bias=False)]

        def call(self, x):
            return self.rest[0](self.inner(self.first(x)))

    return Net()


@pytest.mark.parametrize("build", [sequential, chain, branched, subclassed])
@pytest.mark.parametrize("options", [{}, {"expand_nested": True, "show_trainable": True}], ids=str)
def test_rows_and_sums_are_those_of_keras(build, options, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # A long line of Keras's is cut at the terminal's width.
    ours, theirs = (
        cells(summary(build(framework), line_length=150, **options)) for framework in (tfkit, keras)
    )
    assert ours == theirs


def test_the_optimizer_counts_when_it_has_variables():
    texts = []
    for framework in (tfkit, keras):
        model = chain(framework)
        model.compile("adam", "mse")
        assert "Optimizer" not in summary(model)
        model.fit(np.ones((2, 3)), np.ones((2, 2)), verbose=0)
        texts.append(cells(summary(model))[1])
    ours, theirs = texts
    assert ours == theirs
    trained = 3 * 3 + 3 + 3 * 4 + 4 + 4 + 4
    assert ours[1].startswith(f" Trainable params: {trained} ")
    assert ours[2].startswith(f" Non-trainable params: {4 + 4 + 4 * 2 + 2} ")
    # Adam: two moments of each weight, the number of steps and the learning rate.
    assert ours[3].startswith(f" Optimizer params: {2 * trained + 2} ")


def test_a_subclassed_model_before_and_after_its_first_call():
    model = subclassed(tfkit)
    assert cells(summary(model))[0][1] == ["first (Dense)", "?", "0 (unbuilt)"]
    model(np.ones((5, 7)))
    rows, sums = cells(summary(model))
    assert rows[1:] == [
        ["first (Dense)", "(None, 3)", "24"],
        ["inner (Sequential)", "(None, 4)", "32"],
        ["last (Dense)", "(None, 2)", "8"],
    ]
    assert sums[0] == " Total params: 64 (256.00 B)"
    model.second = tfkit.layers.Dense(300, dtype="float64")
    model.second.build((None, 1))
    assert cells(summary(model))[1][0] == f" Total params: 664 ({(256 + 600 * 8) / 1024:.2f} KB)"


def test_layers_that_only_were_built_have_shapes():
    def build(framework):
        model = framework.Model(name="model")
        model.width = framework.layers.Dense(4, name="width")
        model.width.build((None, 2))
        model.other = framework.layers.Dense(4, name="other")
        model.built = True
        return cells(summary(model))[0]

    assert build(tfkit) == build(keras)
    assert build(tfkit)[1][1] == "(None, 4)"


@pytest.mark.parametrize("framework", [tfkit, keras])
def test_operations_of_the_user_have_rows(framework):
    class CubeRoot(framework.Operation):
        def call(self, x):
            return x ** (1 / 3)

        def compute_output_spec(self, x):
            return framework.KerasTensor(x.shape, x.dtype)

    inputs = framework.Input((3,), name="in")
    rows, _ = cells(summary(framework.Model(inputs, CubeRoot(name="root")(inputs)), line_length=99))
    assert rows[2][:2] == ["root (CubeRoot)", "(None, 3)"]


def test_functions_have_rows():
    inputs = tfkit.Input((3,), name="i")
    model = tfkit.Model(inputs, tfkit.ops.relu(tfkit.layers.Dense(2, name="d")(inputs)) + 1.0)
    rows, _ = cells(summary(model))
    assert [row[0] for row in rows[1:]] == [
        "i (InputLayer)",
        "d (Dense)",
        "relu (Relu)",
        "add (Add)",
    ]


@pytest.mark.parametrize(
    ("layer_range", "shown"),
    [
        (("first", "inner"), ["first", "inner"]),
        (["inner", "inner"], ["inner"]),
        (("fi.*", "la"), ["first", "inner", "last"]),
        (("last", "inner"), ["inner", "last"]),
    ],
)
def test_layer_range(layer_range, shown):
    for framework in (tfkit, keras):
        rows, sums = cells(summary(chain(framework), layer_range=layer_range))
        assert [row[0].partition(" ")[0] for row in rows[1:]] == shown
        assert len(sums) == 3


@pytest.mark.parametrize(
    ("positions", "edges"),
    [([0.5, 0.75, 1.0], [0, 30, 45, 60]), ((20, 50, 60), [0, 20, 50, 60])],
)
def test_line_length_and_positions(positions, edges):
    model = chain(tfkit)
    for options in ({"line_length": 60}, {"line_length": 60, "positions": positions}):
        rows = [line for line in summary(model, **options).splitlines() if line.startswith("│")]
        assert {len(row) for row in rows} == {60}
    borders = {tuple(i for i, letter in enumerate(row) if letter == "│") for row in rows}
    ((first, *inner, last),) = borders
    assert (first, last) == (0, 59)
    np.testing.assert_allclose(inner, edges[1:-1], atol=1)


def test_lines_longer_than_the_terminal_are_whole():
    lines = summary(chain(tfkit), line_length=150).splitlines()
    assert len(lines[1]) == 150


def test_without_print_fn_it_is_printed(capsys):
    model = chain(tfkit)
    model.summary()
    assert capsys.readouterr().out == summary(model)


def test_names_are_no_markup():
    model = tfkit.Sequential(
        [tfkit.Input((2,)), tfkit.layers.Dense(1, name="a[bold]")], name="m[red]"
    )
    text = summary(model)
    assert text.startswith('Model: "m[red]"')
    assert "a[bold] (Dense)" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer_range": ("nope", "last")}, r"'last'\]. Received: layer_range=\('nope', 'last'\)"),
        ({"layer_range": ("first",)}, r"must be two strings.*Received: layer_range=\('first',\)"),
        ({"layer_range": (0, 1)}, r"must be two strings.*Received: layer_range=\(0, 1\)"),
        ({"positions": [0.5, 1.0]}, r"one number for the end.*Received: positions=\[0.5, 1.0\]"),
        ({"positions": [0.5, 0.51, 1.0], "line_length": 40}, "too short.*larger `line_length`"),
    ],
)
def test_options_that_do_not_fit(options, message):
    with pytest.raises(ValueError, match=message):
        summary(chain(tfkit), **options)
