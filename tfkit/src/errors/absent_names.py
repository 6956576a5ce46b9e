"""Public names of Keras that tfkit does not have: what is said where a program asks for one."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

_DATASETS = "Load the data by other means, for one with the package `tensorflow_datasets`."
_FOLDERS = (
    "Make a `tf.data.Dataset`: `tf.data.Dataset.list_files(...)` and a `map` that reads a file."
)
_IMAGES = "Change images in the pipeline: `dataset.map(...)` with functions of `tf.image` and `ops.image`."
_APPLICATIONS = (
    "Load a model that Keras has saved: `keras.applications.ResNet50().save('resnet.keras')` once, with "
    "Keras, then `tfkit.models.load_model('resnet.keras')`, as far as tfkit has its layers."
)
_QUANTIZATION = "Export the model and quantize that: `model.export(path, format='litert')`."
_DISTRIBUTION = "Write a loop with `strategy.run(...)` for a strategy of `tf.distribute`."
_OTHER_ENGINE = "tfkit runs on TensorFlow alone."

# By module, the names with what to use instead; an empty text where nothing stands in for them.
ABSENT: dict[str, dict[str, str]] = {
    "": {
        "Function Operation RematScope StatelessScope SymbolicScope": "",
        "name_scope": "Use `tf.name_scope(...)`.",
        "applications": _APPLICATIONS,
        "distribution": _DISTRIBUTION,
        "Quantizer quantizers distillation": _QUANTIZATION,
        "visualization": "Draw with matplotlib.",
        "legacy": "",
    },
    "callbacks": {
        "OrbaxCheckpoint": "Use `callbacks.ModelCheckpoint` or `callbacks.BackupAndRestore`.",
        "RemoteMonitor": "Use `callbacks.LambdaCallback(on_epoch_end=...)` and send the logs in it.",
        "SwapEMAWeights": "Use `use_ema=True` of an optimizer: the averages are the weights after `fit()`.",
    },
    "config": {
        "set_backend": _OTHER_ENGINE,
        "is_nnx_enabled": _OTHER_ENGINE,
        "enable_unsafe_deserialization": (
            "A file of tfkit's cannot run code. Pass `custom_objects`, or register the function."
        ),
        "max_epochs max_steps_per_epoch set_max_epochs set_max_steps_per_epoch": (
            "Pass `epochs` and `steps_per_epoch` to `fit()`."
        ),
        "enable_flash_attention disable_flash_attention is_flash_attention_enabled": "",
    },
    "datasets": {
        "boston_housing california_housing cifar10 cifar100 fashion_mnist imdb reuters": _DATASETS,
    },
    "dtype_policies": {
        "AWQDTypePolicy GPTQDTypePolicy Int4DTypePolicy QuantizedDTypePolicy "
        "QuantizedFloat8DTypePolicy": _QUANTIZATION,
        "DTypePolicyMap": "Pass `dtype` to each layer.",
    },
    "layers": {
        "Conv1DTranspose Convolution1DTranspose Conv2DTranspose Convolution2DTranspose Conv3DTranspose "
        "Convolution3DTranspose": "Use `ops.conv_transpose` in a layer of your own, or an upsampling and a "
        "convolution.",
        "DepthwiseConv1D DepthwiseConv2D": "Use `ops.depthwise_conv` in a layer of your own.",
        "SeparableConv1D SeparableConvolution1D SeparableConv2D SeparableConvolution2D": (
            "Use `ops.separable_conv` in a layer of your own."
        ),
        "ConvLSTM1D ConvLSTM2D ConvLSTM3D": "Use `layers.RNN` with a cell of your own.",
        "AdaptiveAveragePooling1D AdaptiveAveragePooling2D AdaptiveAveragePooling3D": (
            "Use `ops.adaptive_average_pool`."
        ),
        "AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D": "Use `ops.adaptive_max_pool`.",
        "Cropping3D": "Slice the tensor: `x[:, 1:-1, 1:-1, 1:-1]`.",
        "ZeroPadding3D": "Use `ops.pad`.",
        "UpSampling3D": "Use `ops.repeat` along each axis.",
        "SpatialDropout3D": "Use `layers.Dropout(rate, noise_shape=(None, 1, 1, 1, None))`.",
        "SpectralNormalization": "",
        "GroupQueryAttention": "Use `ops.dot_product_attention` in a layer of your own.",
        "ReversibleEmbedding": "Multiply by `ops.transpose(embedding.embeddings)` in a layer of your own.",
        "Rescaling": "Use `layers.Lambda(lambda x: x / 255)`, or scale the data in the pipeline.",
        "Resizing CenterCrop": "Use `tf.image.resize` and `tf.image.central_crop` in the pipeline.",
        "AugMix AutoContrast ContrastLimitedAdaptiveHistogramEqualization CutMix Equalization MixUp "
        "MaxNumBoundingBoxes Pipeline RandAugment RandomBrightness RandomColorDegeneration "
        "RandomColorJitter RandomContrast RandomCrop RandomElasticTransform RandomErasing RandomFlip "
        "RandomGaussianBlur RandomGrayscale RandomHue RandomInvert RandomPerspective "
        "RandomPosterization RandomRotation RandomSaturation RandomSharpness RandomShear "
        "RandomTranslation RandomZoom Solarization": _IMAGES,
        "MelSpectrogram STFTSpectrogram": "Use `ops.stft` in a layer of your own.",
        "FlaxLayer JaxLayer TorchModuleWrapper": _OTHER_ENGINE,
    },
    "ops.image": {"elastic_transform": "Use `ops.image.map_coordinates`."},
    "optimizers": {
        "MultiOptimizer OptimizerMap": "Override `train_step`, with an optimizer for each group of weights.",
        "legacy": "Use the optimizer of the same name.",
    },
    "preprocessing": {
        "image_dataset_from_directory text_dataset_from_directory": _FOLDERS,
        "timeseries_dataset_from_array": "Use `tf.data.Dataset.window`.",
    },
    "preprocessing.image": {"smart_resize": "Use `tf.image.resize`, and crop before."},
    "saving": {"KerasFileEditor": "Use `tfkit inspect` and `tfkit diff` on the command line."},
    "utils": {
        "audio_dataset_from_directory image_dataset_from_directory text_dataset_from_directory": _FOLDERS,
        "timeseries_dataset_from_array": "Use `tf.data.Dataset.window`.",
        "Config FeatureSpace bounding_boxes get_source_inputs legacy": "",
        "get_file": "Download with `urllib.request.urlretrieve(url, path)`.",
        "model_to_dot plot_model": "Use `model.summary()`.",
    },
}
_FROM_IMPORT = dis.opmap["IMPORT_FROM"]


def explain_in(root: ModuleType) -> None:
    """Lets the public modules say of a name of Keras that it is not there, and what to use.

    Set here and not written into the modules, for type checkers to report such names as they did.
    """
    for path in ABSENT:
        module = root
        for part in filter(None, path.split(".")):
            module = getattr(module, part)
        public = f"{root.__name__}.{path}".rstrip(".")
        module.__getattr__ = _getattr_of(module, public, _by_name(path))  # type: ignore[method-assign]


def _by_name(path: str) -> dict[str, str]:
    return {name: advice for names, advice in ABSENT[path].items() for name in names.split()}


def _getattr_of(module: ModuleType, public: str, advices: dict[str, str]) -> Callable[[str], Any]:
    def absent(name: str) -> Any:
        if name not in advices:
            message = f"module {public!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=module)
        label = f"{public.partition('.')[2]}.{name}".lstrip(".")
        message = f"tfkit does not have Keras's `{label}`. {advices[name]}".rstrip()
        # Python replaces an `AttributeError` in `from module import name` by a text of its own.
        caller = sys._getframe(1)
        if caller.f_code.co_code[caller.f_lasti] == _FROM_IMPORT:
            raise ImportError(message, name=public)
        raise AttributeError(message, name=name, obj=module)

    return absent
