"""Initializers: the initial values of variables."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.weights.initializers.base import Initializer as Initializer
    from tfkit.src.weights.initializers.constant import STFT as STFT
    from tfkit.src.weights.initializers.constant import Constant as Constant
    from tfkit.src.weights.initializers.constant import Identity as Identity
    from tfkit.src.weights.initializers.constant import Ones as Ones
    from tfkit.src.weights.initializers.constant import Zeros as Zeros
    from tfkit.src.weights.initializers.lookup import deserialize as deserialize
    from tfkit.src.weights.initializers.lookup import get as get
    from tfkit.src.weights.initializers.lookup import serialize as serialize
    from tfkit.src.weights.initializers.random import GlorotNormal as GlorotNormal
    from tfkit.src.weights.initializers.random import GlorotUniform as GlorotUniform
    from tfkit.src.weights.initializers.random import HeNormal as HeNormal
    from tfkit.src.weights.initializers.random import HeUniform as HeUniform
    from tfkit.src.weights.initializers.random import LecunNormal as LecunNormal
    from tfkit.src.weights.initializers.random import LecunUniform as LecunUniform
    from tfkit.src.weights.initializers.random import Orthogonal as Orthogonal
    from tfkit.src.weights.initializers.random import RandomNormal as RandomNormal
    from tfkit.src.weights.initializers.random import RandomUniform as RandomUniform
    from tfkit.src.weights.initializers.random import TruncatedNormal as TruncatedNormal
    from tfkit.src.weights.initializers.random import VarianceScaling as VarianceScaling

    IdentityInitializer = Identity
    OrthogonalInitializer = Orthogonal
    STFTInitializer = STFT
    constant = Constant
    glorot_normal = GlorotNormal
    glorot_uniform = GlorotUniform
    he_normal = HeNormal
    he_uniform = HeUniform
    identity = Identity
    lecun_normal = LecunNormal
    lecun_uniform = LecunUniform
    ones = Ones
    orthogonal = Orthogonal
    random_normal = RandomNormal
    random_uniform = RandomUniform
    stft = STFT
    truncated_normal = TruncatedNormal
    variance_scaling = VarianceScaling
    zeros = Zeros

_later.offer(__name__)
