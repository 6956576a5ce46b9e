"""Layers and operations whose arguments cannot become data say so with the class of error of Keras."""

from typing import Any

import keras
import pytest

import tfkit


def _layer(library: Any, *args: Any) -> Any:
    class Scaled(library.layers.Layer):  # type: ignore[name-defined, misc]
        def __init__(self, factor: Any, *rest: Any) -> None:
            super().__init__()

    return Scaled(*args)


def _operation(library: Any, *args: Any) -> Any:
    class Scale(library.Operation):  # type: ignore[name-defined, misc]
        def __init__(self, factor: Any, *rest: Any) -> None:
            super().__init__()

    return Scale(*args)


@pytest.mark.parametrize("make", [_layer, _operation])
@pytest.mark.parametrize(("args", "message"), [((object(),), "factor"), ((1, 2), r"\*")])
def test_the_class_of_the_error_is_that_of_keras(make: Any, args: Any, message: str) -> None:
    with pytest.raises(NotImplementedError):
        make(keras, *args).get_config()
    for kind in (NotImplementedError, TypeError):
        with pytest.raises(kind, match=f"{message}.*[Dd]efine `get_config"):
            make(tfkit, *args).get_config()
