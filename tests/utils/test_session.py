import random

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit


@pytest.mark.parametrize("free_memory", [True, False])
def test_clear_session_forgets_what_keras_forgets(free_memory):
    states = []
    for library in (tfkit, keras):
        library.utils.clear_session()
        library.utils.set_random_seed(3)
        library.random.normal((2,))
        library.layers.Dense(1)
        library.config.set_dtype_policy("mixed_bfloat16")
        library.config.disable_interactive_logging()
        library.utils.clear_session(free_memory)
        random.seed(3)
        states.append(
            (
                library.layers.Dense(1).name,
                library.config.dtype_policy().name,
                library.config.is_interactive_logging_enabled(),
                np.asarray(library.random.normal((2,))).tolist(),
            )
        )
    assert states[0] == states[1]
    assert states[0][:3] == ("dense", "float32", True)


def test_clear_session_frees_what_tensorflow_keeps_of_operations_that_ran():
    def draws():
        """Two draws: an operation that is kept goes on where it was, a new one begins anew."""
        arguments = {"shape": [2], "seed": 1, "seed2": 2, "dtype": tf.float32}
        return [tf.raw_ops.RandomStandardNormal(**arguments).numpy().tolist() for _ in range(2)]

    tfkit.utils.clear_session()
    first = draws()
    assert first[0] != first[1]
    assert draws() != first
    tfkit.utils.clear_session(free_memory=False)
    assert draws() != first
    tfkit.utils.clear_session()
    assert draws() == first
