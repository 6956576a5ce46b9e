"""The two classes that everything rests on stay small enough to be read at a sitting."""

import ast
import io
import tokenize
from pathlib import Path

import pytest

import tfkit

ROOT = Path(tfkit.__file__).parent / "src"
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(source, class_name):
    """Numbers of the lines of a class that hold code: no blank line, comment or docstring."""
    tree = ast.parse(source)
    (found,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == class_name)
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(found):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines & set(range(found.lineno, found.end_lineno + 1))


def test_code_lines_are_counted():
    source = (
        'class A:  # 1\n    """Two\n    lines."""\n\n    # none\n    def b(self):  # 6\n'
        '        """Doc."""\n        return """8\n9"""\n\n\nclass B:\n    c = 1\n'
    )
    assert code_lines(source, "A") == {1, 6, 8, 9}
    assert code_lines(source, "B") == {12, 13}


@pytest.mark.parametrize(
    ("path", "class_name"), [("core/layer.py", "Layer"), ("models/model.py", "Model")]
)
def test_the_class_has_fewer_than_250_code_lines(path, class_name):
    assert len(code_lines((ROOT / path).read_text(), class_name)) < 250
