"""Turns docstrings of tfkit into Markdown: their text is Markdown, their sections become fields."""

from __future__ import annotations

import re
import textwrap

ENTRIES = ("Args", "Call arguments", "Attributes", "Raises", "Warns")  # Each is a list of names.
TEXTS = ("Input shape", "Output shape", "Returns", "Yields", "Reference", "Example")
SECTION = re.compile(rf"({'|'.join(ENTRIES + TEXTS)}):(?: +(\S.*))?")
ENTRY = re.compile(r"(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*): (.*)", re.DOTALL)
TITLES = {"Args": "Arguments"}


def sections(text: str) -> list[tuple[str, str]]:
    """Returns the sections of a docstring, in order, as titles and texts; prose has the title `""`."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in text.splitlines():
        title, lines = found[-1]
        if header := SECTION.fullmatch(line):
            found.append((header[1], [header[2] or ""]))
        elif (
            title and line.strip() and not line.startswith(" ") and (not lines[0] or not lines[-1])
        ):
            found.append(("", [line]))  # The section has ended, and the prose continues.
        else:
            lines.append(line)
    joined = ((title, _dedent(lines)) for title, lines in found)
    return [(title, body) for title, body in joined if body]


def _dedent(lines: list[str]) -> str:
    first, rest = lines[:1], "\n".join(lines[1:])
    return "\n".join([*first, textwrap.dedent(rest)]).strip()


def entries(body: str) -> list[tuple[str, str]]:
    """Returns the names that a section lists, each with its text."""
    found = []
    for item in re.split(r"\n(?=\S)", body):
        if not (match := ENTRY.fullmatch(item)):
            raise ValueError(f"Expected a section of entries `name: text`. Received: {item!r}")
        first, _, rest = match[2].partition("\n")
        found.append((match[1], f"{first}\n{textwrap.dedent(rest)}".strip()))
    return found


def _with_fences(text: str) -> str:
    """Returns a text whose examples, lines from `>>>` on, are blocks of code."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if not inside and line.startswith(">>> "):
            inside = True
            lines.append("```pycon")
        elif inside and not line.strip():
            inside = False
            lines.append("```")
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)


def to_markdown(text: str) -> str:
    """Returns a docstring as Markdown of MyST: prose, then one field for each section."""
    blocks = []
    for title, body in sections(text):
        if not title:
            blocks.append(_with_fences(body))
            continue
        if title in ENTRIES:
            body = "\n".join(
                f"- `{name}`: " + textwrap.indent(described, "  ").strip()
                for name, described in entries(body)
            )
        else:
            body = _with_fences(body)
        blocks.append(f":{TITLES.get(title, title)}:\n\n" + textwrap.indent(body, "    "))
    return "\n\n".join(blocks)


def summary(text: str) -> str:
    """Returns the first sentence of a docstring, on one line."""
    return " ".join(text.strip().split("\n\n", 1)[0].split())
