"""The program `tfkit` starts without TensorFlow where it needs none; its completion; how it ends."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tfkit
from tfkit.src.export import formats
from tfkit.src.outer import cli
from tfkit.src.outer.cli.parser import COMMANDS, FORMATS

ROOT = Path(__file__).parent.parent
PROGRAM = ROOT / "tfkit_command.py"
# Prints the CPU seconds of a command, and the packages that it has imported, to the standard error stream.
SPIED = """
import sys, time
from tfkit_command import main
try:
    code = main()
except SystemExit as error:
    code = error.code
print(code, time.process_time(), *{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""
SHOWS = {
    "help": ["--help"],
    "help of a command": ["serve", "--help"],
    "version": ["--version"],
    "typo": ["inspekt", "m.h5"],
    "completion": ["completion", "bash"],
}
READS = {
    "inspect": ["inspect", "m.h5"],
    "verify": ["verify", "m.h5"],
    "diff": ["diff", "m.h5", "m.keras"],
    "missing file": ["verify", "missing.h5"],
    "safetensors": ["verify", "m.safetensors"],
    "shards": ["verify", "m.weights.json"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("start")
    model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, dtype="bfloat16")])
    model.compile("adam", "mse")
    for name in ("m.h5", "m.keras"):
        model.save(folder / name)
    model.save_weights(folder / "m.safetensors")
    model.save_weights(folder / "m.weights.json", max_shard_size=1e-6)
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """As for an installed program, whose modules are compiled when it starts for the second time."""
    compiled = {"PYTHONPYCACHEPREFIX": str(tmp_path_factory.mktemp("compiled"))}
    own = {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), **compiled}
    left = {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}
    return {key: it for key, it in os.environ.items() if key not in left} | own


@pytest.mark.parametrize("words", [*SHOWS.values(), *READS.values()], ids=[*SHOWS, *READS])
def test_what_needs_no_tensorflow_starts_without_it(words, folder, environment):
    """In less than 0.3 s of CPU: the shortest of some runs, because a busy machine is slower."""
    for _ in range(8):
        ended = subprocess.run(
            [sys.executable, "-c", SPIED, *words],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        code, took, *imported = ended.stderr.splitlines()[-1].split()
        assert code in "012", ended.stderr
        assert "tfkit" in imported
        assert not {"tensorflow", "keras", "h5py", "rich"} & {*imported}
        if words in SHOWS.values():
            assert "numpy" not in imported
        if float(took) < 0.3:
            return
    pytest.fail(f"{took} s of CPU")


def test_a_command_that_needs_tensorflow_gets_the_whole_package(folder, environment):
    """One package: what was imported before is not imported again."""
    program = (
        "import sys\nsys.argv[1:] = ['convert', 'm.h5', 'whole.keras', '--overwrite']\n"
        "import tfkit_command\nassert tfkit_command.main() == 0\nimport tfkit\n"
        "from tfkit.src.files.saving.errors import LoadError\n"
        "assert tfkit.saving.LoadError is LoadError\n"
        "assert tfkit.src.files.saving.errors.LoadError is LoadError\n"
        "assert tfkit.models.load_model('whole.keras').count_params() == 8\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, check=True)


# --- The end ----------------------------------------------------------------


@pytest.mark.parametrize("words", [["inspect", "m.h5"], ["--help"]])
def test_an_output_that_nobody_reads_ends_the_command_quietly(words, folder, environment):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, PROGRAM, *words]
    ended = subprocess.run(
        command, cwd=folder, env=environment, stdout=write, stderr=subprocess.PIPE, check=False
    )
    os.close(write)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, b"")


def test_an_interrupt_is_one_line(tmp_path, environment):
    (tmp_path / "slow.py").write_text("import time\nopen('here', 'w').close()\ntime.sleep(60)\n")
    command = [sys.executable, PROGRAM, "convert", "--import", "slow", "m.h5", "out.h5"]
    # Programs that a shell starts in the background ignore interrupts, and so would the process.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE)
    signal.signal(signal.SIGINT, before)
    try:
        end = time.monotonic() + 60
        while not (tmp_path / "here").exists() and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 128 + signal.SIGINT
    assert errors.decode().splitlines()[-1] == "tfkit convert: interrupted"
    assert b"Traceback" not in errors


