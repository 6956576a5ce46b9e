"""The figures as a page: a row for each of them, with the exponent of its growth."""

import math
import os
import platform

HEAD = """# How costs grow

`./tools/growth --write` measures each size in a process of its own and writes this page. Times are CPU
seconds of all threads. The exponent is that between the two largest sizes: 1 is linear, 0 does not grow, 2
is quadratic. Below 1, a fixed cost is part of the figures.

"""


# By case: why a cost grows as it does.
NOTES = {
    "weights": """TensorFlow prepares the function of the step: two thirds of this are Grappler's passes,
which grow a little faster than the function ([what was tried](design/0013-what-was-tried.md)). Keras takes
3 times as long for the first `fit` of 300 weights.""",
    "functional": """By counts of Python's calls, the summary and a save as `.h5` are linear. Python's garbage
collector visits all objects during a save of the largest model, which is a fifth of the time. Without it the
exponents were 1.12 for `.h5`, 1.02 for `.keras` and 1.05 for the summary.""",
    "vocabulary": """Of the vocabularies that were given, those of 10,000 and 100,000 words are in the
configuration, as text; those of a million and more are stored like one that was adapted. Loading makes an
object of each word. Other processes worked while this was measured.""",
    "mapped": """From about 1,000 steps on, XLA compiles the step; the memory of the last size includes
that.""",
    "models": """Memory that C's library keeps for itself is given back before it is measured. Objects of
Python and registered functions do not grow. Over 250 models, the memory that C's library has given out grew
by 0.4 MiB, nine tenths of it during the first 50. Other processes worked while this was measured.""",
    "steps": """A step of a dataset waits for the iterator, and was measured up to a million steps. Ten
million steps in epochs of 1,000 are 10,000 epochs, whose history is in the memory.""",
    "processes": """Each process is forked before TensorFlow computes anything, so that the import is not
counted. The first four find no program, and compile.""",
    "kept": """By the number of programs in it, which are the oldest ones, and empty. The process that adds a
program removes what exceeds the limit.""",
}


def page(kept):
    """Returns the page in Markdown."""
    parts = [
        HEAD,
        f"Measured on {os.cpu_count()} cores, {_cpu()}, Python {platform.python_version()}.\n",
    ]
    for name, case in kept.items():
        parts.append(f"\n## {case['title'].rstrip('.')}\n\n{_table(case['sizes'])}")
        if name in NOTES:
            parts.append(f"\n{NOTES[name]}\n")
    return "".join(parts)


def _table(sizes):
    numbers = [int(size) for size in sizes]
    measured = [figures if isinstance(figures, dict) else {} for figures in sizes.values()]
    names = list(dict.fromkeys(name for figures in measured for name in figures))
    lines = ["| | " + " | ".join(f"{number:,}" for number in numbers) + " | exponent |"]
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
