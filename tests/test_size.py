"""The two classes that everything rests on, and lists of arguments, stay small enough to be read."""

import ast
import inspect
import io
import tokenize
from pathlib import Path

import pytest

import tfkit
from tests.test_public_face import COMMON

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


# --- Arguments by position ----------------------------------------------------------------------------

MOST_BY_POSITION = 6
# Rooms of `tfkit/src` in which longer lists are left; one that has none any more is taken out here.
NOT_YET = {"apps", "core", "export", "layers", "ops", "optimizers", "variables"}
ROOMS = sorted({path.relative_to(ROOT).parts[0].removesuffix(".py") for path in ROOT.rglob("*.py")})


def positional(node):
    """The parameters that a function takes by position, or the fields that a record takes by position."""
    if isinstance(node, ast.ClassDef):
        made_by = [ast.unparse(it) for it in node.decorator_list + node.bases]
        if not any("dataclass" in it or "NamedTuple" in it for it in made_by):
            return []
        if any("kw_only=True" in it for it in made_by):
            return []
        fields = [it for it in node.body if isinstance(it, ast.AnnAssign)]
        return [it.target.id for it in fields if "init=False" not in ast.unparse(it)]
    names = [it.arg for it in node.args.posonlyargs + node.args.args]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def definitions(tree, prefix=""):
    """Each function and class in a module, with its qualified name."""
    for node in ast.iter_child_nodes(tree):
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if is_function or isinstance(node, ast.ClassDef):
            yield prefix + node.name, node
            inner = f"{prefix}{node.name}.<locals>." if is_function else f"{prefix}{node.name}."
            yield from definitions(node, inner)
        else:
            yield from definitions(node, prefix)


def long_lists(source):
    """Names of what takes too many arguments by position."""
    return [
        name
        for name, node in definitions(ast.parse(source))
        if len(positional(node)) > MOST_BY_POSITION
    ]


def fixed_by_keras():
    """Module and name of each function whose arguments Keras has fixed: functions and methods of both."""
    fixed = set()
    for ours, of_keras in COMMON.values():
        pairs = [(ours, of_keras)]
        if isinstance(ours, type):
            methods = [
                name for name in dir(ours) if name in ("__init__", "__call__") or name[0] != "_"
            ]
            pairs = [
                (inspect.getattr_static(ours, it), getattr(of_keras, it, None)) for it in methods
            ]
        for function, counterpart in pairs:
            function = inspect.unwrap(getattr(function, "__func__", function))
            if inspect.isfunction(function) and counterpart is not None:
                fixed.add((function.__module__, function.__qualname__))
    return fixed


def test_arguments_by_position_are_counted():
    long = "(a, b, c, d, e, f, g): pass"
    assert long_lists(f"def f{long}\nasync def g{long}\ndef h(a, *, b, c, d, e, f, g): pass") == [
        "f",
        "g",
    ]
    assert long_lists(f"class A:\n    def f(self, a, b, c, d, e, f): pass\n    def g{long}") == [
        "A.g"
    ]
    assert long_lists(f"def f():\n    if 1:\n        def g{long}") == ["f.<locals>.g"]
    fields = "".join(f"\n    {name}: int" for name in "abcdefg")
    assert long_lists(f"class A(NamedTuple):{fields}\nclass B(Protocol):{fields}") == ["A"]
    assert long_lists(
        f"@dataclass(kw_only=True)\nclass A:{fields}\n@dataclass\nclass B:{fields}"
    ) == ["B"]
    assert ("tfkit.src.training.trainer", "Trainer.fit") in fixed_by_keras()
    assert ("tfkit.src.training.loop", "Steps.__init__") not in fixed_by_keras()


@pytest.mark.parametrize("room", sorted(set(ROOMS) - NOT_YET))
def test_few_arguments_are_passed_by_position(room):
    """Seven in a row cannot be told apart where they are passed: some are to be keywords, or a record."""
    fixed = fixed_by_keras()
    for path in [*ROOT.glob(f"{room}.py"), *ROOT.glob(f"{room}/**/*.py")]:
        module = ".".join(["tfkit", "src", *path.relative_to(ROOT).with_suffix("").parts])
        found = [name for name in long_lists(path.read_text()) if (module, name) not in fixed]
        assert not found, f"{path.relative_to(ROOT)}: {found}"
