"""The networks that the field compares, in JAX and PyTorch, are those of tfkit."""

from pathlib import Path

import numpy as np
import pytest

import tfkit as keras

ROOT = Path(__file__).parents[2]
# Parameters that PyTorch's layers have in addition: a second bias of the LSTM.
MORE = {"lstm": 4 * 64}
NAMES = ["mlp", "wide", "cnn", "resnet", "lstm", "gru", "transformer", "embedding", "vae"]


@pytest.fixture
def work(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from benchmarks.field.works import Work

    def made(name):
        work = Work(name, quick=True)
        work.batch_size, work.num_rows = 8, 24
        return work

    return made


def num_trained(work):
    """The number of trained parameters of tfkit's model."""
    model, _ = work.workload.build(keras)
    model(work.inputs(2))
    return sum(int(np.prod(it.shape)) for it in model.trainable_weights)


@pytest.mark.parametrize("name", NAMES)
def test_they_have_as_many_parameters_in_pytorch_and_learn(work, name):
    torch = pytest.importorskip("torch")
    from benchmarks.field import in_torch

    torch.manual_seed(0)
    trained = in_torch.Trained(work(name), "torch")
    count = sum(it.numel() for it in trained.model.parameters())
    assert count == num_trained(work(name)) + MORE.get(name, 0)

    def loss():
        trained.model.train()
        return float(trained.loss(trained.x, trained.y).detach())

    before = loss()
    for _ in range(4):
        trained.epoch()
    assert loss() < before
    trained.model.eval()
    x = work(name).inputs(40)
    assert trained.predict(x).shape[0] == 40


@pytest.mark.parametrize("name", NAMES)
def test_they_have_as_many_parameters_in_jax_and_learn(work, name):
    jax = pytest.importorskip("jax")
    from benchmarks.field import in_jax

    trained = in_jax.Trained(work(name), "jax")
    weights = trained.trained[0]
    assert sum(it.size for it in jax.tree.leaves(weights)) == num_trained(work(name))

    @jax.jit
    def loss_of(weights, state):
        outputs, _, more = trained.network(weights, state, trained.x, jax.random.key(1))
        return trained.network.loss(outputs, trained.y) + more

    def loss():
        return float(loss_of(*trained.trained[:2]))

    before = loss()
    for _ in range(4):
        trained.epoch()
    assert loss() < before
    x = work(name).inputs(100)
    assert trained.predict(x).shape[0] == 100
    if name != "vae":  # Its noise depends on the number of rows.
        np.testing.assert_allclose(trained.predict(x)[:64], trained.predict(x[:64]), atol=1e-4)


@pytest.mark.parametrize(
    "name", ["mlp", "wide", "cnn", "resnet", "gru", "transformer", "embedding"]
)
def test_the_formulas_in_jax_are_those_in_tensorflow(work, name):
    jax = pytest.importorskip("jax")
    from benchmarks.field import in_jax

    trained = in_jax.Trained(work(name), "jax")
    plain = work(name).workload.plain()
    leaves = jax.tree.leaves(trained.trained[0])
    for variable, value in zip(plain.weights, leaves, strict=True):
        assert tuple(variable.shape) == value.shape
        variable.assign(np.asarray(value))
    x = work(name).inputs(3)
    np.testing.assert_allclose(trained.predict(x), plain(x), rtol=1e-4, atol=1e-5)
