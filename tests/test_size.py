"""The source can be read: two classes and the room `core` at a sitting; comments say why where it is hard."""

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


def code_lines(source):
    """Numbers of the lines that hold code: no blank line, comment or docstring."""
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(source)):
        documented = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        if documented and ast.get_docstring(node):
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines


def lines_of_class(source, class_name):
    """Those of one class."""
    (found,) = (
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name == class_name
    )
    return code_lines(source) & set(range(found.lineno, found.end_lineno + 1))


def test_code_lines_are_counted():
    source = (
        'class A:  # 1\n    """Two\n    lines."""\n\n    # none\n    def b(self):  # 6\n'
        '        """Doc."""\n        return """8\n9"""\n\n\nclass B:\n    c = 1\n'
    )
    assert lines_of_class(source, "A") == {1, 6, 8, 9}
    assert lines_of_class(source, "B") == {12, 13}
    assert code_lines(source) == {1, 6, 8, 9, 12, 13}
    assert code_lines('"""Doc."""\n\nx = 1\n') == {3}


@pytest.mark.parametrize(
    ("path", "class_name"), [("core/layer.py", "Layer"), ("training/models/model.py", "Model")]
)
def test_the_class_has_fewer_than_250_code_lines(path, class_name):
    assert len(lines_of_class((ROOT / path).read_text(), class_name)) < 250


def test_core_as_a_whole_has_fewer_than_1500_code_lines():
    """What knows nothing of layers belongs in the rooms below."""
    files = sorted((ROOT / "core").rglob("*.py"))
    assert sum(len(code_lines(path.read_text())) for path in files) < 1500


def comments_per_100_lines(folder):
    """Lines with a comment, for 100 lines of code in a folder."""
    sources = [path.read_text() for path in sorted(folder.rglob("*.py"))]
    comments = sum(
        token.type == tokenize.COMMENT
        for source in sources
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
    )
    return 100 * comments / sum(len(code_lines(source)) for source in sources)


@pytest.mark.parametrize(
    ("folder", "least"),
    [
        ("..", 5),
        ("borrowed", 10),
        ("engine", 10),
        ("engine/guards", 10),
        ("symbolic", 10),
        ("core", 7),
    ],
)
def test_comments_say_why_most_where_it_is_hard(folder, least):
    assert comments_per_100_lines(ROOT / folder) >= least
