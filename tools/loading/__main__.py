"""Loads `tfkit serve` with clients: compared with a bare server, for a long time, or with large requests."""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np

from loading import soak, stalls
from loading.clients import load, request_of
from loading.servers import FEATURES, bare_server, export, tfkit_server


def requests(count):
    """Returns the bytes of a request for each client, each with a row of its own."""
    rows = np.random.default_rng(0).normal(size=(count, 1, FEATURES)).round(6)
    return [
        request_of("/v1/models/load:predict", json.dumps({"instances": row.tolist()}).encode())
        for row in rows
    ]


def predictions(bodies):
    return {index: json.loads(body)["predictions"] for index, body in bodies.items()}


def compare(base, options):
    """Prints requests per second and latencies of both servers, in turns; medians of the rounds."""
    results = {}
    with bare_server(base) as (_, bare), tfkit_server(base, options.options) as (_, ours, _):
        ports = {"bare aiohttp": bare, "tfkit serve": ours}
        counts = [int(text) for text in options.clients.split(",")]
        for _ in range(options.rounds):
            for count in counts:
                answers = {}
                for name, port in ports.items():
                    found = answers.setdefault(name, {})
                    times = load(port, requests(count), options.seconds, found.__setitem__)
                    row = (len(times) / options.seconds, *np.percentile(times, [50, 99]) * 1e3)
                    results.setdefault((count, name), []).append(row)
                one, other = map(predictions, answers.values())
                for index in one.keys() & other.keys():  # Joined or not: the same up to rounding.
                    np.testing.assert_allclose(one[index], other[index], rtol=1e-4, atol=1e-5)
    for count in counts:
        rates = {}
        for name in ports:
            rate, middle, late = (
                statistics.median(column) for column in zip(*results[count, name], strict=True)
            )
            rates[name] = rate
            print(
                f"{count:3} clients  {name:12}  {rate:7,.0f} requests a second  "
                f"ms: p50 {middle:.2f}  p99 {late:.2f}"
            )
        pairs = zip(results[count, "tfkit serve"], results[count, "bare aiohttp"], strict=True)
        ratio = statistics.median(one[0] / other[0] for one, other in pairs)
        print(f"{count:3} clients  tfkit serve answers {ratio:.2f} times as many requests")
    return True


def main():
    parser = argparse.ArgumentParser(prog="tools/load_serve", description=__doc__)
    parser.add_argument("mode", nargs="?", default="compare", choices=("compare", "soak", "stalls"))
    parser.add_argument("--seconds", type=float, help="of a round (3), or of the soak (60)")
    parser.add_argument("--rounds", type=int, default=5, help="of the comparison; 5 unless given")
    parser.add_argument("--clients", help="numbers of clients (1,32), of the soak (8)")
    parser.add_argument(
        "--units", type=int, default=128, help="of the two layers; 128 unless given"
    )
    parser.add_argument(
        "--megabytes", type=float, default=8.0, help="of large bodies; 8 unless given"
    )
    parser.epilog = "What stands after -- are options of `tfkit serve`."
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:end])
    options.options = words[end + 1 :]
    options.seconds = options.seconds or (60.0 if options.mode == "soak" else 3.0)
    options.clients = options.clients or ("8" if options.mode == "soak" else "1,32")
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary, "base")
        export(base, options.units)
        if options.mode == "soak":
            options.clients = int(options.clients)
            well = soak.load(base, options)
            (Path(temporary) / "client").mkdir()
            soak.run_c_client(Path(temporary, "client"), base)
        else:
            well = {"compare": compare, "stalls": stalls.run}[options.mode](base, options)
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
