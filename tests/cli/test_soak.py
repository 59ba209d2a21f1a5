"""A soak: cycles as jobs of their own, what is judged, what a kill costs, and the live view beside it."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from campaigns import BINARY, SOURCE, cb, criterion, ends, journal, manifest_holds

SHIPPED = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"]) / "profiles"


def soak_profile(directory, *, cycles=12, every=0.2, params=None, more=(), name="p.json"):
    """Cycles of the scripted case, each with one sample. Beside other tests the disk may need twenty seconds for a document."""
    steps = [{"id": "events", "case": "events", "deadline": "2m"},
             {"id": "load", "case": "fake", "deadline": "2m", "params": {"value": 2, "samples": 8, **(params or {})}}]
    none = {"id": "none", "domain": "stability", "why": "test", "source": SOURCE, "soak": "interruptions", "max": 0}
    steps[0] |= {"informative": True, "why": "test"}
    path = Path(directory) / name
    path.write_text(json.dumps({
        "schema": "clusterbench.profile/1", "name": "soak", "title": {"en": "soak", "zh": "稳定性"},
        "soak": {"steps": ["events", "load"], "for": f"{cycles * every}s", "every": f"{every}s"},
        "steps": [{"id": "info", "case": "info", "informative": True, "why": "test"}, *steps],
        "criteria": [none, criterion("load.data", "load", check="data"), *more]}))
    return path


def run(path, out, *more, **keywords):
    return cb("run", path, "--out", out, "--launcher", "none", *more, **keywords)


def report(out):
    done = cb("gate", out, "--json", Path(out).parent / "report.json")
    return done, json.loads((Path(out).parent / "report.json").read_text())


@pytest.mark.parametrize("rule, place", [
    ({"soak": "events", "of": ["xid"], "max": 1000000}, "max"), ({"soak": "events", "of": ["xid"], "max": 10000}, "max"),
    ({"soak": "events", "of": ["xid"], "max": 9999}, ""), ({"soak": "interruptions", "max": 24}, "max"),
    ({"soak": "interruptions", "max": 23}, ""), ({"soak": "mean_time_between_interruptions", "min": "1ms"}, "min"),
    ({"soak": "mean_time_between_interruptions", "min": "1s"}, "")])
def test_a_limit_that_nothing_can_miss_is_refused(tmp_path, rule, place):
    more = {"id": "more", "domain": "stability", "why": "test", "source": SOURCE, **rule}
    done = cb("profile", "validate", soak_profile(tmp_path, more=[more]))
    assert done.returncode == (2 if place else 0), done.stderr
    assert not place or re.search(rf"criteria\[more\]\.{place} +is a limit that nothing (on one host )?can miss", done.stderr)


def test_every_cycle_is_a_job_and_the_report_says_what_zero_failures_prove(tmp_path):
    out, prom = tmp_path / "out", tmp_path / "progress.prom"
    done = run(soak_profile(tmp_path, cycles=4), out, "--prom", prom)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [e["job"] for e in ends(out)] == ["001-info"] + [
        f"00{s}-{n}~{c:04}" for c in range(1, 5) for s, n in ((2, "events"), (3, "load"))] + ["002-events~0005"]
    assert "cycle 4" in done.stderr
    assert manifest_holds(out)[0]
    _, said = report(out)
    soak = said["soak"]
    assert [c["number"] for c in soak["cycles"]] == [1, 2, 3, 4]
    assert soak["cluster"]["interruptions"] == 0 and "estimate" not in soak["cluster"]
    assert abs(soak["cluster"]["at_least"] * 2.995732274 - soak["cluster"]["seconds"]) < 1e-6
    text = prom.read_text()
    assert "clusterbench_run_finished 1" in text and "clusterbench_run_active 0" in text
    assert 'clusterbench_run_jobs{step="load",state="done"} 4' in text
    page = tmp_path / "r.html"
    assert cb("report", out, "--html", page).returncode == 0
    assert "No interruption in " in page.read_text()
    assert cb("report", out, "--html", page, "--lang", "zh").returncode == 0
    assert "稳定性测试" in page.read_text()


def test_an_interruption_is_counted_and_resuming_does_not_take_it_back(tmp_path):
    out = tmp_path / "out"
    mtbi = {"id": "mtbi", "domain": "stability", "why": "test", "source": SOURCE,
            "soak": "mean_time_between_interruptions", "min": "1h"}
    done = run(soak_profile(tmp_path, cycles=3, params={"failing-rank": 0}, more=[mtbi]), out)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"none .*cycle 1: .*: interruption: ", done.stdout), done.stdout
    _, said = report(out)
    assert said["soak"]["cluster"]["interruptions"] == 3
    assert [e["kind"] for e in said["soak"]["events"]] == ["interruption"] * 3
    assert {e["class"] for e in said["soak"]["events"]} == {"defect"}
    states = {c["id"]: c["state"] for c in said["criteria"]}
    assert states["none"] == "fail"
    before = len(ends(out))
    again = cb("run", "--resume", out)
    assert again.returncode == 1, again.stderr
    assert len(ends(out)) == before  # nothing was repeated


def cycle_begun(out):
    """The last cycle of six that has begun; a reading behind the last one has the number seven."""
    return min(6, max(int(e["job"].partition("~")[2]) for e in journal(out) if e["event"] == "start" and "~" in e["job"]))


def test_a_kill_costs_one_cycle_and_resuming_goes_on_counting(tmp_path):
    out = tmp_path / "out"
    path = soak_profile(tmp_path, cycles=6, params={"samples": 2, "pause": "500ms"})
    with subprocess.Popen([BINARY, "run", path, "--out", out, "--launcher", "none"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
        deadline = time.monotonic() + 30
        while not (out / "journal.jsonl").exists() or not any(
                e["event"] == "start" and e["job"] == "003-load~0003" for e in journal(out)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        before = cycle_begun(out)
        beside = cb("status", out)
        assert beside.returncode == 0, beside.stderr
        assert f"running, process {job.pid}" in beside.stdout
        told = re.search(r"cycle (\d) of 6 of the soak", beside.stdout)
        assert told and 3 <= before <= int(told[1]) <= cycle_begun(out), beside.stdout
        os.kill(job.pid, signal.SIGKILL)
    stopped = cb("status", out)
    assert "no run of this host works in it" in stopped.stdout
    done = cb("run", "--resume", out)
    assert done.returncode == 0, done.stdout + done.stderr
    _, said = report(out)
    assert [c["number"] for c in said["soak"]["cycles"]] == [1, 2, 3, 4, 5, 6]
    assert said["soak"]["missing"] == 0 and said["soak"]["cluster"]["interruptions"] == 0
    assert [(e["kind"], e["class"]) for e in said["soak"]["events"]] in ([], [("campaign_stopped", "tool")])
    starts = [e["job"] for e in journal(out) if e["event"] == "start"]
    assert len(set(starts)) == 14 and len(starts) <= 15  # one cycle's job at most was begun twice


def kernel_log(root, lines):
    for directory in ("dev", "proc/sys/kernel/random", "sys"):
        (root / directory).mkdir(parents=True, exist_ok=True)
    (root / "proc/stat").write_text(f"cpu 1\nbtime {int(time.time()) - 1000}\n")
    (root / "proc/sys/kernel/random/boot_id").write_text("0b1c2d3e-0000\n")
    (root / "dev/kmsg").write_text("".join(f"4,{i},{1000000000 + i},-;{line}\n" for i, line in enumerate(lines)))


LAUNCHER = """#!/usr/bin/python3
import json, subprocess, sys, time
binary, root = {binary!r}, {root!r}
command = sys.argv[sys.argv.index(binary):]
of_host = ["--sysroot", root] if "events" in command else []
while "load~0002" in " ".join(command) and "Xid" not in open(root + "/dev/kmsg").read():
    time.sleep(0.02)
