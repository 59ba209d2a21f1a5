"""--inject-fault: every case that compares data finds what it has spoilt itself: exit 1, a failed check, no number."""

import json
import os
import re
import shutil
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


@pytest.mark.parametrize("name, told", [("stream", "the first, a["), ("latency", "does not close after its 2 lines: 1 were followed")])
def test_wrong_memory_is_told_with_what_was_there_and_what_should_be(tmp_path, name, told):
    check, *args = CASES[name]
    _, records = run(tmp_path, *args, "--inject-fault", 0)
    (detail,) = [c["detail"] for c in records[0]["checks"] if c["name"] == check]
    assert told in detail and "next: burn" in detail
    if name == "stream":
        found, should = re.search(r"is (\S+) and should be (\S+);", detail).groups()
        assert float(found) == -float(should) != 0


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


@pytest.mark.parametrize("more", [("--duration", "100ms"), ("--rw", "randrw", "--duration", "100ms"), ("--workload", "qd-sweep")], ids=" ".join)
def test_an_engine_that_moves_no_data_can_have_no_fault(tmp_path, more):
    (tmp_path / "d").mkdir()
    done, _ = run(tmp_path, "io", "--dir", tmp_path / "d", "--size", "8M", "--engine", "null", *more, "--inject-fault", 0, code=2)
    assert "--engine null reads and writes nothing that could be spoilt" in done.stderr


@pytest.mark.parametrize("args", [("gemm", "--device", "cpu", "--size", "64"), ("bandwidth", "--device", "cpu"), ("skeleton",),
                                  ("io", "--dir", "/tmp", "--size", "1M")])
def test_a_rank_that_is_not_there_is_refused(tmp_path, args):
    done, _ = run(tmp_path, *args, "--inject-fault", 5, code=2)
    assert "there is no rank 5" in done.stderr


SPARSE = [("--rw", "randrw", "--rwmix", "1", "--size", "256K"),
          ("--rw", "randrw", "--rwmix", "1", "--size", "16M", "--rate", "20", "--duration", "500ms", "--warm-up", "0s")]


@pytest.mark.parametrize("engine", ["io_uring", "threads"])
@pytest.mark.parametrize("args", SPARSE, ids=" ".join)
def test_where_nothing_is_read_a_block_that_is_read_back_is_spoilt(tmp_path, args, engine):
    (tmp_path / "d").mkdir()
    _, records = run(tmp_path, "io", "--dir", tmp_path / "d", "--no-direct", *args, "--engine", engine, "--inject-fault", 0)
    assert len(records) == 2 and all(failed(r) == ["data"] and not r["metrics"] for r in records)
    assert list((tmp_path / "d").iterdir()) == []


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun")
def test_where_the_faulty_rank_reads_nothing(tmp_path):
    (tmp_path / "d").mkdir()
    out = tmp_path / "r.json"
    done = subprocess.run(["mpirun", "--oversubscribe", "-np", "2", BINARY, "io", "--dir", tmp_path / "d", "--rw", "randrw", "--rwmix", "5",
                           "--block-size", "64K", "--size", "1M", "--no-direct", "--inject-fault", "1", "--json", out],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stdout + done.stderr
    wrong = [c["detail"] for r in json.loads(out.read_text())["records"] for c in r["checks"] if not c["passed"]]
    assert wrong and all("rank 1" in detail for detail in wrong)


def test_beside_a_reading_that_failed_alone_nothing_is_measured(tmp_path):
    (tmp_path / "d").mkdir()
    _, (alone, *beside) = run(tmp_path, "io", "--dir", tmp_path / "d", "--workload", "mixed", "--size", "4M", "--duration", "300ms",
                              "--no-direct", "--inject-fault", 0)
    assert failed(alone) == ["data"] and alone["params"]["workload"] == "dataset-read"
    assert [(r["outcome"], r["params"]["workload"], r["params"]["direction"]) for r in beside] == [
        ("skipped", "mixed", "read"), ("skipped", "mixed", "write")]
    assert all("nothing to compare with" in r["reason"] for r in beside)


@pytest.mark.parametrize("rank", [0, 7])
@pytest.mark.parametrize("args", [("--clean", "D"), ("--dir", "D", "--dry-run"), ("--dir", "D", "--workload", "metadata", "--dry-run")],
                         ids=" ".join)
def test_what_measures_nothing_takes_no_fault(tmp_path, args, rank):
    (tmp_path / "d").mkdir()
    done, _ = run(tmp_path, "io", *[tmp_path / "d" if a == "D" else a for a in args], "--inject-fault", rank, code=2)
    assert f"{'--clean' if '--clean' in args else '--dry-run'} measures nothing that could be spoilt" in done.stderr
    assert list((tmp_path / "d").iterdir()) == []
