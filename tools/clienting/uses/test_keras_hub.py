"""Programs that use keras-hub: backbones without presets, tasks, layers, samplers, metrics."""

import keras
import keras_hub
import numpy as np
import pytest
from keras_hub import layers, metrics, models, samplers, tokenizers

TEXT = {"vocabulary_size": 20, "num_layers": 2, "hidden_dim": 8, "intermediate_dim": 16}
HEADS = {**TEXT, "num_heads": 2}
QUERIES = {**TEXT, "num_query_heads": 2, "num_key_value_heads": 1}
IMAGE = (32, 32, 3)
BACKBONES = {
    "AlbertBackbone": {**HEADS, "embedding_dim": 4},
    "BartBackbone": HEADS,
    "BertBackbone": HEADS,
    "BloomBackbone": HEADS,
    "DebertaV3Backbone": {**HEADS, "bucket_size": 4, "max_sequence_length": 8},
    "DistilBertBackbone": HEADS,
    "ESM2Backbone": HEADS,
    "ElectraBackbone": {
        **{key: value for key, value in HEADS.items() if key != "vocabulary_size"},
        "vocab_size": 20,
        "embedding_dim": 4,
    },
    "FNetBackbone": TEXT,
    "FalconBackbone": {**TEXT, "num_attention_heads": 2},
    "GPT2Backbone": HEADS,
    "GPTNeoXBackbone": HEADS,
    "GemmaBackbone": {**QUERIES, "head_dim": 4},
    "LlamaBackbone": QUERIES,
    "Llama3Backbone": QUERIES,
    "MistralBackbone": QUERIES,
    "MixtralBackbone": {**QUERIES, "num_experts": 2},
    "OPTBackbone": HEADS,
    "Phi3Backbone": QUERIES,
    "QwenBackbone": QUERIES,
    "Qwen3Backbone": {**QUERIES, "head_dim": 4},
    "RobertaBackbone": HEADS,
    "RoformerV2Backbone": {**HEADS, "head_size": 4},
    "T5Backbone": HEADS,
    "XLMRobertaBackbone": HEADS,
    "XLNetBackbone": HEADS,
    "WhisperBackbone": {**HEADS, "num_mels": 4, "max_encoder_sequence_length": 8},
    "DeiTBackbone": {
        **{"image_shape": IMAGE, "patch_size": 16, "num_layers": 2, "num_heads": 2},
        **{"hidden_dim": 8, "intermediate_dim": 16},
    },
    "DenseNetBackbone": {
        "stackwise_num_repeats": [2, 2, 2],
        "image_shape": IMAGE,
        "growth_rate": 4,
    },
    "MiTBackbone": {
        **{"layerwise_depths": [1, 1], "num_layers": 2, "layerwise_num_heads": [1, 2]},
        **{"layerwise_sr_ratios": [2, 1], "max_drop_path_rate": 0.1, "hidden_dims": [4, 8]},
        **{"layerwise_patch_sizes": [7, 3], "layerwise_strides": [4, 2], "image_shape": IMAGE},
    },
    "ResNetBackbone": {
        **{"input_conv_filters": [8], "input_conv_kernel_sizes": [7], "image_shape": IMAGE},
        **{"stackwise_num_filters": [8, 16, 16], "stackwise_num_blocks": [2, 2, 2]},
        **{"stackwise_num_strides": [1, 2, 2], "block_type": "basic_block"},
    },
    "SwinTransformerBackbone": {
        **{"image_shape": IMAGE, "embed_dim": 8, "depths": [1, 1], "num_heads": [2, 2]},
        **{"window_size": 2},
    },
    "VGGBackbone": {
        **{"stackwise_num_repeats": [1, 1, 2], "stackwise_num_filters": [4, 8, 8]},
        "image_shape": IMAGE,
    },
    "ViTBackbone": {
        **{"image_shape": IMAGE, "patch_size": 16, "num_layers": 2, "num_heads": 2},
        **{"hidden_dim": 8, "mlp_dim": 16},
    },
    "ViTDetBackbone": {
        **{"hidden_size": 8, "num_layers": 2, "intermediate_dim": 16, "num_heads": 2},
        **{"global_attention_layer_indices": [1], "image_shape": IMAGE, "patch_size": 8},
        **{"num_output_channels": 4, "window_size": 2},
    },
    "XceptionBackbone": {
        **{"stackwise_conv_filters": [[4, 4], [8, 8]], "stackwise_pooling": [True, False]},
        "image_shape": IMAGE,
    },
}


