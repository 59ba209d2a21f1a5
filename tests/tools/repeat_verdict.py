#!/usr/bin/python3
"""Runs a profile again and again on this machine and counts the verdicts: accepted and rejected must never both occur.

usage: repeat_verdict.py BINARY PROFILE DIRECTORY [TIMES=20]
Prints one line per run and, at the end, for each criterion its states and the spread of its ratio. Exit 1 if the verdict flipped.
"""

import collections
import json
import pathlib
import subprocess
import sys


def main():
    binary, profile, directory = sys.argv[1:4]
    times = int(sys.argv[4]) if len(sys.argv) > 4 else 20
    codes = collections.Counter()
    ratios, states = collections.defaultdict(list), collections.defaultdict(collections.Counter)
    for n in range(1, times + 1):
        out = pathlib.Path(directory) / f"run-{n:02}"
        done = subprocess.run([binary, "run", profile, "--out", out], capture_output=True, text=True)
        again = done.stderr.count("measured once more")
        codes[done.returncode] += 1
        gate = out / "gate.json"
        subprocess.run([binary, "gate", out, "--json", gate], capture_output=True)
        for c in json.loads(gate.read_text())["criteria"]:
            states[c["id"]][c["state"]] += 1
            if "ratio" in c:
                ratios[c["id"]].append(c["ratio"])
        print(f"{n:2}  exit {done.returncode}  {done.stdout.splitlines()[-1].split(' · /')[0]}"
              f"{f'  measured again {again} ×' if again else ''}", flush=True)
    for name, seen in states.items():
        spread = f"  ratio {min(ratios[name]):.2f} to {max(ratios[name]):.2f}" if ratios[name] else ""
        print(f"{name:24} {dict(seen)}{spread}")
    print(f"accepted {codes[0]}, rejected {codes[1]}, inconclusive or incomplete {codes[3]}, other "
          f"{sum(codes.values()) - codes[0] - codes[1] - codes[3]}")
    return 1 if codes[0] and codes[1] else 0


if __name__ == "__main__":
    sys.exit(main())
