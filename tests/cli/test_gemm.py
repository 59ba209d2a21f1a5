"""gemm --device cpu on small matrices: document, choice of the library, bad input."""

import json
import os
import re
import subprocess

import pytest

BINARY = os.environ["CLUSTERBENCH_BIN"]


def gemm(tmp_path, *args, env=None, code=0):
    out = tmp_path / "g.json"
    done = subprocess.run(
        [BINARY, "gemm", "--device", "cpu", "--duration", "100ms", "--json", str(out), *args],
        capture_output=True, text=True, timeout=120, env={**os.environ, **(env or {})})
    assert done.returncode == code, done.stderr
    return json.loads(out.read_text())["records"] if code == 0 else done.stderr


def metric(record, name):
    found = [m for m in record["metrics"] if m["name"] == name]
    assert len(found) == 1, f"{name}: {record['metrics']}"
    return found[0]


def test_all_types_with_the_built_in_kernels(tmp_path):
    records = gemm(tmp_path, "--dtype", "fp64,fp32,bf16,int8", "--size", "200",
                   "--library", "builtin")
    assert [r["params"]["dtype"] for r in records] == ["fp64", "fp32", "bf16", "int8"]
    for record in records:
        assert record["outcome"] == "measured"
        assert record["facts"]["library"] == "builtin"
        assert [c["name"] for c in record["checks"]] == ["product"]
        assert record["checks"][0]["passed"]
        is_int = record["params"]["dtype"] == "int8"
        rate = metric(record, "operations_per_second" if is_int else "flops_per_second")
        assert rate["summary"]["median"] > 1e6
        assert record["entities"][rate["entity"]]["kind"] == "host"
        assert 5e8 < metric(record, "clock_hertz")["summary"]["median"] < 1e10
    for record in records[:2]:
        rate = metric(record, "flops_per_second")
        assert "multiply-adds in registers" in rate["ceiling"]["how"]


def test_sizes_and_edges(tmp_path):
    sweep = gemm(tmp_path, "--library", "builtin", "--min-size", "64", "--max-size", "256")
    assert [r["params"]["size"] for r in sweep] == [64, 128, 256]
    edges = gemm(tmp_path, "--library", "builtin", "--m", "33", "--n", "65", "--k", "129",
                 "--iterations", "7")
    assert "size" not in edges[0]["params"] and edges[0]["params"]["k"] == 129
    assert metric(edges[0], "flops_per_second")["summary"]["n"] == 7
    assert "go together" in gemm(tmp_path, "--m", "33", code=2)


def test_the_fastest_library_is_chosen_and_a_crash_costs_only_itself(tmp_path):
    first = gemm(tmp_path, "--size", "128")[0]["facts"]
    assert "builtin" in first["candidates"]
    names = re.findall(r"(?:^|, )([a-z]+(?::\w+)?)(?: \([^)]*\))? [\d.]+ [GMT]?FLOP/s",
                       first["candidates"])
    assert names[0].split(":")[0] == first["library"]
    env = {"CLUSTERBENCH_PROBE_CRASH": ",".join(n for n in names if n != "builtin")}
    second = gemm(tmp_path, "--size", "128", env=env)[0]["facts"]
    assert second["library"] == "builtin"
    for name in names:
        if name != "builtin":
            assert re.search(rf"{name} failed: killed by signal 4", second["candidates"])


def test_a_library_that_is_missing_is_named(tmp_path):
    stderr = gemm(tmp_path, "--size", "64", "--library", "blis",
                  env={"CLUSTERBENCH_BLIS": "/nowhere/libblis.so"}, code=4)
    assert "/nowhere/libblis.so" in stderr and "--library builtin" in stderr


@pytest.mark.parametrize("args,text", [
    (["--dtype", "fp61"], "did you mean fp64?"),
    (["--sise", "64"], "did you mean --size?"),
    (["--threads", "0"], "below the least allowed"),
    (["--library", "mkll"], "is not known"),
])
def test_bad_input(tmp_path, args, text):
    assert text in gemm(tmp_path, *args, code=2)


def test_every_sample_of_a_long_measurement_is_in_its_rates(tmp_path):
    (record,) = gemm(tmp_path, "--size", "16", "--threads", "1", "--library", "builtin", "--iterations", "3000")
    assert metric(record, "flops_per_second")["summary"]["n"] == 3000
    if "theoretical_peak" in record["facts"]:
        assert metric(record, "share_of_peak")["summary"]["n"] == 3000
