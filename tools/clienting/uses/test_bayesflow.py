"""Programs that use BayesFlow: networks that learn the parameters of simulators."""

import os

import bayesflow as bf
import keras
import numpy as np
import pytest

NAMES = ["mean", "scale"]


def prior():
    return {"mean": np.random.normal(size=2), "scale": np.random.gamma(2.0, size=1)}


def rows(mean, scale):
    return {"x": np.random.normal(mean, scale, size=(6, 2))}


# Few steps, of a fixed number.
EULER = {"method": "euler", "steps": 8}
SIMULATOR = bf.make_simulator([prior, rows])
NETWORKS = {
    "coupling": lambda: bf.networks.CouplingFlow(depth=2, subnet_kwargs={"widths": (16, 16)}),
    "spline": lambda: bf.networks.CouplingFlow(
        depth=1, transform="spline", subnet_kwargs={"widths": (16,)}
    ),
    "flow-matching": lambda: bf.networks.FlowMatching(
        subnet_kwargs={"widths": (16, 16)}, integrate_kwargs=EULER
    ),
    "diffusion": lambda: bf.networks.DiffusionModel(
        subnet_kwargs={"widths": (16, 16)}, integrate_kwargs=EULER
    ),
    "consistency": lambda: bf.networks.ConsistencyModel(
        total_steps=20, subnet_kwargs={"widths": (16, 16)}
    ),
}
SUMMARIES = {
    "deep-set": lambda: bf.networks.DeepSet(summary_dim=4, depth=1),
    "set-transformer": lambda: bf.networks.SetTransformer(
        summary_dim=4, embed_dims=(8,), num_heads=(2,), mlp_depths=(1,), mlp_widths=(16,)
    ),
    "time-series": lambda: bf.networks.TimeSeriesNetwork(summary_dim=4, filters=8, recurrent_dim=8),
}


@pytest.fixture(autouse=True)
def seeded():
    keras.utils.set_random_seed(5)


def workflow(network="coupling", summary="deep-set", **options):
    return bf.BasicWorkflow(
        simulator=SIMULATOR,
        inference_network=NETWORKS[network](),
        summary_network=SUMMARIES[summary](),
        inference_variables=NAMES,
        summary_variables=["x"],
        **options,
    )


def fitted(flow, record_property, epochs=1):
    data = flow.simulate(16)
    held = flow.simulate(8)
    history = flow.fit_offline(
        data, epochs=epochs, batch_size=8, validation_data=held, verbose=0, shuffle=False
    )
    assert np.isfinite(history.history["loss"]).all()
    assert np.isfinite(history.history["val_loss"]).all()
    record_property("names", sorted(history.history))
    record_property("shapes", sorted(list(each.shape) for each in flow.approximator.weights))
    return data


@pytest.mark.parametrize("network", NETWORKS)
def test_inference_networks(network, record_property):
    flow = workflow(network)
    data = fitted(flow, record_property)
    samples = flow.sample(num_samples=5, conditions={"x": data["x"][:3]})
    assert {name: each.shape for name, each in samples.items()} == {
        "mean": (3, 5, 2),
        "scale": (3, 5, 1),
    }
    assert all(np.isfinite(each).all() for each in samples.values())


@pytest.mark.parametrize("summary", ["set-transformer", "time-series"])
def test_summary_networks(summary, record_property):
    flow = workflow(summary=summary)
    data = fitted(flow, record_property)
    densities = flow.log_prob(data)
    assert densities.shape == (16,)
    assert np.isfinite(densities).all()


def test_losses_of_a_fixed_network(record_property):
    """Compares a loss whose only random part, the weights, is set."""
    network = bf.networks.CouplingFlow(
        depth=2, subnet_kwargs={"widths": (8,), "dropout": 0.0}, permutation=None
    )
    approximator = bf.ContinuousApproximator(inference_network=network, standardize=None)
    generator = np.random.default_rng(0)
    x = generator.normal(size=(24, 3)).astype("float32")
    conditions = x + generator.normal(size=(24, 3)).astype("float32")
    approximator.compile(keras.optimizers.Adam(0.01))
    data = {"inference_variables": x, "inference_conditions": conditions}
    approximator.build({name: each.shape for name, each in data.items()})
    for index, each in enumerate(approximator.trainable_variables):
        values = np.random.default_rng(index).normal(0, 0.1, each.shape)
        each.assign(values.astype("float32"))
    metrics = approximator.compute_metrics(**data, stage="training")
    record_property("loss", float(metrics["loss"]))
    record_property("weights", len(approximator.trainable_variables))


def test_online(record_property):
    flow = workflow()
    history = flow.fit_online(epochs=2, num_batches_per_epoch=3, batch_size=8, verbose=0)
    assert len(history.history["loss"]) == 2


def test_point_estimates(record_property):
    network = bf.networks.ScoringRuleNetwork(
        scoring_rules={
            "mean": bf.scoring_rules.MeanScore(),
            "quantiles": bf.scoring_rules.QuantileScore([0.1, 0.5, 0.9]),
        },
        subnet_kwargs={"widths": (16,)},
    )
    flow = bf.BasicWorkflow(
        simulator=SIMULATOR,
        inference_network=network,
        summary_network=SUMMARIES["deep-set"](),
        inference_variables=NAMES,
        summary_variables=["x"],
    )
    data = fitted(flow, record_property)
    found = flow.estimate(conditions={"x": data["x"][:3]})
    assert {name: sorted(each) for name, each in found.items()} == {
        "mean": ["mean", "quantiles"],
        "scale": ["mean", "quantiles"],
    }


def test_files(tmp_path, record_property):
    flow = workflow()
    data = fitted(flow, record_property)
    path = os.fspath(tmp_path / "flow.keras")
    flow.approximator.save(path)
    loaded = keras.saving.load_model(path)
    np.testing.assert_allclose(
        loaded.log_prob(data), flow.approximator.log_prob(data), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("name", NETWORKS)
def test_configurations(name):
    network = NETWORKS[name]()
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(network))
    assert type(again) is type(network)
    assert again.get_config().keys() == network.get_config().keys()


def test_checkpoints(tmp_path, record_property):
    flow = workflow(checkpoint_filepath=os.fspath(tmp_path), save_best_only=True)
    fitted(flow, record_property)
    assert any(tmp_path.iterdir())


def test_comparison_of_models(record_property):
    approximator = bf.ModelComparisonApproximator(
        num_models=2,
        classifier_network=bf.networks.MLP(widths=(16,)),
        adapter=bf.Adapter()
        .as_set(["x"])
        .convert_dtype("float64", "float32")
        .rename("x", "summary_variables")
        .rename("model_indices", "model_indices"),
        summary_network=SUMMARIES["deep-set"](),
    )
    approximator.compile("adam")
    generator = np.random.default_rng(0)
    kinds = generator.integers(0, 2, 32)
    x = generator.normal(kinds[:, None, None], 1.0, (32, 6, 2))
    data = {"x": x, "model_indices": np.eye(2)[kinds]}
    dataset = bf.OfflineDataset(data, batch_size=8, adapter=approximator.adapter)
    history = approximator.fit(dataset=dataset, epochs=2, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    assert approximator.predict(conditions={"x": x[:3]}).shape == (3, 2)
