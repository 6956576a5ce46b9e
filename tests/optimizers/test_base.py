"""What all optimizers share: learning rate, clipping, accumulation, averages, constraints, errors."""

import copy
import pickle
import sys
import traceback

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.optimizers import oracle
from tests.tolerances import eps
from tfkit import optimizers
from tfkit.src.optimizers import adam, compiling

every_mode = pytest.mark.parametrize("mode", ["eager", "graph", "xla"])

SHARED_OPTIONS = [
    {"clipnorm": 0.5},
    {"clipvalue": 0.3},
    {"global_clipnorm": 0.5},
    {"weight_decay": 0.1},
    {"loss_scale_factor": 4.0},
    {"use_ema": True},
    {"use_ema": True, "ema_momentum": 0.5, "ema_overwrite_frequency": 3},
    {"gradient_accumulation_steps": 3},
    {"gradient_accumulation_steps": 2, "clipnorm": 0.5, "weight_decay": 0.1},
    {"gradient_accumulation_steps": 2, "use_ema": True, "ema_overwrite_frequency": 2},
]


@every_mode
@pytest.mark.parametrize("options", SHARED_OPTIONS, ids=str)
def test_shared_options_equal_keras(options, mode):
    steps = oracle.gradients(10)
    ours = optimizers.Adam(0.01, **options)
    theirs = keras.optimizers.Adam(0.01, **options)
    variables, keras_variables = oracle.run(ours, steps, mode), oracle.run_keras(theirs, steps)
    oracle.assert_same(variables, keras_variables)
    oracle.assert_same(ours.variables, theirs.variables)
    assert [v.path.split("/")[1] for v in ours.variables] == [
        v.path.split("/")[1] for v in theirs.variables
    ]
    ours.finalize_variable_values(variables)
    theirs.finalize_variable_values(keras_variables)
    oracle.assert_same(variables, keras_variables)


@every_mode
def test_micro_batches_equal_one_batch(mode):
    micro = oracle.gradients(12)
    whole = [
        [np.mean(column, axis=0) for column in zip(*micro[i : i + 4], strict=True)]
        for i in range(0, 12, 4)
    ]
    accumulating = optimizers.Adam(0.1, gradient_accumulation_steps=4)
    by_micro_batches = oracle.run(accumulating, micro, mode)
    oracle.assert_same(by_micro_batches, oracle.run(optimizers.Adam(0.1), whole))
    assert int(accumulating.iterations) == 3


@pytest.mark.parametrize("name", ["adagrad", "ftrl", "lion"])
def test_accumulation_leaves_the_slots_alone(name):
    micro = oracle.gradients(6)
    whole = [
        [np.mean(pair, axis=0) for pair in zip(*micro[i : i + 2], strict=True)] for i in (0, 2, 4)
    ]
    options = {"learning_rate": 0.1, "weight_decay": 0.05}
    accumulating = {**options, "gradient_accumulation_steps": 2}
    make = lambda module, config: module.get({"class_name": name, "config": config})  # noqa: E731
    variables = oracle.run(make(optimizers, accumulating), micro)
    oracle.assert_same(variables, oracle.run(make(optimizers, options), whole))
    oracle.assert_same(variables, oracle.run_keras(make(keras.optimizers, accumulating), micro))


@pytest.mark.parametrize(
    "options",
    [
        {"loss_scale_factor": 4.0},
        {"global_clipnorm": 0.5, "weight_decay": 0.1},
        {"gradient_accumulation_steps": 2, "clipvalue": 0.3},
    ],
    ids=str,
)
@pytest.mark.parametrize("scaled", [False, True])
def test_gradients_that_overwrite_equal_keras(options, scaled):
    if scaled and "loss_scale_factor" in options:
        options = {}  # The wrapper scales.
    steps, results = oracle.gradients(4), []
    for module, make in (
        (optimizers, oracle.make_variables),
        (keras.optimizers, oracle.make_keras_variables),
    ):
        optimizer, variables = module.SGD(0.5, **options), make()
        if scaled:
            optimizer = module.LossScaleOptimizer(optimizer)
        variables[1].overwrite_with_gradient = True
        for step in steps:
            optimizer.apply([tf.constant(g) for g in step], variables)
        results.append(variables)
    oracle.assert_same(*results)
    if not options:
        oracle.assert_same([results[0][1]], [steps[-1][1]])


