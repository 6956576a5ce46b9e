"""The layers."""

from typing import Any

from tfkit import registry, serialization
from tfkit.core.input_layer import Input as Input
from tfkit.core.input_layer import InputLayer as InputLayer
from tfkit.core.input_spec import InputSpec as InputSpec
from tfkit.core.layer import Layer as Layer
from tfkit.export.loading import TFSMLayer as TFSMLayer
from tfkit.layers.activation import ELU as ELU
from tfkit.layers.activation import Activation as Activation
from tfkit.layers.activation import LeakyReLU as LeakyReLU
from tfkit.layers.activation import PReLU as PReLU
from tfkit.layers.activation import ReLU as ReLU
from tfkit.layers.activation import Softmax as Softmax
from tfkit.layers.attention import AdditiveAttention as AdditiveAttention
from tfkit.layers.attention import Attention as Attention
from tfkit.layers.attention import MultiHeadAttention as MultiHeadAttention
from tfkit.layers.batch_normalization import BatchNormalization as BatchNormalization
from tfkit.layers.convolution import Conv1D as Conv1D
from tfkit.layers.convolution import Conv2D as Conv2D
from tfkit.layers.convolution import Conv3D as Conv3D
from tfkit.layers.dense import Dense as Dense
from tfkit.layers.einsum_dense import EinsumDense as EinsumDense
from tfkit.layers.embedding import Embedding as Embedding
from tfkit.layers.identity import Identity as Identity
from tfkit.layers.identity import Wrapper as Wrapper
from tfkit.layers.lambda_layer import Lambda as Lambda
from tfkit.layers.masking import Masking as Masking
from tfkit.layers.merging import Add as Add
from tfkit.layers.merging import Average as Average
from tfkit.layers.merging import Concatenate as Concatenate
from tfkit.layers.merging import Dot as Dot
from tfkit.layers.merging import Maximum as Maximum
from tfkit.layers.merging import Minimum as Minimum
from tfkit.layers.merging import Multiply as Multiply
from tfkit.layers.merging import Subtract as Subtract
from tfkit.layers.merging import add as add
from tfkit.layers.merging import average as average
from tfkit.layers.merging import concatenate as concatenate
from tfkit.layers.merging import dot as dot
from tfkit.layers.merging import maximum as maximum
from tfkit.layers.merging import minimum as minimum
from tfkit.layers.merging import multiply as multiply
from tfkit.layers.merging import subtract as subtract
from tfkit.layers.normalization import GroupNormalization as GroupNormalization
from tfkit.layers.normalization import LayerNormalization as LayerNormalization
from tfkit.layers.normalization import RMSNormalization as RMSNormalization
from tfkit.layers.normalization import UnitNormalization as UnitNormalization
from tfkit.layers.pooling import AveragePooling1D as AveragePooling1D
from tfkit.layers.pooling import AveragePooling2D as AveragePooling2D
from tfkit.layers.pooling import AveragePooling3D as AveragePooling3D
from tfkit.layers.pooling import GlobalAveragePooling1D as GlobalAveragePooling1D
from tfkit.layers.pooling import GlobalAveragePooling2D as GlobalAveragePooling2D
from tfkit.layers.pooling import GlobalAveragePooling3D as GlobalAveragePooling3D
from tfkit.layers.pooling import GlobalMaxPooling1D as GlobalMaxPooling1D
from tfkit.layers.pooling import GlobalMaxPooling2D as GlobalMaxPooling2D
from tfkit.layers.pooling import GlobalMaxPooling3D as GlobalMaxPooling3D
from tfkit.layers.pooling import MaxPooling1D as MaxPooling1D
from tfkit.layers.pooling import MaxPooling2D as MaxPooling2D
from tfkit.layers.pooling import MaxPooling3D as MaxPooling3D
from tfkit.layers.recurrent.bidirectional import Bidirectional as Bidirectional
from tfkit.layers.recurrent.gru import GRU as GRU
from tfkit.layers.recurrent.gru import GRUCell as GRUCell
from tfkit.layers.recurrent.lstm import LSTM as LSTM
from tfkit.layers.recurrent.lstm import LSTMCell as LSTMCell
from tfkit.layers.recurrent.rnn import RNN as RNN
from tfkit.layers.recurrent.simple_rnn import SimpleRNN as SimpleRNN
from tfkit.layers.recurrent.simple_rnn import SimpleRNNCell as SimpleRNNCell
from tfkit.layers.recurrent.stacked import StackedRNNCells as StackedRNNCells
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
from tfkit.layers.resizing import Cropping1D as Cropping1D
from tfkit.layers.resizing import Cropping2D as Cropping2D
from tfkit.layers.resizing import UpSampling1D as UpSampling1D
from tfkit.layers.resizing import UpSampling2D as UpSampling2D
from tfkit.layers.resizing import ZeroPadding1D as ZeroPadding1D
from tfkit.layers.resizing import ZeroPadding2D as ZeroPadding2D
from tfkit.layers.time_distributed import TimeDistributed as TimeDistributed

