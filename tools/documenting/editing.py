"""Finds the file of the repository that a page is made from, for the link "Edit this page"."""

from __future__ import annotations

import functools
import inspect
import tomllib
from typing import Any

from sphinx.application import Sphinx

from documenting import public

BRANCH = "main"


@functools.cache
def repository() -> str:
    """Returns the address of the repository, empty before there is one."""
    settings = tomllib.loads((public.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return settings["tool"]["tfkit"]["repository"].rstrip("/")


def source_of(page: str) -> str | None:
    """Returns the path of the file to edit for a page, or `None` for a page that only lists others.

    The text of a class or function is in its source.
    """
    folder, _, name = page.rpartition("/")
    candidates = [f"{page}.md", f"{page}.py"]
    if page == "index":
        candidates = ["tools/documenting/index.md"]
    if folder == "reference" and name != "index":
        value = public.objects().get(name.removeprefix("tfkit."))
        module = inspect.getmodule(inspect.unwrap(value)) if callable(value) else None
        place = module.__name__.replace(".", "/") if module else name.replace(".", "/")
        candidates = [f"{place}.py", f"{place}/__init__.py"]
    return next((path for path in candidates if (public.ROOT / path).is_file()), None)


def edit_link(page: str, address: str) -> str:
    """Returns the address at which a page is edited; empty where there is none."""
    path = source_of(page) if address else None
    return f"{address}/edit/{BRANCH}/{path}" if path else ""


def add_edit_link(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """Gives the theme the address of a page's source."""
    context["theme_source_edit_link"] = edit_link(page, repository())


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the link."""
    app.connect("html-page-context", add_edit_link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
