#!/usr/bin/python3
"""Kills a campaign over four hosts of the namespace lab with SIGKILL at random moments, again and again, and resumes it. Each must end as
accepted, with no document lost, doubled or left over, no attempt begun twice and nothing left running. Needs root and Open MPI.

    ci/campaign_kills.py BINARY [--kills 100] [--seed N]
"""
import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
for place in ("tests", "tests/labs", "tests/labs/netns"):
    sys.path.insert(0, str(ROOT / place))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="the clusterbench to kill")
    parser.add_argument("--kills", type=int, default=100, help="at least this many kills that met a running campaign [100]")
    parser.add_argument("--seed", type=int, default=1, help="of the moments [1]")
    chosen = parser.parse_args()
    os.environ["CLUSTERBENCH_TEST_CASES"] = "1"
    import netns_lab
    import test_faults

    if reason := netns_lab.why_not():
        sys.exit(f"campaign_kills: {reason}")
    draw = random.Random(chosen.seed)
    killed = campaigns = 0
    with netns_lab.NetnsLab(5) as lab, tempfile.TemporaryDirectory(prefix="cb-kills-") as top:
        begin = time.monotonic()
        process, _ = test_faults.begin(lab, str(Path(chosen.binary).resolve()), make(top, "whole"))
        code, printed, err = test_faults.end_of(process)
        if code != 0:
            sys.exit(f"campaign_kills: the campaign does not end well without a kill\n{printed}{err}")
        whole = time.monotonic() - begin
        while killed < chosen.kills:
            campaigns += 1
            moments = [draw.uniform(0, 0.5) for _ in range(6)]
            killed += test_faults.kill_and_resume(lab, str(Path(chosen.binary).resolve()), make(top, str(campaigns)), moments, whole)
            print(f"{killed} kills in {campaigns} campaigns, {time.monotonic() - begin:.0f} s", flush=True)
    print(f"seed {chosen.seed}: {killed} kills in {campaigns} campaigns of {whole:.1f} s: each ended as accepted, nothing lost or doubled, "
          "nothing left running")


def make(top, name):
    directory = Path(top) / name
    directory.mkdir()
    return directory


if __name__ == "__main__":
    main()
