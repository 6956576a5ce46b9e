"""The program `tfkit`: its help, its errors and the commands that read files start without TensorFlow.

The import of any module of a package begins with the package itself, and `import tfkit` imports TensorFlow,
which takes seconds. So the package is registered here before its `__init__` has run, which then happens if a
command needs it.
"""

import importlib.util
import sys
from collections.abc import Callable


def main() -> int:
    """Runs the command in the arguments of the process, and returns its exit code."""
    begin = _postponed("tfkit")
    from tfkit.src.outer.cli import main as run

    return run(begin=begin)


def _postponed(name: str) -> Callable[[], None]:
    """Registers a package that has not run, unless it has; returns a function that runs it."""
    spec = importlib.util.find_spec(name)
    if name in sys.modules or spec is None or spec.loader is None:
        return lambda: None
    loader = spec.loader
    sys.modules[name] = package = importlib.util.module_from_spec(spec)
    return lambda: loader.exec_module(package)


if __name__ == "__main__":
    sys.exit(main())
