"""A campaign over four hosts of which one breaks in the middle: it is taken out and named, the others are measured whole, a spare
steps in, nothing measured is lost or doubled, and nothing is left running."""

import hashlib
import json
import os
import random
import signal
import subprocess
import time

import netns_lab
import pytest
from processes import by_rank

SOURCE = {"kind": "contract", "ref": "lab", "date": "2026-11"}


@pytest.fixture(scope="module")
def lab():
    if reason := netns_lab.why_not():
        pytest.skip(reason)
    with netns_lab.NetnsLab(5) as lab:
        yield lab


def write_profile(path, pause="0.15s", **more):
    """A look at the hosts, a step of each, two across all and a last one of each; one host may be replaced."""
    def step(identity, **keys):
        return {"id": identity, "case": "fake", "deadline": "25s", "stall": "6s",
                "params": {"value": 2, "samples": 8, "pause": pause, "size": ["1K", "2K"]}, **keys}

    def rate(identity):
        return {"id": f"{identity}.rate", "step": identity, "domain": "host", "why": "lab", "source": SOURCE,
                "metric": "bytes_per_second", "min": 1}

    path.write_text(json.dumps({
        "schema": "clusterbench.profile/1", "name": "lab", "title": {"en": "lab", "zh": "lab"},
        "steps": [{"id": "info", "case": "info", "deadline": "30s", "informative": True, "why": "lab"}, step("each"),
                  step("all", scope="cluster"), step("whole", scope="cluster"), step("last")],
        "criteria": [rate(s) for s in ("each", "all", "whole", "last")],
        "delivery": {"hosts": 4, "replaced_at_most": 1, "why": "lab", "source": SOURCE}, **more}))
    return path


def begin(lab, clusterbench, tmp_path, *arguments):
    out = tmp_path / "out"
    hosts = lab.host_list(1, lab.hosts[:4])
    words = [clusterbench, "run", write_profile(tmp_path / "p.json"), "--out", out, "--hosts", hosts, "--launcher", "mpirun",
             *arguments]
    return lab.popen(list(map(str, words))), out


def events(out):
    journal = out / "journal.jsonl"
    found = []
    for line in journal.read_text().splitlines() if journal.exists() else []:
        try:
            found.append(json.loads(line))
        except ValueError:
            pass  # torn by a kill
    return found


def wait_for_start(out, job, seconds=60):
    end = time.monotonic() + seconds
    while not any(e["event"] == "start" and e["job"].startswith(job) for e in events(out)):
        assert time.monotonic() < end, f"{job} does not begin"
        time.sleep(0.05)


def end_of(process, seconds=170):
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


def excluded(out):
    return [(e["host"], e.get("by", "")) for e in events(out) if e["event"] == "excluded"]


def check_whole(out):
    """Each document that the journal has is there as written, once; and nothing else is."""
    files = {}
    for e in events(out):
        if e.get("sha256") and e["event"] in ("end", "kept"):
            assert e["file"] not in files, f"{e['file']} stands twice"
            files[e["file"]] = e["sha256"]
    for name, digest in files.items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest, name
    assert {f"records/{p.name}" for p in (out / "records").iterdir()} == set(files)
    attempts = [(e["job"], e["attempt"]) for e in events(out) if e["event"] == "start"]
    assert len(attempts) == len(set(attempts)), "an attempt began twice"
    check = subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "MANIFEST.sha256"], cwd=out, capture_output=True)
    assert check.returncode == 0, check.stderr


def nothing_runs(lab, out, seconds=10):
    end = time.monotonic() + seconds
    while left := subprocess.run(["pgrep", "-f", f"json {out}/records"], capture_output=True, text=True).stdout.split():
        assert time.monotonic() < end, f"left running: {left}"
        time.sleep(0.2)


def last_hosts(out, stem):
    newest = max((out / "records").glob(f"{stem}*.json"), key=lambda p: json.loads(p.read_text())["run"]["started"])
    return json.loads(newest.read_text())["run"]["hosts"]


