"""S28: a SavedModel is a program; what would harm is refused before any of it runs."""

import pytest

from tests.attacks import graphs, harness


@pytest.mark.parametrize("name", graphs.cases())
def test_a_graph_that_attacks_is_refused(name):
    harness.check("graphs", name)


def test_the_child_ran_to_its_end():
    assert "" not in harness.results("graphs")