# --- Completion -------------------------------------------------------------


def completed(line, script, folder):
    """What bash offers for the last word of a line."""
    words = line.split(" ")
    program = (
        f"source '{script}'\nCOMP_WORDS=({' '.join(map(repr, words))})\n"
        f"COMP_CWORD={len(words) - 1}\n_tfkit\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    found = subprocess.run(
        ["bash", "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    return found.stdout.split()


def test_bash_completes_commands_options_and_values(capsys, tmp_path):
    cli.main(["completion", "bash"])
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out)
    assert completed("tfkit in", script, tmp_path) == ["inspect"]
    assert {*COMMANDS, "--version"} <= {*completed("tfkit ", script, tmp_path)}
    assert completed("tfkit inspect --c", script, tmp_path) == ["--config"]
    assert completed("tfkit export --format on", script, tmp_path) == ["onnx"]
    assert completed("tfkit export --o", script, tmp_path) == ["--overwrite"]
    assert completed("tfkit completion ", script, tmp_path) == ["bash", "zsh", "fish"]
    assert completed("tfkit inspect ", script, tmp_path) == []  # Names of files.


@pytest.mark.parametrize(
    ("shell", "lines"),
    [
        (
            "zsh",
            [
                "#compdef tfkit",
                "      'verify:verify all checksums of a file'",
                "    inspect) _arguments '-h[show this help message and exit]' ",
                "'--format[the format, for a target without an extension]:format:(tf_saved_model onnx ",
            ],
        ),
        (
            "fish",
            [
                "complete -c tfkit -n __fish_use_subcommand -f -a verify -d 'verify all checksums of a",
                "complete -c tfkit -n '__fish_seen_subcommand_from inspect' -l config -d 'print the",
                "complete -c tfkit -n '__fish_seen_subcommand_from completion' -x -a 'bash zsh fish'",
                "complete -c tfkit -n '__fish_seen_subcommand_from serve' -l port -r -d 'port for REST",
            ],
        ),
    ],
)
def test_the_scripts_of_other_shells(shell, lines, capsys, tmp_path):
    cli.main(["completion", shell])
    script = capsys.readouterr().out
    for line in lines:
        assert line in script
    for name in COMMANDS:
        assert name in script
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)


# --- safetensors ------------------------------------------------------------


def safetensors(path, value):
    """A file as another library writes it, without checksums."""
    header = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + np.float32(value).tobytes())
    return path


def test_verify_says_what_it_could_compare(folder, tmp_path, capsys):
    foreign = safetensors(tmp_path / "f.safetensors", [1, 2])
    assert cli.main(["verify", str(foreign)]) == 0
    assert capsys.readouterr().out == (
        f"{foreign}: complete; 1 arrays read; it has no checksums that would show changed values\n"
    )
    own = folder / "m.safetensors"
    assert cli.main(["verify", str(own)]) == 0
    assert capsys.readouterr().out == (
        f"{own}: complete; 2 checksums of arrays compared; names and shapes have none\n"
    )
    data = bytearray(own.read_bytes())
    data[-1] ^= 4
    changed = tmp_path / "changed.safetensors"
    changed.write_bytes(data)
    assert cli.main(["verify", str(changed)]) == 1
    assert "is damaged: its checksum" in capsys.readouterr().err


def test_safetensors_are_inspected_and_compared(folder, tmp_path, capsys):
    old = safetensors(tmp_path / "a.safetensors", [1, 2])
    new = safetensors(tmp_path / "b.safetensors", [1, 3])
    cli.main(["inspect", str(old)])
    assert "a  (2,) float32, 8 bytes" in capsys.readouterr().out
    assert cli.main(["diff", str(old), str(new)]) == 1
    assert "! weights/a 1 of 2 values differ, by at most 1" in capsys.readouterr().out


def test_the_parser_which_does_not_import_tensorflow_lists_the_formats_of_export():
    assert sorted(FORMATS) == sorted({**formats._WRITERS, **formats._OTHER_NAMES})
