"""Gathers the pages of the site in one folder: those of the repository, the examples, the reference."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

from drawing.notebooks import printed

from documenting import reference
from documenting.public import ROOT

# Pages keep their places, so that the links between them stay right.
PAGES = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"),
    *("docs/**/*.md", "export/README.md", "tfkit/src/**/README.md"),
)
# In the order in which they are listed.
EXAMPLES = {
    "cnn_mnist": "Digits: a convolutional network",
    "vae_mnist": "Digits: a variational autoencoder",
    "gan_mnist": "Digits: a generative adversarial network",
    "image_augmentation": "Image augmentation",
    "transfer_learning": "Transfer learning",
    "segmentation_unet": "Image segmentation",
    "text_classification": "Text classification",
    "text_lstm_mask": "Sentences of different lengths",
    "language_model": "A small language model",
    "structured_data": "Tabular data",
    "timeseries_forecast": "Time series",
    "diffusion_2d": "A diffusion model",
    "custom_train_step": "A custom training step",
    "custom_loop": "A custom training loop",
}


def write(folder: Path) -> None:
    """Writes all pages, as Sphinx reads them, into a new folder."""
    for pattern in PAGES:
        for page in ROOT.glob(pattern):
            target = folder / page.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_with_pages(page.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.copytree(ROOT / "docs/pictures", folder / "docs/pictures")
    for notebook in ROOT.glob("docs/notebooks/*.ipynb"):
        (folder / "docs/notebooks").mkdir(exist_ok=True)
        shutil.copyfile(notebook, folder / "docs/notebooks" / notebook.name)
    shutil.copyfile(Path(__file__).with_name("index.md"), folder / "index.md")
    notes = "# Design notes\n\n```{toctree}\n:glob:\n\n0*\n```\n"
    (folder / "docs/design/index.md").write_text(notes, encoding="utf-8")
    (folder / "reference").mkdir()
    reference.write(folder / "reference")
    (folder / "examples").mkdir()
    write_examples(folder / "examples")


def _with_pages(text: str) -> str:
    """Returns a page whose links to an example or to the folder of them lead to pages of the site."""
    return re.sub(r"\]\(((?:\.\./)*examples/)(?:(\w+)\.py)?\)", _link, text)


def _link(match: re.Match[str]) -> str:
    return f"]({match[1]}{match[2] or 'index'}.md)"


def write_examples(folder: Path) -> None:
    """Writes a page for each example, with its text and its code, and a page that lists them."""
    found = {path.stem for path in (ROOT / "examples").glob("*.py")}
    if found != EXAMPLES.keys():
        raise ValueError(f"Expected a title in EXAMPLES for each of {sorted(found)}")
    lines = []
    for name, title in EXAMPLES.items():
        code = (ROOT / f"examples/{name}.py").read_text(encoding="utf-8")
        text = ast.get_docstring(ast.parse(code)) or ""
        (folder / f"{name}.md").write_text(example(name, title, text, code), encoding="utf-8")
        lines.append(f"* [{title}]({name}.md): {text.partition(chr(10))[0]}")
    parts = [
        "# Examples",
        "Complete programs, each in one file of the folder `examples`. They need "
        "`pip install '.[examples]'`. Each lists its options with `--help`.",
        "\n".join(lines),
        "\n".join(["```{toctree}", ":hidden:", "", *EXAMPLES, "```"]),
    ]
    (folder / "index.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def example(name: str, title: str, text: str, code: str) -> str:
    """Returns the page of an example: its text, its picture, what it prints, and its code."""
    if f"python {name}.py" not in text:
        text += f"\n\n    python {name}.py"
    text = text.replace(f"    python {name}.py", f"    python examples/{name}.py")
    shown = [
        f"# {title}\n\n{text}",
        f"![{title}: the picture that the program saves](../docs/pictures/{name}.png)",
        f"[The same program as a notebook](../docs/notebooks/{name}.ipynb)",
        f"## What it prints\n\n```text\n{printed(name)}\n```",
        f"## The program\n\n```python\n{code}```\n",
    ]
    return "\n\n".join(shown)
