"""The drill of an Xid, with stand-ins for the driver and its management library."""

import json
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
BIN = BUILD / "bin" / "clusterbench_fake_gpu"

pytestmark = pytest.mark.skipif(not BIN.exists(), reason="built without CUDA")


def drill(tmp_path, *more, script=""):
    env = dict(os.environ, CLUSTERBENCH_NVML_LIBRARY=str(BUILD / "fake/fake_nvml.so"), CLUSTERBENCH_FAKE_NVML=f"gpus=1 {script}",
               CLUSTERBENCH_CUBLASLT_LIBRARY=str(BUILD / "fake/fake_cublaslt.so"),
               CLUSTERBENCH_FAKE_CUDA="memory=134217728 devices=1")
    host = subprocess.run(["uname", "-n"], capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    return subprocess.run([BIN, "drill", "run", "fake-xid", "--hosts", host, "--launcher", "none", "--deadline", "30", *map(str, more)],
                          env=env, capture_output=True, text=True, timeout=120, check=False)


def test_an_xid_is_seen_named_and_taken_away(tmp_path):
    part, out = tmp_path / "clusterbench-drill-xid", tmp_path / "d"
    done = drill(tmp_path, "--part", part, "--allow", "fake-xid", "--out", out, script=f"xid_file={part}")
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((out / "drill.json").read_text())["records"][0]
    assert {c["name"]: c["passed"] for c in record["checks"]} == {
        "detected": True, "named": True, "restored": True, "recovered": True}
    assert not part.exists()
    during = json.loads((out / "fake-xid-during.json").read_text())["records"][0]
    assert any("Xid 79" in c["detail"] for c in during["checks"] if not c["passed"])


def test_a_stand_in_that_does_not_listen_is_no_detection(tmp_path):
    part, out = tmp_path / "clusterbench-drill-xid", tmp_path / "d"
    done = drill(tmp_path, "--part", part, "--allow", "fake-xid", "--out", out)
    assert done.returncode == 1 and "✗ detected" in done.stdout, done.stdout + done.stderr
    assert not part.exists()
    refused = drill(tmp_path, "--part", part, "--out", tmp_path / "e")
    assert refused.returncode == 2 and "--allow fake-xid" in refused.stderr
    part.write_text("mine")
    taken = drill(tmp_path, "--part", part, "--allow", "fake-xid", "--out", tmp_path / "f", script=f"xid_file={part}")
    assert taken.returncode != 0 and "it is there" in taken.stderr, taken.stderr
    assert part.read_text() == "mine"


def restore(directory, *more):
    return subprocess.run([BIN, "drill", "restore", directory, "--launcher", "none", *more], capture_output=True, text=True,
                          timeout=60, check=False)


def test_a_list_of_changes_removes_no_file_that_no_drill_has_made(tmp_path):
    host = subprocess.run(["uname", "-n"], capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    mine = tmp_path / "precious"
    link = tmp_path / "clusterbench-drill-link"
    link.symlink_to(mine)
    for part in (mine, link):
        mine.write_text("mine")
        directory = tmp_path / f"of-{part.name}"
        directory.mkdir()
        (directory / "undo.jsonl").write_text(json.dumps(
            {"action": "remove-file", "host": host, "id": "x", "part": str(part), "start": 0}) + "\n")
        done = restore(directory)
        assert done.returncode != 0 and "not undone" in done.stderr, done.stdout + done.stderr
        assert mine.read_text() == "mine" and link.is_symlink()
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe/undo.jsonl")
    done = restore(tmp_path / "pipe")
    assert done.returncode == 2 and "is no file of this user" in done.stderr
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd/undo.jsonl").write_text('{"done": 5}\n')
    assert restore(tmp_path / "odd").returncode == 2


def test_results_of_a_drill_are_not_replaced(tmp_path):
    part, out = tmp_path / "clusterbench-drill-xid", tmp_path / "d"
    out.mkdir()
    (out / "drill.json").write_text("{}")
    done = drill(tmp_path, "--part", part, "--allow", "fake-xid", "--out", out)
    assert done.returncode == 2 and "is not empty" in done.stderr
    assert (out / "drill.json").read_text() == "{}"


def accepted(tmp_path, out, *more, script):
    """A drill of the campaign in `out`, then its verdict by criterion."""
    env = dict(os.environ, CLUSTERBENCH_NVML_LIBRARY=str(BUILD / "fake/fake_nvml.so"), CLUSTERBENCH_FAKE_NVML=f"gpus=1 {script}",
               CLUSTERBENCH_CUBLASLT_LIBRARY=str(BUILD / "fake/fake_cublaslt.so"),
               CLUSTERBENCH_FAKE_CUDA="memory=134217728 devices=1")
    done = subprocess.run([BIN, "drill", "run", "fake-xid", "--into", out, "--allow", "fake-xid", "--deadline", "30",
                           "--part", tmp_path / "clusterbench-drill-xid", *more], env=env, capture_output=True, text=True,
                          timeout=120, check=False)
    subprocess.run([BIN, "gate", out, "--json", tmp_path / "r.json"], capture_output=True, timeout=60, check=False)
    said = json.loads((tmp_path / "r.json").read_text())
    return done, {c["id"]: c["state"] for c in said["criteria"]}, said


def test_a_profile_asks_for_a_drill_of_its_campaign(tmp_path, monkeypatch):
    monkeypatch.setenv("OMPI_MCA_my_marker", "visible-value-77")  # no record of a redacted campaign has it, a drill's either
    source = {"kind": "contract", "ref": "annex 3", "date": "2026-11"}
    of = {"step": "drill:fake-xid", "domain": "stability", "why": "test", "source": source}
    profile = {"schema": "clusterbench.profile/1", "name": "drilled", "title": {"en": "t", "zh": "t"},
               "steps": [{"id": "info", "case": "info", "informative": True, "why": "test"}],
               "criteria": [{"id": "xid.seen", "check": "detected", **of}, {"id": "xid.named", "check": "named", **of},
                            {"id": "xid.time", "metric": "time_to_detection_seconds", "max": 30, **of}]}
    path, out, part = tmp_path / "p.json", tmp_path / "out", tmp_path / "clusterbench-drill-xid"
    path.write_text(json.dumps(profile))
    done = subprocess.run([BIN, "run", path, "--out", out, "--launcher", "none", "--redact"], capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 3 and "drill run ID --into DIR" in done.stdout, done.stdout + done.stderr  # nobody has made it
    done, states, said = accepted(tmp_path, out, script=f"xid_file={part}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert states == {"xid.seen": "pass", "xid.named": "pass", "xid.time": "pass"} and said["verdict"] == "accepted", said
    done, states, said = accepted(tmp_path, out, script="")  # made again, and nothing saw it: no attempt takes that back
    assert done.returncode == 1 and states["xid.seen"] == "fail", states
    done, states, said = accepted(tmp_path, out, script=f"xid_file={part}")
    assert done.returncode == 0 and states["xid.seen"] == "fail" and said["verdict"] == "not-accepted", states
    assert list(out.glob("drills/*/fake-xid-before.json"))
    assert not [p for p in out.rglob("*") if p.is_file() and b"visible-value-77" in p.read_bytes()]
    record = next((out / "records").glob("drill-fake-xid@*+2.json"))  # the attempt that failed
    record.write_text(record.read_text().replace('"passed": true', '"passed":  true'))
    before = (out / "journal.jsonl").read_bytes()
    refused, states, said = accepted(tmp_path, out, "--on", "nobody", script="")
    assert refused.returncode == 2 and (out / "journal.jsonl").read_bytes() == before
    assert states["xid.seen"] == "incomplete" and said["verdict"] != "accepted"  # of a document that was changed
    of_fleet = {k: v for k, v in profile["criteria"][2].items() if k != "max"} | {"max_of_fleet": 1.5}
    path.write_text(json.dumps({**profile, "criteria": [of_fleet]}))
    refused = subprocess.run([BIN, "profile", "validate", path], capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 2 and "a drill has no fleet" in refused.stderr, refused.stderr
    for key, value in (("step", "drill:no-such"), ("check", "no-such"), ("check", "survived")):
        wrong = {**profile, "criteria": [{**profile["criteria"][0], key: value}]}
        path.write_text(json.dumps(wrong))
        refused = subprocess.run([BIN, "profile", "validate", path], capture_output=True, text=True, timeout=60, check=False)
        assert refused.returncode == 2 and value in refused.stderr, refused.stderr
