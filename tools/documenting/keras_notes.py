"""Finds which public names Keras has, and what the documentation lists as different."""

from __future__ import annotations

import functools
import importlib
import re
from collections import defaultdict

from documenting import public

# Each with the heading from which on its items are differences.
PAGES = {
    "docs/coming-from-keras.md": "# Coming from Keras",
    "docs/beyond-keras.md": "## Numbers that differ",
}
TOPIC = re.compile(r"\*\*[^*`]+\.\*\* ")
CODE = re.compile(r"`([^`]+)`")
NAME = re.compile(r"(?:keras\.|tfkit\.)?([A-Za-z_][\w.*]*)")
ITEM = re.compile(r"\* (.*(?:\n(?!\* |\n|#).*)*)")


@functools.cache
def is_in_keras(name: str) -> bool:
    """Returns whether Keras has a public name."""
    value = importlib.import_module("keras")
    for part in name.split("."):
        value = getattr(value, part, None)
    return value is not None


@functools.cache
def _last_parts() -> dict[str, set[str]]:
    """Returns for the last part of each public name the names under which its objects are described."""
    found = defaultdict(set)
    for name, value in public.objects().items():
        found[name.rpartition(".")[2]].add(public.home(value))
    return found


def _meant(code: str) -> set[str]:
    """Returns the public names that a piece of code in the page means; none where it is ambiguous."""
    if not (match := NAME.match(code)):
        return set()
    name = match[1]
    if "*" in name:  # `Conv*Transpose` means several.
        pattern = re.compile(re.escape(name).replace(r"\*", r"\w*"))
        return set().union(*(v for k, v in _last_parts().items() if pattern.fullmatch(k)))
    if name in public.objects():
        return {public.home(public.objects()[name])}
    homes = _last_parts().get(name, set())
    # A word such as `scale` is rarely the name of a function.
    return homes if len(homes) == 1 and (name[0].isupper() or "_" in name) else set()


def _sentences(item: str) -> list[str]:
    """Returns the sentences of an item, without the words in bold that say what it is about."""
    text = TOPIC.sub("", " ".join(item.split())).replace("**", "")
    return re.split(r"(?<=\.) (?=[A-Z`])", text)


def _items() -> list[str]:
    found = []
    for page, heading in PAGES.items():
        text = (public.ROOT / page).read_text(encoding="utf-8")
        found += ITEM.findall(text[text.index(heading) :])
    return found


@functools.cache
def differences() -> dict[str, list[str]]:
    """Returns for public names the sentences in which the pages say how they differ."""
    found = defaultdict(list)
    for item in _items():
        for sentence in _sentences(item):
            for name in set().union(*(_meant(code) for code in CODE.findall(sentence))):
                if sentence not in found[name]:
                    found[name].append(sentence)
    return dict(found)
