"""Methods that Keras calls on its own classes and tfkit never calls: overriding them has no effect."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import CodeType
from typing import Any

from tfkit.src.base.errors.frames import warn

# On each line a class (or several), the public method to override instead, and Keras's methods. A line that
# begins with spaces continues the one before. `tests/overrides/test_table.py` compares it with Keras.
_TABLE = """
Adadelta | Adagrad | Adam | Adamax | Ftrl | Lamb | Lion | Nadam | ScheduleFreeAdamW.update_step:
    assign_add assign_sub
Adafactor.update_step: _rms assign_add assign_sub
AlphaDropout.call: _get_concrete_noise_shape
Attention.call: _validate_inputs
AugMix.get_random_transformation: _sample_from_dirichlet
AutoContrast | Equalization | RandomBrightness | RandomColorDegeneration | RandomPosterization |
    RandomSaturation | RandomSharpness.__init__: _set_value_range
BackupAndRestore.on_train_begin: _load_model
BackupAndRestore.on_epoch_end: _save_model
BackupAndRestore | ModelCheckpoint | OrbaxCheckpoint.on_train_batch_end: _should_save_on_batch
BatchNormalization.call: _compose_transforms _renorm_correction_and_moments _update_renorm_statistics
Bidirectional.__init__: _verify_layer_config
Bidirectional.call: _call_fused_gru _call_fused_lstm _can_attempt_fused_gru _can_attempt_fused_lstm
CategoryEncoding | Discretization | Normalization | Rescaling: _get_seed_generator
CategoryEncoding.call: _encode
Concatenate | Dot.call: _merge_function
Concatenate | Dot: _apply_merge_op_and_or_mask _compute_elemwise_op_output_shape
ContrastLimitedAdaptiveHistogramEqualization.transform_images: _clahe
Conv1D.call: _compute_causal_padding
CosineDecay.__call__: _decay_function _warmup_function
CutMix.get_random_transformation: _compute_crop_bounds _generate_batch_mask _generate_mix_weight
DTypePolicy.__init__: _parse_name
DTypePolicy: _should_cast convert_input
Dense: _float8_build
Dense.save_own_variables: _get_kernel_with_merged_lora
Distiller.__init__: _assert_same_dtype _assert_shapes_are_compatible _create_feature_extractor
    _create_multi_feature_extractors _validate_distillation_loss_compatibility
    _validate_dtype_compatibility _validate_input_compatibility _validate_models
    _validate_output_compatibility
Distiller.compute_loss: _extract_all_student_features _extract_all_teacher_features
    _get_distillation_loss_features
Dropout.__init__: _validate_noise_shape
EinsumDense: _float8_build _get_kernel_scale_shape
EinsumDense.save_own_variables: _adjust_scale_for_dequant _get_kernel_with_merged_lora
EinsumDense.build: _update_kernel_initializer
EinsumDense.quantize: _adjust_scale_for_quant _set_quantization_info
Embedding.save_own_variables: _get_embeddings_with_merged_lora
Equalization.transform_images: _apply_equalization _custom_histogram_fixed_width _equalize_channel
    _scale_values
FeatureSpace.__init__: _cross_to_crosser _feature_to_input _standardize_feature
FeatureSpace.adapt: _list_adaptable_preprocessors
FeatureSpace.call: _check_if_built _convert_input _cross_features _merge_features _preprocess_features
FeatureSpace.get_encoded_features: _check_if_adapted
FlaxLayer.__init__: _params_and_state_to_variables _variables_to_params_and_state
Function.call: _assert_input_compatibility _get_operation_for_node _run_through_graph
GatedCell: _create_dropout_mask
GatedCell.call: get_dropout_mask get_recurrent_dropout_mask
GroupNormalization.call: _apply_normalization _create_broadcast_shape _reshape_into_groups
GroupQueryAttention.build: _get_common_kwargs_for_sublayer
GroupQueryAttention | MultiHeadAttention._compute_attention_mask: _compute_causal_mask
    _compute_sliding_window_mask
HashedCrossing.call: _check_at_least_two_inputs _check_input_shape_and_type
Hashing.call: _hash_values_to_bins
ImageLayer.transform_images: _get_seed_generator _transform_images _transform_value_range
    _unwrap_value_range
ImageLayer.__init__: _set_factor
ImageLayer.call: _is_batched
ImageLayer: _format_single_input_bounding_box _format_single_output_bounding_box
ImageLayer.get_random_transformation: _compute_affine_matrix
JaxLayer.__init__: _create_variables _validate_signature
JaxLayer.build: _get_init_rng _get_init_seed _get_jax2tf_input_shape _initialize_weights _jax2tf_convert
    _partial_with_positional
JaxLayer.call: _get_call_rng _get_call_seed
LSTMCell.call: _compute_carry_and_output _compute_carry_and_output_fused
Lambda.get_config: _serialize_function_to_config
Layer.call: _assert_input_compatibility _clear_losses _get_call_context _maybe_build
    _maybe_reset_call_context _open_name_scope _resolve_and_populate_arg _set_mask_metadata
