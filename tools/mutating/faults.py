"""The faults that can be put into a file: each a small change that keeps the number of lines."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator

_COMPARISONS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
}
_ARITHMETIC = {
    ast.Add: (r"\+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: (r"\*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: (r"\|", "&"),
}
# Calls whose arguments are texts for readers.
_TEXTS = {"warn", "warning", "info", "debug", "describe", "TypeVar", "Literal", "cast"}
# Calls whose arguments may be in any order, or have an obvious one.
_ANY_ORDER = {"add", "max", "maximum", "min", "minimum", "broadcast_static_shape"}
_ONE_ORDER = {"isinstance", "issubclass", "getattr", "setattr", "hasattr"}


@dataclasses.dataclass(frozen=True)
class Fault:
    """A change of one file.

    Attributes:
        file: below `tfkit/src`.
        function: its qualified name; "" at the level of the module.
        kind: the kind of the fault.
        before: the lines that change, without indentation.
        after: what they become.
        start, end: which bytes of the file are replaced.
        text: by what.
    """

    file: str
    function: str
    kind: str
    before: str
    after: str
    start: int
    end: int
    text: str

    @property
    def room(self) -> str:
        """The room of the file."""
        return self.file.partition("/")[0]

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """The identity, which does not change if lines move."""
        return self.file, self.function, self.before, self.after

    def apply(self, source: bytes) -> bytes:
        """Returns the file with the fault."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def is_program(source: bytes, fault: Fault) -> bool:
    """Whether a file with a fault can be compiled, and is another program."""
    try:
        return ast.dump(ast.parse(fault.apply(source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def faults_in(file: str, source: bytes) -> list[Fault]:
    """Returns all faults that can be put into a file, see `is_program`."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: dict[tuple, Fault] = {}
    for function, kind, start, end, text in _Finder(source, starts).changes(tree):
        first, last = source.rfind(b"\n", 0, start) + 1, source.find(b"\n", end)
        old = source[first:last]
        new = source[first:start] + text.encode() + source[end:last]
        before, after = (" ".join(piece.decode().split()) for piece in (old, new))
        fault = Fault(file, function, kind, before, after, start, end, text)
        found.setdefault(fault.identity, fault)
    return list(found.values())


Change = tuple[str, str, int, int, str]  # function, kind, start, end, text


class _Finder:
    def __init__(self, source: bytes, starts: list[int]) -> None:
        self.source = source
        self.starts = starts

    def start(self, node: ast.AST) -> int:
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.AST) -> int:
        return self.starts[node.end_lineno - 1] + node.end_col_offset

    def code(self, node: ast.AST) -> str:
        return self.source[self.start(node) : self.end(node)].decode()

    def changes(self, tree: ast.Module) -> Iterator[Change]:
        yield from self._walk(tree, (), None)

    def _walk(self, node: ast.AST, names: tuple[str, ...], parent: ast.AST | None) -> Iterator:
        inner = names
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = (*names, node.name)
        for kind, start, end, text in self._here(node, parent):
            yield ".".join(names), kind, start, end, text
        for child in self._children(node):
            yield from self._walk(child, inner, node)

    def _children(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yields children that run, and are neither texts for readers nor types."""
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
            return
        if isinstance(node, ast.Call) and _called(node) in _TEXTS:
            return
        if isinstance(node, ast.If) and "TYPE_CHECKING" in self.code(node.test):
            return
        if isinstance(node, ast.Assign) and _is_type(node.value):
            return
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases", "op", "ops", "ctx"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield child

    def _here(self, node: ast.AST, parent: ast.AST | None) -> Iterator[tuple[str, int, int, str]]:
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            old, new = _COMPARISONS[type(node.ops[0])]
            yield from self._between("comparison", node.left, old, new, node.comparators[0])
        elif isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            yield from self._between("and, or", node.values[0], old, new, node.values[1])
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            gap = self.source[self.start(node) : self.start(node.operand)].decode()
            yield "not", self.start(node), self.start(node.operand), re.sub(r"^not\s*", "", gap)
        elif isinstance(node, ast.If | ast.IfExp) and isinstance(
            node.test, ast.Name | ast.Attribute | ast.Call
        ):
            yield "not", self.start(node.test), self.start(node.test), "not "
        elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            if not any(_is_text(side) for side in (node.left, node.right)):
                old, new = _ARITHMETIC[type(node.op)]
                yield from self._between("arithmetic", node.left, old, new, node.right)
        elif isinstance(node, ast.Call):
            yield from self._swapped(node)
        elif isinstance(node, ast.Constant):
            yield from self._constant(node, parent)
        if isinstance(node, ast.Dict | ast.Set | ast.List | ast.Tuple):
            yield from self._emptied(node, parent)
        if isinstance(node, ast.stmt):
            yield from self._removed(node, parent)

    def _between(self, kind: str, left: ast.AST, old: str, new: str, right: ast.AST) -> Iterator:
        start, end = self.end(left), self.start(right)
        gap = self.source[start:end].decode()
        if old[0].isalpha():
            old = rf"\b{old}\b"
        if len(re.findall(old, gap)) == 1:  # Not in a comment between them.
            yield kind, start, end, re.sub(old, new, gap)

    def _swapped(self, node: ast.Call) -> Iterator:
        if len(node.args) < 2 or _called(node) in _ANY_ORDER | _ONE_ORDER | _TEXTS:
            return
        first, second = node.args[:2]
        if isinstance(first, ast.Starred) or isinstance(second, ast.Starred):
            return
        one, other = self.code(first), self.code(second)
        if one != other:
            gap = self.source[self.end(first) : self.start(second)].decode()
            yield "swapped arguments", self.start(first), self.end(second), other + gap + one

    def _constant(self, node: ast.Constant, parent: ast.AST | None) -> Iterator:
        value, start, end = node.value, self.start(node), self.end(node)
        if isinstance(value, bool):
            yield "constant", start, end, str(not value)
        elif isinstance(value, int | float):
            if isinstance(value, float) and 0 < value <= 0.01:  # a tolerance, an epsilon, a rate
                yield "tolerance", start, end, f"{value * 1000:.12g}"
            elif isinstance(value, int):
                inside = isinstance(parent, ast.Slice | ast.Subscript | ast.Compare | ast.BinOp)
                yield "off by one" if inside else "constant", start, end, str(value + 1)
            else:
                yield "constant", start, end, repr(value * 2 if value else 1.0)
        elif isinstance(value, str) and _is_word(value, parent):
            yield "constant", start, end, repr(value + "_")

    def _emptied(self, node: ast.AST, parent: ast.AST | None) -> Iterator:
        size = len(node.keys if isinstance(node, ast.Dict) else node.elts)
        if isinstance(parent, ast.Subscript) or isinstance(getattr(node, "ctx", None), ast.Store):
            return
        if size == 0 or (size == 1 and not isinstance(parent, ast.Assign | ast.AnnAssign)):
            return
        if isinstance(node, ast.Tuple) and (
            not self.code(node).startswith("(") or isinstance(parent, ast.Tuple | ast.List)
        ):
            return
        opening, closing = {
            ast.Dict: ("{", "}"),
            ast.Set: ("set(", ")"),
            ast.List: ("[", "]"),
            ast.Tuple: ("(", ")"),
        }[type(node)]
        lines = "\n" * (node.end_lineno - node.lineno)
        yield "emptied table", self.start(node), self.end(node), opening + lines + closing

    def _removed(self, node: ast.stmt, parent: ast.AST | None) -> Iterator:
        if isinstance(node, ast.Expr):
            removed = isinstance(node.value, ast.Call) and _called(node.value) not in _TEXTS
        elif isinstance(node, ast.Assign):
            target = node.targets[0]
            names = {each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)}
            # A name that is made here is missing afterwards; one that is only changed keeps its value.
            removed = isinstance(target, ast.Attribute | ast.Subscript) or (
                isinstance(target, ast.Name) and target.id in names
            )
        elif isinstance(node, ast.Return):
            removed = isinstance(parent, ast.If | ast.For | ast.While) and node in parent.body
        else:
            removed = isinstance(node, ast.AugAssign | ast.Raise | ast.Delete | ast.Continue)
        if removed:
            lines = "\n" * (node.end_lineno - node.lineno)
            yield "removed statement", self.start(node), self.end(node), "pass" + lines


def _called(node: ast.Call) -> str:
    function = node.func
    return getattr(function, "attr", None) or getattr(function, "id", "")


def _is_type(node: ast.AST) -> bool:
    """Whether an assigned value is the alias of a type: `tuple[str | int, ...]`, `float | None`."""
    types = ("tuple", "list", "dict", "str", "int", "float", "Sequence", "Callable", "Any", "None")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _is_type(node.left) or _is_type(node.right)
    name = node.value if isinstance(node, ast.Subscript) else node
    return isinstance(name, ast.Name) and name.id in types


def _is_word(value: str, parent: ast.AST | None) -> bool:
    """Whether the program reads a text; those of messages contain spaces, or are in f-strings."""
    places = ast.Compare | ast.Subscript | ast.Return | ast.keyword
    return isinstance(parent, places) and re.fullmatch(r"[\w.:/-]+", value) is not None


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
