"""What is assigned under any name is tracked, trained and saved, or refused at the assignment."""

import copy
import dataclasses
import inspect
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers
from tfkit.src.base import members

# Legal names that belong to the user, whatever they begin with.
_FREE = """
    _self_ _self_attention _self_x _self_unconditional_layer _self_extra_variables _self_trainable _name_
    _name_embedding _name_scopes _scope_name _scope_names _names _tfkit_ _tfkit_head _tfkits _tfkit_layer
    _keras _keras_history _keras_mask _tf_head _tf_module _saveable _saveable_objects _unconditional_x
    _layers _metrics _losses _weights _trainable_variables _non_trainable _dtype _build _call _built _input
    _output _outbound_nodes _tracker _lock _variables _seed_generators _optimizer _loss _state _states
    _cell _x __x ___x x_ _ __private __d__ X Layer input_names kernel
    bias units self names values items keys update dense attention cell größe 注意 é Ω٢ class_ lambda_
    _compile_metrics metrics_ layers_ weights_ call_ built_ name_ dtype_ losses_ optimizer_ loss_
    _self_attention_0 _name0 _scope_name_0 _tfkit0 module attr path_ submodules_ state head body tail
"""
# Names of methods: they can be replaced, as in Keras.
_METHODS = "build call add_weight add_loss get_config save summary fit train_step compute_mask"
# Names that mean something to TensorFlow or tfkit.
_TAKEN = """
    _name _name_scope _self_setattr_tracking _self_unconditional_checkpoint_dependencies
    _self_unconditional_dependency_names _self_unconditional_deferred_dependencies _self_name_based_restores
    _self_update_uid _self_saveable_object_factories _setattr_tracking _trackable_children
    _unconditional_checkpoint_dependencies _checkpoint_dependencies _tfkit _tfkit_members _tfkit_stack
    _tfkit_states _tfkit_graph _tfkit_metrics _tfkit_loss_tracker _tfkit_known_outputs _trainable
    _dtype_policy _inbound_nodes weights trainable_weights non_trainable_weights variables
    trainable_variables losses metrics metrics_variables dtype dtype_policy compute_dtype variable_dtype
    input_dtype built name path
    input output submodules name_scope trainable supports_masking autocast input_spec
"""
_TAKEN_IN_MODELS = """
    layers optimizer loss compiled history stop_training run_eagerly jit_compile steps_per_execution
    inputs outputs input_shape output_shape output_names operations metrics_names
"""
FREE, METHODS, TAKEN, TAKEN_IN_MODELS = (
    it.split() for it in (_FREE, _METHODS, _TAKEN, _TAKEN_IN_MODELS)
)


@dataclasses.dataclass
class Box:
    """A dataclass that holds a layer in a field with a private name."""

    _self_head: object


def module_with(member):
    module = tf.Module()
    module._self_head = member
    return module


def same(member):
    return member


CONTAINERS = {
    "layer": (same, same),
    "list": (lambda it: [it], lambda held: held[0]),
    "dict": (lambda it: {"a": (it,)}, lambda held: held["a"][0]),
    "dataclass": (Box, lambda held: held._self_head),
    "module": (module_with, lambda held: held._self_head),
}


class Plain(layers.Layer):
    def __init__(self):
        super().__init__()

    def call(self, inputs):
        return inputs


class PlainModel(tfkit.Model):
    def __init__(self):
        super().__init__()

    def call(self, inputs):
        return inputs


def small_layer():
    layer = Plain()
    layer._self_w = tf.Variable(0.0)
    return layer


# What makes a member, and what returns its variables.
KINDS = {
    "variable": (lambda: tf.Variable(0.0), lambda it: [it]),
    "tfkit variable": (lambda: tfkit.Variable(0.0), lambda it: [it]),
    "seed": (lambda: tfkit.random.SeedGenerator(1), lambda it: [it.state]),
    "metric": (tfkit.metrics.Mean, lambda it: it.variables),
    **{
        kind: (
            lambda wrap=wrap: wrap(small_layer()),
            lambda it, unwrap=unwrap: [unwrap(it)._self_w],
        )
        for kind, (wrap, unwrap) in CONTAINERS.items()
    },
}


