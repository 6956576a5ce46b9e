"""Random numbers, each from an explicit seed: an integer, a `SeedGenerator`, or the global generator.

Every draw names its algorithm, Philox: inside XLA on CPU TensorFlow's own choice is tens of times
slower. Equal seeds give Keras's numbers, inside XLA too (`tfkit/src/engine/philox.py`), except that
`truncated_normal` and `categorical` are other numbers of the same distribution there.
"""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.weights.random import SeedGenerator as SeedGenerator
    from tfkit.src.weights.random import beta as beta
    from tfkit.src.weights.random import binomial as binomial
    from tfkit.src.weights.random import categorical as categorical
    from tfkit.src.weights.random import dropout as dropout
    from tfkit.src.weights.random import gamma as gamma
    from tfkit.src.weights.random import normal as normal
    from tfkit.src.weights.random import randint as randint
    from tfkit.src.weights.random import shuffle as shuffle
    from tfkit.src.weights.random import truncated_normal as truncated_normal
    from tfkit.src.weights.random import uniform as uniform

_later.offer(__name__)
