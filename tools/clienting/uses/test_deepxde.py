"""Programs that use DeepXDE: networks that satisfy differential equations."""

import os

import deepxde as dde
import keras
import numpy as np
import pytest
from deepxde.backend import tf

dde.config.set_random_seed(1)
dde.config.disable_xla_jit()
# Those that have names in DeepXDE are made when it is imported, with seeds that differ.
START = keras.initializers.GlorotUniform(seed=3)


@pytest.fixture(autouse=True)
def seeded():
    dde.config.set_random_seed(1)


def poisson(points=16):
    """Returns `-u'' = pi^2 sin(pi x)`, whose solution is `sin(pi x)`."""

    def equation(x, y):
        return -dde.grad.hessian(y, x) - np.pi**2 * tf.sin(np.pi * x)

    line = dde.geometry.Interval(-1, 1)
    ends = dde.icbc.DirichletBC(line, lambda x: 0.0, lambda x, on_boundary: on_boundary)
    return dde.data.PDE(
        line,
        equation,
        ends,
        points,
        2,
        solution=lambda x: np.sin(np.pi * x),
        num_test=20,
        train_distribution="uniform",
    )


NETWORKS = {
    "dense": lambda: dde.nn.FNN([1] + [12] * 2 + [1], "tanh", START),
    "regularized": lambda: dde.nn.FNN(
        [1] + [12] * 2 + [1], "tanh", START, regularization=["l2", 1e-4]
    ),
    "parallel": lambda: dde.nn.PFNN([1, [8], [8], 1], "sin", START),
    "own-activations": lambda: dde.nn.FNN([1, 12, 12, 1], ["tanh", "swish", "sin"], START),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_equations(name, record_property):
    model = dde.Model(poisson(), NETWORKS[name]())
    model.compile("adam", lr=0.01, metrics=["l2 relative error"])
    history, _ = model.train(iterations=30, display_every=10, verbose=0)
    record_property("losses", [[float(part) for part in each] for each in history.loss_train])
    assert sum(history.loss_train[-1]) < sum(history.loss_train[0])


@pytest.mark.parametrize("optimizer", ["sgd", "nadam"])
def test_optimizers(optimizer, record_property):
    model = dde.Model(poisson(), NETWORKS["dense"]())
    model.compile(optimizer, lr=1e-3, decay=("inverse time", 10, 0.5), loss_weights=[1, 10])
    history, _ = model.train(iterations=10, display_every=5, verbose=0)
    record_property("losses", [[float(part) for part in each] for each in history.loss_train])


def test_a_solution_by_two_optimizers(record_property):
    model = dde.Model(poisson(), NETWORKS["dense"]())
    model.compile("adam", lr=0.01)
    model.train(iterations=100, display_every=100, verbose=0)
    dde.optimizers.set_LBFGS_options(maxiter=50)
    model.compile("L-BFGS")
    model.train(display_every=50, verbose=0)
    x = np.linspace(-1, 1, 11)[:, None]
    assert np.abs(model.predict(x) - np.sin(np.pi * x)).max() < 0.05
    residual = model.predict(x, operator=lambda x, y: -dde.grad.hessian(y, x))
    assert residual.shape == (11, 1)


def test_time(record_property):
    """Trains on the diffusion of heat, with conditions at the ends and at the start."""
    line, times = dde.geometry.Interval(0, 1), dde.geometry.TimeDomain(0, 1)
    area = dde.geometry.GeometryXTime(line, times)

    def equation(x, y):
        return dde.grad.jacobian(y, x, i=0, j=1) - 0.4 * dde.grad.hessian(y, x, i=0, j=0)

    ends = dde.icbc.DirichletBC(area, lambda x: 0, lambda _, on_boundary: on_boundary)
    start = dde.icbc.IC(area, lambda x: np.sin(np.pi * x[:, :1]), lambda _, initial: initial)
    data = dde.data.TimePDE(area, equation, [ends, start], 20, 8, 8, train_distribution="uniform")
    network = dde.nn.FNN([2, 12, 1], "tanh", START)
    network.apply_output_transform(lambda x, y: x[:, :1] * (1 - x[:, :1]) * y)
    model = dde.Model(data, network)
    model.compile("adam", lr=0.01)
    history, _ = model.train(iterations=20, display_every=10, verbose=0)
    record_property("losses", [[float(part) for part in each] for each in history.loss_train])


def test_an_unknown_coefficient(record_property):
    factor = dde.Variable(2.0)
    line = dde.geometry.Interval(0, 1)
    x = np.linspace(0, 1, 9)[:, None]
    known = dde.icbc.PointSetBC(x, np.exp(3 * x))
    data = dde.data.PDE(
        line,
        lambda x, y: dde.grad.jacobian(y, x) - factor * y,
        [known],
        12,
        2,
        anchors=x,
        train_distribution="uniform",
    )
    model = dde.Model(data, dde.nn.FNN([1, 12, 1], "tanh", START))
    model.compile("adam", lr=0.01, external_trainable_variables=[factor])
    model.train(iterations=20, display_every=20, verbose=0)
    assert float(factor) != 2.0
    record_property("factor", float(factor))


@pytest.mark.parametrize("name", ["aligned", "pairs"])
def test_operators(name, record_property):
    generator = np.random.default_rng(0)
    functions = generator.normal(size=(8, 5)).astype("float32")
    points = np.linspace(0, 1, 6, dtype="float32")[:, None]
    targets = functions.mean(1, keepdims=True) * points.T
    if name == "aligned":
        kind, network = dde.data.TripleCartesianProd, dde.nn.DeepONetCartesianProd
        x, y = (functions, points), targets
    else:
        kind, network = dde.data.Triple, dde.nn.DeepONet
        x, y = (np.repeat(functions, 6, 0), np.tile(points, (8, 1))), targets.reshape(-1, 1)
    data = kind(X_train=x, y_train=y, X_test=x, y_test=y)
    model = dde.Model(data, network([5, 12, 8], [1, 12, 8], "relu", START))
    model.compile("adam", lr=0.01, metrics=["mean l2 relative error"])
    history, _ = model.train(iterations=20, display_every=10, verbose=0)
    record_property("losses", [float(each[0]) for each in history.loss_train])


def test_callbacks_and_files(tmp_path, record_property):
    model = dde.Model(poisson(), NETWORKS["dense"]())
    model.compile("adam", lr=0.01)
    path = os.fspath(tmp_path / "model")
    callbacks = [
        dde.callbacks.EarlyStopping(min_delta=1e9, patience=5),
        dde.callbacks.PDEPointResampler(period=5),
        dde.callbacks.ModelCheckpoint(path, save_better_only=True, period=5),
    ]
    history, _ = model.train(iterations=40, display_every=5, callbacks=callbacks, verbose=0)
    assert any(tmp_path.iterdir())
    before = model.predict(np.zeros((1, 1)))
    saved = model.save(os.fspath(tmp_path / "all"))
    model.train(iterations=5, verbose=0)
    model.restore(saved)
    np.testing.assert_allclose(model.predict(np.zeros((1, 1))), before, rtol=1e-6)
    record_property("steps", [int(each) for each in history.steps])
