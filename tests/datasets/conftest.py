import pytest


@pytest.fixture(autouse=True)
def empty_places(tmp_path, monkeypatch):
    """No file of data, and empty caches."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TFKIT_DATA", raising=False)
    monkeypatch.setenv("TFKIT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