def held(owner):
    return {id(it) for it in [*owner.variables, *owner.weights, *owner.metrics_variables]}


@pytest.mark.parametrize("kind", [*KINDS, "weight"])
@pytest.mark.parametrize("cls", [Plain, PlainModel])
def test_a_name_of_the_users_is_tracked(cls, kind):
    owner, expected = cls(), {}
    for name in FREE:
        if kind == "weight":
            value = owner.add_weight(shape=())
            variables = [value]
        else:
            make, variables_of = KINDS[kind]
            value = make()
            variables = variables_of(value)
        setattr(owner, name, value)
        expected |= {id(it): name for it in variables}
    found = held(owner)
    assert [name for it, name in expected.items() if it not in found] == []
    paths = [path.partition("/")[0] for path, _ in owner._tfkit_members()]
    assert paths == FREE


@pytest.mark.parametrize("cls", [Plain, PlainModel])
def test_a_method_can_be_replaced_as_in_keras(cls):
    for name in METHODS:
        owner, layer = cls(), small_layer()
        setattr(owner, name, layer)
        assert owner.weights == [layer._self_w]


@pytest.mark.parametrize("cls", [Plain, PlainModel])
def test_a_name_that_is_taken_is_refused_and_nothing_changes(cls):
    owner, values = cls(), [make() for make, _ in KINDS.values()]
    before = dict(vars(owner))
    for name in TAKEN + (TAKEN_IN_MODELS if cls is PlainModel else []):
        for value in values:
            with pytest.raises(AttributeError, match=rf"`(\w+\.)?{name}`.*(Choose|reserved)"):
                setattr(owner, name, value)
    assert vars(owner) == before
    assert owner.weights == []


def test_a_name_that_is_taken_is_refused_before_the_constructor_has_run():
    class Early(layers.Layer):
        def __init__(self):
            self._name = layers.Dense(2)
            super().__init__()

    with pytest.raises(AttributeError, match="`_name` of Early cannot hold a Dense"):
        Early()


def test_a_property_of_the_users_is_set():
    class Own(layers.Layer):
        @property
        def head(self):
            return self._self_head

        @head.setter
        def head(self, value):
            self._self_head = value

        @property
        def weights(self):
            return self._name_weights

        @weights.setter
        def weights(self, value):
            self._name_weights = value

    own = Own()
    own.head, own.weights = layers.Dense(2), [layers.Dense(3)]
    assert [path for path, _ in own._tfkit_members()] == ["_self_head", "_name_weights/0"]


@tfkit.saving.register_keras_serializable("names")
class Tower(layers.Layer):
    """A layer for each name, held under it."""

    def __init__(self, kind, names, **kwargs):
        super().__init__(**kwargs)
        self.how = kind
        wrap, self._unwrap = CONTAINERS[kind]
        self._count = len(names)
        for index, name in enumerate(names):
            setattr(self, name, wrap(layers.Dense(2, name=f"dense_{index}")))
        # After the members, so that a copy of the list is no attribute that a test could replace.
        object.__setattr__(self, "the_names", list(names))

    def call(self, inputs):
        return tf.add_n([self._unwrap(getattr(self, name))(inputs) for name in self.the_names])


@tfkit.saving.register_keras_serializable("names")
class TowerModel(Tower, tfkit.Model):
    """The same as a model."""


def made(cls, kind, names):
    model = cls(kind, names)
    if cls is Tower:
        model = tfkit.Sequential([tfkit.Input((2,)), model])
    model.compile(tfkit.optimizers.SGD(1e-4), "mse")
    return model


X = np.random.default_rng(0).normal(size=(4, 2)).astype("float32")


def check_weights(model, expected):
    assert len(model.weights) == len(expected)
    for value, other in zip(model.get_weights(), expected, strict=True):
        np.testing.assert_array_equal(value, other)