def test_weight_that_gradients_overwrite_in_fit():
    class Amax(tfkit.layers.Layer):
        def build(self, shape):
            self.amax = self.add_weight(shape=(), initializer="ones", overwrite_with_gradient=True)

        def call(self, x):
            return x * self.amax

    model = tfkit.Sequential([tfkit.Input((1,)), Amax()])
    model.compile(optimizers.SGD(0.1), "mse")
    model.fit(np.full((4, 1), 2.0), np.zeros((4, 1)), verbose=0)
    assert float(model.layers[0].amax) == 8.0  # d mean((2 a)^2) / da at 1


def test_large_updates_are_compiled_and_the_same(monkeypatch):
    steps = oracle.gradients(5)
    in_operations = oracle.run(optimizers.Adam(0.1), steps, "graph")
    monkeypatch.setattr(compiling, "MIN_NUMBERS", 1)
    options = ({}, {"gradient_accumulation_steps": 1 + 1})
    oracle.assert_same(oracle.run(optimizers.Adam(0.1), steps, "graph"), in_operations)
    for option in options:
        compiled = oracle.run(optimizers.Adam(0.1, **option), steps, "graph")
        oracle.assert_same(compiled, oracle.run(optimizers.Adam(0.1, **option), steps))

    optimizer, variables = optimizers.Adam(), oracle.make_variables()
    update = tf.function(lambda: optimizer.apply([tf.ones_like(v) for v in variables], variables))
    assert "_XlaMustCompile" in str(update.get_concrete_function().graph.as_graph_def())


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {}),
        ("SGD", {"momentum": 0.9, "nesterov": True}),
        ("SGD", {"clipnorm": 0.5}),
        ("SGD", {"global_clipnorm": 0.5}),
        ("Adam", {}),
        ("Adam", {"global_clipnorm": 0.5}),
        ("Adagrad", {"global_clipnorm": 0.5}),
        ("SGD", {"gradient_accumulation_steps": 2, "weight_decay": 0.1}),
        ("Adam", {"amsgrad": True, "clipvalue": 0.2}),
        ("Adam", {"gradient_accumulation_steps": 2}),
        ("RMSprop", {"centered": True, "momentum": 0.5, "epsilon": 1e-2}),
        ("Adadelta", {}),
        ("Adagrad", {}),
        ("Adamax", {}),
        ("Adafactor", {}),
        ("Ftrl", {}),
        ("Lamb", {}),
        ("Lion", {}),
        ("Nadam", {}),
    ],
)
@pytest.mark.parametrize("jit_compile", [None, False, True], ids=["eager", "graph", "xla"])
def test_sparse_gradients_with_repeated_rows_equal_keras(name, options, jit_compile):
    ours = getattr(optimizers, name)(0.1, **options)
    theirs = getattr(keras.optimizers, name)(0.1, **options)
    start = np.arange(8, dtype="float32").reshape(4, 2) / 4
    variable, keras_variable = tf.Variable(start), keras.Variable(start)
    values, indices = tf.constant([[1.0, 2.0], [3.0, -4.0], [5.0, 6.0]]), tf.constant([1, 1, 3])

    def step(values, indices):
        ours.apply([tf.IndexedSlices(values, indices, tf.constant([4, 2]))], [variable])

    if jit_compile is not None:
        step = tf.function(step, jit_compile=jit_compile)
    for i in range(6):
        step(values * (i - 2), indices)
        gradient = tf.IndexedSlices(values * (i - 2), indices, tf.constant([4, 2]))
        theirs.apply([gradient], [keras_variable])
    oracle.assert_same([variable], [keras_variable])
    oracle.assert_same(ours.variables, theirs.variables)


def test_rows_as_lists():
    w, dense = tf.Variable(tf.ones((3, 2))), tf.Variable(tf.ones((3, 2)))
    rows = tf.IndexedSlices(values=np.ones((2, 2), "float32"), indices=(0, 2), dense_shape=(3, 2))
    for variable, gradient in (
        (w, rows),
        (dense, tf.constant([[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]])),
    ):
        optimizers.Adam(0.5, global_clipnorm=1.0).apply([gradient], [variable])
    oracle.assert_same([w], [dense])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("option", ["clipnorm", "global_clipnorm"])
