"""Extends Sphinx: names in running text become links, and entries are linked to their source."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

from documenting import public

NAME = re.compile(r"(?:(?:tfkit|keras)\.)?([A-Za-z_][\w.]*)(?:\(\))?")
BACK_LINK = re.compile(
    r'(<div class="viewcode-block" id="([\w.]+)">\s*<a class="viewcode-back" href=")'
    r'([^"#]*/(tfkit[\w.]*)\.\w+\.html)#[^"]*'
)
# A method of a private base is the source of an entry in each public class; one link back is enough.
REPEATED_LINK = re.compile(
    r'(<div class="viewcode-block" id="[\w.]+">)\s*<a class="viewcode-back"[^>]*>\[docs\]</a>\s*'
    r'(?=<div class="viewcode-block")'
)
END_OF_BLOCKS = re.compile(r"</div>\s+(?=</div>)")  # Each would be an empty line of the source.


@functools.cache
def _targets() -> dict[str, str]:
    """Returns for texts such as `layers.Dense` or `Dense` the entry that is meant."""
    entries = {f"tfkit.{name}": public.home(value) for name, value in public.objects().items()}
    found = {name.removeprefix("tfkit."): home for name, home in entries.items()}
    classes: dict[str, set[str]] = {}
    for home in set(entries.values()) - {None}:
        value = public.objects()[home]
        if inspect.isclass(value):
            classes.setdefault(value.__name__, set()).add(home)
            found.update({f"{home}.{each}": f"{home}.{each}" for each in public.members(value)})
            found.update(
                {f"{value.__name__}.{each}": f"{home}.{each}" for each in public.members(value)}
            )
    found.update({name: homes.pop() for name, homes in classes.items() if len(homes) == 1})
    return {name: f"tfkit.{home}" for name, home in found.items() if home and len(name) > 2}


class LinkNames(SphinxPostTransform):
    """Makes each piece of code that is a public name a link to its entry."""

    default_priority = 50

    def run(self, **kwargs: Any) -> None:
        objects = self.env.domains.python_domain.objects
        for literal in list(self.document.findall(nodes.literal)):
            match = NAME.fullmatch(literal.astext())
            target = _targets().get(match[1]) if match else None
            if target not in objects or _is_inside(literal, (nodes.reference, nodes.title)):
                continue
            if literal.parent.get("ids") == [target] or _entry_of(literal) == target:
                continue
            found = objects[target]
            literal.replace_self(
                make_refnode(
                    self.env._app.builder,
                    self.env.current_document.docname,
                    found.docname,
                    found.node_id,
                    literal.deepcopy(),
                    target,
                )
            )


def _is_inside(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
    while node := node.parent:
        if isinstance(node, kinds):
            return True
    return False


def _entry_of(node: nodes.Node) -> str | None:
    """Returns the entry in whose text a node is, since it needs no link to itself."""
    while node := node.parent:
        if node.tagname == "desc":
            return next(iter(node[0]["ids"]), None)
    return None


@functools.cache
def _definitions() -> dict[tuple[str, str], tuple[str, str]]:
    """Returns for each entry, as a module and a name in it, the module and name of its definition."""
    found = {}
    for name, value in public.objects().items():
        if public.home(value) != name or not callable(value):
            continue
        module, _, last = f"tfkit.{name}".rpartition(".")
        found[module, last] = _definition(value)
        if inspect.isclass(value):
            for each, it in public.members(value).items():
                found[module, f"{last}.{each}"] = _definition(it)
    return {entry: place for entry, place in found.items() if place}


def _definition(value: Any) -> tuple[str, str] | None:
    value = getattr(value, "fget", None) or getattr(value, "func", value)
    value = inspect.unwrap(getattr(value, "__func__", value))
    module = getattr(value, "__module__", None) or ""
    return (module, value.__qualname__) if module.startswith("tfkit.") else None


def follow(app: Sphinx, module: str, name: str) -> str | None:
    """Returns the module in which an entry is defined."""
    return _definitions().get((module, name), (None,))[0]


def find_source(app: Sphinx, module: str) -> tuple[str, dict[str, Any]]:
    """Returns the source of a module, with the places of its definitions by the names of their entries."""
    return _source(module)


@functools.cache
def _source(module: str) -> tuple[str, dict[str, Any]]:
    analyzer = ModuleAnalyzer.for_module(module)
    analyzer.analyze()
    tags = dict(analyzer.tags)
    for (_, entry), (defined, name) in _definitions().items():
        if defined == module and name in analyzer.tags:
            tags[entry] = analyzer.tags[name]
    return analyzer.code, tags


def forget_other_types(app: Sphinx, document: nodes.document) -> None:
    """Leaves the types of other libraries in signatures as they are: they have no entries to look for."""
    for reference in list(document.findall(addnodes.pending_xref)):
        is_type = reference.get("refdomain") == "py"
        if is_type and not reference["reftarget"].startswith("tfkit."):
            reference.replace_self(nodes.Text(reference["reftarget"]))


def correct_links_to_entries(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """Corrects the links from a source to its entries, which Sphinx takes to be in one module."""
    if page.startswith("_modules/tfkit/"):
        body = BACK_LINK.sub(r"\1\3#\4.\2", context["body"])
        context["body"] = END_OF_BLOCKS.sub("</div>", REPEATED_LINK.sub(r"\1", body))


class SharedNavigation:
    """Gives the pages of a folder that are in no list of pages one navigation tree.

    The tree takes longer than all the rest of such a page, and is the same for all: it does not have them.
    """

    def __init__(self) -> None:
        self.trees: dict[Any, str] = {}

    def __call__(
        self, app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
    ) -> None:
        """Replaces the function from which the theme gets the tree."""
        if "orphan" in app.env.metadata.get(page, {}) or page.startswith("_modules/"):
            folder, make = page.rpartition("/")[0], context["toctree"]
            context["toctree"] = lambda **options: self.tree(folder, make, options)

    def tree(self, folder: str, make: Callable[..., str], options: dict[str, Any]) -> str:
        """Returns the tree of a folder, made at the first call."""
        key = (folder, *sorted(options.items()))
        if key not in self.trees:
            self.trees[key] = make(**options)
        return self.trees[key]


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers what this extension adds."""
    app.add_post_transform(LinkNames)
    app.connect("viewcode-follow-imported", follow)
    app.connect("viewcode-find-source", find_source)
    app.connect("doctree-read", forget_other_types)
    app.connect("html-page-context", correct_links_to_entries)
    app.connect("html-page-context", SharedNavigation(), priority=100)  # Before the theme.
    return {"parallel_read_safe": True, "parallel_write_safe": True}
