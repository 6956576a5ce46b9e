"""S1, S2, S4 to S7, S12 to S18, S25 in files of Keras: `.keras`, `.weights.h5`, whole `.h5`."""

import pytest

from tests.attacks import harness, keras_files


@pytest.mark.parametrize("name", keras_files.cases())
def test_a_keras_file_that_attacks_is_refused(name):
    harness.check("keras_files", name)


def test_the_child_ran_to_its_end():
    assert "" not in harness.results("keras_files")
