"""`keras.distribution`: meshes, layouts, and distributions as strategies, beside Keras's."""

import json
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.distribution.processes import Started

OURS, THEIRS = tfkit.distribution, keras.distribution
DEVICES = [f"cpu:{index}" for index in range(4)]


def mesh(of, shape=(2, 2), names=("batch", "model")):
    return of.DeviceMesh(shape, list(names), DEVICES[: int(np.prod(shape))])


@pytest.mark.parametrize("device_type", [None, "cpu", "CPU", "gpu", "unknown"])
def test_devices_are_keras_s(device_type):
    assert OURS.list_devices(device_type) == THEIRS.list_devices(device_type)
    assert OURS.get_device_count(device_type) == len(THEIRS.list_devices(device_type))


def test_a_mesh_is_keras_s():
    ours, theirs = mesh(OURS), mesh(THEIRS)
    assert (ours.shape, ours.axis_names) == (theirs.shape, theirs.axis_names)
    assert ours.devices.tolist() == theirs.devices.tolist()
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize(
    ("shape", "names"), [((), []), ((2, 2), ["batch"]), ((3,), ["batch"]), ((2, 2), [])]
)
def test_a_mesh_that_does_not_fit_is_refused_as_in_keras(shape, names):
    for of in (OURS, THEIRS):
        with pytest.raises(ValueError, match=r"axis|axes|devices"):
            of.DeviceMesh(shape, names, DEVICES)


def test_axes_of_one_name_are_refused():
    with pytest.raises(ValueError, match="needs its own name"):
        OURS.DeviceMesh((2, 2), ["batch", "batch"], DEVICES)


def test_layouts_are_found_by_path_as_in_keras():
    found = []
    for of in (OURS, THEIRS):
        layouts = of.LayoutMap(mesh(of))
        layouts["dense.*kernel"] = (None, "model")
        layouts[".*bias"] = of.TensorLayout(("model",))
        layouts["exact"] = ()
        paths = ["dense/kernel", "a/dense/kernel", "x/bias", "exact", "exact/more", "none"]
        axes = [layout and layout.axes for layout in map(layouts.__getitem__, paths)]
        found.append((axes, list(layouts), len(layouts), repr(layouts["x/bias"])))
        with pytest.raises(ValueError, match="already"):
            layouts["exact"] = (None,)
        with pytest.raises(ValueError, match="TensorLayout"):
            layouts["other"] = "model"
        layouts["dense.*"] = (None,)
        with pytest.raises(ValueError, match="dense/kernel"):
            layouts["dense/kernel"]
        with pytest.raises(ValueError, match=r"axes|axis"):
            of.TensorLayout(["other"], mesh(of))
    assert found[0] == found[1]


def test_a_layout_keeps_its_mesh():
    layout = OURS.TensorLayout(["batch"])
    layout.device_mesh = mesh(OURS)
    with pytest.raises(ValueError, match="has a mesh already"):
        layout.device_mesh = mesh(OURS)


def test_one_device_needs_no_copies():
    data_parallel = OURS.DataParallel(devices=["cpu:0"])
    assert isinstance(data_parallel.strategy, tf.distribute.OneDeviceStrategy)
    assert (data_parallel.num_model_replicas, data_parallel.num_processes) == (1, 1)
    with data_parallel.scope():
        assert OURS.distribution() is data_parallel
        assert tf.distribute.get_strategy() is data_parallel.strategy
    assert OURS.distribution() is None


def test_a_distribution_may_be_set_for_all_models():
    data_parallel = OURS.DataParallel(devices=["cpu:0"])
    OURS.set_distribution(data_parallel)
    try:
        assert tf.distribute.get_strategy() is data_parallel.strategy
        assert OURS.distribution() is data_parallel
    finally:
        OURS.set_distribution(None)
    assert not tf.distribute.has_strategy()
    with pytest.raises(TypeError, match="accepts a `DataParallel`, a `ModelParallel` or None"):
        OURS.set_distribution(3)


