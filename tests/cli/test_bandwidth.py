"""bandwidth --device cpu with small arrays: document, bytes, latency, bad input."""

import json
import os
import subprocess

import pytest

BINARY = os.environ["CLUSTERBENCH_BIN"]


def bandwidth(tmp_path, *args, code=0):
    out = tmp_path / "b.json"
    done = subprocess.run(
        [BINARY, "bandwidth", "--device", "cpu", "--duration", "100ms", "--json", str(out), *args],
        capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return json.loads(out.read_text())["records"] if code == 0 else done.stderr


def test_stream(tmp_path):
    records = bandwidth(tmp_path, "--size", "4M", "--iterations", "12")
    assert [r["params"]["op"] for r in records] == ["copy", "scale", "add", "triad"]
    for record in records:
        hosts = [m for m in record["metrics"]
                 if record["entities"][m["entity"]]["kind"] == "host"]
        assert [m["name"] for m in hosts] == ["bytes_per_second"]
        assert hosts[0]["summary"]["n"] == 12
        assert hosts[0]["summary"]["median"] > 1e8
        assert max(hosts[0]["samples"]) <= hosts[0]["ceiling"]["value"]
        assert record["checks"] and all(c["name"] == "arrays" and c["passed"]
                                        for c in record["checks"])
        assert int(record["facts"]["array_bytes_per_rank"]) == 4 << 20
        assert any("not STREAM's rule" in n for n in record["notes"])


@pytest.mark.parametrize("stores", ["regular", "auto"])
def test_stores_are_named(tmp_path, stores):
    record = bandwidth(tmp_path, "--op", "triad", "--size", "1M", "--stores", stores)[0]
    assert "stores, " in record["facts"]["stores"]
    if stores == "regular":
        assert record["facts"]["stores"].startswith("regular")


def test_latency_grows_from_cache_to_memory(tmp_path):
    records = bandwidth(tmp_path, "--op", "latency", "--min-size", "4K", "--max-size", "64M",
                        "--step-factor", "128")
    assert [r["params"]["size"] for r in records] == [4 << 10, 512 << 10, 64 << 20]
    medians = [r["metrics"][0]["summary"]["median"] for r in records]
    assert [r["metrics"][0]["name"] for r in records] == ["latency_seconds"] * 3
    assert [r["metrics"][0]["better"] for r in records] == ["lower"] * 3
    assert 2e-10 < medians[0] < medians[2] < 1e-5
    assert all(r["checks"][0]["passed"] for r in records)


@pytest.mark.parametrize("args,text", [
    (["--op", "tirad"], "did you mean triad?"),
    (["--iterations", "9"], "below the least allowed"),
    (["--iterations", "201"], "above the most allowed"),
    (["--op", "latency", "--min-size", "1M", "--max-size", "4K"], "below --min-size"),
    (["--threads", "4000"], "more than the"),
])
def test_bad_input(tmp_path, args, text):
    assert text in bandwidth(tmp_path, *args, code=2)
