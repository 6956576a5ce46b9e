"""`tools/site`: the site builds without a warning, its links lead somewhere, and it needs no other host."""

import html.parser
import importlib
import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Page(html.parser.HTMLParser):
    """The anchors of a page, its links, what it loads, and the text outside of code blocks."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded, self.text = {""}, [], [], []
        self.linked = {}  # The texts of links, with the links.
        self.open_link = None
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
            self.open_link = values["href"]
        elif tag in ("link", "script", "img", "iframe", "source"):
            self.loaded += [values[name] for name in ("href", "src") if name in values]

    def handle_endtag(self, tag):
        if tag == "a":
            self.open_link = None

    def handle_data(self, data):
        if self.open_link:
            self.linked.setdefault(data, self.open_link)
        self.text.append(data)


@pytest.fixture(scope="session")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def broken(pages):
    """Each link that leads to no page of the site, or to no place in it."""
    found = []
    for path, page in pages.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "data"):
                continue
            target = (
                Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
            )
            known = pages[target].anchors if target in pages else {unquote(parts.fragment)}
            if not target.is_file() or unquote(parts.fragment) not in known:
                found.append(f"{path.name}: {link}")
    return found


def test_all_links_lead_to_a_page_and_a_place_in_it(pages):
    assert sum(len(page.links) for page in pages.values()) > 10_000
    assert not broken(pages)


def test_a_dead_link_is_found(tmp_path):
    path = tmp_path / "page.html"
    path.write_text('<p id="here"><a href="#here"></a><a href="#gone"></a><img src="none.png">')
    assert broken({path: Page(path)}) == ["page.html: #gone", "page.html: none.png"]


def test_nothing_is_loaded_from_other_hosts(site, pages):
    loaded = {link for page in pages.values() for link in page.loaded}
    assert not [link for link in loaded if urlsplit(link).netloc]
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(https?:)?//", style.read_text(encoding="utf-8")), (
            style
        )


def test_every_public_name_is_on_the_page_of_its_module(site, pages):
    """As an entry, or as a link to the entry of the same object under another name."""
    missing = []
    for name in (ROOT / "tests/public_names.txt").read_text().split():
        module, _, last = f"tfkit.{name}".rpartition(".")
        page = pages[site / f"reference/{module}.html"]
        if f"{module}.{last}" not in page.anchors and page.linked.get(last) is None:
            missing.append(name)
    assert missing == ["__version__"]


def test_the_reference_has_public_names_alone(site, pages):
    texts = {
        path.name: "".join(page.text)
        for path, page in pages.items()
        if path.parent == site / "reference"
    }
    found = {
        f"{name}: {match}"
        for name, text in texts.items()
        for match in re.findall(r"tfkit\.src[\w.]*", text)
    }
    assert not found


def test_sections_of_docstrings_are_fields(site):
    entry = (site / "reference/tfkit.layers.Dense.html").read_text(encoding="utf-8")
    for title in ("Arguments", "Input shape", "Output shape", "Raises", "Example"):
        assert re.search(rf"<dt[^>]*>{title}<span class=\"colon\">:</span></dt>", entry), title
    assert not re.search(r"^(Args|Raises|Returns|Example):", entry, re.MULTILINE)


def test_no_page_of_the_reference_is_large(site):
    """A page for each object: one page of all layers had 2.7 MB."""
    sizes = {path.name: path.stat().st_size for path in site.glob("reference/*.html")}
    assert len(sizes) > 900
    assert not {name: size for name, size in sizes.items() if size > 300_000}


def test_the_search_index_has_pages_and_names(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert "EarlyStopping" in index
    assert "docs/first-model" in index


@pytest.fixture
def documenting(monkeypatch):
    """A module of the builder by its name."""
    pytest.importorskip("sphinx", reason="sphinx is not installed: pip install 'tfkit-dl[docs]'")
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return lambda name: importlib.import_module(f"documenting.{name}")


@pytest.fixture
def docstrings(documenting):
    return documenting("docstrings")


def test_pages_are_edited_where_their_text_is(documenting):
    editing = documenting("editing")
    base = "https://host.org/it"
    files = {
        "index": "tools/documenting/index.md",
        "docs/guides/faq": "docs/guides/faq.md",
        "examples/vae_mnist": "examples/vae_mnist.py",
        "reference/tfkit.layers.Dense": "tfkit/src/layers/dense.py",
        "reference/tfkit.layers": "tfkit/layers.py",
    }
    for page, file in files.items():
        assert (ROOT / file).is_file()
        assert editing.edit_link(page, base) == f"{base}/edit/main/{file}"
    assert editing.edit_link("reference/index", base) == ""
    assert editing.edit_link("docs/guides/faq", "") == ""


def test_versions_are_listed_newest_first(documenting, tmp_path):
    for version in ("0.2.0", "0.10.0", "0.10.0.dev1"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "index.html").write_text("")
    (tmp_path / "notes").mkdir()
    assert documenting("__main__").list_versions(tmp_path) == ["0.10.0", "0.10.0.dev1", "0.2.0"]
    assert 'const VERSIONS = ["0.10.0", ' in (tmp_path / "versions.js").read_text()
    assert "url=0.10.0/index.html" in (tmp_path / "index.html").read_text()


TEXT = """Returns the sum: `a + b`.

With an indented formula:

    a + b

Args:
    a: a number, described
        in two lines.
    *b: others.

Output shape: that of `a`,
broadcast.

More prose.

Example:
    >>> add(1, 2)
    3

    Another:

    >>> add(2)
    2
"""


def test_the_sections_of_a_docstring(docstrings):
    titles = [title for title, _ in docstrings.sections(TEXT)]
    assert titles == ["", "Args", "Output shape", "", "Example"]
    markdown = docstrings.to_markdown(TEXT)
    assert (
        ":Arguments:\n\n    - `a`: a number, described\n      in two lines.\n    - `*b`: others."
        in (markdown)
    )
    assert ":Output shape:\n\n    that of `a`,\n    broadcast.\n\nMore prose." in markdown
    assert markdown.count("```pycon\n") == markdown.count("\n    ```\n") + 1 == 2


def test_a_section_that_is_no_list_of_names_is_refused(docstrings):
    with pytest.raises(ValueError, match="Expected a section of entries"):
        docstrings.to_markdown("Does it.\n\nArgs:\n    the number of rows\n")
