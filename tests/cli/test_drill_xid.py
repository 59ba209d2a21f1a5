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
