"""What is handed from room to room has a type: layers, models and optimizers are no `Any`."""

import ast

import pytest

from tests.test_floors import FILES, FLOORS, room_of

NAMES = {"layer", "model", "optimizer"}


def untyped(source):
    """The lines of parameters that are called a layer, model or optimizer and may be anything."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for parameter in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                kind = parameter.annotation and ast.unparse(parameter.annotation)
                if parameter.arg in NAMES and kind in (None, "Any", "object"):
                    yield parameter.lineno


def test_parameters_without_a_type_are_found():
    assert list(untyped("def f(model: Any, *, layer, optimizer: Optimizer): ...")) == [1, 1]
    assert list(untyped("def f(layer: Layer, models: Any): ...")) == []


@pytest.mark.parametrize("room", FLOORS)
def test_layers_models_and_optimizers_have_types(room):
    files = {name: path for name, path in FILES.items() if room_of(name) == room}
    found = {name: list(untyped(path.read_text(encoding="utf-8"))) for name, path in files.items()}
    assert not {name: lines for name, lines in found.items() if lines}
