"""Campaigns that survive faults, attacked: nothing that was wrong is accepted, and no honest campaign is lost."""

import json
import shutil
import subprocess
import time

import pytest

from altering_launcher import Lab
from campaigns import BINARY, SOURCE, at_least, cb, journal, profile, step

EACH_ALL_LAST = [step("each"), step("all", scope="cluster"), step("last")]
NONE = {"id": "none", "domain": "stability", "why": "test", "source": SOURCE, "soak": "interruptions", "max": 0}


class Campaign(Lab):
    def profile(self, steps, limit=1.5, more=(), name="p.json", delivery=None, soak=None):
        info = {"id": "info", "case": "info", "deadline": "20s", "informative": True, "why": "test"}
        rates = [at_least(f"{s['id']}.rate", s["id"], limit) for s in steps]
        text = profile([info, *[{**s, "deadline": "4s"} for s in steps]], [*rates, *more])
        if delivery:
            text["delivery"] = {"hosts": delivery[0], "replaced_at_most": delivery[1], "why": "test", "source": SOURCE}
        if soak:
            text["soak"] = {"steps": [s["id"] for s in steps], "for": f"{soak}s", "every": "1s"}
        (self.root / name).write_text(json.dumps(text))
        return self.root / name

    @property
    def out(self):
        return self.root / "out"

    def cb(self, *arguments, **keywords):
        return cb(*arguments, env=self.environment, timeout=120, **keywords)

    def run(self, hosts, *more):
        return self.cb("run", self.root / "p.json", "--out", self.out, "--hosts", hosts, "--launcher", "mpirun", *more)

    def gate(self, *more):
        return self.cb("gate", self.out, *more)


def test_a_bad_machine_does_not_come_back_as_the_second_spare(tmp_path):
    c = Campaign(tmp_path / "lab", {"names": {"s2": "n2"}}, ["n2 each wrong", "s1 last dead"])
    c.profile(EACH_ALL_LAST, delivery=(4, 2))
    c.run("n[1-4]:1", "--spares", "s1:1,s2:1", "--exclude", "failing")
    gate = c.gate()
    assert gate.returncode == 3 and "the spare s2 is the same machine as n2" in gate.stdout, gate.stdout


def test_replacing_another_host_erases_no_bad_figure(tmp_path):
    c = Campaign(tmp_path / "lab", {"scale": {f"003-all:{i}/n3": 0.4 for i in (1, 2, 3, 4)}})
    c.profile(EACH_ALL_LAST, delivery=(4, 2))
    assert c.run("n[1-4]:1", "--spares", "s1:1").returncode == 1
    c.rules("n2 each dead")
    (c.out / "records/002-each@n2.json").unlink()
    c.cb("run", "--resume", c.out)
    gate = c.gate()
    assert gate.returncode == 1 and "n3" in gate.stdout and "measured 5 times, 4 of them miss" in gate.stdout, gate.stdout
    assert "003-all: 4 attempts ran on another set of hosts" in gate.stderr, gate.stderr
    (c.out / "records/003-all.json").unlink()  # nor does losing the file
    c.cb("run", "--resume", c.out)
    gate = c.gate()
    assert gate.returncode == 3 and "its figures missed or left open" in gate.stdout, gate.stdout


def test_a_spare_that_steps_in_during_only_is_measured_and_leaves_no_doubt(tmp_path):
    c = Campaign(tmp_path / "lab")
    c.profile(EACH_ALL_LAST, delivery=(4, 2))
    c.run("n[1-4]:1", "--spares", "s1:1")
    c.rules("n2 each dead")
    c.cb("run", "--only", "n2", "--into", c.out)
    done = c.cb("run", "--resume", c.out)
    assert done.returncode == 0, done.stdout
    gate = c.gate()
    assert "s1 has the place of n2" in gate.stdout and "evidence" not in gate.stdout, gate.stdout


def test_a_host_that_dies_in_a_soak_is_an_interruption_though_a_spare_has_its_place(tmp_path):
    c = Campaign(tmp_path / "lab", rules=["n2 load~0002 dead"])
    c.profile([step("load")], more=[NONE], delivery=(3, 1), soak=3)
    done = c.run("n[1-3]:1", "--spares", "s1:1")
    assert done.returncode == 1 and "✗ none" in done.stdout, done.stdout
    report = tmp_path / "r.md"
    made = c.cb("report", c.out, "--md", report)
    assert made.returncode == 0, made.stderr
    assert "No interruption in" not in report.read_text()


