import doctest
import inspect
import io
import itertools
import os
import stat
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from PIL import Image

import tfkit
from tfkit import layers, ops
from tfkit.src.data.utils.plotting.diagram import Shown, diagram_of
from tfkit.src.data.utils.plotting.layout import placed
from tfkit.utils import model_to_dot, plot_model


@pytest.fixture(scope="module")
def model():
    """Branches, a shared layer, a model inside, a function, two outputs."""
    image, table = tfkit.Input((4,), name="image"), tfkit.Input((4,), name="table")
    shared = layers.Dense(4, name="shared", activation="relu")
    inside = tfkit.Input((4,), name="inside")
    inner = tfkit.Sequential(
        [layers.Dense(4, name="a<b>"), layers.Dense(4, name="i2")], name="inner"
    )
    nested = tfkit.Model(inside, inner(inside), name="nested")
    frozen = layers.Dense(4, name="frozen", trainable=False)
    x = layers.Add(name="add")([shared(image), nested(shared(table))])
    return tfkit.Model([image, table], [ops.relu(frozen(x)), x], name="m")


def titles(diagram):
    return [box.title for box in diagram.boxes]


def arrows(diagram):
    names = titles(diagram)
    return {(names[start], names[end]) for start, end in diagram.arrows}


def test_boxes_and_arrows(model):
    diagram = diagram_of(model, Shown(layer_names=True))
    assert sorted(titles(diagram)) == [
        *("add (Add)", "frozen (Dense)", "image (InputLayer)", "nested (Functional)"),
        *("relu (Relu)", "shared (Dense)", "table (InputLayer)"),
    ]
    assert arrows(diagram) == {
        ("image (InputLayer)", "shared (Dense)"),
        ("table (InputLayer)", "shared (Dense)"),
        ("shared (Dense)", "nested (Functional)"),
        ("shared (Dense)", "add (Add)"),
        ("nested (Functional)", "add (Add)"),
        ("add (Add)", "frozen (Dense)"),
        ("frozen (Dense)", "relu (Relu)"),
    }


def test_models_inside(model):
    diagram = diagram_of(model, Shown(layer_names=True, expand_nested=True))
    groups = {box.title: box.group for box in diagram.boxes if box.group}
    assert groups == {
        "a<b> (Dense)": ("nested", "inner"),
        "i2 (Dense)": ("nested", "inner"),
    }
    inside = {pair for pair in arrows(diagram) if pair[0] in groups or pair[1] in groups}
    assert inside == {
        ("shared (Dense)", "a<b> (Dense)"),
        ("a<b> (Dense)", "i2 (Dense)"),
        ("i2 (Dense)", "add (Add)"),
    }


def test_what_boxes_say(model):
    shown = Shown(shapes=True, dtype=True, layer_activations=True, trainable=True, layer_names=True)
    boxes = {box.title: box for box in diagram_of(model, shown).boxes}
    assert boxes["image (InputLayer)"].lines == (
        ("Output shape", "(None, 4)"),
        ("Output dtype", "float32"),
    )
    assert boxes["shared (Dense)"].lines[:2] == (
        ("Activation", "relu"),
        ("Input shape", "(None, 4)"),
    )
    assert ("Input shape", "[(None, 4), (None, 4)]") in boxes["add (Add)"].lines
    trained = {title.partition(" ")[0]: box.trainable for title, box in boxes.items()}
    assert (trained["shared"], trained["frozen"], trained["add"]) == (True, False, None)


