"""S1, S5, S22 to S24, S27: names of files, folders, indexes of shards, texts, graphs."""

import pytest

from tests.attacks import harness, others


@pytest.mark.parametrize("name", others.cases())
def test_it_is_refused(name):
    harness.check("others", name)


def test_the_child_ran_to_its_end():
    assert "" not in harness.results("others")
