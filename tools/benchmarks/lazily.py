"""TensorFlow, imported when it is first used: the workloads describe models for processes without it."""

import importlib


class _Tensorflow:
    def __getattr__(self, name):
        return getattr(importlib.import_module("tensorflow"), name)


tf = _Tensorflow()