def inputs_of(model):
    """Values for each input of a model."""
    drawn = np.random.default_rng(0)
    values = {}
    for tensor in keras.tree.flatten(model.input):
        shape = [size or (2, 5, 5, 3)[axis] for axis, size in enumerate(tensor.shape)]
        if "mask" in tensor.name:
            value = np.ones(shape, "int32")
        elif "int" in tensor.dtype:
            value = drawn.integers(0, 2 if "segment" in tensor.name else 19, shape)
        else:
            value = drawn.uniform(size=shape).astype("float32")
        values[tensor.name] = value
    if not isinstance(model.input, dict):
        (values,) = values.values()
    return values


def noted(record, **values):
    """Writes numbers down, which both frameworks should have."""
    for name, value in values.items():
        arrays = [np.asarray(each, "float64") for each in keras.tree.flatten(value)]
        record(name, [[float(each.mean()), float(np.abs(each).mean())] for each in arrays])


def backbone(name, **changes):
    keras.utils.set_random_seed(1)
    return getattr(models, name)(**{**BACKBONES[name], **changes})


@pytest.mark.parametrize("name", BACKBONES)
def test_a_backbone(name, tmp_path, record_property):
    model = backbone(name)
    inputs = inputs_of(model)
    outputs = model.predict(inputs, verbose=0)
    assert all(np.isfinite(each).all() for each in keras.tree.flatten(outputs))
    noted(record_property, outputs=outputs, count=model.count_params())
    again = type(model).from_config(model.get_config())
    assert again.count_params() == model.count_params()
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for one, other in zip(
        keras.tree.flatten(loaded.predict(inputs, verbose=0)),
        keras.tree.flatten(outputs),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "bfloat16"])
@pytest.mark.parametrize("name", ["BertBackbone", "GemmaBackbone", "ResNetBackbone"])
def test_a_backbone_in_half_precision(name, policy):
    model = backbone(name, dtype=policy)
    outputs = model(inputs_of(model))
    first = keras.tree.flatten(outputs)[0]
    assert keras.backend.standardize_dtype(first.dtype) == "bfloat16"


