"""Names of Keras that tfkit does not have."""

import keras
import pytest
from keras._tf_keras import keras as tf_keras

import tfkit
from tfkit.src.base.errors.absent_names import ABSENT

MODULES = [
    "", "activations", "callbacks", "config", "constraints", "datasets", "distillation",
    "dtype_policies", "export", "initializers", "layers", "losses", "metrics", "mixed_precision",
    "models", "ops", "ops.image", "ops.linalg", "ops.nn", "ops.numpy", "optimizers",
    "optimizers.schedules", "preprocessing", "quantizers", "preprocessing.image",
    "preprocessing.sequence", "random", "regularizers", "saving", "tree", "utils",
    "utils.bounding_boxes", "visualization", "wrappers", "backend", "datasets.mnist", "datasets.imdb",
    "applications", "applications.imagenet_utils", "applications.resnet",
]  # fmt: skip


def module_of(root, path):
    for part in filter(None, path.split(".")):
        root = getattr(root, part)
    return root


@pytest.mark.parametrize("path", MODULES)
def test_each_name_of_keras_is_there_or_says_that_it_is_not(path):
    module, oracle = module_of(tfkit, path), module_of(keras, path)
    for name in dir(oracle):
        if name.startswith("_") or name == "src" or hasattr(module, name):
            continue
        with pytest.raises(AttributeError, match=rf"does not have Keras's `.*{name}`\."):
            getattr(module, name)


def test_each_absent_name_has_a_reason_or_an_advice():
    for path, table in ABSENT.items():
        for names, advice in table.items():
            assert len(advice) > 20, (path, names)


# Public members of Keras's classes that ours lack, with the reason.
MEMBERS = {
    "set by constructors, and there in objects": """
        aggregation attention_axes batch_shape distribute_reduction_method dropout dtype embeddings handle
        input_spec kernel key_dense key_dim loss_scale_factor num_heads numpy output_dense path
        query_dense ragged_rank
        row_splits_dtype shape supports_masking synchronization use_bias value_dense value_dim
        """,
    "steps inside of Keras's quantization, and of one that needs texts": """
        get_quantization_layer_structure quantized_build quantized_call variable_serialization_spec
        """,
    "refuses in Keras, too": "add_metric",
    "a call does it": "rematerialized_call symbolic_call",
    "between engines": "convert_weight",
    "a step inside of Keras's own classes": """
        convert_input get_clipped_bbox get_elastic_transform_params get_shifted_bbox get_transformed_x_y
        interpolate_pr_auc linear_to_mel_weight_matrix summary transform_single_bounding_box
        transform_single_image transform_single_label transform_single_segmentation_mask
        """,
    "masks are drawn in the call": """
        get_dropout_mask get_recurrent_dropout_mask reset_dropout_mask reset_recurrent_dropout_mask
        """,
    "scikit-learn makes it": "set_fit_request",
}


def test_each_public_member_of_a_class_of_keras_is_there_or_listed():
    listed = {name for names in MEMBERS.values() for name in names.split()}
    missing = {}
    for path in [*MODULES, "saving", "wrappers"]:
        module, oracle = module_of(tfkit, path), module_of(keras, path)
        for name, cls in vars(oracle).items():
            if isinstance(cls, type) and hasattr(module, name):
                members = {member for member in dir(cls) if not member.startswith("_")}
                for member in members - set(dir(getattr(module, name))):
                    missing.setdefault(member, f"{path}.{name}")
    unlisted = {member: where for member, where in missing.items() if member not in listed}
    assert not unlisted


OF_KERAS_2 = {
    "": ["engine"],
    "backend": ["function", "get_session", "learning_phase", "placeholder", "set_session"]
    + ["set_learning_phase"],
    "layers": ["LocallyConnected1D", "LocallyConnected2D", "experimental"],
    "wrappers": ["scikit_learn"],
}


def test_the_table_names_public_names_of_keras():
    """Or of `tf.keras`, which has more of them."""
    for path, table in ABSENT.items():
        for name in " ".join(table).split():
            assert name in OF_KERAS_2.get(path, ()) or any(
                hasattr(module_of(root, path), name) for root in (keras, tf_keras)
            ), (
                path,
                name,
            )


def test_an_import_says_what_to_use():
    with pytest.raises(ImportError, match=r"`quantizers\.AWQConfig`. "):
        from tfkit.quantizers import AWQConfig  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'Dence'"):
        from tfkit.layers import Dence  # noqa: F401
    with pytest.raises(AttributeError, match=r"module 'tfkit\.layers' has no attribute 'Dence'"):
        tfkit.layers.Dence  # noqa: B018


def test_what_the_advices_name_is_there():
    for table in ABSENT.values():
        for advice in table.values():
            for part in advice.split("`"):
                words = part.split("(")[0]
                if words.startswith(("ops.", "layers.", "callbacks.")):
                    assert hasattr(
                        module_of(tfkit, words.rpartition(".")[0]), words.rpartition(".")[2]
                    )
