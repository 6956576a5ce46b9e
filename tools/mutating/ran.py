"""A plugin of pytest that records which functions of tfkit ran in each test, and for how long.

Functions say themselves that they run: a loader adds one statement to each as it is compiled, on the line
of the first one, so that the source, its lines and what `inspect` says of it stay as they are. What traces
calls, as coverage tools do in Python 3.11, is called for each call inside TensorFlow, too.
"""

import ast
import builtins
import importlib.machinery
import json
import os
import sys
import time
from pathlib import Path

import pytest

from mutating import rooms

RAN: set[str] = set()
builtins.__ran__ = RAN


class _Says(ast.NodeTransformer):
    """Adds `__ran__.add("file:Class.function")` to the functions of a file."""

    def __init__(self, file):
        self.file = file
        self.names = []

    def visit_ClassDef(self, node):
        self.names.append(node.name)
        self.generic_visit(node)
        self.names.pop()
        return node

    def visit_FunctionDef(self, node):
        self.names.append(node.name)
        self.generic_visit(node)
        says = ast.parse(f"__ran__.add({self.file + ':' + '.'.join(self.names)!r})").body[0]
        self.names.pop()
        place = 1 if ast.get_docstring(node, clean=False) is not None else 0
        at = node.body[min(place, len(node.body) - 1)]
        for each in ast.walk(says):
            ast.copy_location(each, at)
        node.body.insert(place, says)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        source = self.get_data(self.path)
        tree = _Says(rooms.name_of(self.path)).visit(ast.parse(source, self.path))
        return compile(tree, self.path, "exec", dont_inherit=True)


class _Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if not rooms.is_mutated(fullname):
            return None
        spec = super().find_spec(fullname, path, target)
        if spec is not None and spec.origin:
            spec.loader = _Loader(fullname, spec.origin)
        return spec


sys.meta_path.insert(0, _Finder)


class _Recorder:
    def __init__(self, path):
        self.path = path
        self.tests = {}
        self.failed = set()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        RAN.clear()
        began = time.monotonic()
        yield
        seconds = round(time.monotonic() - began, 3)
        self.tests[item.nodeid] = {"seconds": seconds, "ran": sorted(RAN)}

    def pytest_runtest_logreport(self, report):
        if not report.passed:  # Skipped tests notice nothing either.
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self):
        found = {name: test for name, test in self.tests.items() if name not in self.failed}
        if found:
            self.path.write_text(json.dumps(found))


def pytest_configure(config):
    """Records in each process of pytest-xdist, or in the only one."""
    if hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None):
        folder = Path(os.environ["TFKIT_RAN"])
        config.pluginmanager.register(_Recorder(folder / f"ran-{os.getpid()}.json"))
