"""What the processes of `processes.py` have imported before they are copied: no operation may run here."""

import h5py  # noqa: F401
import numpy  # noqa: F401
import pytest  # noqa: F401
import tensorflow as tf

import tfkit  # noqa: F401

tf.distribute.coordinator  # noqa: B018  # TensorFlow imports its parts when they are named.
