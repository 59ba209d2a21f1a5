"""--inject-fault: every case that compares data finds what it has spoilt itself: exit 1, a failed check, no number."""

import json
import os
import subprocess

import pytest

BINARY = os.environ["CLUSTERBENCH_BIN"]

CASES = {
    "gemm fp64": ("product", "gemm", "--device", "cpu", "--size", "96", "--iterations", "1", "--dtype", "fp64"),
    "gemm fp32": ("product", "gemm", "--device", "cpu", "--size", "96", "--iterations", "1", "--dtype", "fp32"),
    "gemm bf16": ("product", "gemm", "--device", "cpu", "--size", "96", "--iterations", "1", "--dtype", "bf16"),
    "gemm int8": ("product", "gemm", "--device", "cpu", "--size", "96", "--iterations", "1", "--dtype", "int8"),
    "stream": ("arrays", "bandwidth", "--device", "cpu", "--size", "2M", "--iterations", "10"),
    "latency": ("cycle", "bandwidth", "--device", "cpu", "--op", "latency", "--min-size", "128", "--max-size", "64K"),
    "skeleton": ("data", "skeleton", "--size", "8,64K", "--duration", "10ms"),
    "burn": ("result", "burn", "--device", "cpu", "--duration", "6s"),
}


def run(tmp_path, *args, code=1):
    out = tmp_path / "r.json"
    done = subprocess.run([BINARY, *map(str, args), "--json", out], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done, json.loads(out.read_text())["records"] if out.exists() else []


def failed(record):
    return [c["name"] for c in record["checks"] if not c["passed"]]


@pytest.mark.parametrize("name", CASES)
def test_what_a_case_spoils_its_check_finds(tmp_path, name):
    check, *args = CASES[name]
    _, records = run(tmp_path, *args, "--inject-fault", 0)
    assert records
    for record in records:
        assert failed(record) == [check]
        assert name == "burn" or not record["metrics"]
        assert record["params"]["inject-fault"] == 0


IO = ("--size", "8M", "--no-direct")


@pytest.mark.parametrize("engine", ["io_uring", "threads"])
@pytest.mark.parametrize("args", [
    ("--rw", "read", "--block-size", "64K"), ("--rw", "randread",), ("--rw", "randread", "--duration", "300ms"),
    ("--rw", "write", "--block-size", "64K"), ("--rw", "randwrite"), ("--rw", "randwrite", "--duration", "500ms", "--threads", "2"),
    ("--rw", "randrw", "--duration", "300ms"), ("--workload", "checkpoint-write"), ("--rw", "randwrite", "--block-size", "512")],
    ids=lambda a: " ".join(a))
def test_one_block_of_a_file_of_its_own(tmp_path, args, engine):
    (tmp_path / "d").mkdir()
    done, records = run(tmp_path, "io", "--dir", tmp_path / "d", *IO, *args, "--engine", engine, "--inject-fault", 0)
    assert all(failed(r) == ["data"] and not r["metrics"] for r in records) and records, done.stdout
    assert list((tmp_path / "d").iterdir()) == []


def test_the_same_without_a_fault_is_right(tmp_path):
    (tmp_path / "d").mkdir()
    _, records = run(tmp_path, "io", "--dir", tmp_path / "d", *IO, "--rw", "randwrite", code=0)
    assert not failed(records[0]) and "inject-fault" not in records[0]["params"]


def test_the_content_of_small_files(tmp_path):
    (tmp_path / "d").mkdir()
    _, records = run(tmp_path, "io", "--dir", tmp_path / "d", "--workload", "metadata", "--files", "20", "--inject-fault", 0)
    (check,) = [c for c in records[0]["checks"] if not c["passed"]]
    assert (check["name"], check["value"]) == ("data", 1)


def test_a_file_of_somebody_else_is_never_spoilt(tmp_path):
    file = tmp_path / "theirs"
    file.write_bytes(bytes(range(256)) * 4096)
    for more in (("--rw", "read"), ("--rw", "write", "--allow-overwrite")):
        done, _ = run(tmp_path, "io", "--file", file, *more, "--no-direct", "--inject-fault", 0, code=2)
        assert "spoils only what this run makes itself" in done.stderr
    assert file.read_bytes() == bytes(range(256)) * 4096


@pytest.mark.parametrize("args", [("gemm", "--device", "cpu", "--size", "64"), ("bandwidth", "--device", "cpu"), ("skeleton",),
                                  ("io", "--dir", "/tmp", "--size", "1M")])
def test_a_rank_that_is_not_there_is_refused(tmp_path, args):
    done, _ = run(tmp_path, *args, "--inject-fault", 5, code=2)
    assert "there is no rank 5" in done.stderr