Layer: _check_quantize_args _default_save_signature _float8_call _int4_call _int8_call _lock_state
    _post_build _post_track_variable _setattr_hook _untrack_variable
Layer.losses: _flatten_layers _get_own_losses _get_regularization_losses
Layer.load_own_variables: _check_load_own_variables
Layer.add_weight: _track_variable
LearningRateScheduler.on_epoch_begin: _update_optimizer_lr
LossScaleOptimizer.stateless_apply: _stateless_handle_finite_grads _stateless_handle_non_finite_grads
LossScaleOptimizer.apply: _common_apply _stateful_handle_finite_grads _stateful_handle_non_finite_grads
    _tf_apply
Maximum | Minimum | Multiply.call: _merge_function
MelSpectrogram: _get_seed_generator _hertz_to_mel
MelSpectrogram.call: _dbscale _melscale _spectrogram linear_to_mel_weight_matrix
Merge.call: _apply_merge_op_and_or_mask
Merge.build: _compute_elemwise_op_output_shape
Model.compile: _resolve_auto_jit_compile
Model: _get_own_metrics
Model.compute_loss: _aggregate_additional_loss
Model.fit: _assert_compile_called _get_metrics_result_or_logs _maybe_symbolic_build _should_eval
    _symbolic_build _warn_if_trainable_state_changed
Model.evaluate: _flatten_metrics_in_order
Model.make_predict_function: _autoconvert_optionals
Model.make_test_function: _make_function
Model.compiled_metrics: _compiled_metrics_update_state
Model.quantize: _post_quantize
Model.get_state_tree: _create_nested_dict
Model.set_state_tree: _assign_variable_values _flatten_nested_dict
MonitorCallback.on_epoch_end: _set_monitor_op
MultiHeadAttention.build: _build_attention _get_common_kwargs_for_sublayer _make_output_dense
Muon.update_step: _adamw_update_step _muon_update_step assign_add assign_sub transpose_last_axis
Operation.input: _get_node_attribute_at_index
Operation: _post_build _post_track_variable _setattr_hook
Optimizer.__init__: _track_variable
Optimizer: _untrack_variable
Optimizer.add_optimizer_variables: _overwrite_variable_with_gradient
Optimizer.build: _var_key
Optimizer.apply: _all_reduce_sum_gradients _backend_apply_gradients
    _backend_increment_gradient_accumulators _backend_reset_gradient_accumulators _backend_update_step
    _check_variables_are_known _clip_by_norm _distributed_tf_update_step _filter_empty_gradients
    _overwrite_variables_directly_with_gradients _update_model_variables_moving_average
Optimizer.finalize_variable_values: _overwrite_model_variables_with_average_value
OrbaxCheckpoint.__init__: _is_multihost_initialized
OrbaxCheckpoint.on_train_end: _sync_processes
OrbaxCheckpoint.on_epoch_end: _save_checkpoint
ProgbarLogger.on_epoch_begin: _maybe_init_progbar _reset_progbar
ProgbarLogger.on_train_batch_end: _update_progbar
ProgbarLogger.on_epoch_end: _finalize_progbar
Quantizable: _int4_build _int8_build
QuantizedDTypePolicy.__init__: _check_quantization_mode
RMSprop.update_step: assign_add
RNN.build: _create_state_variables
RNN.call: _maybe_config_dropout_masks _maybe_reset_dropout_masks
RandomContrast.transform_images: _adjust_contrast
RandomElasticTransform | RandomErasing.__init__: _set_factor_by_name
RandomElasticTransform.call: get_elastic_transform_params
RandomErasing.get_random_transformation: _compute_crop_bounds _generate_batch_mask _get_fill_value
RandomFlip.transform_images: _flip_inputs
RandomGaussianBlur.__init__: _set_factor_by_name _set_kernel_size
RandomPerspective.transform_bounding_boxes: _get_transformed_coordinates
RandomShear.__init__: _check_factor_range _set_factor_with_name
RandomShear.transform_images: _get_shear_matrix
RandomShear.transform_bounding_boxes: _shear_bboxes
RandomTranslation | RandomZoom.__init__: _check_factor_range
RandomTranslation.transform_images: _translate_inputs
RandomTranslation.transform_bounding_boxes: _get_translation_matrix
RandomZoom.transform_images: _zoom_inputs
RandomZoom.transform_bounding_boxes: _get_zoom_matrix
ReduceLROnPlateau.on_train_begin: _reset
ReduceLROnPlateau.on_epoch_end: _reduce_optimizer_lr
Resizing.transform_bounding_boxes: _transform_boxes_crop_to_aspect_ratio
    _transform_boxes_pad_to_aspect_ratio _transform_boxes_stretch _transform_xyxy
