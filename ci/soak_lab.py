#!/usr/bin/python3
"""A soak of 72 hours, an hour a second: 72 real cycles with planted events, each of which must stand in the report.

    ci/soak_lab.py BINARY [--keep DIR]

A stand-in for mpirun starts the measurements and plays the faults of a node: a process that dies after an Xid, one that hangs, wrong
data, a link that went down, throttling, corrected memory errors, a rate that falls by 0.2 % a cycle, and an Xid in the last cycle's load. The campaign itself is killed in
cycle 60 and resumed. Prints every event with its class, and the bounds beside values computed here from the chi-square distribution's
series. Exits 1 if anything differs from what was planted.
"""
import argparse
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CYCLES, FALL = 72, 0.002
TOTALS = {9: ("link_downs", "nic", "eth0", 1), 50: ("throttle_events", "host", "", 4),
          55: ("memory_corrected_errors", "memory", "mc0", 1)}
DIES, HANGS, WRONG, KILLED = 20, 33, 41, 60
READ_LAST = CYCLES + 1  # the reading after the last cycle
EXPECTED = [("link_down", "degradation", 9), ("xid", "defect", DIES), ("interruption", "defect", DIES),
            ("interruption", "defect", HANGS), ("wrong_data", "defect", WRONG), ("throttling", "environment", 50),
            ("memory_corrected", "degradation", 55), ("campaign_stopped", "tool", KILLED),
            ("xid", "defect", READ_LAST)]
SOURCE = {"kind": "practice", "ref": "lab", "date": "2026-11"}


def profile():
    def criterion(name, **rule):
        return {"id": name, "domain": "stability", "why": "lab", "source": SOURCE, **rule}
    return {
        "schema": "clusterbench.profile/1", "name": "soak-lab", "title": {"en": "lab", "zh": "lab"},
        "soak": {"steps": ["events", "load"], "for": f"{CYCLES}s", "every": "1s"},
        "steps": [{"id": "info", "case": "info", "informative": True, "why": "lab"},
                  {"id": "events", "case": "events", "deadline": "60s"},
                  {"id": "load", "case": "fake", "deadline": "5s", "params": {"value": 2e9, "samples": 8}}],
        "criteria": [
            criterion("none", soak="interruptions", max=0),
            criterion("mtbi", soak="mean_time_between_interruptions", min="1h"),
            criterion("decay", soak="decay", step="load", metric="bytes_per_second", max_loss=0.05),
            criterion("links", soak="events", of=["link_down"], max=0),
            criterion("xids", soak="events", of=["xid"], max=1),
            {**criterion("load.data", check="data"), "step": "load"}]}


def metric(record, name, kind, part, value):
    entity = {"host": record["entities"][0]["host"], "kind": kind, "id": part}
    if entity not in record["entities"]:
        record["entities"].append(entity)
    summary = {k: float(value) for k in ("min", "p05", "median", "p95", "p99", "max", "mean")}
    record["metrics"] = [m for m in record["metrics"]
                         if (m["name"], record["entities"][m["entity"]]) != (name, entity)]
    record["metrics"].append({"name": name, "unit": "count", "better": "lower", "samples": [float(value)],
                              "entity": record["entities"].index(entity), "summary": {"n": 1, **summary}})


def kernel_line(record, number, text):
    host, now = record["entities"][0]["host"], time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    args = [host, "xid", now, f"b:{number}", text]
    place = len(record["notes"])
    record["notes"].append(f"kernel of {host} at {now}, xid: {text} (line b:{number})")
    notes = {**record.get("say", {}).get("notes", {}), str(place): {"id": "events.kernel", "args": args}}
    record["say"] = {**record.get("say", {}), "notes": notes}


def spoil(path, job, cycle):
    document = json.loads(path.read_text())
    record = document["records"][0]
    if job == "events":
        for first, (name, kind, part, growth) in TOTALS.items():
            metric(record, name, kind, part, growth if cycle >= first else 0)
        record["metrics"] = [m for m in record["metrics"] if m["name"] != "kernel_messages"]
        metric(record, "kernel_messages", "host", "", 100)
        record["notes"] = []
        record.get("say", {}).pop("notes", None)
        if cycle >= DIES:
            kernel_line(record, 7, "NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.")
        if cycle == READ_LAST:  # logged in the load of the last cycle
            kernel_line(record, 8, "NVRM: Xid (PCI:0000:9b:00): 48, Double Bit ECC Error")
    elif cycle == WRONG:
        record["checks"] = [{"name": "data", "passed": False, "entity": 0, "detail": "planted"}]
        record["metrics"] = []
    else:
        for m in record["metrics"]:
            m["samples"] = [x * (1 - FALL * cycle) for x in m["samples"]]
            m["summary"] = {k: v if k == "n" else [x * (1 - FALL * cycle) for x in v] if isinstance(v, list)
                            else v * (1 - FALL * cycle) for k, v in m["summary"].items()}
    path.write_text(json.dumps(document))


