"""`tfkit launch`: the processes of a cluster on this machine."""

import re
import signal
import time

import pytest

from tests.distribution.processes import Started, killed_at_the_end

TASK = """
import json, os, signal, sys, time
config = json.loads(os.environ["TF_CONFIG"])
task, cluster = config["task"], config["cluster"]
"""


@pytest.fixture
def launch(tmp_path):
    """Starts `python -m tfkit.launch` with a script; all that it has started is gone at the end."""
    with killed_at_the_end() as started:

        def start(script, *options, arguments=()):
            file = tmp_path / "script.py"
            file.write_text(TASK + script)
            started.append(Started(["-m", "tfkit.launch", *options, file, *arguments]))
            return started[-1]

        yield start


def finish(process):
    """Returns the exit code, and the lines of the output."""
    output = process.communicate(timeout=300)
    return process.returncode, output.splitlines()


def test_each_worker_runs_the_script_with_its_task(launch):
    script = 'print(task["type"], task["index"], len(set(cluster["worker"])), sys.argv[1:])'
    code, lines = finish(launch(script, "--workers", "3", arguments=["--workers", "9"]))
    assert code == 0
    assert sorted(lines) == [f"[worker {i}] worker {i} 3 ['--workers', '9']" for i in range(3)]


def test_one_that_fails_ends_the_others_with_its_status(launch):
    code, lines = finish(launch('sys.exit(7) if task["index"] else time.sleep(300)'))
    assert code == 7
    assert "[launch] worker 1 has ended with status 7; the others are stopped" in lines


def test_after_a_kill_all_are_started_again(launch, tmp_path):
    script = f"""
import pathlib
mark, other = pathlib.Path({str(tmp_path / "mark")!r}), pathlib.Path({str(tmp_path / "other")!r})
print("attempt", 1 + mark.exists())
if not mark.exists():
    if task["index"] == 0:
        other.touch()
        time.sleep(300)
    while not other.exists():
        time.sleep(0.01)
    mark.touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    code, lines = finish(launch(script, "--restarts", "1"))
    assert code == 0
    assert "[launch] worker 1 has ended with SIGKILL; all are started again" in lines
    assert sorted(line for line in lines if "attempt 2" in line) == [
        "[worker 0] attempt 2",
        "[worker 1] attempt 2",
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_reaches_all_and_they_may_save(launch, number):
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("this process ignores the signal, as under `nohup`, and so do those it starts")
    script = """
def save(*_):
    print("saved", flush=True)
    sys.exit(0)

for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(kind, save)
print("ready")
while True:  # A signal that arrives just before a sleep does not end it.
    time.sleep(0.01)
"""
    process = launch(script, "--grace", "60")
    ready = [process.stdout.readline() for _ in range(2)]
    assert all("ready" in line for line in ready), ready
    process.send_signal(number)
    code, lines = finish(process)
    assert code == 128 + number
    assert {"[worker 0] saved", "[worker 1] saved"} <= set(lines), lines


def test_one_that_ignores_signals_is_killed_with_its_children(launch):
    script = """
import subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("child", subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"]).pid)
time.sleep(300)
"""
    process = launch(script, "--workers", "1", "--grace", "1")
    child = int(re.search(r"child (\d+)", process.stdout.readline()).group(1))
    process.send_signal(signal.SIGTERM)
    finish(process)
    assert ends(child)


def test_workers_end_with_a_launcher_that_is_killed(launch):
    process = launch('print("pid", os.getpid())\ntime.sleep(300)')
    workers = [int(process.stdout.readline().split()[-1]) for _ in range(2)]
    process.kill()
    assert all(map(ends, workers))


def test_all_end_when_nobody_reads_their_output(launch):
    process = launch("while True:\n    print('on')\n    time.sleep(0.01)", "--workers", "1")
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) not in (0, None)


def ends(pid):
    """Whether a process ends within 20 seconds."""
    deadline = time.monotonic() + 20
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_running(pid)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().split()[2] != "Z"
    except FileNotFoundError:
        return False


SERVED = """
import pathlib
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
strategy = tf.distribute.ParameterServerStrategy(resolver)
with strategy.scope():
    value = tf.Variable(3.0)
"""


def test_after_a_signal_servers_stay_until_the_chief_has_saved(launch):
    script = """
try:
    print("ready")
    while True:
        time.sleep(0.01)
except KeyboardInterrupt:
    time.sleep(1)
    print("saved", value.numpy())
"""
    process = launch(SERVED + script, "--workers", "1", "--ps", "1", "--grace", "60")
    while "[chief 0] ready" not in (line := process.stdout.readline()):
        assert line, process.communicate()
    process.send_signal(signal.SIGINT)
    code, lines = finish(process)
    assert code == 128 + signal.SIGINT
    assert "[chief 0] saved 3.0" in lines, lines
    assert not any("Traceback" in line for line in lines), lines


def test_servers_serve_and_after_a_parameter_server_all_are_started_again(launch, tmp_path):
    script = f"""
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)

@tf.function
def add():
    return value.assign_add(2.0)

for _ in range(5):
    coordinator.schedule(add)
coordinator.join()
mark = pathlib.Path({str(tmp_path / "mark")!r})
print("attempt", 1 + mark.exists(), value.numpy(), value.device)
if not mark.exists():
    mark.touch()
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().split()[3])
            served = (entry / "environ").read_text()
        except OSError:
            continue
        if parent == os.getppid() and '"type": "ps"' in served:
            os.kill(int(entry.name), signal.SIGKILL)
    time.sleep(300)
"""
    code, lines = finish(launch(SERVED + script, "--workers", "1", "--ps", "1", "--restarts", "1"))
    assert code == 0, lines
    assert "[launch] ps 0 has ended with SIGKILL; all are started again" in lines
    for attempt in (1, 2):
        words = f"[chief 0] attempt {attempt} 13.0 /job:ps/"
        assert any(line.startswith(words) for line in lines), lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "SCRIPT is missing"),
        (["no_such_script.py"], "There is no script no_such_script.py"),
        (["--server"], "which is not set"),
        (["--workers", "0", "x.py"], "--workers"),
    ],
)
def test_arguments_that_cannot_be_run(tmp_path, arguments, message):
    output, errors = tmp_path / "output", tmp_path / "errors"
    process = Started(["-m", "tfkit.launch", *arguments], output, errors)
    assert process.wait(300) == 2
    assert message in errors.read_text().splitlines()[-1]