STFTSpectrogram.call: _adjust_shapes _apply_conv
Sequential.__init__: _maybe_rebuild
Sequential.add: _is_layer_name_unique
Solarization.__init__: _check_factor_range _set_value_range
SpatialDropout1D | SpatialDropout2D | SpatialDropout3D.call: _get_noise_shape
SwapEMAWeights.on_epoch_end: _apply_to_ema_optimizers _backend_finalize_ema_values
    _backend_swap_variables _finalize_ema_values _swap_variables _tf_finalize_ema_values
    _tf_swap_variables
TensorBoard.on_train_begin: _push_writer _train_writer
TensorBoard.on_test_batch_begin: _pop_writer _val_writer
TensorBoard.on_train_batch_end: _stop_profiler _stop_trace _write_keras_model_train_graph
TensorBoard.set_model: _write_keras_model_summary
TensorBoard.on_train_end: _close_writers
TensorBoard.__init__: _init_profile_batch _start_profiler
TensorBoard.on_train_batch_begin: _start_trace
TensorBoard.on_epoch_end: _collect_learning_rate _compute_steps_per_second _log_embeddings
    _log_epoch_metrics _log_weight_as_image _log_weights
TextVectorization.call: _apply_standardize_with_np_arrays _preprocess
TimeDistributed.build: _get_child_input_shape
TorchModuleWrapper.__init__: _track_module_parameters
UpSampling2D.call: _resize_images
UpSampling3D.call: _resize_volumes
WithVocabulary.finalize_state: _ensure_vocab_size_unchanged _inverse_document_frequency
    _lookup_table_from_tokens _record_vocabulary_size _token_start_index
WithVocabulary: _ensure_known_vocab_size _expand_dims _lookup_dense
WithVocabulary.__init__: _uninitialized_lookup_table
WithVocabulary.set_vocabulary: _convert_to_ndarray _find_repeated_tokens _lookup_table_from_file
    _oov_start_index _tensor_vocab_to_numpy
WithVocabulary.update_state: _num_tokens
_DepthwiseConvolution.call: _get_input_channel
_Estimator.fit: _get_model _process_target
_Estimator.predict: _reverse_process_target
_OperatingPoint.result: _find_max_under_constraint
"""


def _parsed() -> dict[str, dict[str, str]]:
    """Returns for each class the methods, and what to override instead."""
    rows: dict[str, dict[str, str]] = {}
    for line in _TABLE.replace("\n   ", "").strip().splitlines():
        head, _, names = line.partition(":")
        classes, _, instead = head.partition(".")
        for cls in classes.split("|"):
            rows.setdefault(cls.strip(), {}).update(dict.fromkeys(names.split(), instead))
    return rows


NEVER_CALLED = _parsed()


def warn_of_methods(cls: type) -> None:
    """Warns of methods of a new class that Keras would call, and tfkit does not.

    A method that another method of the class calls is the class's own, whatever its name.

    Args:
        cls: a subclass of one of tfkit's classes.
    """
    if _is_ours(cls):
        return
    built_in = [base for base in cls.__mro__ if _is_ours(base)]
    found: dict[str, str] = {}
    for base in reversed(built_in):
        found |= NEVER_CALLED.get(base.__name__, {})
    for name, instead in found.items():
        if _is_new(cls, name) and not _is_used(cls, name):
            remedy = f" Override `{instead}` instead." if instead else ""
            warn(
                f"`{cls.__name__}.{name}` has no effect: Keras calls a method of this name of "
                f"{built_in[0].__name__}, and tfkit does not.{remedy}"
            )


class Overridable:
    """A class whose subclasses are warned of methods that Keras would call, and tfkit does not."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        warn_of_methods(cls)


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


def _is_new(cls: type, name: str) -> bool:
    """Whether a class or a mixin of it defines a method that was not checked with a base class."""
    definer = next((base for base in cls.__mro__ if name in vars(base)), object)
    value = vars(definer).get(name)
    if not (inspect.isfunction(value) or isinstance(value, (property, classmethod, staticmethod))):
        return False
    checked = [base for base in cls.__bases__ if any(map(_is_ours, base.__mro__))]
    return not _is_ours(definer) and not any(definer in base.__mro__ for base in checked)


def _is_used(cls: type, name: str) -> bool:
    """Whether another method of a user's classes reads the attribute `name`."""
    return any(
        name in code.co_names
        for base in cls.__mro__
        if not _is_ours(base)
        for attribute, value in vars(base).items()
        if attribute != name
        for code in _codes(value)
    )


def _codes(value: Any) -> Iterator[CodeType]:
    """Yields the code of a method or property, and of the functions inside it."""
    parts = (value.fget, value.fset) if isinstance(value, property) else (value,)
    functions = [getattr(part, "__func__", part) for part in parts]
    pending = [getattr(inspect.unwrap(it), "__code__", None) for it in functions if callable(it)]
    while pending:
        code = pending.pop()
        if isinstance(code, CodeType):
            yield code
            pending += code.co_consts