def test_norms_are_computed_in_32_bits_at_least(option, dtype):
    """The square of 300 is infinite in float16."""
    w = tf.Variable(tf.zeros(2, dtype))
    gradient = tf.constant([300.0, 400.0], dtype)
    optimizers.SGD(1.0, **{option: 1.0}).apply([gradient], [w])
    expected = tf.cast(-np.array([300.0, 400.0]) / 500, dtype)
    np.testing.assert_allclose(tf.cast(w, "float64"), tf.cast(expected, "float64"), 2 * eps(dtype))


def test_assigned_learning_rate_reaches_compiled_programs():
    optimizer, w = optimizers.SGD(0.5), tf.Variable(1.0)
    step = tf.function(lambda: optimizer.apply([tf.constant(1.0)], [w]), jit_compile=True)
    step()
    optimizer.learning_rate = 0.25
    step()
    assert float(w) == 0.25
    assert step.experimental_get_tracing_count() == 1


def test_learning_rate_in_arithmetic_equals_keras():
    results = []
    for module in (optimizers, keras.optimizers):
        optimizer = module.Adam(0.5)
        rate = optimizer.learning_rate
        numbers = [
            rate.value,
            rate * 0.5,
            1 - rate,
            rate**2,
            float(rate),
            rate / (1 + optimizer.iterations),
        ]
        optimizer.learning_rate = rate * 0.5
        numbers += [optimizer.learning_rate.value * 4, optimizer.learning_rate.numpy()]
        optimizer.learning_rate = module.Adam(0.125).learning_rate.value
        numbers += [optimizer.learning_rate, optimizer.iterations.value + 1]
        results.append([float(it) for it in numbers])
    assert results[0] == results[1]


def test_learning_rate_of_a_schedule_cannot_be_assigned():
    schedule = optimizers.schedules.ExponentialDecay(0.1, 5, 0.5)
    optimizer = optimizers.SGD(schedule)
    with pytest.raises(TypeError, match=r"Received: 0\.5\. Make the optimizer with a float"):
        optimizer.learning_rate = 0.5
    optimizer = optimizers.SGD(0.1)
    optimizer.learning_rate = schedule
    assert [v.label for v in optimizer.variables] == ["iteration"]
    assert float(optimizer.learning_rate) == pytest.approx(0.1)


def test_learning_rate_from_a_function():
    rate = tf.Variable(0.5)
    optimizer, w = optimizers.SGD(lambda: rate), tf.Variable(1.0)
    optimizer.apply([tf.constant(1.0)], [w])
    rate.assign(0.25)
    optimizer.apply([tf.constant(1.0)], [w])
    assert float(w) == 0.25


def test_constraints_are_applied_after_the_update():
    w = tf.Variable([1.0, -1.0], constraint=tf.nn.relu)
    optimizers.SGD(0.5).apply([tf.constant([1.0, 1.0])], [w])
    assert w.numpy().tolist() == [0.5, 0.0]


def test_constraint_that_is_set_later():
    w = tfkit.Variable([1.0, -1.0])
    optimizer = optimizers.SGD(0.5)
    optimizer.apply([tf.constant([0.0, 0.0])], [w])
    w.constraint = tfkit.constraints.NonNeg()
    optimizer.apply([tf.constant([1.0, 1.0])], [w])
    assert w.numpy().tolist() == [0.5, 0.0]


