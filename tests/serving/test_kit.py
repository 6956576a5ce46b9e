"""The kit in `export/`: clients that ask a real server, and files that TF Serving's messages can read."""

import json
import re
from pathlib import Path

import grpc
import numpy as np
import pytest
from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    text_format,
    wrappers_pb2,
)
from tensorflow_serving.config import model_server_config_pb2

from tests.serving.conftest import LABELS, X

KIT = Path(__file__).resolve().parents[2] / "export"
EXAMPLES = [{"x": row} for row in X]


@pytest.fixture(scope="module")
def clients():
    """The two programs, from their files."""
    found = {}
    for name in ("rest_client", "grpc_client"):
        found[name] = {"__name__": name}
        exec(compile((KIT / f"{name}.py").read_text(), name, "exec"), found[name])
    return found


@pytest.fixture(scope="module")
def rest(clients, client):
    return clients["rest_client"]["RestClient"](
        "small", f"http://127.0.0.1:{client.port}", timeout=60
    )


@pytest.fixture(scope="module")
def over_grpc(clients, client):
    with clients["grpc_client"]["GrpcClient"]("small", client.grpc_address, timeout=60) as found:
        yield found


def test_the_rest_client_gives_what_the_model_gives(rest, model):
    scores = model(X).numpy()
    np.testing.assert_allclose(rest.predict(X), scores, rtol=1e-6)
    np.testing.assert_allclose(rest.predict_columns({"x": X}), scores, rtol=1e-6)
    assert rest.predict([b"ab"], "spell") == [{"n": 2, "raw_bytes": b"ab", "upper": "AB"}]
    assert rest.predict_columns([b"\x00"], "spell")["raw_bytes"] == [b"\x00"]
    found = rest.classify(EXAMPLES, "labels")
    assert [[label for label, _ in row] for row in found] == [LABELS, LABELS]
    np.testing.assert_allclose([[score for _, score in row] for row in found], scores, rtol=1e-6)
    np.testing.assert_allclose(rest.regress(EXAMPLES, "first"), scores[:, 0], rtol=1e-6)
    shared = rest.regress([{}], "first", context={"x": X[0]})
    np.testing.assert_allclose(shared, scores[:1, 0], rtol=1e-6)
    assert [each["state"] for each in rest.status()] == ["AVAILABLE"]
    assert rest.metadata()["model_spec"]["version"] == "3"


def test_the_rest_client_says_what_the_server_says(clients, client, rest):
    error = clients["rest_client"]["ServingError"]
    with pytest.raises(error, match=r"'x' expects shape .* \(HTTP 400\)") as raised:
        rest.predict([[1]])
    assert raised.value.status == 400
    url = f"http://127.0.0.1:{client.port}"
    with pytest.raises(error, match=r"Specific\(small, 9\) \(HTTP 404\)"):
        clients["rest_client"]["RestClient"]("small", url, version=9).predict(X)


def test_the_rest_client_from_the_command_line(clients, client, capsys, model):
    main = clients["rest_client"]["main"]
    url = ["--url", f"http://127.0.0.1:{client.port}"]
    assert main(["small", json.dumps(X.tolist()), *url]) == 0
    np.testing.assert_allclose(json.loads(capsys.readouterr().out), model(X), rtol=1e-6)
    words = ["small", '["ab"]', "--columns", "--signature", "spell", *url]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["raw_bytes"] == [{"b64": "YWI="}]
    assert main(["small", "--status", *url]) == 0
    assert "AVAILABLE" in capsys.readouterr().out
    assert main(["none", "--metadata", *url]) == 1
    assert "Servable not found" in capsys.readouterr().err
    assert main(["small", "[", *url]) == 1
    assert "rest_client: Expecting value" in capsys.readouterr().err


def test_the_grpc_client_gives_what_the_model_gives(over_grpc, model):
    scores = model(X).numpy()
    np.testing.assert_allclose(next(iter(over_grpc.predict(x=X).values())), scores, rtol=1e-6)
    spelled = over_grpc.predict("spell", words=np.array([b"a\xff"], object))
    assert spelled["raw_bytes"].tolist() == [b"a\xff"]
    found = over_grpc.classify(EXAMPLES, "labels")
    assert [[label for label, _ in row] for row in found] == [LABELS, LABELS]
    np.testing.assert_allclose([[score for _, score in row] for row in found], scores, rtol=1e-6)
    np.testing.assert_allclose(over_grpc.regress(EXAMPLES, "first"), scores[:, 0], rtol=1e-6)
    assert {"serving_default", "labels", "first", "spell"} <= over_grpc.signatures().keys()
    assert [(each.version, each.state) for each in over_grpc.status()] == [(3, 30)]
    with pytest.raises(grpc.RpcError, match="expects dtype float32"):
        over_grpc.predict(x=X.astype("float64"))