def test_layouts_of_data_and_variables_are_keras_s():
    ours, theirs = (of.DataParallel(mesh(of, (1,), ["rows"])) for of in (OURS, THEIRS))
    weight = np.ones((2, 3))
    for get in (
        lambda parallel: parallel.get_data_layout((8, 3)).axes,
        lambda parallel: parallel.batch_dim_name,
        lambda parallel: parallel.get_tensor_layout("a/b"),
        lambda parallel: (
            parallel.num_model_replicas,
            parallel.num_processes,
            parallel.data_shard_id,
        ),
        repr,
    ):
        assert get(ours) == get(theirs)
    assert ours.get_variable_layout(weight).axes == theirs.get_variable_layout(weight).axes


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OURS.DataParallel("cpu:0"), "must be a `DeviceMesh`"),
        (lambda: OURS.DataParallel(mesh(OURS)), "along one axis"),
        (lambda: OURS.DataParallel(mesh(OURS, (1,), ["rows"]), ["cpu:1"]), "pass one of them"),
        (lambda: OURS.DataParallel(shard_optimizer_state=True), r"initialize\(engine='jax'\)"),
        (lambda: OURS.ModelParallel(), "must be a `LayoutMap` with a mesh"),
        (lambda: OURS.ModelParallel(layout_map=OURS.LayoutMap(None)), "`LayoutMap` with a mesh"),
        (
            lambda: OURS.ModelParallel(layout_map=OURS.LayoutMap(mesh(OURS)), batch_dim_name="x"),
            r"must be an axis of the mesh, \['batch', 'model'\]. Received: 'x'",
        ),
        (lambda: OURS.initialize(engine="torch"), "must be 'tensorflow' or 'jax'"),
        (lambda: OURS.initialize(num_processes=2), "Pass `job_addresses`"),
        (lambda: OURS.initialize("a:1,b:2", 3, 0), "address of every process"),
        (lambda: OURS.initialize(["a:1", "b:2"], 2, 2), "address of every process"),
    ],
)
def test_arguments_that_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_without_addresses_a_process_runs_alone(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert OURS.initialize() is None


def test_a_second_process_without_addresses_is_not_forgotten(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    monkeypatch.setenv("KERAS_DISTRIBUTION_NUM_PROCESSES", "2")
    with pytest.raises(ValueError, match=r"Pass `job_addresses`.*num_processes=2"):
        OURS.initialize()


def test_initialize_says_when_it_has_to_be_called():
    tf.constant(1) + 1
    with pytest.raises(RuntimeError, match=r"`initialize\(\)` at the start of the program"):
        OURS.initialize("127.0.0.1:1,127.0.0.1:2")


def test_a_mesh_keeps_its_sequences_as_in_keras():
    for shape, names in (([1], ["rows"]), ((1,), ("rows",))):
        ours, theirs = (of.DeviceMesh(shape, names, ["cpu:0"]) for of in (OURS, THEIRS))
        assert (ours.shape, ours.axis_names) == (theirs.shape, theirs.axis_names)
    with pytest.raises(ValueError, match="describes -4 devices"):
        OURS.DeviceMesh((-1, 4), ["a", "b"], DEVICES)


def test_a_distribution_of_no_names_uses_all_devices():
    assert OURS.DataParallel(devices=[]).device_mesh.devices.tolist() == OURS.list_devices()
    both = OURS.DataParallel(mesh(OURS, (1,), ["rows"]), ["cpu:0"])
    assert both.get_data_layout(()).axes == ()


def scopes_seen(of):
    """Names of the distributions in use, in scopes inside of others and of one that is set."""
    one, other = of.DataParallel(devices=["cpu:0"]), of.DataParallel(devices=["cpu:0"])
    names = {id(one): "one", id(other): "other"}
    seen = []

    def see():
        current = of.distribution()
        seen.append(names.get(id(current)))
        if of is OURS:
            strategy = tf.distribute.get_strategy() if tf.distribute.has_strategy() else None
            assert strategy is (current and current.strategy)

    with one.scope():
        with other.scope():
            see()
            with other.scope():
                see()
        see()
        with ThreadPoolExecutor(1) as threads:
            threads.submit(see).result()
    see()
    of.set_distribution(one)
    with other.scope():
        see()
    see()
    with pytest.raises(KeyError), other.scope():
        raise KeyError
    see()
    of.set_distribution(None)
    with one.scope():
        of.set_distribution(other)
        see()
    see()
    return seen


def test_scopes_nest_as_in_keras():
    expected = ["other", "other", "one", None, None, "other", "one", "one", "other", None]
    assert scopes_seen(OURS) == scopes_seen(THEIRS) == expected


def test_a_scope_may_be_inside_of_its_strategy_s():
    data_parallel = OURS.DataParallel(devices=["cpu:0"])
    with data_parallel.strategy.scope():
        with data_parallel.scope():
            assert OURS.distribution() is data_parallel
        assert OURS.distribution() is None
        assert tf.distribute.get_strategy() is data_parallel.strategy


def model_parallel(of):
    layout_map = of.LayoutMap(mesh(of))
    layout_map["dense/kernel"] = (None, "model")
    layout_map["dense/output"] = ("batch", None)
    return of.ModelParallel(layout_map=layout_map, batch_dim_name="batch")


def test_model_parallel_is_keras_s():
    class Weight:
        shape = (2, 4)

        def __init__(self, path):
            self.path = path

    ours, theirs = model_parallel(OURS), model_parallel(THEIRS)
    for get in (
        lambda parallel: parallel.get_data_layout((8, 3)).axes,
        lambda parallel: parallel.get_variable_layout(Weight("dense/kernel")).axes,
        lambda parallel: parallel.get_variable_layout(Weight("dense/bias")).axes,
        lambda parallel: parallel.get_tensor_layout("dense/output").axes,
        lambda parallel: parallel.get_tensor_layout("other/output"),
        lambda parallel: (parallel.batch_dim_name, parallel.auto_shard_dataset),
        lambda parallel: (
            parallel.num_model_replicas,
            parallel.num_processes,
            parallel.data_shard_id,
        ),
        repr,
    ):
        assert get(ours) == get(theirs)


def test_tensorflow_does_not_train_under_model_parallel():
    with model_parallel(OURS).scope():
        assert not tf.distribute.has_strategy()
        model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(4)])
    model.compile("sgd", "mse")
    before = model.get_weights()
    for method in (model.fit, model.evaluate, model.train_on_batch):
        with pytest.raises(ValueError, match=r"under ModelParallel.*Pass `engine='jax'`"):
            method(tf.ones([8, 3]), tf.ones([8, 4]))
    np.testing.assert_array_equal(before[0], model.get_weights()[0])


