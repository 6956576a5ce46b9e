"""Pictures are there and show something; notebooks equal their sources, and run."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PICTURES, NOTEBOOKS = ROOT / "docs/pictures", ROOT / "docs/notebooks"
IN_README = ("digits", "curves", "bar", "speeds")
IN_DOCS = ("field",)


def imported(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


environments = imported("environments", Path(__file__).with_name("environments.py"))
notebooks = imported("gallery_notebooks", ROOT / "tools/drawing/notebooks.py")
NAMES = [*notebooks.EXAMPLES, notebooks.GUIDE]


def book_of(name):
    return json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [*notebooks.EXAMPLES, *IN_README, *IN_DOCS])
def test_a_picture_is_small_and_shows_something(name):
    pillow = pytest.importorskip("PIL.Image", reason="pip install 'tfkit-dl[visualization]'")
    path = PICTURES / f"{name}.png"
    assert path.stat().st_size < 60_000
    with pillow.open(path) as image:
        assert min(image.size) > 90
        pixels = np.asarray(image.convert("L"), "float32")
    assert pixels.std() > 10
    assert (pixels != np.median(pixels)).mean() > 0.02


def test_all_pictures_are_used_and_small_together():
    sizes = {path.stem: path.stat().st_size for path in PICTURES.iterdir()}
    assert sizes.keys() == {*notebooks.EXAMPLES, *IN_README, *IN_DOCS}
    assert sum(sizes.values()) < 500_000
    readme = (ROOT / "README.md").read_text()
    linked = re.findall(r"!\[[^\]]+\]\((?:\S+/)?docs/pictures/(\w+)\.png\)", readme)
    assert set(linked) == set(IN_README)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_what_the_tool_makes_of_its_source(name):
    book = book_of(name)
    kept = [(cell["cell_type"], "".join(cell["source"])) for cell in book["cells"]]
    assert kept == notebooks.cells(name), f"./tools/gallery {name}"
    assert (NOTEBOOKS / f"{name}.ipynb").stat().st_size < 200_000
    assert not re.search(r"/(work|tmp|home|root|usr)/", json.dumps(book))


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_what_it_printed_and_drew(name):
    outputs = [out for cell in book_of(name)["cells"] for out in cell.get("outputs", ())]
    assert not [out for out in outputs if out["output_type"] == "error"]
    assert [out for out in outputs if "image/png" in out.get("data", {})]
    assert len(notebooks.printed(name).splitlines()) >= 3


def test_no_notebook_lacks_a_source():
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(NAMES)


SHORTER = {"options.epochs": "1", "options.sentences": "500", "epochs=4": "epochs=1"}


@pytest.mark.parametrize("name", ["custom_loop", "subclassing_guide"])
def test_the_cells_run(name, mnist, tmp_path, monkeypatch):
    """With one epoch; classes are read from files, as those of a notebook are."""
    code = [text for kind, text in notebooks.cells(name) if kind == "code"]
    source = "\n\n".join(text for text in code if "IPython" not in text)
    for long, short in SHORTER.items():
        source = source.replace(long, short)
    program = tmp_path / f"{name}.py"
    program.write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    module = imported(name, program)
    assert len(module.losses if name == "custom_loop" else module.history["loss"]) == 1


def test_a_notebook_runs_as_a_notebook(tmp_path, monkeypatch):
    environments.needs("nbclient", "test")
    environments.needs("ipykernel", "test")
    program = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(ROOT / "tools")!r})
from drawing import notebooks
written = Path({str(tmp_path)!r})
notebooks_of, notebooks.NOTEBOOKS, notebooks.PICTURES = notebooks.NOTEBOOKS, written, written
notebooks.run("custom_loop")
print(notebooks.printed("custom_loop"))
"""
    printed = environments.run(program, tmp_path)
    assert "epoch 5: loss" in printed
    assert (tmp_path / "custom_loop.png").stat().st_size > 1000
