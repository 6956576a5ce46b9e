"""Runs all ops and layers of the tests' tables with and without oneDNN; prints differences from float64."""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DTYPES = ("float64", "float32", "bfloat16", "float16")
KINDS = ("eager", "traced", "forward", "xla")
# oneDNN's names of instruction sets, and the flags of Linux that a CPU must have for it, widest first.
ISAS = {
    "AVX10_1_512_AMX_FP16": {"amx_fp16"},
    "AVX512_CORE_AMX": {"amx_tile", "amx_bf16"},
    "AVX512_CORE_FP16": {"avx512_fp16"},
    "AVX512_CORE_BF16": {"avx512_bf16"},
    "AVX512_CORE_VNNI": {"avx512_vnni"},
    "AVX512_CORE": {"avx512f", "avx512bw", "avx512dq", "avx512vl"},
    "AVX2_VNNI": {"avx_vnni"},
    "AVX2": {"avx2"},
    "SSE41": {"sse4_1"},
}
OFF, ON = "oneDNN off", "oneDNN on"
# The narrower sets to which each dtype can be limited. TensorFlow itself queries the CPU for the dtypes that
# it gives to oneDNN, so with less than AVX-512 it gives it bfloat16, and with less than AVX512-FP16 float16,
# and both crash; a CPU that has no more does neither.
NARROWED = {"float32": 2, "bfloat16": 1}


def cpu_flags() -> set[str]:
    """Returns the CPU's instruction sets, by Linux's names."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.split(":")[1].split())
    return set()


def environment(setting: str) -> dict[str, str]:
    """Returns a child's environment for a setting: `ON`, `OFF` or an instruction set, with oneDNN on."""
    isa = {} if setting in (ON, OFF) else {"ONEDNN_MAX_CPU_ISA": setting}
    flag = "0" if setting == OFF else "1"
    kept = {key: value for key, value in os.environ.items() if key != "ONEDNN_MAX_CPU_ISA"}
    return {**kept, **isa, "TF_ENABLE_ONEDNN_OPTS": flag, "CUDA_VISIBLE_DEVICES": ""}


def messages(job: dict[str, Any], setting: str) -> Iterator[dict[str, Any]]:
    """Yields the messages of workers; after a crash, a worker starts after its row."""
    start, ended = 0, False
    while not ended:
        command = [sys.executable, "-m", "sweeping.worker", json.dumps({**job, "start": start})]
        last = None
        with subprocess.Popen(
            command,
            env=environment(setting),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as worker:
            assert worker.stdout is not None
            assert worker.stderr is not None
            for line in worker.stdout:
                if not line.startswith("{"):
                    continue
                message = json.loads(line)
                last = message.get("row", last)
                ended = ended or "end" in message
                yield message
            error = worker.stderr.read()
        if not ended:
            if last is None or worker.returncode >= 0:
                raise RuntimeError(f"A worker has failed:\n{error[-3000:]}")
            yield {"crash": last, "signal": -worker.returncode}
            start = last + 1


def main() -> int:
    """Runs everything, prints a table; the exit status is 1 if something disagrees."""
    parser = argparse.ArgumentParser(prog="tools/sweep", description=__doc__)
    parser.add_argument("--only", help="ops and layers by name, with commas")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument(
        "--settings",
        default="off,on,narrow",
        help="off, on, and narrow: float32 and bfloat16 also with the instruction sets of older CPUs",
    )
    options = parser.parse_args()
    only = options.only.split(",") if options.only else None
    flags = cpu_flags()
    covered = [name for name, needed in ISAS.items() if needed <= flags]
    print(
        "CPU:",
        next(
            (x for x in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in x),
            "unknown",
        ),
    )
    print("instruction sets that oneDNN may use here:", ", ".join(covered) or "none known")
    print(
        "not covered, for this CPU has no:", ", ".join(x for x in ISAS if x not in covered) or "-"
    )
    wanted = options.settings.split(",")
    older = [name for name in ("AVX512_CORE", "AVX2") if name in covered[1:]]
    settings = [name for key, name in (("off", OFF), ("on", ON)) if key in wanted]
    disagreements: dict[Any, list[str]] = collections.defaultdict(list)
    totals: collections.Counter[str] = collections.Counter()
    notes: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        for dtype in options.dtypes.split(","):
            job = {"dtype": dtype, "kinds": [], "reference": str(Path(folder, dtype)), "only": only}
            run(job, OFF, disagreements, totals, notes)
            narrower = older[: NARROWED.get(dtype, 0)] if "narrow" in wanted else []
            for setting in [*settings, *narrower]:
                # XLA has its own kernels: one setting of oneDNN's instruction sets is enough.
                kinds = [k for k in options.kinds.split(",") if setting in (ON, OFF) or k != "xla"]
                run({**job, "kinds": kinds}, setting, disagreements, totals, notes)
    print(*sorted(notes), sep="\n")
    for (label, rows, what), places in sorted(disagreements.items(), key=str):
        print(
            f"DISAGREES {label}, {'' if rows is None else rows} rows: {what}\n    in {'; '.join(places)}"
        )
    print(
        f"{totals['done']} calls, {totals['unsupported']} of them without a kernel for the dtype; "
        f"{totals['by_formula']} references checked by formula; {len(disagreements)} disagreements"
    )
    return bool(disagreements)


def run(
    job: dict[str, Any], setting: str, disagreements: Any, totals: Any, notes: set[str]
) -> None:
    """Runs all rows in one dtype and setting, and records what disagrees."""
    place = f"{job['dtype']}, {setting}"
    print(f"-- {place}: {', '.join(job['kinds']) or 'reference in float64'}", flush=True)
    for message in messages(job, setting):
        if "onednn" in message and message["onednn"] != (setting != OFF):
            raise RuntimeError(
                f"oneDNN is {'on' if message['onednn'] else 'off'}, where it should not be."
            )
        totals["rows"] += "row" in message
        for name in ("done", "by_formula", "unsupported"):
            totals[name] += message.get(name, 0)
        if "crash" in message:
            what = f"the process died of signal {message['signal']}"
            disagreements[f"row {message['crash']}", None, what].append(place)
            print("   crash in row", message["crash"], flush=True)
        for name, text in (("dropped", "XLA drops a check"), ("refused", "refused with 0 rows")):
            if name in message:
                notes.add(f"{text}: {' '.join(message[name].split())}")
        if "what" in message:
            message["what"] = " ".join(message["what"].split())
            key = message["label"], message["rows"], message["what"]
            disagreements[key].append(f"{place}, {message['kind']}")
            print(
                "  ",
                message["label"],
                message["rows"],
                message["kind"],
                message["what"],
                flush=True,
            )


if __name__ == "__main__":
    sys.exit(main())
