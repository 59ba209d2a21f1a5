#!/usr/bin/python3
"""lu and an HPL (that within Debian's hpcc, or --hpl), or cg and an HPCG, in turn: the same size and number of cores, GFLOP/s of each.

  compare_hpl.py --binary build/release/bin/clusterbench --order 8000 --rounds 5
  compare_hpl.py --binary build/release/bin/clusterbench --hpl /opt/hpl/bin/xhpl --order 20000 --rounds 3
  compare_hpl.py --binary build/release/bin/clusterbench --hpcg /opt/hpcg/xhpcg --edge 64 --cores 1

HPL runs under mpirun with one process a core and one thread a process; lu runs in one process with one thread a core.
Before each pair a product of that order is measured by gemm; lu goes first in odd rounds, HPL in even ones. HPCG and cg have a process
and a cube for each core; HPCG's figure is its rating. At least three rounds. Prints each
round, then of each side and of the ratios within a round the median, the least and the greatest.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile


MIN_ROUNDS = 3


def measure(binary, case, *arguments, ranks=1):
    """Median of flops_per_second of one run of a case, the sum of its ranks."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "r.json")
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        launcher = ["mpirun", "-np", str(ranks), "--oversubscribe", "--bind-to", "none"] if ranks > 1 else []
        command = [*launcher, binary, case, *map(str, arguments), "--json", out]
        if case == "external":
            command += ["--dir", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        record = {}
        if done.returncode in (0, 1):  # 1: a short HPCG is no official one; its figure stands
            with open(out, encoding="utf-8") as file:
                record, = json.load(file)["records"]
    rates = [m["summary"]["median"] for m in record.get("metrics", []) if m["name"] == "flops_per_second"]
    if not rates:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return sum(rates)


def runs_of(options):
    """What is run on each side: {name: (ranks, case, arguments)}."""
    if options.hpcg:
        return {"cg": (options.cores, "cg", "--size", options.edge, "--threads", 1),
                "HPCG": (1, "external", "--kind", "hpcg", "--program", options.hpcg, "--edge", options.edge, "--duration", options.duration,
                         "--processes", options.cores, "--threads", 1)}
    return {"gemm": (1, "gemm", "--size", min(options.order, 4096), "--threads", options.cores, "--iterations", 3),
            "lu": (1, "lu", "--size", options.order, "--threads", options.cores, "--iterations", 1),
            "HPL": (1, "external", "--kind", "hpl" if options.hpl else "hpcc", "--program", options.hpl or "hpcc", "--order", options.order, "--block", options.block,
                    "--processes", options.cores, "--threads", 1)}


def one_round(options, number):
    """The rate of each side, and a line of it. A machine that slows down meanwhile hurts another side in each round."""
    runs = runs_of(options)
    *before, ours, other = runs
    rates = {side: measure(options.binary, *runs[side][1:], ranks=runs[side][0])
             for side in (*before, *((ours, other) if number % 2 == 0 else (other, ours)))}
    print(f"round {number + 1}: " + ", ".join(f"{side} {rates[side] / 1e9:.2f}" for side in runs) + " GFLOP/s", flush=True)
    return rates


def spread(values, digits):
    return f"{statistics.median(values):.{digits}f} [{min(values):.{digits}f} … {max(values):.{digits}f}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--order", type=int, default=8000)
    parser.add_argument("--block", type=int, default=192, help="of HPL")
    parser.add_argument("--hpl", metavar="PROGRAM", help="an xhpl in place of hpcc, which takes its time for other tests too")
    parser.add_argument("--hpcg", metavar="PROGRAM", help="an xhpcg, whose other side is cg")
    parser.add_argument("--edge", type=int, default=64, help="of the cube of a process of HPCG and a rank of cg")
    parser.add_argument("--duration", default="20s", help="of HPCG")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if not options.hpcg and not options.hpl and shutil.which("hpcc") is None:
        sys.exit("hpcc is not installed: apt-get install hpcc, or name an xhpl by --hpl")
    if options.rounds < MIN_ROUNDS:
        parser.error(f"--rounds {options.rounds}: fewer than {MIN_ROUNDS} have no spread")
    rounds = [one_round(options, number) for number in range(options.rounds)]
    for side in runs_of(options):
        print(f"{side}: {spread([r[side] / 1e9 for r in rounds], 2 if options.hpcg else 1)} GFLOP/s")
    ours = "cg" if options.hpcg else "lu"
    for other in reversed(runs_of(options)):
        if other != ours:
            print(f"{ours} : {other} {spread([r[ours] / r[other] for r in rounds], 2)}")


if __name__ == "__main__":
    main()
