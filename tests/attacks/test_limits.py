"""Files that ask for work without end are refused at once, with a message that people can read."""

import pytest

from tests.attacks import harness, limits
from tests.attacks.harness import SECONDS

# A text is parsed before it is refused: three times its size, and what a file may take beside.
GROWTH = 200 << 20


@pytest.mark.parametrize("name", limits.cases())
def test_it_is_refused_at_once(name):
    result = harness.results("limits").get(name)
    assert result, harness.results("limits").get("")
    assert result.error, "it succeeded"
    assert not result.events
    assert {"ValueError"} & set(result.kinds), result.error
    assert result.seconds < SECONDS, result.error
    assert result.growth < GROWTH, f"{result.growth:,} bytes"
    assert len(result.message) < 1_500
    assert all(c.isprintable() or c == "\n" for c in result.message)


def test_the_child_ran_to_its_end():
    assert "" not in harness.results("limits")
