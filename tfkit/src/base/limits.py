"""The limits for files: the table of everything that is refused only for its size.

The maker of a file can write anything and seal it, so each number in it that determines an amount of work or
memory is compared with a limit first. A file that is refused costs at most 2 seconds and four
times its size in memory, plus 200 MB. No honest model comes near a limit; each limit states the distance.
"""

from __future__ import annotations

import dataclasses
import os


@dataclasses.dataclass(frozen=True)
class Limit:
    """The largest number of something that a file may have.

    Attributes:
        most: the number.
        unit: the unit of the number.
        reason: the attack that it prevents, and the numbers of honest files.
    """

    most: int
    unit: str
    reason: str

    def excess(self, number: int) -> str | None:
        """Returns the description of a number that is too large, else `None`."""
        if number <= self.most:
            return None
        shown = f"{number:,}" if abs(number) < 10**30 else "more than 10**30"
        return f"{shown} {self.unit}, more than the {self.most:,} that are read"


# --- Strings ----------------------------------------------------------------------------------------------

TEXT = Limit(
    1 << 26, "bytes", "Parsing takes three times a text's size; 5,000 layers have 3 MB of JSON."
)
OBJECTS = Limit(
    500_000, "objects", "Each takes ten times the memory of its text; 5,000 layers have 75,000."
)
LISTS = Limit(
    1_000_000,
    "lists",
    "A list of empty lists takes twenty times its text; 5,000 layers have 50,000.",
)
VALUES = Limit(
    4_000_000, "values", "A number takes eight times its text; larger arrays belong in weights."
)
DIGITS = Limit(100, "digits", "Arithmetic is quadratic in them; a seed has 40 at most.")
DEPTH = Limit(
    500,
    "levels",
    "Groups in groups, whose paths are as long as they are deep; models have 20, Python's stack ends at 330.",
)

# --- Names ------------------------------------------------------------------------------------------------

NAME = Limit(
    4_000,
    "bytes",
    "Patterns and comparisons are quadratic in them; HDF5 stores longer ones elsewhere.",
)
COMPARED = Limit(
    200, "characters", "The search for similar names takes 20 ms for two names of this length."
)
PAIRS = Limit(10_000, "pairs of names", "The search for similar names takes a second for so many.")
SHOWN = Limit(200, "characters", "A message stays readable, whatever a file holds.")
LINES = Limit(20, "lines", "The same for tables of what does not fit.")

# --- Contents of a configuration --------------------------------------------------------------------------

LAYERS = Limit(20_000, "layers", "Each takes a millisecond and 50 KB to make; models have 5,000.")
CELLS = Limit(1_000, "cells", "Each takes a millisecond, of a hundred bytes; networks stack ten.")
METRICS = Limit(
    1_000,
    "metrics",
    "Each takes a millisecond to make, by a name of three letters; models have 50.",
)
CALLS = Limit(
    1_000_000,
    "calls of layers, with those inside models that are called",
    "Models that call models twice, 40 deep, have 2**40, which nobody can run; large ones have 10,000.",
)
OPERATIONS = Limit(
    20_000,
    "operations",
    "TensorFlow traces 10,000 a second; a `Dense` has 10, an LSTM that is unrolled over 100 steps 3,000.",
)
OPERATIONS_OF_CALL = 20  # The weight of a call of a layer: tfkit's part takes a millisecond.
OPERATIONS_FOR_OBJECT = Limit(
    20, "operations", "The same for each object of the file: the time is linear in its size."
)
OUTPUTS = Limit(
    2_000,
    "outputs of a call",
    "Each is a tensor of 10 KB; `split` and `unstack` make as many as asked.",
)
REPEATS = Limit(1_000, "repeats of one operation", "`diff(n=1000)` has no digit that is right.")
AXES = Limit(32, "axes", "HDF5's own limit; TensorFlow's is 254, and most kernels' 8.")

# --- Files ------------------------------------------------------------------------------------------------

STRUCTURE = Limit(1 << 26, "bytes", "One structure of HDF5; a group of 40,000 names has 8 MB.")
ITEMS = Limit(
    200_000, "groups and datasets", "Each takes 2 KB; a model of 5,000 layers has 40,000 with Adam."
)
PATHS = Limit(
    1 << 20,
    "characters of all paths",
    "Ten thousand arrays below 200 groups with long names have paths of 8 GB, in a file of 4 MB.",
)
PATHS_FOR_BYTE = 4  # The same per byte of the file; an array takes 300, and its path 50.
ATTRIBUTE = Limit(
    1 << 12, "bytes", "A text in an attribute of tfkit's own files: a dtype, of 10 characters."
)
ATTRIBUTES = Limit(
    1_000,
    "attributes of an object",
    "Each takes 1 KB; Keras cuts lists of names into pieces of 64 KB.",
)
TOKENS = Limit(
    1 << 24,
    "tokens of a vocabulary",
    "Each takes 40 bytes in addition to its text; large vocabularies have ten million.",
)
BUCKETS = Limit(
    1_000_000,
    "indices of tokens out of vocabulary",
    "Each is an entry of the vocabulary; more than tokens, of which large vocabularies have a million.",
)
SHARDS = Limit(
    10_000, "files", "Each is open while an index is read; 10,000 of 2 GB are more than any disk."
)
DIRECTORY = Limit(
    1 << 20,
    "bytes",
    "The directory of an archive, of which 46 take 1 KB of memory; Keras's has 200.",
)
HOLES = Limit(
    100,
    "times the bytes that it takes on disk",
    "A file of holes is of any size for nothing; weights that are all zeros are 1 % of no model.",
)
SPARSE = Limit(1 << 26, "bytes", "A smaller file may have holes: reading it takes no time.")


def table() -> dict[str, Limit]:
    """Returns all limits by name."""
    return {name: item for name, item in globals().items() if isinstance(item, Limit)}


def holes(file: int) -> str | None:
    """Returns a description of a file that claims far more bytes than it takes on disk, else `None`.

    Args:
        file: the number of the open file.
    """
    status = os.fstat(file)
    taken = getattr(status, "st_blocks", 0) * 512
    if status.st_size <= SPARSE.most or not taken or status.st_size <= HOLES.most * taken:
        return None  # Some file systems do not report how much a file takes.
    return (
        f"has {status.st_size:,} bytes, of which {taken:,} are on disk: it consists of holes. If it is "
        "whole, copy it with `cp --sparse=never`"
    )
