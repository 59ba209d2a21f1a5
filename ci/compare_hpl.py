#!/usr/bin/python3
"""lu and the HPL within Debian's hpcc, in turn: the same order and number of cores, GFLOP/s of each.

  compare_hpl.py --binary build/release/bin/clusterbench --order 8000 --rounds 5

hpcc runs under mpirun with one process a core and one thread a process; lu runs in one process with one thread a core.
Before each pair a product of that order is measured by gemm. Prints each round, the ratio of the medians lu : HPL with
its least and largest value, and lu as a share of the fastest product.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile


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
    ratios, shares = [], []
    for number in range(options.rounds):
        gemm = measure(options.binary, "gemm", "--size", min(options.order, 4096), "--threads", options.cores, "--iterations", 3)
        lu = measure(options.binary, "lu", "--size", options.order, "--threads", options.cores, "--iterations", 1)
        hpl = measure(options.binary, "external", "--kind", "hpcc", "--program", "hpcc", "--order", options.order, "--block",
                      options.block, "--processes", options.cores, "--threads", 1)
        ratios.append(lu / hpl)
        shares.append(lu / gemm)
        print(f"round {number + 1}: gemm {gemm / 1e9:.1f}, lu {lu / 1e9:.1f}, HPL {hpl / 1e9:.1f} GFLOP/s", flush=True)
    print(f"lu : HPL {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}); "
          f"lu : gemm {statistics.median(shares):.2f} ({min(shares):.2f} to {max(shares):.2f})")


if __name__ == "__main__":
    main()
