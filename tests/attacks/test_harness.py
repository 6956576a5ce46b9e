"""The guards see what they are there for."""

import pytest

from tests.attacks import bad_conduct, harness


@pytest.mark.parametrize("name", bad_conduct.cases())
def test_bad_conduct_is_seen(name):
    assert name in harness.results("bad_conduct"), harness.results("bad_conduct").get("")
    with pytest.raises(AssertionError):
        harness.check("bad_conduct", name)