CLASSIFIERS = {
    "BertTextClassifier": "BertBackbone",
    "AlbertTextClassifier": "AlbertBackbone",
    "DistilBertTextClassifier": "DistilBertBackbone",
    "RobertaTextClassifier": "RobertaBackbone",
    "DebertaV3TextClassifier": "DebertaV3Backbone",
    "FNetTextClassifier": "FNetBackbone",
    "XLMRobertaTextClassifier": "XLMRobertaBackbone",
    "ViTImageClassifier": "ViTBackbone",
    "ResNetImageClassifier": "ResNetBackbone",
    "DenseNetImageClassifier": "DenseNetBackbone",
    "MiTImageClassifier": "MiTBackbone",
    "VGGImageClassifier": "VGGBackbone",
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_is_trained_and_saved(name, tmp_path, record_property):
    model = getattr(models, name)(
        backbone=backbone(CLASSIFIERS[name]), num_classes=3, preprocessor=None
    )
    inputs = inputs_of(model)
    before = model.predict(inputs, verbose=0)
    noted(record_property, before=before)
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = model.fit(inputs, np.array([0, 2]), epochs=2, batch_size=2, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(
        loaded.predict(inputs, verbose=0), model.predict(inputs, verbose=0), rtol=1e-4, atol=1e-5
    )


LANGUAGE_MODELS = {
    "GPT2CausalLM": "GPT2Backbone",
    "GemmaCausalLM": "GemmaBackbone",
    "LlamaCausalLM": "LlamaBackbone",
    "Llama3CausalLM": "Llama3Backbone",
    "MistralCausalLM": "MistralBackbone",
    "MixtralCausalLM": "MixtralBackbone",
    "OPTCausalLM": "OPTBackbone",
    "BloomCausalLM": "BloomBackbone",
    "FalconCausalLM": "FalconBackbone",
    "GPTNeoXCausalLM": "GPTNeoXBackbone",
    "Phi3CausalLM": "Phi3Backbone",
    "QwenCausalLM": "QwenBackbone",
    "Qwen3CausalLM": "Qwen3Backbone",
}


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_a_language_model_is_trained_and_generates(name, record_property):
    model = getattr(models, name)(backbone=backbone(LANGUAGE_MODELS[name]), preprocessor=None)
    inputs = inputs_of(model)
    noted(record_property, logits=model.predict(inputs, verbose=0))
    prompt = {
        "token_ids": np.array([[3, 4, 0, 0, 0, 0]]),
        "padding_mask": np.array([[1, 1, 0, 0, 0, 0]]),
    }
    model.compile(sampler="greedy")
    record_property(
        "greedy", np.asarray(model.generate(prompt, stop_token_ids=None)["token_ids"]).tolist()
    )
    model.compile(sampler=samplers.BeamSampler(num_beams=2))
    record_property(
        "beams", np.asarray(model.generate(prompt, stop_token_ids=None)["token_ids"]).tolist()
    )
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    targets = np.roll(inputs["token_ids"], -1, axis=1)
    history = model.fit(inputs, targets, epochs=1, verbose=0)
    assert np.isfinite(history.history["loss"]).all()


@pytest.mark.parametrize("name", ["Bert", "Roberta", "Albert", "DistilBert", "XLMRoberta", "FNet"])
@pytest.mark.parametrize("policy", ["float32", "bfloat16"])
def test_masked_words(name, policy, record_property):
    model = getattr(models, f"{name}MaskedLM")(
        backbone=backbone(f"{name}Backbone", dtype=policy), preprocessor=None
    )
    inputs = inputs_of(model)
    inputs["mask_positions"] = np.array([[1, 2, 3, 0, 0]] * 2)
    logits = model(inputs)
    assert logits.shape == (2, 5, 20)
    if policy == "float32":
        noted(record_property, logits=keras.ops.convert_to_numpy(logits))


ROWS = np.random.default_rng(2).normal(size=(2, 5, 8)).astype("float32")
IDS = np.random.default_rng(3).integers(1, 19, (2, 5))
LAYERS = {
    "TransformerEncoder": (lambda: layers.TransformerEncoder(16, 2), [ROWS]),
    "TransformerDecoder": (lambda: layers.TransformerDecoder(16, 2), [ROWS]),
    "decoder with encoder": (lambda: layers.TransformerDecoder(16, 2), [ROWS, ROWS[:, ::-1]]),
    "FNetEncoder": (lambda: layers.FNetEncoder(16), [ROWS]),
    "PositionEmbedding": (lambda: layers.PositionEmbedding(7), [ROWS]),
    "SinePositionEncoding": (lambda: layers.SinePositionEncoding(), [ROWS]),
    "RotaryEmbedding": (lambda: layers.RotaryEmbedding(), [ROWS]),
    "TokenAndPositionEmbedding": (lambda: layers.TokenAndPositionEmbedding(20, 7, 4), [IDS]),
    "ReversibleEmbedding": (lambda: layers.ReversibleEmbedding(20, 4), [IDS]),
    "RMSNormalization": (lambda: layers.RMSNormalization(), [ROWS]),
    "AlibiBias": (lambda: layers.AlibiBias(), [np.ones((2, 2, 5, 5), "float32")]),
    "CachedMultiHeadAttention": (lambda: layers.CachedMultiHeadAttention(2, 4), [ROWS, ROWS]),
    "MaskedLMHead": (lambda: layers.MaskedLMHead(vocabulary_size=20), [ROWS, IDS % 5]),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer(name, tmp_path, record_property):
    make, arguments = LAYERS[name]
    keras.utils.set_random_seed(1)
    layer = make()
    outputs = layer(*arguments)
    noted(record_property, outputs=keras.ops.convert_to_numpy(outputs))
    again = type(layer).from_config(layer.get_config())
    again(*arguments)
    again.set_weights(layer.get_weights())
    np.testing.assert_allclose(again(*arguments), outputs, rtol=1e-5, atol=1e-6)
    if len(arguments) == 1:
        model = keras.Sequential(
            [keras.Input(arguments[0].shape[1:], dtype=arguments[0].dtype), layer]
        )
        model.save(tmp_path / "m.keras")
        loaded = keras.models.load_model(tmp_path / "m.keras")
        np.testing.assert_allclose(loaded(*arguments), outputs, rtol=1e-5, atol=1e-6)


def test_a_cache_gives_what_the_whole_sequence_gives():
    keras.utils.set_random_seed(1)
    layer = layers.CachedMultiHeadAttention(2, 4)
    mask = np.tril(np.ones((2, 5, 5), "int32"))
    whole = layer(ROWS, ROWS, attention_mask=mask)
    cache = keras.ops.zeros((2, 2, 5, 2, 4))
    for step in range(5):
        row = ROWS[:, step : step + 1]
        output, cache = layer(
            row, row, attention_mask=mask[:, step : step + 1], cache=cache, cache_update_index=step
        )
        np.testing.assert_allclose(output[:, 0], whole[:, step], rtol=1e-5, atol=1e-5)


def test_packers_and_masks(record_property):
    packed = layers.StartEndPacker(6, start_value=1, end_value=2)([[3, 4], [5, 6, 7, 8, 9]])
    record_property("packed", np.asarray(packed).tolist())
    ids, segments = layers.MultiSegmentPacker(8, start_value=1, end_value=2)(([3, 4], [5, 6, 7]))
    record_property("segments", [np.asarray(ids).tolist(), np.asarray(segments).tolist()])


SCORES = {
    "Perplexity": (lambda: metrics.Perplexity(), [[1, 2]], [[[0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]]),
    "EditDistance": (
        lambda: metrics.EditDistance(),
        [["the", "cat", "sat"]],
        [["the", "cat", "is", "sat"]],
    ),
    "Bleu": (
        lambda: metrics.Bleu(),
        [["the cat sat on the mat"]],
        ["the cat sat on a mat"],
    ),
}


@pytest.mark.parametrize("name", SCORES)
def test_a_metric(name, record_property):
    make, truth, found = SCORES[name]
    metric = make()
    metric.update_state(np.array(truth), np.array(found))
    record_property("result", float(metric.result()))
    metric.reset_state()
    assert float(metric.result()) == 0


@pytest.mark.parametrize("name", ["GreedySampler", "TopKSampler", "TopPSampler", "RandomSampler"])
def test_a_sampler(name):
    options = {"TopKSampler": {"k": 3}, "TopPSampler": {"p": 0.5}}.get(name, {})
    sampler = getattr(samplers, name)(**options)
    logits = keras.ops.one_hot(keras.ops.array([2, 2]), 5) * 100.0

    def following(prompt, cache, index):
        return logits, keras.ops.zeros((2, 3)), cache

    prompt = keras.ops.array([[1, 0, 0, 0]] * 2)
    found = sampler(next=following, prompt=prompt, index=1, mask=prompt > 0)
    assert np.asarray(found).tolist() == [[1, 2, 2, 2]] * 2


def test_tokenizers(record_property):
    byte = tokenizers.ByteTokenizer()
    assert np.asarray(byte("hi")).tolist()[:2] == [104, 105]
    words = tokenizers.WordPieceTokenizer(["[UNK]", "the", "qu", "##ick", "fox"], lowercase=True)
    record_property("pieces", np.asarray(words("the quick fox")).tolist())


def test_presets_are_written_and_read(tmp_path):
    model = backbone("BertBackbone")
    inputs = inputs_of(model)
    model.save_to_preset(str(tmp_path / "preset"))
    loaded = models.BertBackbone.from_preset(str(tmp_path / "preset"))
    for one, other in zip(
        keras.tree.flatten(loaded(inputs)), keras.tree.flatten(model(inputs)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_lora_of_a_backbone():
    model = backbone("GemmaBackbone")
    before = len(model.trainable_weights)
    model.enable_lora(2)
    assert 0 < len(model.trainable_weights) < before
    assert keras_hub.__version__