def test_tensors_of_tensorflow_are_not_divided():
    tensor, layout = tf.ones([4]), OURS.TensorLayout(["batch"], mesh(OURS))
    assert OURS.distribute_tensor(tensor, OURS.TensorLayout([None], mesh(OURS))) is tensor
    with pytest.raises(ValueError, match=r"in the `call` of a layer.*Received: <TensorLayout"):
        OURS.distribute_tensor(tensor, layout)

    class Placed(tfkit.layers.Layer):
        def call(self, x):
            return OURS.distribute_tensor(x, layout)

    for _ in range(2):
        np.testing.assert_array_equal(Placed()(tensor), tensor)
    assert tfkit.Sequential([tfkit.Input((4,)), Placed()])(tf.ones((2, 4))).shape == (2, 4)


SEVERAL = """
import json
import tensorflow as tf
cpus = [tf.config.LogicalDeviceConfiguration()] * 4
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], cpus)
import tfkit as keras
keras.distribution.set_distribution(keras.distribution.DataParallel())
dense = keras.layers.Dense(2)
dense.build((None, 3))
strategy = keras.distribution.distribution().strategy
copies = len(strategy.experimental_local_results(dense.kernel))
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
model.compile("sgd", "mse")
model.fit(tf.ones([9, 3]), tf.ones([9, 2]), verbose=0)
assert "MirroredStrategy" in str(model.distribute_strategy)
assert int(model.optimizer.iterations) == 1 and float(model.optimizer.iterations) == 1.0
print(json.dumps([keras.distribution.list_devices(), strategy.num_replicas_in_sync, copies]))
"""


def test_all_devices_hold_all_weights(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SEVERAL)
    process = Started([script])
    output = process.communicate(300)
    assert process.returncode == 0, output
    assert json.loads(output.splitlines()[-1]) == [DEVICES, 4, 4]