def test_set_weights():
    x, steps = oracle.make_variables(), oracle.gradients(1)
    first, second = optimizers.Adam(), optimizers.Adam()
    first.apply([tf.constant(g) for g in steps[0]], x)
    with pytest.raises(ValueError, match=r"You are calling `set_weights\(\)`.*build\("):
        second.set_weights(first.variables)
    second.build(x)
    for wrong, message in (
        (first.variables[:-1], "8 variables. Received: 7 values"),
        (
            [*first.variables[:-1], np.zeros(7)],
            r"_velocity' has shape \(\).* shape \(7,\)",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            second.set_weights(wrong)
        assert int(second.iterations) == 0
    second.set_weights([v.numpy() for v in first.variables])
    oracle.assert_same(second.variables, first.variables)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
@pytest.mark.parametrize("name", ["adam", "muon", "loss_scale"])
def test_copies_go_on_where_the_original_was(name, copied):
    optimizer = optimizers.get("adam" if name == "loss_scale" else name)
    optimizer.gradient_accumulation_steps, optimizer.use_ema = 2, True
    if name == "loss_scale":
        optimizer = optimizers.LossScaleOptimizer(optimizer)
    steps = [[tf.constant(g) for g in step] for step in oracle.gradients(6)]
    variables = oracle.make_variables()
    for step in steps[:3]:
        optimizer.apply(step, variables)
    other = copied(optimizer)
    assert other.get_config() == optimizer.get_config()
    others = oracle.make_variables({v.path: v.numpy() for v in variables})
    for step in steps[3:]:
        optimizer.apply(step, variables)
        other.apply(step, others)
    for mine, yours in zip(optimizer.variables, other.variables, strict=True):
        np.testing.assert_array_equal(mine, yours)
    with pytest.raises(ValueError, match="copy whose original has a variable of shape"):
        copied(optimizer).apply([tf.ones(7)], [tf.Variable(tf.ones(7))])


def test_weight_decay_spares_excluded_variables():
    results = []
    for module, make in (
        (optimizers, oracle.make_variables),
        (keras.optimizers, oracle.make_keras_variables),
    ):
        optimizer, variables = module.AdamW(0.1, weight_decay=0.5), make()
        optimizer.exclude_from_weight_decay(var_list=[variables[2]], var_names=["bia"])
        optimizer.apply([tf.zeros(v.shape) for v in variables], variables)
        results.append(variables)
    oracle.assert_same(*results)
    kernel, bias, scale = oracle.start_values().values()
    np.testing.assert_allclose(results[0][0], kernel * 0.95, rtol=1e-6)
    oracle.assert_same(results[0][1:], [bias, scale])


def test_exclusion_reads_the_name_of_a_plain_variable():
    variables = [tf.Variable([1.0], name=name) for name in ("scale", "bias")]
    optimizer = optimizers.AdamW(0.1, weight_decay=0.5)
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    optimizer.apply([tf.zeros(1)] * 2, variables)
    np.testing.assert_allclose([float(v[0]) for v in variables], [0.95, 1.0], rtol=1e-6)


@pytest.mark.parametrize("pattern", ["normed", "^bias", "bias", "out/kernel", "kernel:0"])
def test_exclusion_reads_the_names_of_layers_too(pattern):
    spared = []
    for library in (tfkit, keras):
        layers = library.layers
        inputs = library.Input((3,))
        x = layers.LayerNormalization(name="normed")(layers.Dense(3, name="bias")(inputs))
        model = library.Model(inputs, layers.Dense(2, name="out")(x))
        optimizer = library.optimizers.SGD(0.1, weight_decay=0.1)
        optimizer.exclude_from_weight_decay(var_names=[pattern])
        weights = model.trainable_weights
        for weight in weights:
            weight.assign(tf.ones(weight.shape))
        optimizer.apply_gradients([(tf.zeros(weight.shape), weight) for weight in weights])
        spared.append([weight.path for weight in weights if np.all(np.asarray(weight) == 1)])
    assert spared[0] == spared[1] != []


def test_exclusion_after_build_is_refused_unless_it_is_repeated():
    optimizer, variables = optimizers.AdamW(), oracle.make_variables()
    said = {"var_list": variables[:1], "var_names": ["bias"]}
    optimizer.exclude_from_weight_decay(**said)
    optimizer.build(variables)
    optimizer.exclude_from_weight_decay(**said)
    for other in ({}, {**said, "var_names": ["kernel"]}, {**said, "var_list": variables[:2]}):
        with pytest.raises(ValueError, match="is built already"):
            optimizer.exclude_from_weight_decay(**other)


def test_missing_gradients_warn_and_leave_the_variable():
    variables = oracle.make_variables()
    gradients = [None if g is None else tf.constant(g) for g in oracle.gradients(1)[0]]
    before = variables[1].numpy()
    gradients[1] = None
    with pytest.warns(UserWarning, match=r"Gradients do not exist for variables \['dense/bias'\]"):
        optimizers.Adam().apply(gradients, variables)
    np.testing.assert_array_equal(variables[1], before)
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizers.Adam().apply([None, None, None], variables)


def test_built_while_tracing():
    optimizer, w = optimizers.Adam(0.1), tf.Variable([1.0, 2.0])

    @tf.function(jit_compile=True)
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])

    for _ in range(3):
        step(tf.constant([1.0, -1.0]))
    np.testing.assert_allclose(w, [0.7, 2.3], rtol=1e-5)
    assert int(optimizer.iterations) == 3


