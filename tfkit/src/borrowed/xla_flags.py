"""The flag with which XLA keeps NaN in maxima and minima, set before XLA reads its flags.

XLA for CPUs computes maxima by one comparison unless a flag forbids it: `maximum(0, NaN)` is 0 then, and
reductions and pooling lose NaN as well. TensorFlow's kernels return NaN. XLA reads its flags when it compiles
for the first time, and ends the process if it does not know one of them.
"""

from __future__ import annotations

import os

_FLAG = "--xla_cpu_enable_fast_min_max"
_KNOWN = ("2.18.", "2.19.", "2.20.", "2.21.")


def keep_nan(version: str) -> None:
    """Adds the flag, unless the environment has it or is in a form that is not a list of flags.

    Args:
        version: TensorFlow's.
    """
    flags = os.environ.get("XLA_FLAGS", "").strip()
    is_list = not flags or flags.startswith("-")  # Others are the path of a file with flags.
    if is_list and _FLAG not in flags and version.startswith(_KNOWN):
        os.environ["XLA_FLAGS"] = f"{flags} {_FLAG}=false".strip()