def test_layout_of_boxes_that_do_not_touch():
    sizes = [(50.0 + 13 * (number % 5), 20.0 + number % 3) for number in range(40)]
    links = [(number // 3, number) for number in range(1, 40)] + [(0, 39), (2, 30)]
    result = placed(sizes, links)
    for one, other in itertools.combinations(range(40), 2):
        across, along = (
            abs(result.centers[one][axis] - result.centers[other][axis])
            - (sizes[one][axis] + sizes[other][axis]) / 2
            for axis in (0, 1)
        )
        assert max(across, along) > 10
    for (start, end), path in zip(links, result.paths, strict=True):
        ys = [y for _, y in path]
        assert ys == sorted(ys)
        assert path[0][0] == result.centers[start][0]
        assert path[-1][0] == result.centers[end][0]
    for (x, y), (width, height) in zip(result.centers, sizes, strict=True):
        assert width / 2 - 1e-6 <= x <= result.width - width / 2 + 1e-6
        assert 0 <= y <= result.height - height / 2 + 1e-6


@pytest.fixture
def without_graphviz(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize("rankdir", ["TB", "LR", "BT", "RL"])
def test_svg(model, rankdir, tmp_path, without_graphviz):
    path = tmp_path / "m.svg"
    options = {"show_layer_names": True, "expand_nested": True, "rankdir": rankdir}
    assert plot_model(model, path, show_shapes=True, splines="curved", **options) is None
    root = ElementTree.parse(path).getroot()
    width, height = (float(root.get(side)) for side in ("width", "height"))
    tag = "{http://www.w3.org/2000/svg}"
    texts = [each.text for each in root.iter(tag + "text")]
    assert "a<b> (Dense)" in texts
    assert "nested" in texts
    place = {}
    for each in root.iter(tag + "text"):
        x, y = float(each.get("x")), float(each.get("y"))
        assert 0 <= x <= width
        assert 0 <= y <= height
        place[each.text] = x if rankdir in ("LR", "RL") else y
    first, last = place["image (InputLayer)"], place["relu (Relu)"]
    assert (first < last) == (rankdir in ("TB", "LR"))
    axis = 0 if rankdir in ("LR", "RL") else 1
    for each in root.findall(tag + "path"):
        start, *curves = each.get("d")[1:].split(" C")
        here = [float(number) for number in start.split()]
        for curve in curves:  # From box to box, and not along their sides.
            numbers = [float(number) for number in curve.split()]
            before, after, there = numbers[:2], numbers[2:4], numbers[4:]
            assert before[1 - axis] == here[1 - axis]
            assert after[1 - axis] == there[1 - axis]
            assert (here[axis] < before[axis] < there[axis]) == (rankdir in ("TB", "LR"))
            here = there


@pytest.mark.parametrize("name", ["m.png", "m.jpg", "m.pdf", "m"])
def test_pixels(model, name, tmp_path, without_graphviz):
    plot_model(model, tmp_path / name, dpi=50)
    content = (tmp_path / (name if "." in name else "m.png")).read_bytes()
    if name == "m.pdf":
        assert content.startswith(b"%PDF")
    else:
        image = Image.open(io.BytesIO(content)).convert("L")
        assert min(image.size) > 50
        assert image.getextrema()[0] < 50


def installed(monkeypatch, folder, command):
    """A program `dot` in a folder, the first in which programs are searched."""
    program = folder / "dot"
    program.write_text(f"#!/bin/sh\n{command}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/bin{os.pathsep}/usr/bin")
    return program


# What Graphviz writes at the beginning of an SVG file, with spaces that do not break.
GRAPHVIZ = """echo '<?xml version="1.0"?><svg><text>out&#160;(Dense)</text></svg>'"""


@pytest.mark.parametrize("graphviz", [False, True])
@pytest.mark.parametrize("function", [plot_model, model_to_dot])
def test_the_examples_run_with_graphviz_and_without(function, graphviz, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    if graphviz:
        installed(monkeypatch, tmp_path, GRAPHVIZ)
    names = {"tfkit": tfkit, "Path": Path, "tempfile": tempfile, function.__name__: function}
    text = inspect.cleandoc(function.__doc__)
    example = doctest.DocTestParser().get_doctest(text, names, function.__name__, None, None)
    report = []
    assert example.examples
    assert not doctest.DocTestRunner().run(example, out=report.append).failed, "".join(report)


def test_dot_and_graphviz(model, tmp_path, monkeypatch):
    dot = model_to_dot(model, expand_nested=True, show_layer_names=True)
    text = dot.to_string()
    assert text.startswith('digraph "m" {')
    assert text.count("{") == text.count("}") == 3
    assert 'subgraph "cluster_nested/inner" {' in text
    assert "a&lt;b&gt; (Dense)" in text
    assert model_to_dot(model, subgraph=True).to_string().startswith('subgraph "cluster_m" {')

    program = installed(monkeypatch, tmp_path, 'echo "graphviz $1"')
    assert dot.create_png() == b"graphviz -Tpng\n"
    assert dot.write(tmp_path / "m.svg", format="svg")
    assert (tmp_path / "m.svg").read_text() == "graphviz -Tsvg\n"
    program.write_text("#!/bin/sh\necho no such format >&2; exit 1\n")
    with pytest.raises(OSError, match=r"(?s)Graphviz failed: .* no such format"):
        dot.create(format="x")
    assert "<svg" in dot._repr_svg_()


class _Plain(tfkit.Model):
    def call(self, x):
        return x


def test_models_without_a_graph():
    assert titles(diagram_of(_Plain(name="p"), Shown(layer_names=True))) == ["p (_Plain)"]
    with pytest.raises(ValueError, match="is not built"):
        plot_model(tfkit.Sequential([layers.Dense(1)]))
    with pytest.raises(TypeError, match="must be a model"):
        plot_model(layers.Dense(1))


def test_refused(model, tmp_path, without_graphviz):
    with pytest.raises(ValueError, match="`rankdir` must be one of"):
        model_to_dot(model, rankdir="up")
    with pytest.raises(TypeError, match="unexpected arguments: layer_range"):
        model_to_dot(model, layer_range=["a"])
    with pytest.raises(ValueError, match="Unknown format of a picture: 'xyz'"):
        plot_model(model, tmp_path / "m.xyz")
    assert not os.path.exists(tmp_path / "m.xyz")


def test_arrows_over_many_layers():
    """Each arrow of the shape of a U-Net has a place in every layer that it crosses: 22,000 of them."""
    links = [(box - 1, box) for box in range(1, 300)] + [(box, 299 - box) for box in range(149)]
    result = placed([(50.0, 20.0)] * 300, links)
    assert max(map(len, result.paths)) == 2 + 2 * 298
    assert [y for _, y in result.centers] == [10 + (20 + 42) * box for box in range(300)]


def test_a_large_model_is_drawn(without_graphviz):
    x = inputs = tfkit.Input((4,))
    for _ in range(60):
        x = layers.Add()([layers.Dense(4)(x), x])
    text = model_to_dot(tfkit.Model(inputs, x)).create_svg().decode()
    assert text.count("<path") == 1 + 60 * 3
