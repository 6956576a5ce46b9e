"""Puts the `.pth` file into the wheel, which `pyproject.toml` cannot say."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithPath(build_py):
    """Builds the module, and the file that Python reads at its start."""

    def run(self):
        """Copies both to where they are installed from."""
        super().run()
        self.copy_file("tfkit_as_keras.pth", str(Path(self.build_lib, "tfkit_as_keras.pth")))


setup(cmdclass={"build_py": BuildWithPath})
