#!/usr/bin/python3
"""Runs every drill that needs no person in the namespace lab (root) and prints what each has shown.

    ci/drill_lab.py BINARY [--hosts 4] [--only stop-rank,…]

Exits 1 if a drill was not detected, named, restored or recovered from.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "labs" / "netns"))
import netns_lab  # noqa: E402  pylint: disable=wrong-import-position

DRILLS = {"stop-rank": [], "kill-rank": [], "slow-link": ["--part", "eth0", "--rate", "10mbit"],
          "cut-link": ["--part", "eth0", "--hold", "20"], "fill-disk": []}


def shape(lab):
    """All links alike and far below what the machine carries, so that its other work is little noise."""
    for host in lab.hosts:
        subprocess.run(["tc", "-n", lab.head, "qdisc", "replace", "dev", f"n{lab.hosts.index(host) + 1}", "root", "tbf",
                        "rate", "100mbit", "burst", "64kb", "latency", "50ms"], check=True, timeout=20)


def run_one(lab, binary, drill, more, directory):
    out = directory / drill
    host = lab.hosts[-1]
    done = lab.run([binary, "drill", "run", drill, "--hosts", lab.host_list(1), "--launcher", "mpirun", "--on", host,
                    "--allow", drill, "--out", out, "--deadline", "60", *more], timeout=400)
    try:
        record = json.loads((out / "drill.json").read_text())["records"][0]
    except OSError:
        print(f"{drill}: no record\n{done.stderr}")
        return False
    checks = {c["name"]: c["passed"] for c in record["checks"]}
    figures = {m["name"]: m["samples"][0] for m in record["metrics"]}
    print(f"{drill:10}", " ".join(f"{'ok' if passed else 'NO'} {name}" for name, passed in checks.items()),
          " ".join(f"{name} {value:.4g}" for name, value in figures.items()), flush=True)
    if not all(checks.values()):
        print(done.stdout, done.stderr)
    return all(checks.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--only", default=",".join(DRILLS))
    args = parser.parse_args()
    if reason := netns_lab.why_not():
        sys.exit(reason)
    good = True
    with tempfile.TemporaryDirectory() as name, netns_lab.NetnsLab(args.hosts) as lab:
        directory, disk = Path(name), Path(name) / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64M", "tmpfs", disk], check=True, timeout=20)
        try:
            shape(lab)
            for drill in args.only.split(","):
                more = ["--part", str(disk)] if drill == "fill-disk" else DRILLS[drill]
                good = run_one(lab, Path(args.binary).resolve(), drill, more, directory) and good
        finally:
            subprocess.run(["umount", disk], check=False, timeout=20)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
