"""Methods that published packages override: their results are those of Keras, or a warning names them."""

import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit.src.base.errors.never_called import NEVER_CALLED

X = np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")
ROWS = np.random.default_rng(1).normal(size=(8, 4)).astype("float32")
TARGETS = ROWS.sum(axis=1, keepdims=True)
WORDS = np.array(["a b", "b b c"])


def same(make, use=lambda layer: layer(X, X)):
    """Compares the results of a layer in both libraries, with the same weights, and its calls."""
    results = []
    for k in (keras, tfkit):
        calls = []
        layer = make(k, calls)
        use(layer)
        if results:
            layer.set_weights(results[0][2].get_weights())
        calls.clear()
        results.append((np.asarray(use(layer)), calls, layer))
    (theirs, expected, _), (ours, found, _) = results
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)
    assert set(found) == set(expected)
    assert found


# --- Attention ------------------------------------------------------------------------------------------


def test_multi_head_attention_computes_what_a_subclass_says():
    def make(k, calls):
        class Mine(k.layers.MultiHeadAttention):
            def _compute_attention(
                self,
                query,
                key,
                value,
                attention_mask=None,
                training=None,
                return_attention_scores=False,
            ):
                calls.append((*query.shape, *key.shape, None if attention_mask is None else "mask"))
                given = (query, key, value, attention_mask, training, return_attention_scores)
                outputs, weights = super()._compute_attention(*given)
                return 2 * outputs + self._key_dim * self._num_heads, weights

            def _masked_softmax(self, attention_scores, attention_mask=None):
                calls.append("softmax")
                return super()._masked_softmax(attention_scores / 3, attention_mask)

        return Mine(2, 4, dropout=0.1)

    same(make)
    same(make, lambda layer: layer(X, X, use_causal_mask=True))


def test_multi_head_attention_uses_the_mask_and_the_layers_of_a_subclass():
    layer = tfkit.layers.MultiHeadAttention(2, 4)
    layer(X, X)
    assert layer._query_dense is layer.query_dense
    layer._query_dense = replaced = tfkit.layers.EinsumDense("abc,cde->abde", (None, 2, 4))
    assert layer.query_dense is replaced

    class Masked(tfkit.layers.MultiHeadAttention):
        def _compute_attention_mask(self, *args, **masks):
            return tf.constant(np.tril(np.ones((1, 5, 5))), "bool")

    ours = Masked(2, 4)
    plain = tfkit.layers.MultiHeadAttention(2, 4)
    plain(X, X)
    ours(X, X)
    ours.set_weights(plain.get_weights())
    np.testing.assert_allclose(ours(X, X), plain(X, X, use_causal_mask=True), rtol=1e-5, atol=1e-6)


def test_grouped_attention_passes_keys_for_each_query_head():
    def make(k, calls):
        class Mine(k.layers.GroupQueryAttention):
            def _compute_attention(self, query, key, value, attention_mask=None, training=None):
                calls.append((*query.shape, *key.shape, *value.shape))
                outputs, weights = super()._compute_attention(
                    query, key, value, attention_mask, training
                )
                return 2 * outputs, weights

        return Mine(4, 4, 2)

    same(make)
    same(make, lambda layer: layer(X, X, use_causal_mask=True, return_attention_scores=False))


@pytest.mark.parametrize("name", ["Attention", "AdditiveAttention"])
def test_attention_uses_the_scores_of_a_subclass(name):
    def make(k, calls):
        class Mine(getattr(k.layers, name)):
            def _calculate_scores(self, query, key):
                calls.append("scores")
                return super()._calculate_scores(query=query, key=key) / 2

            def _calculate_score_mask(self, scores, v_mask, use_causal_mask):
                calls.append("mask")
                return super()._calculate_score_mask(scores, v_mask, True)

            def _apply_scores(self, scores, value, scores_mask=None, training=False):
                calls.append("apply")
                outputs, weights = super()._apply_scores(scores, value, scores_mask, training)
                return outputs + 1, weights

        return Mine()

    same(make, lambda layer: layer([X, X]))


def test_batch_normalization_uses_the_moments_of_a_subclass():
    def make(k, calls):
        class Mine(k.layers.BatchNormalization):
            def _moments(self, inputs, mask):
                calls.append("moments")
                mean, variance = super()._moments(inputs, mask)
                return mean + 1, 2 * variance

        return Mine()

    same(make, lambda layer: layer(X, training=True))


# --- Adaptation -----------------------------------------------------------------------------------------


