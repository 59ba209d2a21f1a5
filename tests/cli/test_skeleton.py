"""The pattern for new cases does what its comments say."""

import json
import os
import subprocess

BINARY = os.environ["CLUSTERBENCH_BIN"]


def run(*args):
    return subprocess.run([BINARY, *map(str, args)], capture_output=True, text=True, timeout=120, check=False)


def test_it_measures_checks_and_gives_a_ceiling(tmp_path):
    out = tmp_path / "s.json"
    done = run("skeleton", "--size", "8K,64K", "--duration", "50ms", "--json", out)
    assert done.returncode == 0, done.stderr
    records = json.loads(out.read_text())["records"]
    assert [r["params"]["size"] for r in records] == [8192, 65536]
    for record in records:
        rate, look = record["metrics"]
        assert (rate["name"], rate["unit"], rate["better"]) == ("bytes_per_second", "bytes_per_second", "higher")
        assert (look["name"], look["unit"], look["better"]) == ("latency_seconds", "seconds", "lower")
        # Every iteration gives both, and the warm-up is in neither.
        assert rate["summary"]["n"] == look["summary"]["n"] >= 1
        assert rate["ceiling"]["value"] == rate["summary"]["max"]
        assert [c["passed"] for c in record["checks"]] == [True]


def test_bad_sizes_are_told_before_anything_is_run():
    done = run("skeleton", "--size", "12")
    assert done.returncode == 2 and "12 is no multiple of 8 bytes" in done.stderr


def test_it_is_in_no_list():
    assert "skeleton" not in run("list").stdout
    assert "skeleton" not in run("--help").stdout