code = subprocess.run([*command, *of_host]).returncode
if of_host:
    path = command[command.index("--json") + 1]
    document = json.load(open(path))
    document["run"]["argv"] = [w for w in document["run"]["argv"] if w not in of_host]
    json.dump(document, open(path, "w"))
sys.exit(code)
"""


def test_an_xid_in_the_load_of_the_last_cycle_is_read(tmp_path):
    out, root, launcher = tmp_path / "out", tmp_path / "root", tmp_path / "bin/mpirun"
    kernel_log(root, ["nothing"])
    launcher.parent.mkdir()
    launcher.write_text(LAUNCHER.format(binary=BINARY, root=str(root)))
    launcher.chmod(0o755)
    xids = {"id": "xids", "domain": "stability", "why": "test", "source": SOURCE, "soak": "events", "of": ["xid"], "max": 0}
    path = soak_profile(tmp_path, cycles=2, params={"pause": "50ms"}, more=[xids])
    host = os.uname().nodename
    with subprocess.Popen([BINARY, "run", path, "--out", out, "--launcher", "mpirun", "--hosts", f"{host}:1"], stdout=subprocess.PIPE,
                          text=True, env={**os.environ, "PATH": f"{launcher.parent}:{os.environ['PATH']}"}) as run_:
        deadline = time.monotonic() + 30
        while run_.poll() is None and (not (out / "journal.jsonl").exists() or not any(
                e["event"] == "start" and e["job"].startswith("003-load~0002") for e in journal(out))):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        kernel_log(root, ["nothing", "NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus."])
        said = run_.communicate(timeout=60)[0]
    assert run_.returncode == 1 and "✗ xids" in said and "the last reading: " in said, said
    assert [e["job"].split("@")[0] for e in ends(out)][-2:] == ["003-load~0002", "002-events~0003"]
    _, report_ = report(out)
    assert [(e["kind"], e["cycle"]) for e in report_["soak"]["events"]] == [("xid", 3)]
    assert report_["soak"]["last_reading"]["open"] == [] and len(report_["soak"]["cycles"]) == 2
    page = tmp_path / "r.md"
    assert cb("report", out, "--md", page).returncode == 0
    assert "Watched until " in page.read_text()


def test_status_reads_only(tmp_path):
    out = tmp_path / "out"
    assert run(soak_profile(tmp_path, cycles=2), out).returncode == 0
    before = {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(out.rglob("*"))}
    done = cb("status", out)
    assert done.returncode == 0 and "finished" in done.stdout
    assert cb("status", out, "--prom", tmp_path / "s.prom").returncode == 0
    assert {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(out.rglob("*"))} == before
    assert cb("status", tmp_path).returncode == 2


def test_an_agent_that_cannot_cut_leaves_nothing_to_undo(tmp_path):
    done = cb("drill", "agent", "--list", tmp_path / "undo.jsonl", "--do", "cut-link", "--token", "t", "--part", "nosuch0", "--hold", 1)
    assert done.returncode == 4 and "cannot cut nosuch0: No such device" in done.stderr, done.stderr
    assert not (tmp_path / "undo.jsonl").exists()


def test_profiles_say_what_is_wrong_with_a_soak(tmp_path):
    def problems(change):
        path = soak_profile(tmp_path)
        profile = json.loads(path.read_text())
        change(profile)
        path.write_text(json.dumps(profile))
        done = cb("profile", "validate", path)
        assert done.returncode == 2, done.stdout
        return done.stderr

    assert "needs a soak" in problems(lambda p: p.pop("soak"))
    assert "neighbours" in problems(lambda p: p["soak"].update(steps=["info", "load"]))
    assert "gives 1 cycles" in problems(lambda p: p["soak"].update({"for": "0.1s"}))
    assert "an interruption would go unseen" in problems(lambda p: p["criteria"].pop(0))
    assert "max_loss" in problems(lambda p: p["criteria"].append(
        {"id": "d", "step": "load", "domain": "host", "why": "t", "source": SOURCE, "soak": "decay",
         "metric": "bytes_per_second"}))


def test_the_shipped_soaks_are_valid_and_differ_in_length():
    hours = {"soak-24h": "24h", "soak-72h": "72h", "soak-168h": "168h"}
    for name, length in hours.items():
        assert cb("profile", "validate", name).returncode == 0, name
        assert json.loads(cb("profile", "show", name).stdout)["soak"]["for"] == length


def test_drills_are_listed_and_need_permission(tmp_path):
    listed = cb("drill", "list")
    assert listed.returncode == 0
    for name in ("stop-rank", "kill-rank", "slow-link", "cut-link", "fill-disk", "fake-xid", "pull-optic", "power-feed"):
        assert name in listed.stdout
    done = cb("drill", "run", "stop-rank", "--hosts", "a,b", "--launcher", "mpirun", "--out", tmp_path / "d")
    assert done.returncode == 2 and "--allow stop-rank" in done.stderr, done.stderr
    assert not (tmp_path / "d").exists()
    assert cb("drill", "run", "stop-rnk", "--out", tmp_path / "d").returncode == 2
    allowed = ["drill", "run", "stop-rank", "--hosts", "a,b", "--launcher", "mpirun", "--allow", "stop-rank", "--out"]
    for more, option in (([""], "--out"), ([tmp_path / "d", "--hold", "nan"], "--hold"), ([tmp_path / "d", "--deadline", "nan"], "--deadline")):
        done = cb(*allowed, *more)
        assert done.returncode == 2 and option in done.stderr, done.stderr
