"""Writes the figures as a page: one row for each, with the exponent of its growth."""

import math
import os
import platform

HEAD = """# How costs grow

How time and memory grow with the size of a model, its data or a training run. `./tools/growth --write`
measures each size in a separate process and writes this page. Times are CPU seconds, summed over all
threads. The exponent is computed from the two largest sizes: 0 is constant, 1 linear, 2 quadratic. An
exponent between 0 and 1 usually means that a fixed cost is part of the figures.

"""


# By case: what the columns count.
COLUMNS = {
    "sequential": "layers",
    "functional": "layers",
    "plot": "layers",
    "weights": "weights",
    "vocabulary": "words",
    "mapped": "rows",
    "rows": "rows",
    "models": "models",
    "grid": "models",
    "steps": "steps",
    "callbacks": "callbacks",
    "processes": "processes",
    "kept": "programs",
}
# By case: why a cost grows as it does.
NOTES = {
    "weights": """Of the first `fit` with 1,000 weights, TensorFlow's preparation of the graph takes 57 %,
mostly Grappler's passes, and the trace 39 %. The preparation grows by a power of 1.2, the trace by 1.0
([what was tried](design/0013-what-was-tried.md)). Keras takes 3 times as long for the first `fit` of
300 weights. Loading 10,000 weights alone takes 2.4 s; after the `fit`, Python's garbage collector visits the
objects of the trace in the meantime. Other processes were running.""",
    "functional": """The number of Python calls for the summary and for saving `.h5` is linear in the
number of layers. Python's garbage collector visits all objects while the largest model is saved, which
takes a fifth of the time. With the collector off, the exponents were 1.12 for saving `.h5`, 1.02 for
saving `.keras` and 1.05 for the summary.""",
    "vocabulary": """A vocabulary passed to the constructor is stored in the configuration, as text, if
it has 10,000 or 100,000 words; one of a million words or more is stored like a vocabulary learned by
`adapt`. Loading creates a Python object for each word. Other processes were running during this
measurement.""",
    "mapped": """From about 1,000 steps on, XLA compiles the step; the memory at the largest size
includes the compiler's.""",
    "models": """Free memory that the C library holds is returned to the system before each measurement.
The number of Python objects and of registered functions does not grow. Over 250 models, the memory
allocated through the C library grew by 0.4 MiB, nine tenths of it during the first 50 models. Other
processes were running during this measurement.""",
    "steps": """TensorFlow hands each batch of a dataset from one thread to the next, which takes half of
the 36 to 42 microseconds of a step; other processes were running. Ten million steps in epochs of 1,000 are
10,000 epochs, whose history is part of the memory. The 42 MiB of ten million steps in 10 epochs are there
after the second `fit` on these arrays, and stay the same in the next three.""",
    "processes": """Each process is forked before TensorFlow computes anything, so the import is not
counted. The first four processes find an empty cache and compile.""",
    "kept": """The programs that are in the cache at first are empty files, older than the new program.
The process that adds a program deletes the oldest ones beyond the limit.""",
}


def page(kept):
    """Returns the page in Markdown."""
    parts = [
        HEAD,
        f"Measured on {os.cpu_count()} cores, {_cpu()}, Python {platform.python_version()}.\n",
    ]
    for name, case in kept.items():
        table = _table(case["sizes"], COLUMNS.get(name, ""))
        parts.append(f"\n## {case['title'].rstrip('.')}\n\n{table}")
        if name in NOTES:
            parts.append(f"\n{NOTES[name]}\n")
    return "".join(parts)


def _table(sizes, counted):
    numbers = [int(size) for size in sizes]
    measured = [figures if isinstance(figures, dict) else {} for figures in sizes.values()]
    names = list(dict.fromkeys(name for figures in measured for name in figures))
    lines = [f"| {counted} | " + " | ".join(f"{number:,}" for number in numbers) + " | exponent |"]
    lines.append("|---" * (len(numbers) + 2) + "|")
    for name in names:
        values = [figures.get(name) for figures in measured]
        cells = " | ".join("" if value is None else f"{value:.3g}" for value in values)
        lines.append(f"| {name} | {cells} | {_exponent(numbers, values)} |")
    failed = [
        f"\n{number:,}: {figures}\n"
        for number, figures in zip(numbers, sizes.values(), strict=True)
        if not isinstance(figures, dict)
    ]
    return "\n".join(lines) + "\n" + "".join(failed)


def _exponent(numbers, values):
    known = [(n, v) for n, v in zip(numbers, values, strict=True) if v]
    if len(known) < 2:
        return ""
    (small, before), (large, after) = known[-2:]
    return f"{math.log(after / before) / math.log(large / small):.2f}"


def _cpu():
    with open("/proc/cpuinfo") as info:
        names = [line.split(":")[1].strip() for line in info if line.startswith("model name")]
    return names[0] if names else platform.machine()