def test_stateless_apply_gives_new_values_and_keeps_the_old():
    optimizer, variables = optimizers.Adam(0.1), oracle.make_variables()
    optimizer.build(variables)
    gradients = [tf.constant(g) for g in oracle.gradients(1)[0]]
    state = [tf.identity(v) for v in optimizer.variables]
    values = [tf.identity(v) + 1 for v in variables]
    new_values, new_state = optimizer.stateless_apply(state, gradients, values)
    oracle.assert_same(variables, oracle.start_values().values())
    oracle.assert_same(optimizer.variables, state)
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)
    optimizer.apply(gradients)
    oracle.assert_same(variables, new_values)
    oracle.assert_same(optimizer.variables, new_state)
    with pytest.raises(ValueError, match=r"Expected 8 values\. Received: 7"):
        optimizer.stateless_apply(state[1:], gradients, values)
    with pytest.raises(ValueError, match="must be built"):
        optimizers.Adam().stateless_apply([], gradients, values)


def test_state_survives_a_checkpoint(tmp_path):
    steps = oracle.gradients(4)
    optimizer, variables = optimizers.Adam(0.1), oracle.make_variables()
    optimizer.apply([tf.constant(g) for g in steps[0]], variables)
    path = tf.train.Checkpoint(optimizer=optimizer).save(str(tmp_path / "state"))
    again = optimizers.Adam(0.5)
    again.build(variables)
    tf.train.Checkpoint(optimizer=again).restore(path).assert_consumed()
    oracle.assert_same(again.variables, optimizer.variables)
    assert not again.trainable_variables  # those of the model do not belong to the optimizer


@pytest.mark.parametrize("name", ["SGD", "Adam", "LossScaleOptimizer"])
def test_under_a_distribution_strategy(name):
    def make(module):
        if name == "LossScaleOptimizer":
            return module.LossScaleOptimizer(module.Adam(0.1, clipnorm=1.0))
        options = {"gradient_accumulation_steps": 2, "use_ema": True} if name == "Adam" else {}
        return getattr(module, name)(0.1, weight_decay=0.1, **options)

    steps = oracle.gradients(4)
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        variables, optimizer = oracle.make_variables(), make(optimizers)
        optimizer.build(variables)

    @tf.function
    def step(gradients):
        strategy.run(lambda gs: optimizer.apply([1.0 * g for g in gs], variables), (gradients,))

    for gradients in steps:
        step([tf.constant(g) for g in gradients])
    expected = make(optimizers)
    oracle.assert_same(variables, oracle.run(expected, steps))
    oracle.assert_same(optimizer.variables, expected.variables)


def test_own_optimizer_as_in_the_guide():
    class Momentum(optimizers.Optimizer):
        def build(self, variables):
            super().build(variables)
            self.momentums = []
            for variable in variables:
                self.momentums.append(
                    self.add_variable_from_reference(reference_variable=variable, name="momentum")
                )

        def update_step(self, gradient, variable, learning_rate):
            m = self.momentums[self._get_variable_index(variable)]
            self.assign(m, 0.9 * m - learning_rate * gradient)
            self.assign_add(variable, m)

    steps = oracle.gradients(5)
    ours = oracle.run(Momentum(0.1), steps, "xla")
    oracle.assert_same(ours, oracle.run(optimizers.SGD(0.1, momentum=0.9), steps))
    with pytest.raises(NotImplementedError, match="must define"):
        optimizers.Optimizer(0.1).apply([tf.constant(1.0)], [tf.Variable(1.0)])


BAD_ARGUMENTS = [
    ({"learning_rate": 1}, "must be a float"),
    ({"learning_rate": "fast"}, "must be a float"),
    ({"clipnorm": 1.0, "clipvalue": 1.0}, "Only one of"),
    ({"gradient_accumulation_steps": 1}, ">= 2"),
    ({"use_ema": True, "ema_momentum": 1.5}, r"range \[0, 1\]"),
    ({"use_ema": True, "ema_overwrite_frequency": 0.5}, ">= 1"),
    ({"unknown": 1}, "not recognized"),
]