def test_a_host_that_dies_in_a_step_is_replaced_by_a_spare(lab, clusterbench, tmp_path):
    bad, spare = lab.hosts[2], lab.hosts[4]
    process, out = begin(lab, clusterbench, tmp_path, "--spares", f"{spare}:1")
    wait_for_start(out, "004-whole")
    time.sleep(0.8)
    lab.cut_link(bad)
    lab.kill_host(bad)
    try:
        code, printed, err = end_of(process)
    finally:
        lab.mend_link(bad)
    assert excluded(out) == [(bad, spare)], err
    assert code == 0 and printed.splitlines()[-1].startswith("ACCEPTED"), printed + err
    wanted = [h if h != bad else spare for h in lab.hosts[:4]]
    assert last_hosts(out, "003-all") == wanted and last_hosts(out, "004-whole") == wanted
    check_whole(out)
    nothing_runs(lab, out)
    page = tmp_path / "report.md"
    subprocess.run([clusterbench, "report", out, "--md", page], check=True, timeout=60)
    assert "Hosts taken out" in page.read_text() and bad in page.read_text()


def test_a_stopped_rank_is_named_and_costs_its_host(lab, clusterbench, tmp_path):
    bad = lab.hosts[1]
    process, out = begin(lab, clusterbench, tmp_path)
    wait_for_start(out, "003-all")
    end = time.monotonic() + 20
    while not (out / "records/003-all.json.1.partial").exists():  # the first of two points is done: all ranks measure
        assert time.monotonic() < end
        time.sleep(0.02)
    pids = lab.pids(bad, "clusterbench")
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    code, printed, err = end_of(process)
    assert excluded(out) == [(bad, "")], err
    assert "hung" in next(e["reason"] for e in events(out) if e["event"] == "excluded")
    assert code == 3 and bad in printed, printed + err
    assert last_hosts(out, "003-all") == [h for h in lab.hosts[:4] if h != bad]
    check_whole(out)
    nothing_runs(lab, out)
    # Repaired: it is measured with the others, and the campaign is whole.
    done = lab.run([clusterbench, "run", "--only", bad, "--into", out], timeout=170)
    assert done.returncode == 0, done.stdout + done.stderr
    assert last_hosts(out, "003-all") == lab.hosts[:4]
    check_whole(out)


def test_a_killed_launcher_costs_its_job(lab, clusterbench, tmp_path):
    process, out = begin(lab, clusterbench, tmp_path)
    wait_for_start(out, "003-all")
    time.sleep(0.5)
    for pid in lab_launchers(out, "003-all"):
        os.kill(pid, signal.SIGKILL)
    code, printed, err = end_of(process)
    assert excluded(out) == [] and code == 3, printed + err
    nothing_runs(lab, out)
    done = lab.run([clusterbench, "run", "--resume", out], timeout=170)
    assert done.returncode == 0, done.stdout + done.stderr
    check_whole(out)


