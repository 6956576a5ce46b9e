"""After a fork that TensorFlow's threads did not survive, work is refused at once instead of hanging."""

import os
import subprocess
import sys
import timeit
from pathlib import Path

from tfkit.src.base.errors import forks

ROOT = Path(__file__).parents[2]


def test_children_of_a_process_in_which_tensorflow_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.threads.forked_program", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    finished = {name for name, text in said.items() if text == "done"}
    assert finished == {
        "early", "parent", "save", "load_weights", "get_weights", "grandchild"
    }  # fmt: skip
    for name in said.keys() - finished:
        assert "this process (pid " in said[name], f"{name}: {said[name]}"
        assert "`multiprocessing.get_context('spawn')`" in said[name]
    refused = {name: said[name].partition(" could wait forever")[0] for name in said}
    assert refused["fit"] == "`fit()`"
    assert refused["predict"] == "`predict()`"
    assert refused["call"] == refused["its child"] == "A call of layer 'sequential'"
    assert refused["build"].startswith("Making weight 'kernel' of layer ")


def test_what_it_costs_elsewhere():
    """Measured: 0.03 us, of a call that takes 50 and more."""
    times = timeit.repeat("forks.threads_are_lost", globals={"forks": forks}, number=1000)
    assert min(times) / 1000 < 2e-7