@pytest.mark.parametrize(("options", "message"), BAD_ARGUMENTS, ids=str)
def test_bad_arguments_are_refused_as_in_keras(options, message):
    with pytest.raises(ValueError, match=message):
        optimizers.Adam(**options)
    with pytest.raises(ValueError):  # noqa: PT011 the type is Keras's, the text is ours
        keras.optimizers.Adam(**options)


@pytest.mark.parametrize("momentum", [1, -0.1, 1.1])
def test_bad_momentum_is_refused(momentum):
    with pytest.raises(ValueError, match=r"between \[0, 1\]. Received: momentum="):
        optimizers.SGD(momentum=momentum)


def test_wrong_lists_are_refused():
    optimizer, variables = optimizers.SGD(), oracle.make_variables()
    gradients = [tf.constant(g) for g in oracle.gradients(1)[0]]
    with pytest.raises(ValueError, match="does not know its variables yet"):
        optimizer.apply(gradients)
    optimizer.build(variables)
    with pytest.raises(ValueError, match="Received: 2 gradients for 3 variables"):
        optimizer.apply(gradients[:2])
    with pytest.raises(ValueError, match="Unknown variable 'Variable' of shape"):
        optimizer.apply([tf.constant(1.0)], [tf.Variable(1.0)])
    with pytest.raises(ValueError, match="`weight_decay` of AdamW must be a float"):
        optimizers.AdamW(weight_decay=None)
    with pytest.raises(ValueError, match="`layout` must be None"):
        optimizer.add_variable((), layout="rows")
    with pytest.raises(ValueError, match="as many initializers as names"):
        optimizer.add_optimizer_variables(variables, ["a", "b"], ["zeros"])
    optimizer.apply([])
    assert int(optimizer.iterations) == 0


@pytest.mark.parametrize("identifier", [optimizers.schedules.CosineDecay(0.1, 5), 3, "no_such"])
def test_identifiers_that_are_no_optimizer(identifier):
    with pytest.raises(ValueError, match=r"optimizer"):
        optimizers.get(identifier)


def test_identifiers():
    optimizer = optimizers.Adam(0.5)
    assert optimizers.get(optimizer) is optimizer
    assert optimizers.get(None) is None
    found = optimizers.get({"class_name": "adam", "config": {"learning_rate": 0.5}})
    assert float(found.learning_rate) == 0.5
    assert optimizers.SGD(name="my sgd: 1").name == "my sgd: 1"


@pytest.mark.parametrize("module", [optimizers, keras.optimizers])
def test_decay_is_told_to_have_no_effect(module):
    with pytest.warns(UserWarning, match="`decay`"):
        assert "decay" not in module.SGD(0.1, decay=1e-6).get_config()


@pytest.mark.parametrize("traced", [False, True])
def test_formula_is_five_frames_from_the_call(traced, monkeypatch):
    """The update is a loop over variables around the formula: what a debugger shows is not longer."""
    stacks = []

    def noted(*args, **kwargs):
        frames = traceback.walk_stack(sys._getframe().f_back)
        stacks.append([frame.f_code.co_name for frame, _ in frames])
        return formula(*args, **kwargs)

    formula = adam.adam
    monkeypatch.setattr(adam, "adam", noted)
    optimizer, w = optimizers.Adam(), tf.Variable([1.0])
    optimizer.build([w])

    def this_test():
        optimizer.apply_gradients([(tf.constant([1.0]), w)])

    (tf.function(this_test, autograph=False) if traced else this_test)()
    names = stacks[0][: stacks[0].index("this_test")]
    assert names[::-1] == ["apply_gradients", "apply", "_tfkit_update_variables", "update_step"]


def test_variables_in_place_of_gradients_are_refused():
    variable = tf.Variable([1.0])
    optimizer = tfkit.optimizers.SGD()
    with pytest.raises(TypeError, match=r"a gradient and a variable, in this order.*shape \(1,\)"):
        optimizer.apply_gradients([(variable, tf.constant([1.0]))])
    assert not optimizer.built


@pytest.mark.parametrize("option", ["clipnorm", "global_clipnorm", "clipvalue"])
def test_a_subclass_may_clip_arrays(option):
    gradient = np.array([100.0, -100.0])
    expected = [1.0, -1.0] if option == "clipvalue" else [0.5**0.5, -(0.5**0.5)]
    clipped = tfkit.optimizers.SGD(**{option: 1.0})._clip_gradients([gradient])
    np.testing.assert_allclose(clipped[0], expected, rtol=1e-15)
