#!/usr/bin/python3
"""Where the round trips of ping-pong lie: peaks.py ROUNDS PROGRAM…

Each round measures 8 B between two ranks with every program once, in turns of who begins. A line a step of about 3 %: the time of a round
trip, and for each program the share of its calls, over all rounds. At the end the quartiles. It made the figures of decision 0148.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "tools"))
from medians import middle_of_bucket  # noqa: E402

STEP = 5  # buckets of the histogram in a line


def buckets_of_job(program, folder):
    out = Path(folder) / "result.json"
    subprocess.run(["mpirun", "--oversubscribe", "-np", "2", program, "mpi", "--op", "pingpong", "--size", "8", "--duration", "100ms",
                    "--quiet", "--json", out], check=True, capture_output=True, timeout=120,
                   env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    metrics = json.loads(out.read_text())["records"][0]["metrics"]
    return dict(next(m for m in metrics if m["name"] == "latency_seconds")["histogram"]["buckets"])


def quartile(counts, share):
    left = share * counts.total()
    for bucket in sorted(counts):
        left -= counts[bucket]
        if left <= 0:
            return bucket
    raise ValueError("no calls")


def round_trip(bucket):
    return f"{2e6 * middle_of_bucket(bucket):.3f} µs"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", type=int)
    parser.add_argument("programs", metavar="PROGRAM", nargs="+")
    options = parser.parse_args()
    rounds, programs = options.rounds, options.programs
    if rounds < 1 or len(set(programs)) < len(programs):
        parser.error("at least one round, and each program once")
    calls = {program: collections.Counter() for program in programs}
    with tempfile.TemporaryDirectory() as folder:
        for i in range(rounds):
            for program in programs[i % len(programs):] + programs[:i % len(programs)]:
                calls[program].update(buckets_of_job(program, folder))
    seen = [bucket for counts in calls.values() for bucket in counts]
    for first in range(min(seen) // STEP * STEP, max(seen) + 1, STEP):
        shares = [sum(counts[first + i] for i in range(STEP)) / counts.total() for counts in calls.values()]
        if max(shares) >= 0.002:
            print(round_trip(first + STEP // 2), *(f"{share:8.1%}" for share in shares))
    for share in (0.25, 0.5, 0.75):
        print(f"{share:.0%}", *(round_trip(quartile(counts, share)) for counts in calls.values()))


if __name__ == "__main__":
    main()
