"""Tells the children of the harness which cases are tested."""

from tests.attacks import harness


def pytest_collection_finish(session):
    """Notes the names of all cases that are left after the selection."""
    cases = (item.callspec.params for item in session.items if hasattr(item, "callspec"))
    harness.WANTED.update(params["name"] for params in cases if isinstance(params.get("name"), str))
