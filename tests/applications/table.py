"""The models that are compared with Keras's: one of each family, as small as it can be."""

# Of each family: the name of a function, arguments, and the rows and columns of images. There are 10 classes.
# These are saved and loaded, too.
IN_FILES = {
    "convnext": ("ConvNeXtTiny", {"classifier_activation": None}, 32),
    "densenet": ("DenseNet121", {"include_top": False, "pooling": "max"}, 32),
    "efficientnet": ("EfficientNetB0", {"include_top": False}, 33),
    "mobilenet": ("MobileNet", {"alpha": 0.25, "classifier_activation": None}, 32),
    "mobilenet_v2": ("MobileNetV2", {"alpha": 0.35}, 33),
    "mobilenet_v3_small": ("MobileNetV3Small", {"alpha": 0.75, "classifier_activation": None}, 32),
    "mobilenet_v3_large": (
        "MobileNetV3Large",
        {
            "minimalistic": True,
            "include_top": False,
            "pooling": "avg",
            "include_preprocessing": False,
        },
        47,
    ),
    "resnet": ("ResNet50", {"classifier_activation": None}, 32),
    "resnet_v2": ("ResNet50V2", {"include_top": False}, 32),
    "vgg": ("VGG16", {"include_top": False, "pooling": "avg"}, 32),
}
# Their files have nothing that no other has, or `test_layers.py` has it.
OTHERS = {
    "efficientnet_v2": ("EfficientNetV2B0", {"include_top": False, "pooling": "max"}, 32),
    "inception_resnet_v2": ("InceptionResNetV2", {"include_top": False}, 75),
    "inception_v3": ("InceptionV3", {"include_top": False, "pooling": "avg"}, 75),
    "nasnet": ("NASNetMobile", {"include_top": False}, 32),
    "xception": ("Xception", {"include_top": False, "pooling": "max"}, 71),
}
FAMILIES = IN_FILES | OTHERS
