#!/usr/bin/python3
"""Peak memory of reading and judging a soak: made-up campaigns of two sizes, and what a soak of 168 h on 128 hosts would take.

    ci/soak_memory.py BINARY SYNTH_CLUSTER [--hosts 16] [--cycles 12,48] [--heavy]

SYNTH_CLUSTER is build/dev/bin/synth_cluster. Prints the jobs, the peak of `gate` and the growth of it for each job.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = {"kind": "practice", "ref": "made up", "date": "2026-11"}
STEPS = {"gemm-bf16": ("gemm", {}), "hbm": ("bandwidth", {}), "h2d": ("bandwidth", {}), "burn": ("burn", {}),
         "nccl-node": ("nccl", {"size": "8G"}), "checkpoint": ("io", {})}
FULL_JOBS = 168 * 128 * 7  # steps of each host of the shipped soak-168h


def profile(cycles):
    info = {"id": "info", "case": "info", "informative": True, "why": "made up"}
    steps = [{"id": name, "case": case, "params": params} for name, (case, params) in STEPS.items()]
    of_soak = {"domain": "stability", "why": "made up", "source": SOURCE}
    return {"schema": "clusterbench.profile/1", "name": "soak-memory", "title": {"en": "made up", "zh": "made up"},
            "soak": {"steps": list(STEPS), "for": f"{cycles}h", "every": "1h"}, "steps": [info, *steps],
            "criteria": [{"id": "none", "soak": "interruptions", "max": 0, **of_soak},
                         *({"id": f"{s}.data", "step": s, "check": "data", **of_soak} for s in STEPS)]}


def peak_of(command):
    """Its exit code, and the most memory that it held, in bytes."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("synth_cluster")
    parser.add_argument("--hosts", type=int, default=16)
    parser.add_argument("--cycles", default="12,48", help="of the two campaigns [12,48]")
    parser.add_argument("--heavy", action="store_true", help="600 samples of each figure and 20 variables of each job")
    args = parser.parse_args()
    seen = []
    for cycles in map(int, args.cycles.split(",")):
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            (directory / "p.json").write_text(json.dumps(profile(cycles)))
            subprocess.run([args.synth_cluster, directory / "c", "--hosts", str(args.hosts), "--healthy", "--profile", directory / "p.json",
                            *(["--heavy"] if args.heavy else [])], check=True, stdout=subprocess.DEVNULL)
            code, peak = peak_of([args.binary, "gate", directory / "c"])
            jobs = len(list((directory / "c/records").iterdir()))
            if code not in (0, 3):
                sys.exit(f"gate ended with {code}")
            print(f"{jobs} jobs: gate ended with {code} and held {peak / 2**20:.0f} MiB at most", flush=True)
            seen.append((jobs, peak))
    (few, low), (many, high) = seen
    each = (high - low) / (many - few)
    print(f"{each / 1024:.1f} KiB a job; {FULL_JOBS} jobs would take {(low + each * (FULL_JOBS - few)) / 2**30:.2f} GiB")


if __name__ == "__main__":
    main()
