"""Sends changed requests to its own server, and keeps those that break it.

A request breaks it if there is no answer, an internal error, or an answer after more than two seconds; or if
a good request is answered differently afterwards.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import grpc
import psutil

from fuzzing_serving import checks
from fuzzing_serving.mutations import changed_bytes, changed_json, predict_message, value

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "serving" / "corpus"
GOOD = b'{"instances": [[1, 2, 3]]}'
PATHS = (*["small:predict"] * 3, *["texts:predict"] * 2, "small:classify", "small:regress")
EXPORT = """
import sys
from pathlib import Path
from tests.serving.conftest import export, small, texts
export(small(1), Path(sys.argv[1], "small", "3"))
texts(Path(sys.argv[1], "texts", "1"))
"""


def start(base: Path) -> tuple[subprocess.Popen, int, int]:
    """Returns a server, and its ports."""
    command = [sys.executable, "-m", "tfkit", "serve", str(base), "--port", "0", "--grpc-port", "0"]
    with open(base.parent / "log", "a", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT)
    ports = re.findall(r":(\d+)", process.stdout.readline())
    return process, int(ports[0]), int(ports[1])


def requests(draws: random.Random):
    """Yields endless requests: REST or gRPC, path or method, and bytes."""
    seeds = {
        kind: [path.read_bytes() for path in sorted(CORPUS.glob(f"*.{kind}"))]
        for kind in ("json", "message")
    }
    while True:
        if draws.random() < 0.5:
            kind = draws.randrange(4)
            seed = draws.choice(seeds["json"])
            if kind == 0:
                body = json.dumps(value(draws)).encode()
            else:
                body = changed_bytes(seed, draws) if kind == 1 else changed_json(seed, draws)
            yield "rest", draws.choice(PATHS), body
        else:
            message = predict_message(draws)
            if draws.random() < 0.5:
                message = changed_bytes(draws.choice(seeds["message"]), draws)
            yield "grpc", draws.choice(checks.METHODS), message


def main() -> int:
    """Runs until the time is over."""
    parser = argparse.ArgumentParser(prog="tools/fuzz_serving", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long; default: 5")
    parser.add_argument(
        "--seed", type=int, default=None, help="of the draws; by the clock unless given"
    )
    parser.add_argument(
        "--keep", type=Path, default=Path(tempfile.gettempdir(), "tfkit-fuzz-serving")
    )
    args = parser.parse_args()
    args.keep.mkdir(parents=True, exist_ok=True)
    seed = int(time.time()) if args.seed is None else args.seed
    end = time.monotonic() + 60 * args.minutes
    counts, findings, slowest = {"rest": 0, "grpc": 0}, 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder, "base")
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        subprocess.run([sys.executable, "-c", EXPORT, base], check=True, cwd=ROOT, env=environment)
        process, port, grpc_port = start(base)
        channel = grpc.insecure_channel(f"127.0.0.1:{grpc_port}")
        wrong = checks.rest(port, "small:predict", GOOD)
        memory = []
        for kind, where, content in requests(random.Random(seed)):
            begun = time.perf_counter()
            if kind == "rest":
                wrong = checks.rest(port, where, content)
            else:
                wrong = checks.over_grpc(channel, where, content)
            seconds = time.perf_counter() - begun
            slowest = max(slowest, seconds)
            counts[kind] += 1
            if not wrong and seconds > checks.SECONDS:
                wrong = f"{seconds:.1f} s"
            if sum(counts.values()) % 500 == 0:
                wrong = wrong or checks.rest(port, "small:predict", GOOD)
                memory.append(psutil.Process(process.pid).memory_info().rss / 2**20)
            if wrong:
                findings += 1
                name = f"{kind}-{seed}-{sum(counts.values())}"
                (args.keep / name).write_bytes(content)
                print(f"{name} {where}: {wrong}", flush=True)
            if process.poll() is not None:
                print(f"the server ended with {process.returncode}", flush=True)
                process, port, grpc_port = start(base)
                channel = grpc.insecure_channel(f"127.0.0.1:{grpc_port}")
            if time.monotonic() > end:
                break
        process.terminate()
        process.wait()
        print((base.parent / "log").read_text(encoding="utf-8")[-3000:] if findings else "", end="")
    growth = f"{memory[len(memory) // 2]:.0f} -> {memory[-1]:.0f} MiB" if memory else "not measured"
    print(
        f"{counts}, slowest {slowest:.2f} s, memory {growth}: {findings} findings, kept in {args.keep}"
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
