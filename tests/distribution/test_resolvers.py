"""The script of `docs/scaling.md` finds its cluster in the variables of Slurm and of Kubernetes."""

import contextlib
import re
import socket
from pathlib import Path

import pytest

from tests.distribution.processes import Started, addresses, killed_at_the_end

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "scaling.md"
IMPORTS = "import numpy as np\nimport tensorflow as tf\nimport tfkit as keras\n"


def block_with(text):
    """The example of the page that has a text in it."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (found,) = [block for block in blocks if text in block]
    return found


@pytest.fixture
def run(tmp_path):
    """Runs scripts at once, each with variables of its own; returns their outputs."""

    def run(*scripts, limit=300):
        files, companions = [], (tmp_path / "ended", len(scripts))
        with killed_at_the_end() as processes:
            for index, (script, variables) in enumerate(scripts):
                variables = {"STATE": str(tmp_path / "state"), **variables}
                file = tmp_path / f"train{index}.py"
                file.write_text(IMPORTS + script)
                files.append((file.with_suffix(".out"), file.with_suffix(".errors")))
                processes.append(Started([file], *files[-1], variables, tmp_path, companions))
            for process, (_, errors) in zip(processes, files, strict=True):
                assert process.wait(limit) == 0, errors.read_text()[-2000:]
        return [output.read_text() for output, _ in files]

    return run


def free_pair():
    """The first of two ports in a row that are free."""
    while True:
        (address,) = addresses(worker=1)["worker"]
        port = int(address.split(":")[1])
        with socket.socket() as second, contextlib.suppress(OSError):
            second.bind(("127.0.0.1", port + 1))
            return port


def slurm(port, index):
    step = {"STEP_NUM_TASKS": "2", "STEP_NODELIST": "localhost", "STEP_TASKS_PER_NODE": "2"}
    variables = {f"SLURM_{name}": value for name, value in step.items()}
    return variables | {"SLURM_PROCID": str(index), "PORT": str(port)}


def kubernetes(port, index):
    addresses = f"127.0.0.1:{port},127.0.0.1:{port + 1}"
    return {"WORKER_ADDRESSES": addresses, "JOB_COMPLETION_INDEX": str(index)}


def loss(output):
    return float(output.split("loss ")[1])


@pytest.mark.parametrize("variables", [slurm, kubernetes])
def test_two_processes_train_as_one_device_with_their_batch(run, variables):
    script = block_with("def make_strategy")
    report = "\nprint(strategy.num_replicas_in_sync, strategy.cluster_resolver.task_id)\n"
    port = free_pair()
    *several, alone = run(
        *((script + report, variables(port, index)) for index in range(2)),
        (script.replace("batch_size = 32", "batch_size = 64"), {"STATE": "alone"}),
    )
    assert [output.splitlines()[-1] for output in several] == ["2 0", "2 1"]
    for output in several:
        assert loss(output.splitlines()[0]) == pytest.approx(loss(alone), rel=1e-5)


CLIENT = """
from types import SimpleNamespace as Made


class Client:
    def __init__(self, *pods):
        self.pods = pods

    def list_pod_for_all_namespaces(self, label_selector):
        assert label_selector == "job-name=train"
        return Made(items=[
            Made(metadata=Made(name=name), status=Made(phase="Running", host_ip=address))
            for name, address in self.pods
        ])


several = Client(("train-1-x", "10.0.0.7"), ("train-0-y", "10.0.0.9"))
cluster, index = kubernetes_cluster(several, "train-1-x")
assert cluster.as_dict() == {"worker": ["10.0.0.9:8888", "10.0.0.7:8888"]}
assert index == 1
strategy = strategy_of(*kubernetes_cluster(Client(("train-0", "127.0.0.1")), "train-0", PORT))
"""


def test_the_resolver_of_kubernetes_with_a_client_that_is_made_up(run):
    script = block_with("def make_strategy")
    made, trained = script.split("strategy = make_strategy()")
    client = CLIENT.replace("PORT", str(free_pair()))
    (output,) = run((made + block_with("def kubernetes_cluster") + client + trained, {}))
    assert loss(output) > 0
