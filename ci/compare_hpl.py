#!/usr/bin/python3
"""lu and the HPL within Debian's hpcc, in turn: the same order and number of cores, GFLOP/s of each.

  compare_hpl.py --binary build/release/bin/clusterbench --order 8000 --rounds 5

hpcc runs under mpirun with one process a core and one thread a process; lu runs in one process with one thread a core.
Before each pair a product of that order is measured by gemm; lu goes first in odd rounds, HPL in even ones. At least three
rounds. Prints each round, then of each side and of the ratios within a round the median, the least and the greatest.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile


SIDES = ("gemm", "lu", "HPL")
MIN_ROUNDS = 3


def measure(binary, case, *arguments):
    """Median of flops_per_second of one run of a case."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "r.json")
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        command = [binary, case, *map(str, arguments), "--json", out]
        if case == "external":
            command += ["--dir", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        with open(out, encoding="utf-8") as file:
            record, = json.load(file)["records"]
    rate, = [m for m in record["metrics"] if m["name"] == "flops_per_second"]
    return rate["summary"]["median"]


def one_round(options, number):
    """The rate of each side, and a line of it. A machine that slows down meanwhile hurts another side in each round."""
    runs = {"gemm": ("gemm", "--size", min(options.order, 4096), "--threads", options.cores, "--iterations", 3),
            "lu": ("lu", "--size", options.order, "--threads", options.cores, "--iterations", 1),
            "HPL": ("external", "--kind", "hpcc", "--program", "hpcc", "--order", options.order, "--block", options.block,
                    "--processes", options.cores, "--threads", 1)}
    rates = {side: measure(options.binary, *runs[side]) for side in (SIDES if number % 2 == 0 else ("gemm", "HPL", "lu"))}
    print(f"round {number + 1}: " + ", ".join(f"{side} {rates[side] / 1e9:.1f}" for side in SIDES) + " GFLOP/s", flush=True)
    return rates


def spread(values, digits):
    return f"{statistics.median(values):.{digits}f} [{min(values):.{digits}f} … {max(values):.{digits}f}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--order", type=int, default=8000)
    parser.add_argument("--block", type=int, default=192, help="of HPL")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if shutil.which("hpcc") is None:
        sys.exit("hpcc is not installed: apt-get install hpcc")
    if options.rounds < MIN_ROUNDS:
        parser.error(f"--rounds {options.rounds}: fewer than {MIN_ROUNDS} have no spread")
    rounds = [one_round(options, number) for number in range(options.rounds)]
    for side in SIDES:
        print(f"{side}: {spread([r[side] / 1e9 for r in rounds], 1)} GFLOP/s")
    for other in ("HPL", "gemm"):
        print(f"lu : {other} {spread([r['lu'] / r[other] for r in rounds], 2)}")


if __name__ == "__main__":
    main()