@pytest.mark.parametrize(
    ("cls", "kind"), [(Tower, "layer"), *((TowerModel, kind) for kind in CONTAINERS)]
)
def test_members_of_all_names_are_trained_and_saved(cls, kind, tmp_path):
    names = FREE[:: 4 if (cls, kind) == (TowerModel, "layer") else 16]
    model = made(cls, kind, names)
    model(X)
    before = model.get_weights()
    assert len(before) == 2 * len(names)
    model.fit(X, np.ones_like(X), verbose=0)
    trained = model.get_weights()
    kernels = [(old, new) for old, new in zip(before, trained, strict=True) if old.ndim == 2]
    assert all(not np.array_equal(old, new) for old, new in kernels)

    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        check_weights(copied, trained)
    for file in ("model.h5", "model.keras"):
        model.save(tmp_path / file)
        check_weights(tfkit.models.load_model(tmp_path / file), trained)
    for file in ("model.weights.h5", "model.safetensors"):
        model.save_weights(tmp_path / file)
        other = made(cls, kind, names)
        other.build((None, 2))
        other.load_weights(tmp_path / file)
        check_weights(other, trained)
    tf.train.Checkpoint(model=model).write(str(tmp_path / "checkpoint"))
    other = made(cls, kind, names)
    other.build((None, 2))
    tf.train.Checkpoint(model=other).read(str(tmp_path / "checkpoint")).expect_partial()
    check_weights(other, trained)


def test_an_attribute_that_a_program_sets_later_is_copied_under_any_name():
    layer = layers.Dense(2)
    layer._name_prefix, layer._self_scale, layer._tfkits = "a", 2.0, [1]
    copied = copy.deepcopy(layer)
    assert (copied._name_prefix, copied._self_scale, copied._tfkits) == ("a", 2.0, [1])


def test_a_failed_build_undoes_attributes_of_any_name():
    class Fails(layers.Layer):
        def build(self, input_shape):
            self._self_attention = layers.Dense(2)
            self._self_attention.build(input_shape)
            raise ValueError("no")

        def call(self, inputs):
            return inputs

    layer = Fails()
    with pytest.raises(ValueError, match="no"):
        layer(X)
    assert not hasattr(layer, "_self_attention")
    assert layer.weights == []


def test_variables_of_metrics_have_any_name():
    class Counts(tfkit.metrics.Metric):
        def __init__(self):
            super().__init__(name="counts")
            self._self_count = self.add_weight(name="c")
            self._name_sum = tf.Variable(0.0)

        def update_state(self, *args, **kwargs):
            self._self_count.assign_add(1.0)

        def result(self):
            return self._self_count

    metric = Counts()
    metric.update_state()
    assert len(metric.variables) == 2
    assert copy.deepcopy(metric)._self_count.numpy() == 1.0
    from tfkit.src.metrics.named_variables import named_variables

    assert list(named_variables(metric)) == ["_self_count", "_name_sum"]


# --- The exact names ------------------------------------------------------------------------------


def test_the_names_are_those_of_this_tensorflow():
    module = tf.Module()
    module.variable = tf.Variable(0.0)
    tf.train.Checkpoint(module=module)
    assert vars(module).keys() - {"variable"} == members.TENSORFLOWS


def test_the_names_are_those_of_tfkit():
    names = set()
    for file in Path(inspect.getfile(tfkit)).parent.glob("src/**/*.py"):
        if file.parts[-2] not in ("optimizers", "losses"):
            source = file.read_text()
            names |= set(
                re.findall(r"\b(?:self|layer|model|each)\.(_tfkit\w*)(?:: [^=\n]+)? = ", source)
            )
            names |= set(re.findall(r"_tfkit_set\(\"(_tfkit\w*)\"", source))
            names |= set(re.findall(r"object.__setattr__\(\w+, \"(_tfkit\w*)\"", source))
            names |= set(re.findall(r"setdefault\(\"(_tfkit\w*)\"", source))
    assert names - {"_tfkit_call_in_phases"} == members.OWN  # The former: of `DirectCalls`.