def stand_in(argv):
    """What `mpirun` does in the lab: one rank, then the planted fault of the job's cycle."""
    binary = os.environ["SOAK_LAB_BINARY"]
    command = argv[argv.index(binary):]
    path = Path(command[command.index("--json") + 1])
    found = re.match(r"\d+-(\w+)(?:~(\d+))?", path.name)
    job, cycle = found[1], int(found[2] or 0)
    if job == "load" and cycle == DIES:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    if job == "load" and cycle == HANGS:
        time.sleep(600)
    code = subprocess.run(command, check=False).returncode
    if cycle and path.exists():
        spoil(path, job, cycle)
    return 1 if job == "load" and cycle == WRONG else code


def chi_square_cdf(x, df):
    """By the series of the incomplete gamma function, for even and odd df."""
    a, term, total, n = df / 2, 1.0, 1.0, 0
    while term > 1e-17 * total:
        n += 1
        term *= x / 2 / (a + n)
        total += term
    return total * math.exp(a * math.log(x / 2) - x / 2 - math.lgamma(a + 1))


def chi_square(p, df):
    low, high = 0.0, 1000.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if chi_square_cdf(middle, df) < p else (low, middle)
    return low


def run_with_a_kill(binary, directory, environment):
    out = directory / "out"
    command = [binary, "run", directory / "p.json", "--out", out, "--launcher", "mpirun", "--hosts", "localhost:1"]
    with open(directory / "run.log", "w", encoding="utf-8") as log, \
            subprocess.Popen(command, env=environment, stdout=log, stderr=log) as job:
        deadline = time.monotonic() + 1200
        journal = out / "journal.jsonl"
        while not journal.exists() or not any(
                '"start"' in line and f"load~{KILLED:04}" in line for line in journal.read_text().splitlines()):
            if job.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the campaign ended early: {(directory / 'run.log').read_text()}")
            time.sleep(0.005)
        job.kill()
    done = subprocess.run([binary, "run", "--resume", out, "--trust"], env=environment, capture_output=True, text=True,
                          timeout=1200, check=False)
    print(done.stdout)
    return out


def check(said):
    soak = said["soak"]
    for e in soak["events"]:
        print(f'{e["at"]} cycle {e["cycle"]:2} {e["class"]:11} {e["kind"]:16} {e["what"][:60]} {e.get("cause", "")[:60]}')
    seen = [(e["kind"], e["class"], e["cycle"]) for e in soak["events"]]
    good = sorted(seen) == sorted(EXPECTED)
    if not good:
        print("missing:", set(EXPECTED) - set(seen), "surplus:", set(seen) - set(EXPECTED))
    of = soak["cluster"]
    k, seconds = of["interruptions"], of["seconds"]
    low, high = 2 * seconds / chi_square(0.95, 2 * k + 2), 2 * seconds / chi_square(0.05, 2 * k)
    print(f'{k} interruptions in {seconds} s: at least {of["at_least"]:.6f} (by hand {low:.6f}), '
          f'at most {of["at_most"]:.6f} (by hand {high:.6f})')
    good = good and k == 2 and abs(of["at_least"] - low) < 1e-6 * low and abs(of["at_most"] - high) < 1e-6 * high
    for s in soak["series"]:
        if s["step"] == "load":
            planted = FALL * (CYCLES - 1) / (1 - FALL * (CYCLES + 1) / 2)
            print(f'loss over the soak {s["loss"]:.4f} in {s["interval"]}, planted {planted:.4f}; '
                  f'last over first tenth {s["last_to_first"]:.4f}')
            good = good and s["interval"][0] <= planted * 1.2 and s["interval"][1] >= planted * 0.8 and s["loss"] > 0.05
    states = {c["id"]: c["state"] for c in said["criteria"]}
    print(states)
    return good and states["none"] == states["decay"] == states["links"] == states["load.data"] == states["xids"] == "fail"


def main():
    if "SOAK_LAB_BINARY" in os.environ:
        sys.exit(stand_in(sys.argv[1:]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--keep", type=Path, help="leave campaign and report in this new directory")
    args = parser.parse_args()
    binary = str(Path(args.binary).resolve())
    with tempfile.TemporaryDirectory() as name:
        directory = args.keep or Path(name)
        directory.mkdir(exist_ok=True)
        launcher = directory / "bin" / "mpirun"
        launcher.parent.mkdir()
        launcher.symlink_to(Path(__file__).resolve())
        environment = {**os.environ, "PATH": f"{launcher.parent}:{os.environ['PATH']}", "SOAK_LAB_BINARY": binary,
                       "CLUSTERBENCH_TEST_CASES": "1"}
        (directory / "p.json").write_text(json.dumps(profile()))
        out = run_with_a_kill(binary, directory, environment)
        subprocess.run([binary, "gate", out, "--json", directory / "report.json"], env=environment, check=False,
                       stdout=subprocess.DEVNULL)
        subprocess.run([binary, "report", out, "--html", directory / "report.html"], env=environment, check=False)
        sys.exit(0 if check(json.loads((directory / "report.json").read_text())) else 1)


if __name__ == "__main__":
    main()
