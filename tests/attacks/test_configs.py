"""S1 to S7, S18 to S21, S25 to S27: configurations that ask for code, for files, or for memory."""

import pytest

from tests.attacks import configs, harness

CASES = configs.cases()


@pytest.mark.parametrize("name", CASES)
def test_a_configuration_that_attacks_is_refused(name):
    harness.check("configs", name)


def test_the_child_ran_to_its_end():
    assert "" not in harness.results("configs")
