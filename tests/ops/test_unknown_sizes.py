"""Ops on symbolic tensors some of whose sizes are not known, compared with Keras."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

import tfkit

ONE_MATRIX = ("cholesky", "cholesky_inverse", "det", "eig", "eigh", "inv")
REFUSED: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *[(name, ((2, None, 3),), {}) for name in ONE_MATRIX],
    *[(name, ((3, None),), {}) for name in ONE_MATRIX],
    *[(name, ((None, 3), (3, 1)), {}) for name in ("solve", "solve_triangular")],
    *[(name, ((2, 3, 3), (2, None, 1)), {}) for name in ("solve", "solve_triangular")],
    ("squeeze", ((None, 1),), {"axis": 0}),
    ("squeeze", ((1, None, 3),), {"axis": (0, -2)}),
]
ACCEPTED: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *[(name, ((None, 3, 3),), {}) for name in ONE_MATRIX],
    *[(name, ((2, None, None),), {}) for name in ONE_MATRIX],
    *[(name, ((None, 3, 3), (None, 3, 2)), {}) for name in ("solve", "solve_triangular")],
    *[(name, ((2, None, None), (2, None, 2)), {}) for name in ("solve", "solve_triangular")],
    ("lstsq", ((None, None), (None, 2)), {}),
    ("lstsq", ((3, None), (3, 2)), {}),
    ("squeeze", ((None, 1),), {}),
    ("squeeze", ((None, 1),), {"axis": 1}),
    ("conv", ((2, 9, 9, 3), (2, 2, 3, None)), {}),
    ("diag", ((None,),), {"k": 2}),
    ("diagflat", ((None, 2),), {"k": -2}),
    ("reshape", ((None, 2, 3),), {"newshape": -1}),
    ("layer_normalization", ((None, None, 4),), {"axis": 1, "beta": np.zeros((1, 1, 1))}),
]


def _shapes(library: Any, name: str, shapes: tuple[Any, ...], options: dict[str, Any]) -> Any:
    results = getattr(library.ops, name)(*map(library.KerasTensor, shapes), **options)
    return [tuple(each.shape) for each in library.tree.flatten(results)]


@pytest.mark.parametrize(("name", "shapes", "options"), REFUSED)
def test_what_keras_refuses_is_refused(
    name: str, shapes: tuple[Any, ...], options: dict[str, Any]
) -> None:
    for library in (keras, tfkit):
        with pytest.raises(ValueError, match=r"shape|dimension"):
            _shapes(library, name, shapes, options)


@pytest.mark.parametrize(("name", "shapes", "options"), ACCEPTED)
def test_shapes_are_those_of_keras(
    name: str, shapes: tuple[Any, ...], options: dict[str, Any]
) -> None:
    assert _shapes(tfkit, name, shapes, options) == _shapes(keras, name, shapes, options)


def test_batches_of_matrices_are_decomposed_which_fails_in_keras() -> None:
    matrices = np.random.default_rng(0).normal(size=(2, 2, 3, 3)).astype("float32")
    lu, rows = (each.numpy() for each in tfkit.ops.lu_factor(matrices))
    product = (np.tril(lu, -1) + np.eye(3)) @ np.triu(lu)
    np.testing.assert_allclose(
        np.take_along_axis(product, rows[..., None], -2), matrices, atol=1e-6
    )
    assert _shapes(tfkit, "lu_factor", ((2, None, 3),), {}) == [(2, 3, 3), (2, 3)]


def test_an_unknown_number_of_columns_changes_no_solution() -> None:
    a = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], "float32")
    b = np.array([[1.0], [3.0], [5.0]], "float32")
    rows, right = tfkit.Input((2,)), tfkit.Input((1,))
    model = tfkit.Model([rows, right], tfkit.ops.lstsq(rows, right))
    np.testing.assert_allclose(model([a, b]), keras.ops.lstsq(a, b), rtol=1e-5)
