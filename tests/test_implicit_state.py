"""Values that travel unseen are few, and a table says who sets and who reads them."""

import ast
import re
from pathlib import Path

import tfkit
from tfkit.src.base.context import Context

SOURCE = Path(tfkit.__file__).parent
KINDS = {"ContextVar", "local", "WeakKeyDictionary", "WeakValueDictionary"}


def implicit_state(source):
    """The lines that make a context variable, thread-local state or a dictionary by weak references."""
    for node in ast.walk(ast.parse(source)):
        made = [node.func] if isinstance(node, ast.Call) else []
        made += node.bases if isinstance(node, ast.ClassDef) else []
        names = [
            each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "")
            for each in made
        ]
        if KINDS & {*names}:
            yield node.lineno


def test_implicit_state_is_found():
    source = (
        "x = ContextVar('x')\nclass A(threading.local): pass\ny = weakref.WeakKeyDictionary()\n"
    )
    assert sorted(implicit_state(source)) == [1, 2, 3]


def test_implicit_state_is_where_the_table_says():
    found = {
        str(path.relative_to(SOURCE / "src")): len(lines)
        for path in sorted(SOURCE.rglob("*.py"))
        if (lines := list(implicit_state(path.read_text(encoding="utf-8"))))
    }
    assert found == {
        "base/calls.py": 2,
        "base/context.py": 1,
        "training/tensor_slices.py": 1,
    }


def test_the_table_has_the_fields_of_the_context():
    text = (SOURCE / "src" / "core" / "README.md").read_text(encoding="utf-8")
    rows = text.partition("**The context**")[2].partition("**The thread**")[0].splitlines()
    fields = [
        name
        for row in rows
        if row.startswith("| `")
        for name in re.findall(r"`(\w+)`", row.split("|")[1])
    ]
    assert sorted(fields) == sorted(Context.__annotations__)
