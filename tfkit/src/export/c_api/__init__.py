"""Runs a SavedModel through TensorFlow's C library, without TensorFlow's Python.

This is the loader that TF Serving uses, so a model that runs here runs there. The folder needs numpy and the
shared library of a TensorFlow wheel, nothing else: it imports neither `tensorflow` nor `tfkit`, and
may be copied elsewhere. A SavedModel is a program: run only those that you trust.

    python -P c_api MODEL_DIR --list
    python -P c_api MODEL_DIR --signature serving_default --inputs in.npz --outputs out.npz
"""

from .library import StatusError as StatusError
from .library import find_library as find_library
from .saved_model import SavedModel as SavedModel
from .signatures import Signature as Signature
from .signatures import TensorSpec as TensorSpec
