"""The list of wide tests: what it names is there, and of each sweep some cases are left."""

import re
from pathlib import Path

import pytest

from tests import wide

HERE = Path(__file__).parent


def is_there(name):
    """Whether a file, or a folder, has a test whose name begins so."""
    path, _, test = name.partition("::")
    found = HERE / path
    test = test.partition("[")[0]
    return found.exists() and (not test or re.search(rf"^def {test}", found.read_text(), re.M))


@pytest.mark.parametrize("name", [*wide.WIDE, *wide.ONE_IN])
def test_what_the_list_names_is_there(name):
    assert is_there(name)


def test_a_stale_name_is_seen():
    assert not is_there("no_folder/")
    assert not is_there("test_wide.py::test_of_nothing")


def test_of_each_sweep_one_case_in_so_many_is_left():
    (name, number), *_ = wide.ONE_IN.items()
    cases = [f"tests/{name}[{case}]" for case in range(2 * number)]
    others = [
        "tests/test_wide.py::test_a_stale_name_is_seen",
        f"tests/{wide.WIDE[0]}test_x.py::test_x",
    ]
    expected = ([False] + [True] * (number - 1)) * 2
    assert wide.find([*cases, *others]) == [*expected, False, True]


def test_a_case_that_takes_longer_is_wide_alone():
    name = next(name for name in wide.WIDE if "[" in name)
    assert wide.find([f"tests/{name}]", f"tests/{name.partition('[')[0]}[other]"])[0]
