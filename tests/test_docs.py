"""The documentation: each example runs, and each link leads somewhere."""

import importlib.util
import re
import runpy
from pathlib import Path

import pytest

from tfkit.src.base.registry import dtype_policies

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "export" / "README.md",
]
# `<!-- needs: onnx, openvino -->`: the next block runs where these are installed.
NEEDS = re.compile(r"<!-- needs: ([\w, ]+) -->")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def is_fence(line):
    return line.lstrip().startswith("```")


def python_of(text):
    """The ```python blocks of a page that can run; other lines are blank, so that line numbers stay.

    The blocks of a list are indented.
    """
    lines, language, needed, depth = [], None, [], 0
    for line in text.splitlines():
        if found := NEEDS.fullmatch(line.strip()):
            needed = found[1].split(", ")
        elif is_fence(line):
            if language is None:
                language, depth = line.strip().removeprefix("```"), len(line) - len(line.lstrip())
                runs = all(importlib.util.find_spec(package) for package in needed)
            else:
                language, needed = None, []
            line = ""
        lines.append(line[depth:] if language == "python" and runs else "")
    assert language is None, "a block is not closed"
    return "\n".join(lines) + "\n"


def prose_of(text):
    """A page without its blocks."""
    return "".join(text.split("```")[::2])


def name_of(page):
    return page.relative_to(ROOT).as_posix()


# Pages about optional packages.
NEEDED = {ROOT / "docs" / "jax.md": "jax", ROOT / "docs" / "torch.md": "torch"}
WITH_EXAMPLES = [page for page in PAGES if "```python\n" in page.read_text()]


@pytest.mark.parametrize(
    "page", [page for page in WITH_EXAMPLES if page not in NEEDED], ids=name_of
)
def test_examples_run(page, tmp_path, monkeypatch):
    run(page, tmp_path, monkeypatch)


@pytest.mark.parametrize("page", NEEDED, ids=name_of)
def test_examples_with_optional_packages_run(page, tmp_path, monkeypatch):
    package = NEEDED[page]
    pytest.importorskip(package, reason=f"{package} is not installed: pip install {package}")
    run(page, tmp_path, monkeypatch)


def run(page, tmp_path, monkeypatch):
    """Runs the blocks of a page, as a file: AutoGraph reads the source of what it converts."""
    program = tmp_path / f"{page.stem.replace('-', '_')}.py"
    program.write_text(python_of(page.read_text()))
    monkeypatch.chdir(tmp_path)
    policy = dtype_policies.dtype_policy()
    try:
        runpy.run_path(str(program))
    finally:
        dtype_policies.set_dtype_policy(policy)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files(page):
    links = LINK.findall(prose_of(page.read_text()))
    local = [link.partition("#")[0] for link in links if "://" not in link]
    missing = [link for link in local if link and not (page.parent / link).exists()]
    assert not missing


MAPS = [
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "tfkit").glob("src/*/README.md")),
    *sorted((ROOT / "docs" / "design").glob("*.md")),
]
PATH = re.compile(r"`([\w./-]+(?:\.py|/))`")


def missing_paths(text, known):
    """The files and folders that a page names, by the ends of their paths, and that are not `known`."""
    named = {path.rstrip("/") for path in PATH.findall(prose_of(text))}
    return sorted(path for path in named if not any(f"/{it}".endswith(f"/{path}") for it in known))


@pytest.fixture(scope="module")
def paths():
    parts = (
        "tfkit",
        "tfkit_command.py",
        "tests",
        "tools",
        "docs",
        "examples",
        "export",
        "packages",
    )
    found = [it for part in parts for it in (ROOT / part).rglob("*")]
    return [*parts, *(it.relative_to(ROOT).as_posix() for it in found)]


@pytest.mark.parametrize("page", MAPS, ids=name_of)
def test_files_that_are_named_are_there(page, paths):
    assert not missing_paths(page.read_text(), paths)


def test_a_file_that_has_moved_is_found():
    text = "`a/b.py`, `b.py`, `a/` and `src/guards/`, `c.py`; not `x/y` or `1 / 2/`\n"
    assert missing_paths(text, ["tfkit/a", "tfkit/a/b.py"]) == ["c.py", "src/guards"]


def test_pages_of_docs_are_linked_from_the_readme():
    linked = {(ROOT / link).resolve() for link in LINK.findall((ROOT / "README.md").read_text())}
    pages = {page for page in PAGES if page.parent.name in ("docs", "guides")}
    assert pages <= linked


def test_the_reader_of_examples_keeps_line_numbers():
    text = "a\n```python\nx = 1\n```\n```sh\nls\n```\n```python\ny = 2\n```\n"
    assert python_of(text).splitlines() == ["", "", "x = 1", "", "", "", "", "", "y = 2", ""]


def test_a_block_runs_where_its_packages_are_installed():
    text = "<!-- needs: {} -->\n\n  ```python\n  x = 1\n  ```\n```python\ny = 2\n```\n"
    assert python_of(text.format("numpy")).split() == ["x", "=", "1", "y", "=", "2"]
    assert python_of(text.format("numpy, no_such_package")).split() == ["y", "=", "2"]


def test_a_dead_link_is_found(tmp_path):
    assert LINK.findall("see [it](docs/none.md#part) and `x[0](1)`")[0] == "docs/none.md#part"


def absent_names(text):
    """The classes and modules that the lists below "Still missing:" name."""
    lists = re.findall(r"Still missing:\n\n((?:\*.*\n(?:  .*\n)*)+)", text)
    names = {name for each in lists for name in re.findall(r"`(?:[a-z_]+\.)*(\w+)`", each)}
    return names - {
        "fit",
        "evaluate",
        "ModelParallel",
    }  # Which exist, but only partly, or are refused.


@pytest.mark.parametrize("page", ["README.md", "docs/scaling.md"])
def test_what_a_page_says_is_absent_is_absent(page):
    public = (ROOT / "tests" / "public_names.txt").read_text()
    names = absent_names((ROOT / page).read_text())
    assert names
    assert not [name for name in names if re.search(rf"\b{name}\b", public)]


def test_a_stale_list_is_found():
    assert absent_names("Still missing:\n\n* `utils.PyDataset`, in `fit`.\n") == {"PyDataset"}
