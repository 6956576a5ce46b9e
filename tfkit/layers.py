"""The layers."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.core.layer import Layer as Layer
    from tfkit.src.export.convert.jax_layer import FlaxLayer as FlaxLayer
    from tfkit.src.export.convert.jax_layer import JaxLayer as JaxLayer
    from tfkit.src.export.convert.torch_layer import TorchModuleWrapper as TorchModuleWrapper
    from tfkit.src.export.loading import TFSMLayer as TFSMLayer
    from tfkit.src.layers.activation import ELU as ELU
    from tfkit.src.layers.activation import Activation as Activation
    from tfkit.src.layers.activation import LeakyReLU as LeakyReLU
    from tfkit.src.layers.activation import PReLU as PReLU
    from tfkit.src.layers.activation import ReLU as ReLU
    from tfkit.src.layers.activation import Softmax as Softmax
    from tfkit.src.layers.adaptive_pooling import (
        AdaptiveAveragePooling1D as AdaptiveAveragePooling1D,
    )
    from tfkit.src.layers.adaptive_pooling import (
        AdaptiveAveragePooling2D as AdaptiveAveragePooling2D,
    )
    from tfkit.src.layers.adaptive_pooling import (
        AdaptiveAveragePooling3D as AdaptiveAveragePooling3D,
    )
    from tfkit.src.layers.adaptive_pooling import AdaptiveMaxPooling1D as AdaptiveMaxPooling1D
    from tfkit.src.layers.adaptive_pooling import AdaptiveMaxPooling2D as AdaptiveMaxPooling2D
    from tfkit.src.layers.adaptive_pooling import AdaptiveMaxPooling3D as AdaptiveMaxPooling3D
    from tfkit.src.layers.attention import AdditiveAttention as AdditiveAttention
    from tfkit.src.layers.attention import Attention as Attention
    from tfkit.src.layers.batch_normalization import BatchNormalization as BatchNormalization
    from tfkit.src.layers.convolution import Conv1D as Conv1D
    from tfkit.src.layers.convolution import Conv2D as Conv2D
    from tfkit.src.layers.convolution import Conv3D as Conv3D
    from tfkit.src.layers.dense import Dense as Dense
    from tfkit.src.layers.depthwise_convolution import DepthwiseConv1D as DepthwiseConv1D
    from tfkit.src.layers.depthwise_convolution import DepthwiseConv2D as DepthwiseConv2D
    from tfkit.src.layers.einsum_dense import EinsumDense as EinsumDense
    from tfkit.src.layers.embedding import Embedding as Embedding
    from tfkit.src.layers.group_query_attention import GroupQueryAttention as GroupQueryAttention
    from tfkit.src.layers.identity import Identity as Identity
    from tfkit.src.layers.identity import Wrapper as Wrapper
    from tfkit.src.layers.image.affine import RandomRotation as RandomRotation
    from tfkit.src.layers.image.affine import RandomShear as RandomShear
    from tfkit.src.layers.image.affine import RandomTranslation as RandomTranslation
    from tfkit.src.layers.image.affine import RandomZoom as RandomZoom
    from tfkit.src.layers.image.boxes import MaxNumBoundingBoxes as MaxNumBoundingBoxes
    from tfkit.src.layers.image.brightness import RandomBrightness as RandomBrightness
    from tfkit.src.layers.image.brightness import RandomContrast as RandomContrast
    from tfkit.src.layers.image.colours import RandomColorDegeneration as RandomColorDegeneration
    from tfkit.src.layers.image.colours import RandomColorJitter as RandomColorJitter
    from tfkit.src.layers.image.colours import RandomGrayscale as RandomGrayscale
    from tfkit.src.layers.image.colours import RandomHue as RandomHue
    from tfkit.src.layers.image.colours import RandomSaturation as RandomSaturation
    from tfkit.src.layers.image.cropping import CenterCrop as CenterCrop
    from tfkit.src.layers.image.cropping import RandomCrop as RandomCrop
    from tfkit.src.layers.image.elastic import RandomElasticTransform as RandomElasticTransform
    from tfkit.src.layers.image.filters import RandomGaussianBlur as RandomGaussianBlur
    from tfkit.src.layers.image.filters import RandomSharpness as RandomSharpness
    from tfkit.src.layers.image.flipping import RandomFlip as RandomFlip
    from tfkit.src.layers.image.histograms import (
        ContrastLimitedAdaptiveHistogramEqualization as ContrastLimitedAdaptiveHistogramEqualization,
    )
    from tfkit.src.layers.image.histograms import Equalization as Equalization
    from tfkit.src.layers.image.perspective import RandomPerspective as RandomPerspective
    from tfkit.src.layers.image.pipeline import Pipeline as Pipeline
    from tfkit.src.layers.image.policies import AugMix as AugMix
    from tfkit.src.layers.image.policies import RandAugment as RandAugment
    from tfkit.src.layers.image.rectangles import CutMix as CutMix
    from tfkit.src.layers.image.rectangles import MixUp as MixUp
    from tfkit.src.layers.image.rectangles import RandomErasing as RandomErasing
    from tfkit.src.layers.image.rescaling import Rescaling as Rescaling
    from tfkit.src.layers.image.sizes import Resizing as Resizing
    from tfkit.src.layers.image.tones import AutoContrast as AutoContrast
    from tfkit.src.layers.image.tones import RandomInvert as RandomInvert
    from tfkit.src.layers.image.tones import RandomPosterization as RandomPosterization
    from tfkit.src.layers.image.tones import Solarization as Solarization
    from tfkit.src.layers.input_layer import Input as Input
    from tfkit.src.layers.input_layer import InputLayer as InputLayer
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
    from tfkit.src.layers.multi_head_attention import MultiHeadAttention as MultiHeadAttention
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
    from tfkit.src.layers.preprocessing.category_encoding import (
        CategoryEncoding as CategoryEncoding,
    )
    from tfkit.src.layers.preprocessing.discretization import Discretization as Discretization
    from tfkit.src.layers.preprocessing.hashed_crossing import HashedCrossing as HashedCrossing
    from tfkit.src.layers.preprocessing.hashing import Hashing as Hashing
    from tfkit.src.layers.preprocessing.integer_lookup import IntegerLookup as IntegerLookup
    from tfkit.src.layers.preprocessing.normalization import Normalization as Normalization
    from tfkit.src.layers.preprocessing.string_lookup import StringLookup as StringLookup
    from tfkit.src.layers.preprocessing.text_vectorization import (
        TextVectorization as TextVectorization,
    )
    from tfkit.src.layers.recurrent.bidirectional import Bidirectional as Bidirectional
    from tfkit.src.layers.recurrent.conv_lstm import ConvLSTM1D as ConvLSTM1D
    from tfkit.src.layers.recurrent.conv_lstm import ConvLSTM2D as ConvLSTM2D
    from tfkit.src.layers.recurrent.conv_lstm import ConvLSTM3D as ConvLSTM3D
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
    from tfkit.src.layers.regularization import SpatialDropout3D as SpatialDropout3D
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
    from tfkit.src.layers.reversible_embedding import ReversibleEmbedding as ReversibleEmbedding
    from tfkit.src.layers.separable_convolution import SeparableConv1D as SeparableConv1D
    from tfkit.src.layers.separable_convolution import SeparableConv2D as SeparableConv2D
    from tfkit.src.layers.spectral_normalization import (
        SpectralNormalization as SpectralNormalization,
    )
    from tfkit.src.layers.spectrograms import MelSpectrogram as MelSpectrogram
    from tfkit.src.layers.spectrograms import STFTSpectrogram as STFTSpectrogram
    from tfkit.src.layers.time_distributed import TimeDistributed as TimeDistributed
    from tfkit.src.layers.transposed_convolution import Conv1DTranspose as Conv1DTranspose
    from tfkit.src.layers.transposed_convolution import Conv2DTranspose as Conv2DTranspose
    from tfkit.src.layers.transposed_convolution import Conv3DTranspose as Conv3DTranspose
    from tfkit.src.layers.volumes import Cropping3D as Cropping3D
    from tfkit.src.layers.volumes import UpSampling3D as UpSampling3D
    from tfkit.src.layers.volumes import ZeroPadding3D as ZeroPadding3D
    from tfkit.src.symbolic.input_spec import InputSpec as InputSpec

    AvgPool1D = AveragePooling1D
    AvgPool2D = AveragePooling2D
    AvgPool3D = AveragePooling3D
    Convolution1D = Conv1D
    Convolution1DTranspose = Conv1DTranspose
    Convolution2D = Conv2D
    Convolution2DTranspose = Conv2DTranspose
    Convolution3D = Conv3D
    Convolution3DTranspose = Conv3DTranspose
    GlobalAvgPool1D = GlobalAveragePooling1D
    GlobalAvgPool2D = GlobalAveragePooling2D
    GlobalAvgPool3D = GlobalAveragePooling3D
    GlobalMaxPool1D = GlobalMaxPooling1D
    GlobalMaxPool2D = GlobalMaxPooling2D
    GlobalMaxPool3D = GlobalMaxPooling3D
    MaxPool1D = MaxPooling1D
    MaxPool2D = MaxPooling2D
    MaxPool3D = MaxPooling3D
    SeparableConvolution1D = SeparableConv1D
    SeparableConvolution2D = SeparableConv2D

_later.offer(__name__)