def test_the_grpc_client_from_the_command_line(clients, client, tmp_path, capsys, model):
    main = clients["grpc_client"]["main"]
    address = ["--address", client.grpc_address]
    np.save(tmp_path / "x.npy", X)
    arguments = ["small", f"x={tmp_path / 'x.npy'}", *address]
    assert main(arguments) == 0
    name = capsys.readouterr().out.partition(":")[0]
    assert main([*arguments, "--output-dir", str(tmp_path)]) == 0
    np.testing.assert_allclose(np.load(tmp_path / f"{name}.npy"), model(X), rtol=1e-6)
    assert main(["small", "--status", *address]) == 0
    assert "AVAILABLE" in capsys.readouterr().out
    assert main(["none", *arguments[1:]]) == 1
    assert "grpc_client: NOT_FOUND: Servable not found" in capsys.readouterr().err
    assert main(["small", "x=none.npy", *address]) == 1
    assert "none.npy" in capsys.readouterr().err


# --- Files of TF Serving ------------------------------------------------------------------------------


def parsed(name, message):
    return text_format.Parse((KIT / name).read_text(), message)


def test_models_config_is_what_tf_serving_reads():
    config = parsed("models.config", model_server_config_pb2.ModelServerConfig())
    (model,) = config.model_config_list.config
    assert (model.name, model.base_path) == ("digits", "/models/digits")
    assert model.model_version_policy.latest.num_versions == 1


def messages(**fields_by_message):
    """Classes of messages that the package of TF Serving does not have, from their fields."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"kit_{'_'.join(fields_by_message)}.proto", package="kit", syntax="proto3"
    )
    for name, fields in fields_by_message.items():
        message = file.message_type.add(name=name)
        for number, (field, (kind, label)) in enumerate(fields.items(), 1):
            added = message.field.add(name=field, number=number, label=label)
            if kind.startswith("."):
                added.type, added.type_name = added.TYPE_MESSAGE, kind
            else:
                added.type = getattr(added, f"TYPE_{kind.upper()}")
    file.dependency.append(wrappers_pb2.DESCRIPTOR.name)
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    return [
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"kit.{name}"))
        for name in fields_by_message
    ]


ONE, MANY = 1, 3
NUMBER = ".google.protobuf.Int64Value", ONE


def test_batching_parameters_are_what_tf_serving_reads():
    """The fields of `BatchingParameters` in TF Serving's session_bundle_config.proto."""
    fields = {
        "max_batch_size": NUMBER,
        "batch_timeout_micros": NUMBER,
        "max_enqueued_batches": NUMBER,
        "num_batch_threads": NUMBER,
        "thread_pool_name": (".google.protobuf.StringValue", ONE),
        "allowed_batch_sizes": ("int64", MANY),
        "pad_variable_length_inputs": ("bool", ONE),
    }
    (batching_parameters,) = messages(BatchingParameters=fields)
    found = parsed("batching_parameters.txt", batching_parameters())
    sizes = list(found.allowed_batch_sizes)
    assert sizes == sorted(sizes)
    assert sizes[-1] == found.max_batch_size.value  # TF Serving demands both.
    assert found.num_batch_threads.value >= 1


def test_monitoring_config_is_what_tf_serving_reads():
    """The fields of `MonitoringConfig` in TF Serving's monitoring_config.proto."""
    _, monitoring = messages(
        PrometheusConfig={"enable": ("bool", ONE), "path": ("string", ONE)},
        MonitoringConfig={"prometheus_config": (".kit.PrometheusConfig", ONE)},
    )
    found = parsed("monitoring.config", monitoring()).prometheus_config
    assert found.enable
    assert f"metrics_path: {found.path}\n" in (KIT / "prometheus.yml").read_text()


def test_the_compose_file_names_files_that_are_there():
    text = (KIT / "docker-compose.yml").read_text()
    mounted = re.findall(r"- (\./\S+):(/\S+):ro", text)
    assert len(mounted) == 4
    for source, target in mounted:
        assert (KIT / source).is_file()
        assert target.startswith("/etc") or f"_file={target}" in text
    base_path = re.search(r'base_path: "(/\w+)/', (KIT / "models.config").read_text())[1]
    assert f"{base_path}:ro" in text
    ports = re.findall(r'- "([^"]+:\d+:\d+)"', text)
    assert all(port.startswith("127.0.0.1:") for port in ports)
