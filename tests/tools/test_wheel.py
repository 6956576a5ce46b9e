"""The wheel: built from the sources, installed where there is no tfkit, and used from there."""

import email
import os
import re
import runpy
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import markdown_it
import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SETUP = runpy.run_path(str(ROOT / "setup.py"))


def run(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel of the sources, built from a copy: building writes beside them."""
    folder = tmp_path_factory.mktemp("wheel")
    parts = ("tfkit", ":(glob)*.py", "pyproject.toml", "README.md", "LICENSE")
    files = run("git", "ls-files", "-z", *parts, cwd=ROOT)
    for name in filter(None, files.split("\0")):
        if (ROOT / name).exists():
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "source" / name).write_bytes((ROOT / name).read_bytes())
    options = ("--no-deps", "--disable-pip-version-check", "--wheel-dir", folder)
    run(sys.executable, "-m", "pip", "wheel", "-q", *options, folder / "source")
    (path,) = folder.glob("*.whl")
    return path


def test_the_distribution_has_a_name_of_its_own(wheel):
    assert PROJECT["name"] == "tfkit-dl"  # Package indexes have another "tfkit".
    assert wheel.name.startswith("tfkit_dl-")


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "tfkit").rglob("*.py")}
    packaged = {name for name in names if ".dist-info/" not in name}
    assert packaged == sources | {"tfkit/py.typed", "tfkit_command.py"}
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.fixture(scope="module")
def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        return email.message_from_bytes(archive.read(name))


def test_the_metadata_say_what_an_index_shows(metadata):
    for field in ("Author", "Keywords", "Summary", "License-Expression"):
        assert metadata[field]
    assert metadata.get_all("Classifier") == PROJECT["classifiers"]
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert set(metadata.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])


def targets(page):
    """Where the links and pictures of a page lead, once it is drawn by rules of Markdown alone."""
    html = markdown_it.MarkdownIt("commonmark").enable("table").render(page)
    return re.findall(r'(?:href|src|srcset)="([^"]*)"', html)


def test_the_page_on_an_index_needs_no_files_next_to_it(metadata):
    page = metadata.get_payload(decode=True).decode()
    assert page.startswith("# tfkit\n")
    assert [target for target in targets(page) if not target.startswith("https://")] == []
    assert "](" not in re.sub(r"```.*?```|`[^`]*`", "", page, flags=re.DOTALL)


ADDRESS = "https://code.invalid/tfkit"
PAGE = """[![one](a.png)](docs/x.md) [two](docs/y.md#part), [three](https://b.invalid), [four](#here)
<img src="c.png" width="9">

```python
x[0](kept)
[kept](docs/z.md)
```
"""


def test_links_of_the_readme_become_addresses_in_the_repository():
    assert targets(SETUP["index_page"](PAGE, ADDRESS)) == [
        f"{ADDRESS}/blob/HEAD/docs/x.md",
        f"{ADDRESS}/raw/HEAD/a.png",
        f"{ADDRESS}/blob/HEAD/docs/y.md#part",
        "https://b.invalid",
        f"{ADDRESS}/blob/HEAD/README.md#here",
        f"{ADDRESS}/raw/HEAD/c.png",
    ]
    assert "[kept](docs/z.md)" in SETUP["index_page"](PAGE, ADDRESS)
    readme = SETUP["index_page"]((ROOT / "README.md").read_text(), ADDRESS)
    links = targets(readme)
    assert len(links) > 20
    for link in links:
        path = re.sub(rf"^{ADDRESS}/(blob|raw)/HEAD/", "", link).partition("#")[0]
        assert "://" in path or (ROOT / path).exists(), link


def test_links_of_the_readme_without_an_address_become_words():
    page = SETUP["index_page"](PAGE, "")
    assert page.startswith(" two, [three](https://b.invalid), four\n")
    assert targets(page) == ["https://b.invalid"]
    assert "x[0](kept)" in page


def test_the_address_of_the_repository_is_set_in_one_place():
    urls = SETUP["addresses"](ADDRESS)
    assert list(urls) == ["Repository", "Documentation", "Changelog", "Issues"]
    assert all(url.startswith(ADDRESS) for url in urls.values())
    assert SETUP["addresses"]("") == {}


def test_an_installed_wheel_trains_saves_and_has_its_command(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
    )  # It writes scripts for that interpreter.
    alone = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    run(*pip, "install", "-q", "--no-deps", "--disable-pip-version-check", wheel, env=alone)
    # TensorFlow and the other packages are those of the tests; an editable tfkit there is not seen this way.
    env = {
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "PATH": "/usr/bin:/bin",
    }
    run(python, ROOT / "tools" / "first_use.py", cwd=tmp_path, env=env)
    command = tmp_path / "env" / "bin" / "tfkit"
    assert "dense" in run(command, "inspect", "model.h5", cwd=tmp_path, env=env)
