#!/usr/bin/python3
"""The profiles of training on three hosts of the namespace lab, with decoders that their one core each can bear.

    ci/training_lab.py BINARY [--slow] [--soak] [--keep DIR]

Needs root and Open MPI. Runs `end-to-end`: links carry 400 Mbit/s, with --slow that of the second host a fifth, which the criterion on links must name.
With --soak `soak-train` instead, 12 minutes in cycles of three; in the second cycle the second host's rank of the training is killed, which must be
the soak's one interruption. Prints each criterion and the soak's events. Exits 1 if a check of the data fails where nothing is
planted, or what is planted is not named. The hosts share cores, so how fast they are is printed and not asked.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests/labs/netns"))
from netns_lab import NetnsLab, why_not  # noqa: E402

SMALL = {"hidden": "256", "layers": "2", "heads": "4", "kv-heads": "2", "head-dim": "64", "feed-forward": "704", "vocabulary": "1024"}
TRAIN = {**SMALL, "sequence": "256", "micro-batch": "4"}
# What must pass on hosts that share cores.
END_TO_END_DATA = ("train.host.twin", "train.host.loss", "train.all.twin", "train.all.loss", "train.all.weights", "infer.repeat", "infer.cache", "kv.pages")
SOAK_DATA = ("soak.burn.cpu.result", "soak.mpi.data", "soak.io.data", "soak.kernel")
CYCLE_SECONDS, CYCLES = 180, 4
RATE, FIFTH = "400mbit", "80mbit"


def end_to_end():
    return {"base": "end-to-end", "name": "end-to-end-lab", "steps": [
        {"id": "train-host", "params": {**TRAIN, "threads": "1"}},
        {"id": "train-all", "params": {**TRAIN, "threads": "1"}},
        {"id": "infer", "params": {**SMALL, "threads": "1", "prompt": "32", "new-tokens": "8"}},
        {"id": "kv-transfer", "params": {"model": "tiny", "layers": "8", "prompt": "256"}}]}


def soak_train():
    """Training beside the loads of the processor, MPI and storage: the hosts have no GPUs."""
    return {"base": "soak-train", "name": "soak-train-lab",
            "soak": {"for": f"{CYCLE_SECONDS * CYCLES}s", "every": f"{CYCLE_SECONDS}s"},
            "steps": [{"id": "soak-burn-cpu", "params": {"duration": "10s"}},
                      {"id": "soak-mpi", "params": {"size": ["64K", "1M"], "duration": "5s"}},
                      {"id": "soak-io", "params": {"size": "64M", "duration": "5s"}},
                      {"id": "soak-train", "params": {**TRAIN, "threads": "1", "steps": "24", "twin-every": "8", "hash-every": "4"}}]}


def write_profile(place, profile):
    path = place / "p.json"
    path.write_text(json.dumps({"schema": "clusterbench.profile/1", "title": {"en": "lab", "zh": "lab"}, **profile}))
    return path


def kill_a_training(lab, host, from_second):
    """Waits for a training on the host that began later than that, and kills its rank."""
    begin = time.monotonic()
    while time.monotonic() < begin + CYCLE_SECONDS * CYCLES:
        for pid in lab.pids(host, "clusterbench"):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"train" in words[1:2] and time.monotonic() > begin + from_second:
                time.sleep(1)
                os.kill(pid, signal.SIGKILL)
                return
        time.sleep(0.2)


def run_campaign(lab, program, place, profile):
    """No host is taken out: a soak goes on with the host whose rank was killed, which is what its four cycles need."""
    out = place / "campaign"
    hosts = lab.write_hostfile(place / "hosts", 1)
    done = lab.run([program, "run", write_profile(place, profile), "--out", out, "--hostfile", hosts, "--launcher", "mpirun",
                    "--exclude", "never"],
                   timeout=3600)
    report = place / "report.json"
    subprocess.run([program, "report", out, "--json", report, "--html", place / "report.html"], check=True, timeout=120)
    return done, json.loads(report.read_text())


def tell(report):
    for c in report["criteria"]:
        if c["state"] != "not-applicable":
            print(f"  {c['state']:12} {c['id']:24} {c.get('reason') or ''}", flush=True)


def failing(report):
    return {c["id"]: {f["name"] for f in c.get("failing", ())} for c in report["criteria"] if c["state"] in ("fail", "warn")}


def not_passed(report, names):
    """Criteria that must be met, and are not."""
    states = {c["id"]: c["state"] for c in report["criteria"]}
    return [f"{name}: {states.get(name, 'not judged')}" for name in names if states.get(name) != "pass"]


def judge_end_to_end(report, slow):
    """What is not as it must be. Who is `slow` must be named by the criterion on links, and nobody else."""
    links = failing(report).get("train.all.links", set())
    if slow:
        wrong = [] if links and all(slow in name for name in links) else [f"links accused, instead of {slow} alone: {links}"]
    else:
        wrong = not_passed(report, ["train.all.links"])
    return wrong + not_passed(report, END_TO_END_DATA)


def judge_soak(report, host):
    """The data is right, and the rank that was killed in the second cycle is told once, with its host."""
    soak = report["soak"]
    for event in soak["events"]:
        print(f"  cycle {event['cycle']}, {event['step']}: {event['kind']}, {event['class']}: {event['what']} {event.get('cause', '')}")
    for series in soak["series"]:
        of = series["entity"]
        whose = ":".join(filter(None, (of.get("host"), of["id"]))) or of["kind"]
        print(f"  {series['step']} {series['metric']} {whose}: median {series['median']:.4g}, loss {series['loss']:.3f}")
    told = [e for e in soak["events"] if e["interrupts"]]
    wrong = []
    if [(e["cycle"], e["step"], host in json.dumps(e)) for e in told] != [(2, "soak-train", True)]:
        wrong.append(f"interruptions: {told}")
    done = [c for c in soak["cycles"] if c["done"]]
    if len(done) != CYCLES:
        wrong.append(f"{len(done)} of {CYCLES} cycles done")
    return wrong + not_passed(report, SOAK_DATA)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--soak", action="store_true")
    parser.add_argument("--keep", metavar="DIR")
    options = parser.parse_args()
    if options.slow and options.soak:
        parser.error("--slow or --soak: a soak does not judge links")
    if reason := why_not():
        sys.exit(reason)
    program = Path(options.binary).resolve()
    with tempfile.TemporaryDirectory() as scratch, NetnsLab(3) as lab:
        place = Path(options.keep or scratch).resolve()
        place.mkdir(parents=True, exist_ok=True)
        second = lab.hosts[1]
        for host in lab.hosts:
            lab.slow_link(host, FIFTH if options.slow and host == second else RATE, latency="500ms")
        killer = threading.Thread(target=kill_a_training, args=(lab, second, CYCLE_SECONDS), daemon=True)
        if options.soak:
            killer.start()
        begin = time.monotonic()
        done, report = run_campaign(lab, program, place, soak_train() if options.soak else end_to_end())
        print(f"exit {done.returncode} after {time.monotonic() - begin:.0f} s: {(done.stdout.strip() or done.stderr).splitlines()[-1:]}")
        tell(report)
        wrong = judge_soak(report, second) if options.soak else judge_end_to_end(report, second if options.slow else None)
    for line in wrong:
        print(f"not as it must be: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
