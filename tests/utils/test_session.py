import random

import keras
import numpy as np
import pytest

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
