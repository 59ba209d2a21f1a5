"""lu and cg on one rank: figures follow from one another, and a planted fault leaves none."""

import json
import os
import subprocess

import pytest

BINARY = os.environ["CLUSTERBENCH_BIN"]


def run(tmp_path, *args):
    out = tmp_path / "r.json"
    done = subprocess.run([BINARY, *map(str, args), "--json", out], capture_output=True, text=True, timeout=250, check=False)
    return done, json.loads(out.read_text())["records"] if out.exists() else []


def metric(record, name):
    found, = [m for m in record["metrics"] if m["name"] == name]
    return found


def failed(record):
    return [c["name"] for c in record["checks"] if not c["passed"]]


def test_lu_solves_and_its_figures_follow_from_one_another(tmp_path):
    done, records = run(tmp_path, "lu", "--size", "500,1000", "--iterations", 2, "--threads", 2)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [r["params"]["size"] for r in records] == [500, 1000]
    for record in records:
        n = record["params"]["size"]
        seconds, rate = metric(record, "time_seconds")["samples"], metric(record, "flops_per_second")
        assert rate["samples"] == pytest.approx([(2 / 3 * n ** 3 + 1.5 * n ** 2) / s for s in seconds])
        share = metric(record, "share_of_gemm")["samples"]
        assert share == pytest.approx([r / rate["ceiling"]["value"] for r in rate["samples"]])
        check, = record["checks"]
        assert check["name"] == "residual" and 0 < check["value"] < check["limit"] == 16
        assert record["params"]["block"] == 64
        assert record["facts"]["library"] in ("openblas", "blis")


def test_lu_sees_a_changed_element(tmp_path):
    done, (record,) = run(tmp_path, "lu", "--size", 300, "--iterations", 1, "--inject-fault", 0)
    assert done.returncode == 1 and failed(record) == ["residual"] and record["metrics"] == []


def test_lu_refuses_a_matrix_that_does_not_fit(tmp_path):
    done, (record,) = run(tmp_path, "lu", "--size", 1000000)
    assert done.returncode == 4 and record["outcome"] == "errored" and "needs" in done.stderr


def test_cg_solves_and_its_figures_follow_from_one_another(tmp_path):
    done, (record,) = run(tmp_path, "cg", "--size", 32, "--iterations", 2, "--threads", 2)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {c["name"] for c in record["checks"]} == {"symmetry", "convergence", "residual"} and failed(record) == []
    seconds = metric(record, "time_seconds")["samples"]
    nonzeros = [(3 * e - 2) ** 3 for e in (32, 16, 8, 4)]
    operations = 12 * 32 ** 3 + 2 * nonzeros[0] + 10 * sum(nonzeros[:3]) + 4 * nonzeros[3]
    assert metric(record, "flops_per_second")["samples"] == pytest.approx([operations / s for s in seconds])
    assert metric(record, "bytes_per_second")["ceiling"]["value"] > 1e8


def test_cg_sees_a_changed_element_and_refuses_other_cubes(tmp_path):
    done, (record,) = run(tmp_path, "cg", "--size", 16, "--iterations", 1, "--threads", 1, "--inject-fault", 0)
    assert done.returncode == 1 and failed(record) == ["residual"] and record["metrics"] == []
    done, records = run(tmp_path, "cg", "--size", 20)
    assert done.returncode == 2 and "20 is no multiple of 8" in done.stderr