AvgPool1D = AveragePooling1D
AvgPool2D = AveragePooling2D
AvgPool3D = AveragePooling3D
Convolution1D = Conv1D
Convolution2D = Conv2D
Convolution3D = Conv3D
GlobalAvgPool1D = GlobalAveragePooling1D
GlobalAvgPool2D = GlobalAveragePooling2D
GlobalAvgPool3D = GlobalAveragePooling3D
GlobalMaxPool1D = GlobalMaxPooling1D
GlobalMaxPool2D = GlobalMaxPooling2D
GlobalMaxPool3D = GlobalMaxPooling3D
MaxPool1D = MaxPooling1D
MaxPool2D = MaxPooling2D
MaxPool3D = MaxPooling3D

registry.register_builtins(
    "layers",
    [
        Activation,
        ActivityRegularization,
        Add,
        AdditiveAttention,
        AlphaDropout,
        Attention,
        Average,
        BatchNormalization,
        Bidirectional,
        Concatenate,
        Cropping1D,
        Cropping2D,
        Dense,
        Dot,
        Dropout,
        EinsumDense,
        ELU,
        Embedding,
        Flatten,
        GaussianDropout,
        GaussianNoise,
        GroupNormalization,
        GRU,
        GRUCell,
        Identity,
        InputLayer,
        Conv1D,
        Conv2D,
        Conv3D,
        AveragePooling1D,
        AveragePooling2D,
        AveragePooling3D,
        GlobalAveragePooling1D,
        GlobalAveragePooling2D,
        GlobalAveragePooling3D,
        GlobalMaxPooling1D,
        GlobalMaxPooling2D,
        GlobalMaxPooling3D,
        MaxPooling1D,
        MaxPooling2D,
        MaxPooling3D,
        Lambda,
        LSTM,
        LSTMCell,
        RNN,
        SimpleRNN,
        SimpleRNNCell,
        StackedRNNCells,
        TimeDistributed,
        Layer,
        LayerNormalization,
        LeakyReLU,
        Masking,
        Maximum,
        Minimum,
        MultiHeadAttention,
        Multiply,
        Permute,
        PReLU,
        ReLU,
        RepeatVector,
        Reshape,
        RMSNormalization,
        Softmax,
        SpatialDropout1D,
        SpatialDropout2D,
        Subtract,
        UnitNormalization,
        UpSampling1D,
        UpSampling2D,
        Wrapper,
        ZeroPadding1D,
        ZeroPadding2D,
    ],
    aliases={
        "AvgPool1D": AveragePooling1D,
        "AvgPool2D": AveragePooling2D,
        "AvgPool3D": AveragePooling3D,
        "Convolution1D": Conv1D,
        "Convolution2D": Conv2D,
        "Convolution3D": Conv3D,
        "GlobalAvgPool1D": GlobalAveragePooling1D,
        "GlobalAvgPool2D": GlobalAveragePooling2D,
        "GlobalAvgPool3D": GlobalAveragePooling3D,
        "GlobalMaxPool1D": GlobalMaxPooling1D,
        "GlobalMaxPool2D": GlobalMaxPooling2D,
        "GlobalMaxPool3D": GlobalMaxPooling3D,
        "MaxPool1D": MaxPooling1D,
        "MaxPool2D": MaxPooling2D,
        "MaxPool3D": MaxPooling3D,
    },
)


def serialize(layer: Any) -> Any:
    """Returns the configuration of a layer, without its weights.

    Args:
        layer: a layer or a model.

    Returns:
        A dict of plain data that `deserialize` takes.

    Example:
        >>> config = serialize(Dense(2, name="out"))
        >>> config["class_name"], config["config"]["units"]
        ('Dense', 2)
    """
    return serialization.serialize_keras_object(layer)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """Returns the layer that a configuration describes: the inverse of `serialize`.

    Args:
        config: a dict as `serialize` returns it.
        custom_objects: classes and functions by name that the configuration may name besides
            tfkit's own and registered ones.

    Returns:
        A layer with new weights, or none yet.

    Raises:
        ValueError: for a name that is not known or registered.

    Example:
        >>> deserialize(serialize(Dense(2, name="out"))).name
        'out'
    """
    return serialization.deserialize_keras_object(config, custom_objects, kind="layers")
