#!/usr/bin/python3
"""Compares the speed of two builds: speed.py NATIVE PORTABLE [ROUNDS].

Each round measures each figure with both, one right after the other, in turns of who begins. A line a figure: the median of the
ratios of a round, portable over native (above 1 is faster), with its 95 % interval by order, and the ratio of the best.
Exit 1 where a median is below 0.98 and the interval does not reach it.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LEAST = 0.98
MPI = ["mpirun", "--oversubscribe", "-np", "2"]
FIGURES = {
    "gemm fp64 512, own loops": ([], "gemm --device cpu --dtype fp64 --library builtin --size 512 --duration 700ms", "flops"),
    "gemm fp64 1024, OpenBLAS": ([], "gemm --device cpu --dtype fp64 --library openblas --size 1024 --duration 700ms", "flops"),
    "triad 192 MB": ([], "bandwidth --op triad --size 64M --duration 700ms", "bytes_per_second"),
    "mpi all_reduce 64 KiB": (MPI, "mpi --op all_reduce --size 64K --duration 500ms --checks 1", "time_seconds"),
    "mpi ping-pong 8 B": (MPI, "mpi --op pingpong --size 8 --duration 500ms --checks 1", "latency_seconds"),
}


def measured(program, launcher, words, metric, place):
    """Median over the samples of one run; a time is turned round, so that more is better."""
    out = Path(place) / "result.json"
    out.unlink(missing_ok=True)
    subprocess.run([*launcher, program, *words.split(), "--quiet", "--json", out], check=True, timeout=120, stdout=subprocess.DEVNULL,
                   env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    figures = [m["summary"] for r in json.loads(out.read_text())["records"] for m in r["metrics"] if metric in m["name"]]
    if not figures:
        sys.exit(f"speed.py: {words}: no metric like {metric}")
    return 1 / figures[0]["median"] if metric.endswith("_seconds") else figures[0]["median"]


def interval(ratios):
    """The order statistics between which the median of all lies in 19 of 20 cases (by the binomial distribution, rounded out)."""
    ordered = sorted(ratios)
    low = max(0, int(len(ordered) / 2 - 0.98 * len(ordered) ** 0.5))
    return ordered[low], ordered[-1 - low]


def compared(programs, figure, rounds, place):
    launcher, words, metric = FIGURES[figure]
    got = {"native": [], "portable": []}
    for i in range(rounds):
        for side in sorted(got, reverse=i % 2 == 1):
            got[side].append(measured(programs[side], launcher, words, metric, place))
    ratios = [p / n for p, n in zip(got["portable"], got["native"])]
    low, high = interval(ratios)
    median = statistics.median(ratios)
    print(f"{figure:26} {median:.3f} [{low:.3f} … {high:.3f}], best {max(got['portable']) / max(got['native']):.3f}", flush=True)
    return median >= LEAST or high >= LEAST


def main():
    if len(sys.argv) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    programs = {"native": sys.argv[1], "portable": sys.argv[2]}
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 12
    with tempfile.TemporaryDirectory() as place:
        good = [compared(programs, figure, rounds, place) for figure in FIGURES]
    load = Path("/proc/loadavg").read_text().split()[0]
    print(f"{rounds} rounds, load of the machine at the end {load}")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
