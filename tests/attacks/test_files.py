"""S6, S12 to S16, S22, S27: HDF5 files that ask for other files, for memory, or for time."""

import pytest

from tests.attacks import files, harness


@pytest.mark.parametrize("name", files.cases())
def test_a_file_that_attacks_is_refused(name):
    harness.check("files", name)


def test_the_child_ran_to_its_end():
    assert "" not in harness.results("files")