def adapting(base, calls):
    """A subclass that notes the phases of `adapt`."""

    class Mine(base):
        def reset_state(self):
            calls.append("reset")
            super().reset_state()

        def update_state(self, data):
            calls.append(("update", tuple(data.shape)[:1]))
            super().update_state(data)

        def finalize_state(self):
            calls.append("finalize")
            super().finalize_state()

    return Mine


@pytest.mark.parametrize(
    ("name", "options", "data"),
    [
        ("TextVectorization", {}, WORDS),
        ("TextVectorization", {"output_mode": "tf_idf"}, WORDS),
        ("StringLookup", {}, WORDS),
        ("IntegerLookup", {}, np.array([[1, 2, 2], [5, 5, 5]])),
        ("Discretization", {"num_bins": 3}, ROWS),
    ],
)
@pytest.mark.parametrize("batched", [False, True])
def test_adapt_goes_through_the_phases(name, options, data, batched):
    found = []
    for k in (keras, tfkit):
        calls = []
        layer = adapting(getattr(k.layers, name), calls)(**options)
        calls.clear()
        layer.adapt(tf.data.Dataset.from_tensor_slices(data).batch(1) if batched else data)
        state = layer.get_vocabulary() if hasattr(layer, "get_vocabulary") else layer.bin_boundaries
        found.append((calls, state))
    calls, expected = found[1][0], found[0][0]
    assert calls == expected[: len(calls)]
    assert set(expected[len(calls) :]) <= {"reset"}
    plain = getattr(tfkit.layers, name)(**options)
    plain.adapt(data)
    expected = plain.get_vocabulary() if hasattr(plain, "get_vocabulary") else plain.bin_boundaries
    assert list(found[1][1]) == list(expected)


def test_an_update_of_a_subclass_may_change_the_data():
    class Upper(tfkit.layers.TextVectorization):
        def update_state(self, data):
            super().update_state(tf.strings.join([data, " extra"]))

    layer = Upper()
    layer.adapt(WORDS)
    assert "extra" in layer.get_vocabulary()


def test_an_adaptation_that_fails_keeps_the_vocabulary():
    class Failing(tfkit.layers.StringLookup):
        fails = False

        def finalize_state(self):
            super().finalize_state()
            if self.fails:
                raise RuntimeError("no")

    layer = Failing()
    layer.adapt(["a", "b"])
    layer.fails = True
    with pytest.raises(RuntimeError, match="no"):
        layer.adapt(["c"])
    assert layer.get_vocabulary() == ["[UNK]", "b", "a"]


def test_normalization_finalizes_its_state():
    for k in (keras, tfkit):
        calls = []

        class Mine(k.layers.Normalization):
            def finalize_state(self, calls=calls):
                super().finalize_state()
                calls.append(np.asarray(self.mean).ravel().round(3).tolist())

        Mine().adapt(ROWS)
        assert calls[-1] == ROWS.mean(axis=0).round(3).tolist()
        before = len(calls)
        Mine(mean=[1.0] * 4, variance=[1.0] * 4).build((None, 4))
        assert len(calls) == before


# --- Optimizers -----------------------------------------------------------------------------------------


def trained(k, optimizer):
    model = k.Sequential([k.Input((4,)), k.layers.Dense(1, kernel_initializer="ones")])
    model.compile(optimizer, "mse")
    model.fit(ROWS, TARGETS, batch_size=4, epochs=2, shuffle=False, verbose=0)
    return model