def test_measuring_again_and_again_accepts_nobody(tmp_path):
    c = Campaign(tmp_path / "lab", {"scale": {f"002-each@n2:{i}": 0.7 for i in (1, 2, 3, 4)}})
    c.profile([step("each")])
    assert c.run("n[1-2]:1").returncode == 1
    for _ in range(6):
        done = c.cb("run", "--only", "n2", "--into", c.out)
    assert done.returncode == 1, done.stdout
    assert "n2: measured 10 times, 4 of them miss ≥ 1.5" in c.gate().stdout


def test_spares_have_the_slots_of_the_hosts(tmp_path):
    c = Campaign(tmp_path / "lab")
    c.profile([step("each", ranks_per_host="slots")])
    done = c.run("n[1-3]:8", "--spares", "s1")
    assert done.returncode == 2 and "s1 has 1 slot, and no host has: write s1:8" in done.stderr, done.stderr
    done = c.run("n[1-3]:8", "--spares", "s1:x")
    assert done.returncode == 2 and "--spares" in done.stderr and "--hosts" not in done.stderr, done.stderr
    assert not c.out.exists()


@pytest.mark.parametrize("limit, code", [(3, 0), (4, 2), (1000000000, 2)])
def test_a_soak_criterion_can_be_missed(tmp_path, limit, code):
    c = Campaign(tmp_path / "lab")
    path = c.profile([step("load")], more=[{**NONE, "max": limit}], soak=4)
    assert c.cb("profile", "validate", path).returncode == code


def test_a_soak_measures_nothing_once_more_and_says_the_number(tmp_path):
    c = Campaign(tmp_path / "lab", {"scale": {"002-load~0002@n2:1": 0.3}})
    c.profile([step("load")], more=[NONE], soak=2)
    assert "measured once more" not in c.run("n[1-2]:1").stderr
    assert "0, at most 0 are agreed" in c.gate().stdout


def test_no_prometheus_text_goes_over_evidence(tmp_path):
    c = Campaign(tmp_path / "lab")
    c.profile([step("each")])
    c.run("n[1-2]:1")
    for name in ("campaign.json", "journal.jsonl", "MANIFEST.sha256", "records/002-each@n1.json"):
        before = (c.out / name).read_bytes()
        assert c.cb("status", c.out, "--prom", c.out / name).returncode == 2
        assert c.cb("run", "--resume", c.out, "--prom", c.out / name).returncode == 2
        assert (c.out / name).read_bytes() == before
    assert c.cb("status", c.out, "--prom", "").returncode == 2
    for seconds in ("nan", "inf", "0"):
        assert c.cb("status", c.out, "--watch", seconds).returncode == 2
    (c.out / "journal.jsonl").write_text("what is this\n")
    status = c.cb("status", c.out)
    assert "? evidence" in status.stdout and "line 1 of the journal" in status.stdout, status.stdout


