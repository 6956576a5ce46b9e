"""The command: runs the cases, prints what differs and what is refused."""

from __future__ import annotations

import argparse
import collections
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

import tfkit
from converting import calls
from converting.cases import Item, layer_cases, op_cases


def main() -> int:
    """Runs what the arguments choose; returns 1 if something differs."""
    parser = argparse.ArgumentParser(
        description="Compares ops and layers with their conversions to JAX and PyTorch."
    )
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    parser.add_argument("--kind", default="ops,layers")
    parser.add_argument("--dtypes", default="float32,bfloat16,float16")
    parser.add_argument("--frameworks", default="jax,torch")
    parser.add_argument("--json", type=Path, help="a file for all results")
    options = parser.parse_args()
    parts = [it for it in options.only.split(",") if it]
    items: list[Item] = []
    if "ops" in options.kind:
        items += op_cases()
    if "layers" in options.kind:
        items += layer_cases()
    chosen = [it for it in items if not parts or any(part in it.name for part in parts)]
    counts: collections.Counter[str] = collections.Counter()
    records, began = [], time.time()
    for item in chosen:
        for dtype in options.dtypes.split(","):
            for framework in options.frameworks.split(","):
                for record in run(item, dtype, framework):
                    counts[record["result"]] += 1
                    records.append(record)
                    if record["result"] != "equal":
                        print(*record.values(), sep=" | ", flush=True)
    if options.json:
        options.json.write_text("\n".join(map(json.dumps, records)) + "\n")
    print(f"{len(records)} calls in {time.time() - began:.0f} s: {dict(counts)}")
    return int(bool(counts["differs"] + counts["fails"]))


def run(item: Item, dtype: str, framework: str) -> list[dict[str, Any]]:
    """Returns a record for each mode of a case."""
    records = []
    for training in item.modes:
        record = {"case": item.name, "dtype": dtype, "framework": framework, "training": training}
        try:
            tfkit.utils.set_random_seed(1)
            made = item.make(dtype)
            if made is None:
                continue
            layer, examples, data = made
            state = [np.array(it) for it in layer.get_weights()]
        except Exception as error:  # tfkit itself refuses the case in this dtype.
            if dtype == "float32":
                records.append({**record, "result": "no case", "detail": repr(error)[:200]})
            continue
        try:
            found = calls.CALLS[framework](layer, examples, data, training)
            layer.set_weights(state)
            expected = calls.in_tfkit(layer, data, training)
        except Exception as error:
            if os.environ.get("TRACE"):
                traceback.print_exc()
            text = (str(error).splitlines() or [""])[0]
            records.append(
                {**record, "result": "fails", "detail": f"{type(error).__name__}: {text}"[:300]}
            )
            continue
        faults = calls.differences(expected, found, dtype)
        detail = "; ".join(faults) or found.refused or found.no_gradient
        result = "differs" if faults else "refused" if found.refused else "equal"
        if result == "equal" and found.no_gradient:
            result = "no gradient"
        records.append({**record, "result": result, "detail": detail[:300]})
    return records


if __name__ == "__main__":
    sys.exit(main())
