"""Several drives of a host: `drives`, and `io` and `run` over several directories."""

import json
import os
import subprocess

import pytest
from campaigns import criterion, write_profile
from test_info import unpack

BINARY = os.environ["CLUSTERBENCH_BIN"]
SMALL = ["--size", "4M", "--block-size", "64K", "--rw", "write", "--no-direct", "--quiet"]


def call(*args):
    return subprocess.run([BINARY, *map(str, args)], capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def places(tmp_path):
    out = [tmp_path / name for name in ("a", "b")]
    for place in out:
        place.mkdir()
    return out


def test_drives_of_a_described_machine(tmp_path):
    root = unpack("hgx", tmp_path / "root")
    controllers = sorted(p.name for p in (root / "sys/class/nvme").iterdir())
    out = tmp_path / "d.json"
    done = call("drives", "--sysroot", root, "--quiet", "--json", out)
    assert done.returncode == 0, done.stderr
    record = json.loads(out.read_text())["records"][0]
    names = {m["name"] for m in record["metrics"]}
    assert "drives_live" in names and "critical_warnings" not in names
    assert {f"smart {c}" for c in controllers} <= record["facts"].keys()


def test_a_host_without_drives_is_skipped(tmp_path):
    out = tmp_path / "d.json"
    done = call("drives", "--sysroot", tmp_path, "--json", out)
    assert done.returncode == 3
    assert "no NVMe drive" in json.loads(out.read_text())["records"][0]["reason"]


def test_directories_are_measured_one_after_the_other(tmp_path, places):
    out = tmp_path / "io.json"
    done = call("io", "--dir", ",".join(map(str, places)), *SMALL, "--json", out)
    assert done.returncode == 0, done.stderr
    records = json.loads(out.read_text())["records"]
    assert [r["params"]["dir"] for r in records] == [str(p) for p in places]
    assert all(r["outcome"] == "measured" for r in records)
    assert [list(p.iterdir()) for p in places] == [[], []]


def test_a_directory_that_fails_costs_only_itself(tmp_path, places):
    out = tmp_path / "io.json"
    dirs = f"{places[0]},{tmp_path / 'missing'},{places[1]}"
    done = call("io", "--dir", dirs, *SMALL, "--json", out)
    assert done.returncode == 4
    records = json.loads(out.read_text())["records"]
    assert [r["outcome"] for r in records] == ["measured", "errored", "measured"]
    assert "missing" in done.stderr + records[1]["reason"]


def test_a_directory_twice_is_refused(places):
    done = call("io", "--dir", f"{places[0]},{places[0]}", *SMALL)
    assert done.returncode == 2 and "is given twice" in done.stderr


def storage_profile(tmp_path, **more):
    step = {"id": "write", "case": "io", "deadline": "1m",
            "params": {"size": "4M", "block-size": "64K", "rw": "write", "direct": False, **more}}
    return write_profile(tmp_path, [step], [criterion("right", "write", check="data")])


def test_run_measures_each_directory_and_judges_each(tmp_path, places):
    out = tmp_path / "out"
    done = call("run", storage_profile(tmp_path), "--launcher", "none", "--dir", ",".join(map(str, places)), "--out", out)
    assert done.returncode == 0, done.stdout + done.stderr
    records = json.loads((out / "records/001-write.json").read_text())["records"]
    assert [r["params"]["dir"] for r in records] == [str(p) for p in places]
    # The campaign knows where it measured: resumed or judged elsewhere, it is the same.
    assert json.loads((out / "campaign.json").read_text())["profile"]["steps"][0]["params"]["dir"] == [str(p) for p in places]
    assert call("run", "--resume", out).returncode == 0
    assert call("gate", out).returncode == 0
    assert call("gate", out, "--profile", storage_profile(tmp_path)).returncode == 0


def test_one_directory_that_fails_is_not_accepted(tmp_path, places):
    out = tmp_path / "out"
    dirs = f"{places[0]},{tmp_path / 'missing'}"
    done = call("run", storage_profile(tmp_path), "--launcher", "none", "--dir", dirs, "--out", out)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "missing" in done.stdout


def test_dir_without_a_step_that_takes_one_is_refused(tmp_path, places):
    fixed = storage_profile(tmp_path, dir=str(places[0]))
    done = call("run", fixed, "--launcher", "none", "--dir", places[1], "--out", tmp_path / "out")
    assert done.returncode == 2 and "no step of this profile needs a directory" in done.stderr
    assert not (tmp_path / "out").exists()