def test_a_monitor_that_cannot_write_ends_no_campaign(tmp_path):
    c = Campaign(tmp_path / "lab", rules=["seconds 1 1"])
    c.profile([step("a"), step("b")])
    (tmp_path / "watched").mkdir()
    process = subprocess.Popen([BINARY, "run", c.root / "p.json", "--out", c.out, "--hosts", "n1:1", "--launcher", "mpirun",
                                "--prom", tmp_path / "watched/x.prom"], env=c.environment, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 20
    while not (tmp_path / "watched/x.prom").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    shutil.rmtree(tmp_path / "watched")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert said.count("the campaign goes on") == 1, said


def test_another_profile_judges_by_its_own_delivery(tmp_path):
    c = Campaign(tmp_path / "lab", rules=["n2 all dead"])
    steps = EACH_ALL_LAST[:2]
    c.profile(steps, delivery=(3, 0))
    assert c.run("n[1-3]:1", "--spares", "s1:1").returncode == 3
    other = c.profile(steps, delivery=(3, 1), name="q.json")
    gate = c.gate("--profile", other)
    assert gate.returncode == 0, gate.stdout


def test_where_nobody_passes_the_first_look_nobody_goes(tmp_path):
    c = Campaign(tmp_path / "lab", rules=[f"n{i} info dead" for i in (1, 2, 3)])
    c.profile([step("each")], delivery=(3, 2))
    c.run("n[1-3]:1", "--spares", "s[1-3]:1")
    assert not [e for e in journal(c.out) if e["event"] == "excluded"]


def test_dead_hosts_go_though_more_than_half_are_bad(tmp_path):
    c = Campaign(tmp_path / "lab", rules=["n1 each dead", "n2 each dead", "n3 each dead", "n4 each wrong"])
    c.profile([step("each")])
    c.run("n[1-6]:1", "--exclude", "failing")
    assert [e["host"] for e in journal(c.out) if e["event"] == "excluded"] == ["n1", "n2", "n3", "n4"]


def test_a_host_that_was_out_and_came_back_is_noted(tmp_path):
    c = Campaign(tmp_path / "lab", rules=["n2 each dead"])
    c.profile([step("each")])
    c.run("n[1-3]:1")
    refused = c.cb("run", "--only", "n2:99", "--into", c.out)
    assert refused.returncode == 2 and "takes names without slots" in refused.stderr, refused.stderr
    silent = c.cb("run", "--only", "n2", "--into", c.out)
    assert silent.returncode == 3 and "n2 does not answer within 30.0 s: nothing of it is measured" in silent.stderr, silent.stderr
    c.rules()
    (c.root / "state/dead-n2").unlink()
    assert c.cb("run", "--resume", c.out).returncode == 0
    assert "n2 was taken out 1 times" in c.gate().stderr


def test_many_harmless_lines_hide_no_other_kind(tmp_path):
    root, out = tmp_path / "root", tmp_path / "e.json"
    for directory in ("dev", "proc/sys/kernel/random", "sys"):
        (root / directory).mkdir(parents=True)
    (root / "proc/stat").write_text("cpu 1\nbtime 1763600000\n")
    (root / "proc/sys/kernel/random/boot_id").write_text("0b1c2d3e-0000\n")
    lines = ["NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.",
             *["Out of memory: Killed process 77 (python)"] * 250]
    (root / "dev/kmsg").write_text("".join(f"4,{i},{1000000 * i},-;{line}\n" for i, line in enumerate(lines, 7)))
    done = cb("events", "--sysroot", root, "--json", out)
    assert done.returncode == 0, done.stderr
    notes = [n if isinstance(n, str) else n["text"] for n in json.loads(out.read_text())["records"][0]["notes"]]
    assert [n for n in notes if "xid: NVRM" in n]
    assert len([n for n in notes if "Killed process" in n]) == 100
    assert [n for n in notes if "150 older lines of kind out_of_memory" in n]
    assert [n for n in notes if "held lines 7 to 257" in n] and [n for n in notes if "boot 0b1c2d3e" in n]


def test_a_replaced_host_that_was_repaired_steps_in_as_a_spare(tmp_path):
    c = Campaign(tmp_path / "lab", rules=["n2 each dead"])
    c.profile(EACH_ALL_LAST, delivery=(3, 2))
    assert c.run("n[1-3]:1", "--spares", "s1:1").returncode == 0
    c.rules("n3 last dead")
    (c.root / "state/dead-n2").unlink()
    back = c.cb("run", "--only", "n2", "--into", c.out)
    assert back.returncode == 0 and "n2 answers and waits as the last of the spares" in back.stderr, back.stderr
    (c.out / "records/004-last@n3.json").unlink()
    done = c.cb("run", "--resume", c.out)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("jobs not done") == 1, done.stderr  # in the round in which n3 died, and never after it
    gate = c.gate()
    assert gate.returncode == 0 and "s1 has the place of n2" in gate.stdout and "n2 has the place of n3" in gate.stdout, gate.stdout
    assert [(e["event"], e["host"], e.get("by", "")) for e in journal(c.out) if e["event"] in ("excluded", "returned")] == [
        ("excluded", "n2", "s1"), ("returned", "n2", ""), ("excluded", "n3", "n2")]
    status = c.cb("status", c.out)
    assert "not done" not in status.stdout, status.stdout
