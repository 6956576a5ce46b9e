"""The pictures of the README: digits, curves, the progress bar, speeds."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from matplotlib import pyplot

from drawing.notebooks import PICTURES, ROOT

_COLUMNS = 80
_TRAINING = """
import sys
from examples import cnn_mnist
import tfkit as keras
keras.utils.set_random_seed(0)
(x, y), _ = keras.datasets.mnist.load_data()
model = cnn_mnist.build_model()
history = model.fit(x[:12000, ..., None] / 255, y[:12000], batch_size=32, epochs=6, validation_split=0.2)
history.plot()[0].figure.savefig(sys.argv[1], dpi=80)
"""
# In docs/performance.md; written down on this day.
_MEASURED = "2026-11-26"
_COLORS = {"1": "#ffffff", "32": "#4ec970", "37": "#777777"}


def digits() -> None:
    """Draws the digits of the demo: of the test, given back, and new ones."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, ROOT / "tools/demo.py", "--out", folder], check=True)
        shutil.copyfile(Path(folder, "digits.png"), PICTURES / "digits.png")


def training() -> None:
    """Draws the curves of a training, and what it wrote to a terminal of 80 columns."""
    first, second = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(_COLUMNS), "TERM": "xterm", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", _TRAINING, PICTURES / "curves.png"]
    process = subprocess.Popen(command, stdout=second, env=environment)
    os.close(second)
    written = b""
    while True:
        try:
            part = os.read(first, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        written += part
    if process.wait():
        raise SystemExit(written.decode())
    draw_terminal(written.decode(), PICTURES / "bar.png")


def draw_terminal(written: str, path: Path) -> None:
    """Draws the first two epochs, and the third in its middle."""
    epochs = re.split(r"(?=Epoch \d)", written)[1:4]
    lines = []
    for number, epoch in enumerate(epochs):
        title, _, bar = epoch.replace("\r\n", "\n").partition("\n")
        redraws = bar.strip("\n").split("\r")
        lines += [title, redraws[-1 if number < 2 else len(redraws) // 2].rstrip()]
    size = 11
    wide, high = size * 0.602, size * 1.5  # points of a character of DejaVu Sans Mono
    width, height = (_COLUMNS + 2) * wide, (len(lines) + 1) * high
    figure = pyplot.figure(figsize=(width / 72, height / 72), facecolor="#1e1e1e")
    for row, line in enumerate(lines):
        column, color = 1, "#dddddd"
        for part in re.split(r"(\x1b\[\d*m)", line):
            if part.startswith("\x1b"):
                color = _COLORS.get(part[2:-1], "#dddddd")
                continue
            place = column * wide / width, 1 - (row + 1) * high / height
            figure.text(*place, part, family="DejaVu Sans Mono", size=size, color=color)
            column += len(part)
    figure.savefig(path, dpi=100)


def speeds() -> None:
    """Draws the measured times of a training step, relative to Keras's, from docs/performance.md."""
    page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    measured = page[page.index("## Measured") :]
    rows = re.findall(
        r"^\| ([^|]+) \| ([\d.,]+) \| ([\d.,]+) \| ([\d.]+) \| [\d.]", measured, re.MULTILINE
    )
    names = [re.sub(r" of `examples/vae_mnist.py`", "", row[0]) for row in rows]
    ratios = np.array([float(row[3]) for row in rows])
    figure, axis = pyplot.subplots(figsize=(8, 3.6), layout="constrained")
    axis.barh(names, ratios, color="#4878a8")
    for place, (_, ours, theirs, ratio) in enumerate(rows):
        axis.text(
            float(ratio) * 1.05, place, f"{ratio}   ({theirs} / {ours} µs)", va="center", size=8
        )
    axis.axvline(1, color="black", linewidth=0.8)
    axis.set(xscale="log", xlim=(0.8, 130), xlabel="time of a training step: Keras / tfkit")
    axis.set_xticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    axis.minorticks_off()
    axis.invert_yaxis()
    machine = re.search(
        r"on (2 cores of [^,]+), with (TensorFlow [\d.]+) and (Keras [\d.]+)\.",
        " ".join(measured.split()),
    )
    if machine is None:
        raise ValueError(
            "Expected the machine and the versions in docs/performance.md, under `Measured`"
        )
    figure.suptitle(f"{', '.join(machine.groups())}, {_MEASURED}", size=9)
    figure.savefig(PICTURES / "speeds.png", dpi=80)


ALL = {"digits": digits, "training": training, "speeds": speeds}
