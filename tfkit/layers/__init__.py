"""The layers."""

from typing import Any

from tfkit import registry
from tfkit.core.input_spec import InputSpec as InputSpec
from tfkit.core.layer import Layer as Layer
from tfkit.layers.activation import ELU as ELU
from tfkit.layers.activation import Activation as Activation
from tfkit.layers.activation import LeakyReLU as LeakyReLU
from tfkit.layers.activation import PReLU as PReLU
from tfkit.layers.activation import ReLU as ReLU
from tfkit.layers.activation import Softmax as Softmax
from tfkit.layers.dense import Dense as Dense
from tfkit.layers.embedding import Embedding as Embedding
from tfkit.layers.identity import Identity as Identity
from tfkit.layers.identity import Wrapper as Wrapper
from tfkit.layers.masking import Masking as Masking
from tfkit.layers.regularization import ActivityRegularization as ActivityRegularization
from tfkit.layers.regularization import AlphaDropout as AlphaDropout
from tfkit.layers.regularization import Dropout as Dropout
from tfkit.layers.regularization import GaussianDropout as GaussianDropout
from tfkit.layers.regularization import GaussianNoise as GaussianNoise
from tfkit.layers.regularization import SpatialDropout1D as SpatialDropout1D
from tfkit.layers.regularization import SpatialDropout2D as SpatialDropout2D
from tfkit.layers.reshaping import Flatten as Flatten
from tfkit.layers.reshaping import Permute as Permute
from tfkit.layers.reshaping import RepeatVector as RepeatVector
from tfkit.layers.reshaping import Reshape as Reshape

registry.register_builtins(
    "layers",
    [
        Activation,
        ActivityRegularization,
        AlphaDropout,
        Dense,
        Dropout,
        ELU,
        Embedding,
        Flatten,
        GaussianDropout,
        GaussianNoise,
        Identity,
        Layer,
        LeakyReLU,
        Masking,
        PReLU,
        Permute,
        ReLU,
        RepeatVector,
        Reshape,
        Softmax,
        SpatialDropout1D,
        SpatialDropout2D,
        Wrapper,
    ],
)


def serialize(layer: Any) -> Any:
    """The configuration of a layer."""
    return registry.serialize_keras_object(layer)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The layer that a configuration describes."""
    return registry.deserialize_keras_object(config, custom_objects, kind="layers")
