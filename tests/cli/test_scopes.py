"""Steps on pairs, groups and rails: what a plan says, and a campaign over hosts that a stand-in launcher plays."""

import json
import os
import pathlib
import subprocess

import pytest

BINARY = os.environ["CLUSTERBENCH_BIN"]
TOOL = pathlib.Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "bin" / "stand_in_launcher"
SOURCE = {"kind": "contract", "ref": "test", "date": "2026-11"}


def profile(tmp_path, **scope):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({
        "schema": "clusterbench.profile/1", "name": "scopes", "title": {"en": "scopes", "zh": "范围"},
        "steps": [{"id": "info", "case": "info", "deadline": "60s", "informative": True, "why": "test"},
                  {"id": "many", "case": "fake", "deadline": "10s", "params": {"value": 2}, **scope}],
        "criteria": [{"id": "rate", "step": "many", "domain": "network", "why": "test", "source": SOURCE,
                      "metric": "bytes_per_second", "min": 1}],
        "delivery": {"hosts": 6, "replaced_at_most": 1, "why": "test", "source": SOURCE}}))
    return path


def cb(tmp_path, *arguments, rules=()):
    for name in ("bin", "state"):
        (tmp_path / name).mkdir(exist_ok=True)
    (tmp_path / "bin/mpirun").write_text(f'#!/bin/sh\nexec {TOOL} "$@"\n')
    (tmp_path / "bin/mpirun").chmod(0o755)
    (tmp_path / "script").write_text("".join(f"{rule}\n" for rule in rules))
    env = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "CLUSTERBENCH_TEST_CASES": "1",
           "STAND_IN_SCRIPT": str(tmp_path / "script"), "STAND_IN_STATE": str(tmp_path / "state"), "STAND_IN_BINARY": BINARY}
    return subprocess.run([BINARY, *map(str, arguments)], env=env, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("scope, hosts, cost", [
    ({"scope": "pairs"}, 6, "# many: 15 jobs on pairs, 3 at once in 5 turns, at most 2 m 5 s"),
    ({"scope": "pairs"}, 5, "# many: 10 jobs on pairs, 2 at once in 5 turns, at most 2 m 5 s"),
    ({"scope": "groups", "group_size": 4}, 6, "# many: 2 jobs on groups of 4, 1 at once in 2 turns, at most 50.0 s"),
    ({"scope": "rails", "rails": 2, "env": {"NCCL_IB_HCA": "={rdma}"}}, 6,
     "# many: 2 jobs on rails, 1 at once in 2 turns, at most 50.0 s")])
def test_the_plan_says_what_a_scope_costs(tmp_path, scope, hosts, cost):
    done = cb(tmp_path, "run", profile(tmp_path, **scope), "--hosts", f"n[1-{hosts}]:1", "--launcher", "mpirun", "--out",
              tmp_path / "out", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert cost in done.stdout.splitlines(), done.stdout
    jobs = int(cost.split()[2])
    assert sum("fake" in line.split() for line in done.stdout.splitlines()) == jobs


def test_more_pairs_than_can_be_run_are_refused(tmp_path):
    done = cb(tmp_path, "run", profile(tmp_path, scope="pairs"), "--hosts", "n[001-201]:1", "--launcher", "mpirun", "--out",
              tmp_path / "out", "--dry-run")
    assert done.returncode == 2 and "20100 jobs on 201 hosts" in done.stderr and "tournament" in done.stderr, done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("scope, problem", [
    ({"scope": "groups"}, "must be a whole number from 2 to 4096"),
    ({"scope": "rails", "rails": 2}, "every job would measure the same"),
    ({"scope": "pair"}, "did you mean pairs?"),
    ({"env": {"X": "{nic}"}}, 'is replaced in a step of scope "rails" only')])
def test_a_scope_that_cannot_be_is_refused(tmp_path, scope, problem):
    done = cb(tmp_path, "profile", "validate", profile(tmp_path, **scope))
    assert done.returncode == 2 and problem in done.stderr, done.stdout + done.stderr


def test_a_number_may_be_that_of_the_rail_and_each_rail_is_judged(tmp_path):
    path = profile(tmp_path, scope="rails", rails=2, params={"value": "{rail}"})
    text = json.loads(path.read_text())
    del text["delivery"]
    path.write_text(json.dumps(text))
    env = {**os.environ, "CLUSTERBENCH_TEST_CASES": "1"}
    done = subprocess.run([BINARY, "run", path, "--launcher", "none", "--out", tmp_path / "out"], env=env, capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 1 and "rail-0" in done.stdout, done.stdout + done.stderr  # 0 B/s, and rail 1 has enough
    refused = profile(tmp_path, scope="rails", rails=2, params={"value": "x{rail}"})
    assert "is not a number" in cb(tmp_path, "profile", "validate", refused).stderr


def test_a_host_that_dies_among_pairs_is_replaced_and_every_pair_is_measured(tmp_path):
    out = tmp_path / "out"
    done = cb(tmp_path, "run", profile(tmp_path, scope="pairs"), "--hosts", "n[1-6]:1", "--spares", "s1:1", "--launcher", "mpirun",
              "--out", out, rules=["n4 many dead"])
    assert done.returncode == 0, done.stdout + done.stderr
    pairs = set()
    events = [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]
    failed = [e for e in events if e["event"] == "end" and e["state"] != "done"]
    assert len(failed) == 1, failed  # it died in its first pair, and no other was begun with it
    for event in events:
        if event["event"] == "end" and "@pair-" in event["job"] and event["state"] == "done":
            pairs.add(frozenset(json.loads((out / event["file"]).read_text())["run"]["hosts"]))
    hosts = ["n1", "n2", "n3", "s1", "n5", "n6"]
    assert {frozenset((a, b)) for a in hosts for b in hosts if a < b} == {p for p in pairs if "n4" not in p}
    assert "1 replaced" in done.stdout
    # A pair that another profile asks for as groups has not been measured.
    other = cb(tmp_path, "gate", out, "--profile", profile(tmp_path, scope="groups", group_size=2))
    assert other.returncode == 3 and "scope" in other.stdout, other.stdout