def test_decay_and_learning_rate_of_a_subclass():
    weights = []
    for k in (keras, tfkit):

        class Mine(k.optimizers.Adam):
            def _get_current_learning_rate(self):
                return super()._get_current_learning_rate() * 3

            def _apply_weight_decay(self, variables):
                for variable in variables:
                    variable.assign(variable * 0.9)

        class Selective(k.optimizers.AdamW):
            def _use_weight_decay(self, variable):
                return len(variable.shape) == 2

        optimizers = Mine(0.01), Selective(0.01, weight_decay=0.5)
        weights.append([w for it in optimizers for w in trained(k, it).get_weights()])
    for ours, theirs in zip(weights[1], weights[0], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("ending", ["keras", "h5"])
def test_an_optimizer_stores_itself(ending, tmp_path):
    class Stored(tfkit.optimizers.Adam):
        def __init__(self, *args, extra=0.0, **kwargs):
            super().__init__(*args, **kwargs)
            self.extra = extra

        def save_own_variables(self, store):
            super().save_own_variables(store)
            store["extra"] = np.asarray(7.0)

        def load_own_variables(self, store):
            store = dict(store)
            self.extra = float(store.pop("extra"))
            super().load_own_variables(store)

    model = trained(tfkit, Stored(0.01))
    path = tmp_path / f"model.{ending}"
    model.save(path)
    loaded = tfkit.models.load_model(path, custom_objects={"Stored": Stored})
    assert loaded.optimizer.extra == 7.0
    for ours, theirs in zip(loaded.optimizer.variables, model.optimizer.variables, strict=True):
        np.testing.assert_array_equal(ours, theirs)

    class Refusing(Stored):
        def load_own_variables(self, store):
            raise ValueError("not mine")

    with pytest.raises(ValueError, match="not mine"):
        tfkit.models.load_model(path, custom_objects={"Stored": Refusing})


# --- Callbacks, layers and models ---------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:__array__:DeprecationWarning")  # In Keras.
def test_a_checkpoint_saves_as_a_subclass_says(tmp_path):
    for k in (keras, tfkit):
        calls = []

        class Mine(k.callbacks.ModelCheckpoint):
            def _save_model(self, epoch, batch, logs, calls=calls):
                calls.append((epoch, batch))
                super()._save_model(epoch, batch, logs)

            def _should_save_model(self, epoch, batch, logs, filepath):
                return epoch == 1 and super()._should_save_model(epoch, batch, logs, filepath)

            def _get_file_path(self, epoch, batch, logs, k=k):
                return str(tmp_path / f"{k.__name__}_{epoch}.keras")

        model = k.Sequential([k.Input((4,)), k.layers.Dense(1)])
        model.compile("sgd", "mse")
        callback = Mine(str(tmp_path / "model.keras"))
        model.fit(ROWS, TARGETS, epochs=2, verbose=0, callbacks=[callback])
        assert calls == [(0, None), (1, None)]
        assert [path.name for path in tmp_path.glob(f"{k.__name__}*")] == [f"{k.__name__}_1.keras"]


def test_a_layer_that_describes_its_outputs_is_built_by_a_symbolic_call():
    """Overrides of both methods may call `super()`; they were an endless recursion, and made no weights."""

    class Described(tfkit.layers.Dense):
        def compute_output_shape(self, *args, **kwargs):
            return super().compute_output_shape(*args, **kwargs)

        def compute_output_spec(self, *args, **kwargs):
            return super().compute_output_spec(*args, **kwargs)

    layer = Described(3)
    assert layer(tfkit.Input((4,))).shape == (None, 3)
    assert len(layer.weights) == 2
    assert Described(3).compute_output_shape((2, 4)) == (2, 3)

    class Pair(tfkit.layers.MultiHeadAttention):
        def build(self, **shapes):
            super().build(**shapes)

    assert len(Pair(2, 4)(X, X).shape) == 3


def test_class_attributes_count():
    class Masking(tfkit.layers.Layer):
        supports_masking = True
        input_spec = tfkit.layers.InputSpec(ndim=3)

        def call(self, inputs):
            return inputs

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        masked = Masking()(tfkit.layers.Masking()(X))
    assert masked._keras_mask is not None
    with pytest.raises(ValueError, match="expected ndim=3"):
        Masking()(ROWS)


@pytest.mark.parametrize("k", [keras, tfkit])
def test_a_model_runs_as_its_property_says(k):
    eager = []

    class Mine(k.Sequential):
        @property
        def run_eagerly(self):
            return True

        @run_eagerly.setter
        def run_eagerly(self, value):
            pass

        def train_step(self, data):
            eager.append(tf.executing_eagerly())
            return super().train_step(data)

    model = Mine([k.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(ROWS, TARGETS, batch_size=4, verbose=0)
    assert eager == [True, True]


@pytest.mark.parametrize("k", [keras, tfkit])
def test_a_functional_model_is_built(k):
    class Mine(k.Model):
        def __init__(self):
            inputs = k.Input((4,))
            super().__init__(inputs, k.layers.Dense(1)(inputs))

        def build(self, input_shape):
            self.extra = self.add_weight(shape=(), name="extra")
            super().build(input_shape)

    assert len(Mine().weights) == 3


@pytest.mark.parametrize("k", [keras, tfkit])
def test_metrics_and_quantization_of_a_layer_are_its_own(k):
    class Mine(k.layers.Layer):
        modes = ()

        def __init__(self):
            super().__init__()
            self.mean = k.metrics.Mean(name="hidden")

        @property
        def metrics(self):
            return []

        def quantize(self, mode, type_check=True, config=None):
            self.modes = (*self.modes, mode)

        def call(self, inputs):
            return inputs

    model = k.Sequential([k.Input((4,)), Mine()])
    model.compile("sgd", "mse")
    assert list(model.evaluate(ROWS, ROWS, verbose=0, return_dict=True)) == ["loss"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras warns of the `InputLayer`.
        model.quantize("int8")
    assert model.layers[0].modes == ("int8",)


def test_a_subclass_with_a_configuration_of_its_own_is_made_again():
    class Dropping(tfkit.layers.SpatialDropout1D):
        def get_config(self):
            return super().get_config()

    class Penalty(tfkit.layers.ActivityRegularization):
        def get_config(self):
            return super().get_config()

    assert Dropping.from_config(Dropping(0.3).get_config()).rate == 0.3
    assert Penalty.from_config(Penalty(l1=0.5).get_config()).l1 == 0.5


@pytest.mark.parametrize(
    ("layer", "arguments", "name", "shape", "x"),
    [
        ("Embedding", (3, 2), "embeddings", (3, 2), np.array([[1]])),
        ("ReversibleEmbedding", (3, 2), "embeddings", (3, 2), np.array([[1]])),
        ("Conv1D", (2, 2), "kernel", (2, 3, 2), np.ones((2, 5, 3), "float32")),
        ("Conv2D", (2, 2), "kernel", (2, 2, 3, 2), np.ones((2, 5, 5, 3), "float32")),
        ("DepthwiseConv2D", (2,), "kernel", (2, 2, 3, 1), np.ones((2, 5, 5, 3), "float32")),
        ("Conv2DTranspose", (2, 2), "kernel", (2, 2, 2, 3), np.ones((2, 5, 5, 3), "float32")),
    ],
)
def test_a_weight_may_be_a_property_that_is_only_read(layer, arguments, name, shape, x):
    def run(k):
        def build(self, input_shape=None):
            self.mine = self.add_weight(shape=shape, initializer="ones")
            self.built = True

        own = {name: property(lambda self: self.mine * 2.0), "build": build}
        made = type("Mine", (getattr(k.layers, layer),), own)
        options = {} if layer.endswith("Embedding") else {"use_bias": False}
        return made(*arguments, **options)(x)

    np.testing.assert_array_equal(run(tfkit), run(keras))


# --- Methods that are never called --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "name", "instead"),
    [
        (tfkit.Model, "_get_own_losses", "losses"),
        (tfkit.Sequential, "_get_own_losses", "losses"),
        (tfkit.optimizers.Adam, "_backend_apply_gradients", "apply"),
        (tfkit.optimizers.Optimizer, "_backend_update_step", "apply"),
        (tfkit.optimizers.Adam, "assign_sub", "update_step"),
        (tfkit.layers.Conv1D, "_compute_causal_padding", "call"),
        (tfkit.layers.MultiHeadAttention, "_compute_causal_mask", "_compute_attention_mask"),
        (tfkit.callbacks.EarlyStopping, "_set_monitor_op", "on_epoch_end"),
        (tfkit.metrics.RecallAtPrecision, "_find_max_under_constraint", "result"),
        (tfkit.optimizers.schedules.CosineDecay, "_decay_function", "__call__"),
        (tfkit.layers.RandomFlip, "_flip_inputs", "transform_images"),
    ],
)
def test_a_method_that_is_never_called_is_named(base, name, instead):
    with pytest.warns(UserWarning, match=f"`Mine.{name}` has no effect.*Override `{instead}` inst"):
        made = type(base)("Mine", (base,), {name: lambda self: None, "__module__": "user"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # A class below says it no more.
        type(base)("Below", (made,), {"__module__": "user"})

    class Mixin:
        pass

    setattr(Mixin, name, lambda self: None)
    with pytest.warns(UserWarning, match=f"`Mixed.{name}` has no effect"):
        type(base)("Mixed", (Mixin, base), {"__module__": "user"})


def test_correct_use_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        class Own(tfkit.layers.Dense):
            """The name is one of another class of Keras's, or a method that the class itself calls."""

            def _moments(self, inputs):
                return inputs

            def _get_own_losses(self):
                return 0.0

            def call(self, inputs):
                return super().call(inputs) + (lambda: self._get_own_losses())()

        class Attributes(tfkit.layers.Layer):
            _lock_state = None

        class Steps(tfkit.optimizers.Optimizer):
            def assign_sub(self, variable, value):
                super().assign_sub(variable, value)

    assert Own
    assert Attributes
    assert Steps
    assert len(NEVER_CALLED) > 50


# --- What files and symbolic calls leave to a subclass --------------------------------------------------


class Scaled:
    """Makes a weight in `build`, for layers that need none."""

    def build(self, input_shape):
        self.scale = self.add_weight(shape=(), initializer="ones", name="scale")

    def call(self, inputs):
        return tf.cast(super().call(inputs), "float32") * self.scale


@pytest.mark.parametrize(
    ("name", "arguments", "inputs"),
    [
        ("CategoryEncoding", {"num_tokens": 4}, [[1, 2]]),
        ("Hashing", {"num_bins": 3}, [["a"], ["b"]]),
    ],
)
def test_a_symbolic_call_builds_a_preprocessing_layer_with_a_build_of_its_own(
    name, arguments, inputs
):
    cls = type("Mine", (Scaled, getattr(tfkit.layers, name)), {"__module__": "user"})
    x = tf.constant(inputs)
    symbolic = tfkit.Input(x.shape[1:], dtype=x.dtype.name)
    model = tfkit.Model(symbolic, cls(**arguments)(symbolic))
    assert [weight.name for weight in model.weights] == ["scale"]
    assert model.predict(x, verbose=0).shape == (len(inputs), *model.output_shape[1:])


@pytest.mark.parametrize("inner", ["SGD", "Adam"])
@pytest.mark.parametrize("ending", ["keras", "h5"])
def test_an_optimizer_that_stores_itself_is_loaded_before_it_has_slots(tmp_path, inner, ending):
    class Mine(tfkit.optimizers.LossScaleOptimizer):
        def save_own_variables(self, store):
            super().save_own_variables(store)

    model = tfkit.Sequential([tfkit.Input((4,)), tfkit.layers.Dense(1)])
    model.compile(Mine(getattr(tfkit.optimizers, inner)(0.1)), "mse")
    model.fit(ROWS, TARGETS, verbose=0)
    model.save(path := str(tmp_path / f"m.{ending}"))
    loaded = tfkit.models.load_model(path, custom_objects={"Mine": Mine})
    for value, expected in zip(loaded.optimizer.variables, model.optimizer.variables, strict=True):
        np.testing.assert_array_equal(value, expected)


def test_a_layer_of_tfkit_may_store_something_else_in_files_of_keras(tmp_path):
    class Bins(tfkit.layers.Discretization):
        def save_own_variables(self, store):
            store["seen"] = np.array(7)

        def load_own_variables(self, store):
            self.seen = int(store["seen"][()])

    class Words(tfkit.layers.StringLookup):
        def load_assets(self, dir_path):
            super().load_assets(dir_path)
            self.folder = str(dir_path)

    x, words = tfkit.Input((1,)), tfkit.Input((1,), dtype="string")
    lookup = Words(name="words")
    lookup.adapt(["a", "b"])
    outputs = [Bins(bin_boundaries=[0.0], name="bins")(x), lookup(words)]
    tfkit.Model([x, words], outputs).save(path := str(tmp_path / "m.keras"))
    loaded = tfkit.models.load_model(path, custom_objects={"Bins": Bins, "Words": Words})
    assert loaded.get_layer("bins").seen == 7
    assert loaded.get_layer("words").folder
    assert loaded.get_layer("words").get_vocabulary() == ["[UNK]", "b", "a"]


def test_hooks_of_a_list_of_callbacks_are_called():
    class Counting(tfkit.callbacks.CallbackList):
        count = 0

        def on_train_batch_end(self, batch, logs=None):
            self.count += 1

    model = tfkit.Sequential([tfkit.Input((4,)), tfkit.layers.Dense(1)])
    model.compile("sgd", "mse")
    callbacks = Counting(add_history=True, model=model)
    model.fit(ROWS, TARGETS, batch_size=2, callbacks=callbacks, verbose=0)
    assert callbacks.count == 4


def test_shapes_of_a_wrapper_are_asked_for_while_its_model_is_cloned():
    class Twice(tfkit.layers.Wrapper):
        def call(self, x):
            return 2 * self.layer(x)

        def compute_output_shape(self, input_shape):
            return super().compute_output_shape(input_shape)

        def compute_output_spec(self, *args, **kwargs):
            return super().compute_output_spec(*args, **kwargs)

    model = tfkit.Sequential([tfkit.Input((4,)), Twice(tfkit.layers.Dense(3))])
    with tfkit.saving.CustomObjectScope({"Twice": Twice}):
        assert tfkit.models.clone_model(model).output_shape == (None, 3)
