"""Writes the pages of the reference: one for each public module, and one for each class and function."""

from __future__ import annotations

import functools
import inspect
import re
from pathlib import Path
from typing import Any

from documenting import docstrings, keras_notes, public
from documenting.families import Family, of_module
from documenting.signatures import signature

INTRODUCTION = """# Reference

The public names of tfkit. With `import tfkit as keras` they have Keras's names: `keras.layers.Dense`.
Names, arguments, defaults and numbers are those of Keras 3, except where an entry has a note; entries
that Keras does not have are marked. [Coming from Keras](../docs/coming-from-keras.md) lists all differences.

"""


def write(folder: Path) -> None:
    """Writes all pages into `folder`."""
    modules = public.modules()
    for module, names in modules.items():
        inner = [each for each in modules if each and each.rpartition(".")[0] == module]
        families = of_module(module)
        text = page(module, names, inner if module else [], families)
        (folder / f"{_path(module)}.md").write_text(text, encoding="utf-8")
        for family, described in families.items():
            for group in _groups(described):
                text = object_page(module, family, group, described)
                (folder / f"{_path(group[0])}.md").write_text(text, encoding="utf-8")
    outer = [module for module in modules if "." not in module]
    (folder / "index.md").write_text(INTRODUCTION + _modules(outer), encoding="utf-8")


def _groups(names: list[str]) -> list[list[str]]:
    """Returns the names of each page: one, or those that differ by case alone, as `Huber` and `huber`.

    Their pages would be one file where the file system ignores case.
    """
    groups: dict[str, list[str]] = {}
    for name in sorted(names):  # Upper case is first.
        groups.setdefault(name.lower(), []).append(name)
    return list(groups.values())


def _path(name: str) -> str:
    return f"tfkit.{name}".rstrip(".")


def _modules(names: list[str]) -> str:
    """Returns a table of modules, whose pages are below this one."""
    rows = [
        f"| [`{_path(name)}`]({_path(name)}.md) | {_first_line(public.module_of(name))} |"
        for name in names
    ]
    titles = [f"{name or 'tfkit'} <{_path(name)}>" for name in names]
    table = "\n".join(["| Module | Contents |", "|---|---|", *rows])
    return table + "\n\n" + "\n".join(["```{toctree}", ":hidden:", "", *titles, "```", ""])


def page(module: str, names: list[str], inner: list[str], families: dict[Family, list[str]]) -> str:
    """Returns the page of a module: its modules, and tables of its names, one for each family."""
    parts = [f"# {_path(module)}", inspect.getdoc(public.module_of(module)) or ""]
    parts += [f"```{{py:module}} {_path(module)}\n```"]
    if inner:
        parts += [_modules(inner)]
    for family, described in families.items():
        parts += [f"## {family.title}", family.sentence, _table(described)]
    here = {name for described in families.values() for name in described}
    if others := [name for name in names if name not in here]:
        parts += ["## Described elsewhere", _table(others)]
    return "\n\n".join(part for part in parts if part) + "\n"


def object_page(module: str, family: Family, names: list[str], relatives: list[str]) -> str:
    """Returns the page of an object, or of a class and the function of its name."""
    above = f"[{_path(module)}]({_path(module)}.md)"
    place = f"{above}, [{family.title}]({_path(module)}.md#{_slug(family.title)})"
    parts = ["---\norphan: true\n---", f"# {names[0]}", place]
    parts += [f"```{{py:currentmodule}} {_path(module)}\n```"]
    parts += [entry(name, public.objects()[name]) for name in names]
    others = [name for name in relatives if name not in names]
    if family.sources and others:
        parts += ["## Of the same family", family.sentence, ", ".join(map(_link, others)) + "."]
    return "\n\n".join(parts) + "\n"


def _slug(title: str) -> str:
    return title.lower().replace(" ", "-")


def _table(names: list[str]) -> str:
    rows = [f"| {_link(name)} | {_first_line(public.objects()[name])} |" for name in names]
    return "\n".join(["| Name | Summary |", "|---|---|", *rows])


def _link(name: str) -> str:
    """Returns a name, the cell of a table, with a link to the page that describes it."""
    last = name.rpartition(".")[2]
    home = public.home(public.objects()[name])
    return f"[`{last}`]({_path(_pages()[home])}.md)" if home else f"`{last}`"


@functools.cache
def _pages() -> dict[str, str]:
    """Returns for each name that is described the first name on its page."""
    described = [of_module(module).values() for module in public.modules()]
    groups = [group for families in described for names in families for group in _groups(names)]
    return {name: group[0] for group in groups for name in group}


def _first_line(value: Any) -> str:
    if not callable(value) and not inspect.ismodule(value):
        return "The version, as a string."
    return docstrings.summary(inspect.getdoc(value) or "").replace("|", "\\|")


def entry(name: str, value: Any) -> str:
    """Returns the entry of a public class or function."""
    kind = "class" if inspect.isclass(value) else "function"
    if kind == "class" and issubclass(value, BaseException):
        kind = "exception"
    summary, _, rest = (inspect.getdoc(value) or "").partition("\n\n")
    body = [
        docstrings.to_markdown(summary),
        _bases(value),
        _keras(name),
        docstrings.to_markdown(rest),
        _aliases(name, value),
    ]
    if inspect.isclass(value):
        body += [member(value, each, it) for each, it in public.members(value).items()]
    return _directive(kind, f"{name.rpartition('.')[2]}{signature(value)}", body, 5)


def member(cls: type, name: str, value: Any) -> str:
    """Returns the entry of a method or property."""
    text = (
        inspect.getdoc(getattr(cls, name)) if inspect.isfunction(value) else inspect.getdoc(value)
    )
    options: list[str] = []
    if isinstance(value, (property, functools.cached_property)):
        return _directive("property", name, [docstrings.to_markdown(text or "")], 4, options)
    for kind in (staticmethod, classmethod):
        if isinstance(value, kind):
            options.append(f":{kind.__name__}:")
            value = value.__func__
    shown = signature(value)
    body = [docstrings.to_markdown(text or "")]
    return _directive("method", f"{name}{shown}", body, 4, options)


def _bases(value: Any) -> str:
    bases = public.public_bases(value) if inspect.isclass(value) else []
    return "Bases: " + ", ".join(f"`{name}`" for name in bases) if bases else ""


def _keras(name: str) -> str:
    """Returns a note where Keras does not have a name, or where it differs."""
    if not keras_notes.is_in_keras(name):
        return ":::{admonition} Not in Keras\n:class: tip\nThis is an addition of tfkit.\n:::"
    if not (sentences := keras_notes.differences().get(name)):
        return ""
    text = "\n".join(f"- {sentence}" for sentence in sentences)
    text = re.sub(r"\]\((?!http)", "](../docs/", text)
    return f":::{{admonition}} Differs from Keras\n:class: note\n{text}\n:::"


def _aliases(name: str, value: Any) -> str:
    others = [it for it, same in public.objects().items() if same is value and it != name]
    shown = ", ".join(f"`tfkit.{other}`" for other in others)
    return f"Other names: {shown}." if others else ""


def _directive(
    kind: str, argument: str, body: list[str], colons: int, options: list[str] | None = None
) -> str:
    fence = ":" * colons
    text = "\n\n".join(part for part in body if part)
    return "\n".join([f"{fence}{{py:{kind}}} {argument}", *(options or []), "", text, fence])
