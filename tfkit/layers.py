"""The layers."""

from tfkit.src.core.input_layer import Input as Input
from tfkit.src.core.input_layer import InputLayer as InputLayer
from tfkit.src.core.input_spec import InputSpec as InputSpec
from tfkit.src.core.layer import Layer as Layer
from tfkit.src.export.loading import TFSMLayer as TFSMLayer
from tfkit.src.layers.activation import ELU as ELU
from tfkit.src.layers.activation import Activation as Activation
from tfkit.src.layers.activation import LeakyReLU as LeakyReLU
from tfkit.src.layers.activation import PReLU as PReLU
from tfkit.src.layers.activation import ReLU as ReLU
from tfkit.src.layers.activation import Softmax as Softmax
from tfkit.src.layers.attention import AdditiveAttention as AdditiveAttention
from tfkit.src.layers.attention import Attention as Attention
from tfkit.src.layers.attention import MultiHeadAttention as MultiHeadAttention
from tfkit.src.layers.batch_normalization import BatchNormalization as BatchNormalization
from tfkit.src.layers.convolution import Conv1D as Conv1D
from tfkit.src.layers.convolution import Conv2D as Conv2D
from tfkit.src.layers.convolution import Conv3D as Conv3D
from tfkit.src.layers.dense import Dense as Dense
from tfkit.src.layers.einsum_dense import EinsumDense as EinsumDense
from tfkit.src.layers.embedding import Embedding as Embedding
from tfkit.src.layers.identity import Identity as Identity
from tfkit.src.layers.identity import Wrapper as Wrapper
from tfkit.src.layers.lambda_layer import Lambda as Lambda
from tfkit.src.layers.lookup import deserialize as deserialize
from tfkit.src.layers.lookup import serialize as serialize
from tfkit.src.layers.masking import Masking as Masking
from tfkit.src.layers.merging import Add as Add
from tfkit.src.layers.merging import Average as Average
from tfkit.src.layers.merging import Concatenate as Concatenate
from tfkit.src.layers.merging import Dot as Dot
from tfkit.src.layers.merging import Maximum as Maximum
from tfkit.src.layers.merging import Minimum as Minimum
from tfkit.src.layers.merging import Multiply as Multiply
from tfkit.src.layers.merging import Subtract as Subtract
from tfkit.src.layers.merging import add as add
from tfkit.src.layers.merging import average as average
from tfkit.src.layers.merging import concatenate as concatenate
from tfkit.src.layers.merging import dot as dot
from tfkit.src.layers.merging import maximum as maximum
from tfkit.src.layers.merging import minimum as minimum
from tfkit.src.layers.merging import multiply as multiply
from tfkit.src.layers.merging import subtract as subtract
from tfkit.src.layers.normalization import GroupNormalization as GroupNormalization
from tfkit.src.layers.normalization import LayerNormalization as LayerNormalization
from tfkit.src.layers.normalization import RMSNormalization as RMSNormalization
from tfkit.src.layers.normalization import UnitNormalization as UnitNormalization
from tfkit.src.layers.pooling import AveragePooling1D as AveragePooling1D
from tfkit.src.layers.pooling import AveragePooling2D as AveragePooling2D
from tfkit.src.layers.pooling import AveragePooling3D as AveragePooling3D
from tfkit.src.layers.pooling import GlobalAveragePooling1D as GlobalAveragePooling1D
from tfkit.src.layers.pooling import GlobalAveragePooling2D as GlobalAveragePooling2D
from tfkit.src.layers.pooling import GlobalAveragePooling3D as GlobalAveragePooling3D
from tfkit.src.layers.pooling import GlobalMaxPooling1D as GlobalMaxPooling1D
from tfkit.src.layers.pooling import GlobalMaxPooling2D as GlobalMaxPooling2D
from tfkit.src.layers.pooling import GlobalMaxPooling3D as GlobalMaxPooling3D
from tfkit.src.layers.pooling import MaxPooling1D as MaxPooling1D
from tfkit.src.layers.pooling import MaxPooling2D as MaxPooling2D
from tfkit.src.layers.pooling import MaxPooling3D as MaxPooling3D
from tfkit.src.layers.preprocessing.category_encoding import CategoryEncoding as CategoryEncoding
from tfkit.src.layers.preprocessing.discretization import Discretization as Discretization
from tfkit.src.layers.preprocessing.hashed_crossing import HashedCrossing as HashedCrossing
from tfkit.src.layers.preprocessing.hashing import Hashing as Hashing
from tfkit.src.layers.preprocessing.integer_lookup import IntegerLookup as IntegerLookup
from tfkit.src.layers.preprocessing.normalization import Normalization as Normalization
from tfkit.src.layers.preprocessing.string_lookup import StringLookup as StringLookup
from tfkit.src.layers.preprocessing.text_vectorization import TextVectorization as TextVectorization
from tfkit.src.layers.recurrent.bidirectional import Bidirectional as Bidirectional
from tfkit.src.layers.recurrent.gru import GRU as GRU
from tfkit.src.layers.recurrent.gru import GRUCell as GRUCell
from tfkit.src.layers.recurrent.lstm import LSTM as LSTM
from tfkit.src.layers.recurrent.lstm import LSTMCell as LSTMCell
from tfkit.src.layers.recurrent.rnn import RNN as RNN
from tfkit.src.layers.recurrent.simple_rnn import SimpleRNN as SimpleRNN
from tfkit.src.layers.recurrent.simple_rnn import SimpleRNNCell as SimpleRNNCell
from tfkit.src.layers.recurrent.stacked import StackedRNNCells as StackedRNNCells
from tfkit.src.layers.regularization import ActivityRegularization as ActivityRegularization
from tfkit.src.layers.regularization import AlphaDropout as AlphaDropout
from tfkit.src.layers.regularization import Dropout as Dropout
from tfkit.src.layers.regularization import GaussianDropout as GaussianDropout
from tfkit.src.layers.regularization import GaussianNoise as GaussianNoise
from tfkit.src.layers.regularization import SpatialDropout1D as SpatialDropout1D
from tfkit.src.layers.regularization import SpatialDropout2D as SpatialDropout2D
from tfkit.src.layers.reshaping import Flatten as Flatten
from tfkit.src.layers.reshaping import Permute as Permute
from tfkit.src.layers.reshaping import RepeatVector as RepeatVector
from tfkit.src.layers.reshaping import Reshape as Reshape
from tfkit.src.layers.resizing import Cropping1D as Cropping1D
from tfkit.src.layers.resizing import Cropping2D as Cropping2D
from tfkit.src.layers.resizing import UpSampling1D as UpSampling1D
from tfkit.src.layers.resizing import UpSampling2D as UpSampling2D
from tfkit.src.layers.resizing import ZeroPadding1D as ZeroPadding1D
from tfkit.src.layers.resizing import ZeroPadding2D as ZeroPadding2D
from tfkit.src.layers.time_distributed import TimeDistributed as TimeDistributed

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