SHIFTED_CLOCK = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t which, struct timespec* out) {
  int (*real)(clockid_t, struct timespec*) = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  int code = real(which, out);
  if (which == CLOCK_REALTIME) out->tv_sec += 5;
  return code;
}
"""


def test_the_look_before_finds_another_program_a_wrong_clock_and_a_rank_too_many(lab, clusterbench, tmp_path):
    """Told on four hosts of which three are each wrong in one thing; the first one has the wrong clock."""
    (tmp_path / "clock.c").write_text(SHIFTED_CLOCK)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "clock.so", tmp_path / "clock.c", "-ldl"], check=True)
    other = tmp_path / "other"
    other.write_bytes(open(clusterbench, "rb").read() + b"x")
    other.chmod(0o755)
    clock, program, right, ranks = lab.hosts[:4]
    words = ["preflight", "--json", tmp_path / "p.json"]
    each = [["env", f"LD_PRELOAD={tmp_path / 'clock.so'}", clusterbench, *words], [other, *words], *[[clusterbench, *words]] * 3]
    done = lab.run(["mpirun", "--host", f"{clock}:1,{program}:1,{right}:1,{ranks}:2", "-np", "5", *by_rank(*each)], timeout=120)
    assert done.returncode == 1, done.stdout + done.stderr
    (record,) = json.loads((tmp_path / "p.json").read_text())["records"]
    host_of = [e["host"] for e in record["entities"]]
    failed = {(c["name"], host_of[c["entity"]]) for c in record["checks"] if not c["passed"]}
    assert failed == {("same_program", program), ("rank_map", ranks)}
    offsets = {host_of[m["entity"]]: m["samples"][0] for m in record["metrics"] if m["name"] == "clock_offset_seconds"}
    assert abs(offsets.pop(clock) - 5) < 0.2 and len(offsets) == 3 and max(offsets.values()) < 0.2


def lab_launchers(out, job):
    found = subprocess.run(["pgrep", "-f", f"^(mpirun|prterun) .*{out}/records/{job}"], capture_output=True, text=True)
    return [int(p) for p in found.stdout.split()]


def kill_and_resume(lab, clusterbench, tmp_path, moments, whole):
    """Kills the campaign at random moments of its time until it has ended; returns how often."""
    process, out = begin(lab, clusterbench, tmp_path)
    killed = 0
    for moment in moments:
        time.sleep(moment * whole)
        if process.poll() is None:
            subprocess.run(["pkill", "-KILL", "--parent", str(process.pid)], check=False)
            process.kill()
            killed += 1
        process.communicate(timeout=30)
        again = ["--resume", out] if (out / "campaign.json").exists() else None
        if again is None:
            process, out = begin(lab, clusterbench, tmp_path)
        else:
            process = lab.popen([clusterbench, "run", *map(str, again)])
    code, printed, err = end_of(process)
    assert code == 0, printed + err
    check_whole(out)
    nothing_runs(lab, out)
    return killed


def test_killed_at_random_moments_it_ends_by_itself(lab, clusterbench, tmp_path):
    """ci/campaign-kills.py does this a hundred times."""
    seed = int.from_bytes(os.urandom(4), "big")
    print("seed", seed)
    draw = random.Random(seed)
    assert kill_and_resume(lab, clusterbench, tmp_path, [draw.uniform(0.02, 0.6) for _ in range(4)], 6) >= 2


def test_a_host_whose_agent_never_starts_is_stopped_at_the_start_deadline(lab, clusterbench, tmp_path):
    """The launcher waits for ever for one host: what has not begun is stopped long before its deadline, and the host is called."""
    bad, spare, hung = lab.hosts[1], lab.hosts[4], tmp_path / "hung"
    agent = tmp_path / "agent"
    agent.write_text(f'#!/bin/sh\n[ -e {hung} ] && [ "$1" = {bad} ] && exec sleep 600\nexec {netns_lab.AGENT} "$@"\n')
    agent.chmod(0o755)
    profile = json.loads(write_profile(tmp_path / "p.json").read_text())
    for step in profile["steps"]:
        if step["id"] == "all":
            step.update(start_deadline="4s", deadline="300s")
    (tmp_path / "p.json").write_text(json.dumps(profile))
    out = tmp_path / "out"
    process = lab.popen(list(map(str, [clusterbench, "run", tmp_path / "p.json", "--out", out, "--hosts",
                                       lab.host_list(1, lab.hosts[:4]), "--spares", f"{spare}:1", "--launcher", "mpirun",
                                       "--fan-out", 1])),
                        env={"OMPI_MCA_plm_rsh_agent": str(agent), "PRTE_MCA_plm_ssh_agent": str(agent)})
    wait_for_start(out, f"002-each@{lab.hosts[2]}")  # one after the other: that of the bad host has ended
    hung.touch()
    code, printed, err = end_of(process)
    assert excluded(out) == [(bad, spare)], err
    assert code == 0 and printed.splitlines()[-1].startswith("ACCEPTED"), printed + err
    assert bad not in last_hosts(out, "003-all")
    (stopped,) = [e for e in events(out) if e["event"] == "end" and e["job"] == "003-all" and e["state"] != "done"]
    assert stopped["reason"].startswith("it had not started after"), stopped
    check_whole(out)
    nothing_runs(lab, out)
