"""clusterbench nccl with a stand-in for NCCL that moves host memory between the ranks: every collective and
type, wrong data, errors, hangs, missing symbols, the choice of algorithm. No GPU is used."""

import itertools
import json
import os
import socket
import subprocess
from pathlib import Path

import pytest
from collectives import OPS, factor, metrics

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "fake"
BINARY = os.environ["CLUSTERBENCH_BIN"]
TYPES = ["int8", "uint8", "int32", "uint32", "int64", "uint64", "float", "double", "half", "bfloat16",
         "f8e4m3", "f8e5m2"]


def fake_log(job):
    path = job.folder / "fake.log"
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize("ctas", [["--min-ctas", "8"], ["--max-ctas", "4"], ["--min-ctas", "8", "--max-ctas", "16"]])
def test_a_bound_of_ctas_alone_is_taken(nccl, ctas):
    records, _ = nccl(2, "--op", "all_reduce", "--size", "1K", "--iterations", 4, *ctas)
    assert all(c["passed"] for r in records for c in r["checks"]) and metrics(records[0], "bus_bytes_per_second")


@pytest.mark.parametrize("library, ranks", [("fake_nccl.so", 2), ("fake_nccl_old.so", 3)])
def test_every_collective(nccl, library, ranks):
    records, err = nccl(ranks, "--op", ",".join(OPS), "--size", "1K,200K", "--iterations", 4, "--calls", 3,
                        "--checks", 4, library=library)
    assert [(r["params"]["op"], r["params"]["size"]) for r in records] == [
        (op, size) for op in OPS for size in (1024, 204800)]
    assert "rank 1:" in err  # the map of ranks
    for record in records:
        op = record["params"]["op"]
        assert record["facts"]["calls_per_iteration"] == "3"
        assert record["facts"]["library"] == "NCCL 2.28.9"
        assert record["facts"]["communicator"] == "blocking"
        assert len(record["checks"]) == ranks and all(c["passed"] for c in record["checks"])
        if op == "pingpong":
            assert len(metrics(record, "latency_seconds")) == ranks // 2
            continue
        bus, = metrics(record, "bus_bytes_per_second")
        algorithm, = metrics(record, "algorithm_bytes_per_second")
        slowest = [max(s) for s in zip(*(m["samples"] for m in metrics(record, "time_seconds")))]
        size = int(record["facts"]["actual_bytes"])
        assert algorithm["samples"] == pytest.approx([size / t for t in slowest], rel=1e-12)
        assert bus["samples"] == pytest.approx([a * factor(op, ranks) for a in algorithm["samples"]], rel=1e-12)


@pytest.mark.parametrize("types, reductions", [
    (TYPES, ["sum", "prod", "min", "max", "mulsum"]),
    ([t for t in TYPES if not t.startswith("f8")], ["avg"])])  # an average of so few bits is not exact
def test_every_type_reduces_exactly_and_a_flipped_bit_is_found(nccl, types, reductions):
    ops = ["all_reduce", "reduce_scatter", "reduce"]
    args = ["--gpus", 2, "--op", ",".join(ops), "--size", "4K", "--dtype", ",".join(types), "--reduction",
            ",".join(reductions), "--iterations", 2, "--calls", 2, "--checks", 2]
    points = list(itertools.product(ops, types, reductions))
    for behaviour in ("", "wrong=0:1"):
        records, _ = nccl(0, *args, behaviour=behaviour, expect=1 if behaviour else 0)
        assert [tuple(r["params"][key] for key in ("op", "dtype", "reduction")) for r in records] == points
        for record, point in zip(records, points):
            failed = [c for c in record["checks"] if not c["passed"]]
            assert bool(record["metrics"]) != bool(behaviour), point
            assert len(failed) == (1 if behaviour else 0), point
            assert all("expected" in c["detail"] for c in failed), point


def test_several_devices_a_process_and_none_a_launcher(nccl):
    records, _ = nccl(0, "--gpus", 4, "--op", "all_reduce,alltoall", "--size", "64K", "--iterations", 3)
    for record in records:
        assert record["facts"]["library_ranks"] == "4"
        a, = metrics(record, "algorithm_bytes_per_second")
        b, = metrics(record, "bus_bytes_per_second")
        assert b["samples"] == pytest.approx([x * factor(record["params"]["op"], 4) for x in a["samples"]])
    records, _ = nccl(2, "--gpus", 2, "--split", "half", "--size", "64K", "--iterations", 3)
    assert len(metrics(records[0], "bus_bytes_per_second")) == 2


def test_in_place_and_registered(nccl, job):
    ops = "all_reduce,all_gather,reduce_scatter"
    records, _ = nccl(3, "--op", ops, "--in-place", "--register", "user", "--size", "1K,20008",
                      "--iterations", 2, "--checks", 2)
    assert len(records) == 6
    log = fake_log(job)
    assert log.count("register rank 2") == log.count("deregister rank 2") == 12
    _, err = nccl(2, "--op", "alltoall", "--in-place", expect=2)
    assert "alltoall has no in-place form" in err


def test_the_calls_of_an_iteration_fill_a_time_and_not_a_number_of_bytes(nccl):
    """As measured by nccl-tests, which has 20: a call that takes 4 ms and more is still five times in an iteration."""
    records, _ = nccl(2, "--op", "all_reduce", "--size", "1K,4M", "--iterations", 2, "--checks", 1, behaviour="rate=500")
    small, large = (int(r["facts"]["calls_per_iteration"]) for r in records)
    assert large == 5 and 5 < small <= 20, "a busy machine makes the small call longer, so fewer fit in the time"
    records, _ = nccl(2, "--op", "all_reduce", "--size", "1K", "--iterations", 2, "--calls", 3)
    assert records[0]["facts"]["calls_per_iteration"] == "3"
    records, _ = nccl(2, "--op", "all_reduce", "--size", "1K", "--iterations", 2, "--in-place")
    assert records[0]["facts"]["calls_per_iteration"] == "1"


def test_a_communicator_that_does_not_block_is_an_option_and_named(nccl):
    ops = [op for op in OPS if op != "pingpong"]
    records, _ = nccl(2, "--op", ",".join(ops), "--size", "1K", "--iterations", 4, "--communicator", "non-blocking")
    assert {r["facts"]["communicator"] for r in records} == {"non-blocking"}
    assert all(c["passed"] for r in records for c in r["checks"])
    _, err = nccl(2, "--size", "4K", "--communicator", "non-blocking", library="fake_nccl_old.so",
                  behaviour="version=2705", expect=2)
    assert "needs 2.14 or newer" in " ".join(err.split())


def test_a_registration_that_was_ignored_is_said(nccl):
    args = ["--op", "all_reduce", "--size", "1K", "--iterations", 2, "--register", "user"]
    records, _ = nccl(2, *args)
    assert records[0]["facts"]["registered"] == "2 of 2 buffers"
    records, _ = nccl(2, *args, behaviour="no_register")
    assert records[0]["facts"]["registered"] == "0 of 2 buffers"
    assert any("ignored --register for 2 of 2 buffers" in n for n in records[0]["notes"])


def test_one_rank_runs_is_checked_and_skipped(nccl):
    records, err = nccl(0, "--size", "4K", "--checks", 5, expect=3)
    assert records[0]["outcome"] == "skipped" and records[0]["metrics"] == []
    assert "needs 2 ranks, has 1" in err and "5 calls were verified" in err
    records, _ = nccl(0, "--size", "4K", "--checks", 5, behaviour="wrong=0:3", expect=1)
    assert not records[0]["checks"][0]["passed"]


def columns(table):
    """Of a table over sizes: its second line."""
    return table.splitlines()[1].split()


def test_the_algorithm_is_in_the_record_and_a_column_of_the_table(nccl, job):
    records, _ = nccl(2, "--size", "1K,64K", "--iterations", 2, "--algorithms")
    assert records[0]["facts"]["algorithm"] == "tree ll, 1 channel"
    assert records[1]["facts"]["algorithm"] == "ring simple, 8 channels"
    assert any("log" in n for n in records[0]["notes"])
    with_algorithm = columns(job.table)
    assert with_algorithm[-1] == "algorithm", job.table
    assert any(line.rstrip().endswith("ring simple, 8 channels") for line in job.table.splitlines())
    nccl(2, "--size", "1K,64K", "--iterations", 2)
    assert columns(job.table) == with_algorithm[:-1], job.table  # nothing was logged: no empty column


def test_a_transport_is_set_before_the_library_and_recorded(nccl, monkeypatch):
    records, _ = nccl(2, "--size", "1K", "--iterations", 2, "--transport", "net")
    assert records[0]["facts"]["environment"] == "NCCL_NVLS_ENABLE=0 NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1"
    monkeypatch.setenv("NCCL_SHM_DISABLE", "0")
    _, err = nccl(2, "--size", "1K", "--transport", "net", expect=2)
    assert "NCCL_SHM_DISABLE is set to '0', and this run needs '1'" in " ".join(err.split())


@pytest.mark.parametrize("communicator", ["blocking", "non-blocking"])
@pytest.mark.parametrize("behaviour, doing", [("hang=1:9", "all_reduce 4K"), ("init_hang=1", "making a communicator")])
def test_a_hang_is_aborted_explained_and_ends_with_124(nccl, job, monkeypatch, behaviour, doing, communicator):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    monkeypatch.setenv("NCCL_RAS_ADDR", f"localhost:{port}")
    _, err = nccl(2, "--size", "1K,4K" if "init" in behaviour else "4K", "--iterations", 1000000, "--duration", "30s",
                  "--init-deadline", "3s", "--wait-deadline", "3s", "--communicator", communicator, behaviour=behaviour + ",ras", expect=124,
                  timeout=60, grace=True)
    assert "deadline: nothing has moved for" in err and doing in err and "inside step" in err
    assert "Rank 1 has launched up to operation 5" in err  # what RAS says
    assert "abort rank 0" in fake_log(job)


def test_an_error_of_the_library_is_told_with_its_words(nccl):
    _, err = nccl(2, "--size", "4K", "--iterations", 1000, behaviour="error=1:4", expect=4, grace=True)
    assert "rank 1: has failed: NCCL 2.28.9: all_reduce: remote process exited" in err
    assert "(the stand-in was told to fail)" in err and "next: look at the other ranks" in err
    _, err = nccl(2, "--size", "4K", behaviour="duplicate", expect=4)
    assert "two ranks on one GPU?" in err


@pytest.mark.parametrize("args, library, behaviour, words", [
    (["--register", "user"], "fake_nccl_old.so", "version=2705", "--register user NCCL 2.7.5 at"),
    (["--register", "window"], "fake_nccl.so", "", "needs 2.27 or newer"),
    (["--dtype", "float,bfloat16"], "fake_nccl.so", "version=2900", "needs 2.10 or newer"),
    (["--dtype", "float,f8e4m3"], "fake_nccl.so", "version=22304", "needs 2.24 or newer"),
    (["--dtype", "half,f8e5m2", "--reduction", "sum,avg"], "fake_nccl.so", "", "avg of 8-bit floats is not exact: use sum"),
    (["--cta-policy", "zero"], "fake_nccl.so", "version=22703", "needs 2.28 or newer"),
    (["--cta-policy", "efficiency"], "fake_nccl.so", "version=22602", "needs 2.27 or newer"),
    (["--graph"], "fake_nccl.so", "", "no graphs in host memory"),
    (["--op", "pingpong", "--gpus", "2"], "fake_nccl.so", "", "give each rank one GPU"),
    (["--reduction", "min,mulsum"], "fake_nccl_old.so", "", "--reduction mulsum NCCL 2.28.9 at"),
    (["--reduction", "avg", "--gpus", "3"], "fake_nccl.so", "", "a power of two, not 6"),
    (["--min-ctas", "8", "--max-ctas", "4"], "fake_nccl.so", "", "is larger than --max-ctas")])
def test_what_cannot_be_done_is_refused(nccl, args, library, behaviour, words):
    _, err = nccl(2, "--size", "4K", *args, library=library, behaviour=behaviour, expect=2)
    assert words in " ".join(err.split())


def test_no_library_or_another_one_is_skipped(nccl):
    _, err = nccl(2, "--size", "4K", library="nonexistent.so", expect=3)
    assert "NCCL cannot be opened" in err and "CLUSTERBENCH_NCCL_LIBRARY" in err
    _, err = nccl(2, "--size", "4K", library="fake_cufile.so", expect=3)
    assert "has no ncclGetVersion" in err


def test_without_a_gpu_it_is_skipped():
    if list(Path("/dev").glob("nvidia[0-9]*")):
        pytest.skip("there is a GPU")
    done = subprocess.run([BINARY, "nccl", "--size", "4K"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "skipped:" in done.stderr


@pytest.fixture
def locate(job, monkeypatch):
    """locate --backend nccl over the stand-in: (exit code, the record, stdout, stderr)."""
    def run(ranks, *args, behaviour="rate=100", library="fake_nccl.so", size="256K", tolerance="0.2"):
        monkeypatch.setenv("CLUSTERBENCH_NCCL_LIBRARY", str(BUILD / library))
        monkeypatch.setenv("FAKE_NCCL", behaviour)
        code, document, out, err = job.measure(
            ranks, "locate", "--backend", "nccl", "--memory", "host", "--between", "rank", "--mode", "full",
            "--size", size, "--duration", "100ms", "--tolerance", tolerance, *args)
        record, = document["records"]
        return code, record, out, err
    return run


@pytest.mark.parametrize("behaviour, line", [
    ("rate=100", "suspects: none"), ("rate=100,slow=2:30", "rank 2: sends ")])
def test_locate_names_the_slow_gpu_and_nobody_else(locate, behaviour, line):
    code, record, out, err = locate(4, behaviour=behaviour)
    found = [text for text in out.splitlines() if text.startswith("suspect")]
    assert len(found) == 1 and line in found[0], out + err
    assert code == (0 if "none" in line else 1)
    assert record["facts"]["transport"] == "NCCL 2.28.9"
    assert record["facts"]["hosts_inside"] == "not compared: needs 3 hosts to tell which one is slow, has 1"
    pairs = metrics(record, "bytes_per_second")
    assert len(pairs) == 12  # every directed pair
    assert all(30e6 < s < 150e6 for m in pairs for s in m["samples"]) or "slow" in behaviour


def test_a_pair_that_hangs_over_nccl_ends_the_job_with_its_ranks(job, monkeypatch):
    """All pairs share a communicator, which a hang spoils: the job ends, and says which pair it was."""
    monkeypatch.setenv("CLUSTERBENCH_NCCL_LIBRARY", str(BUILD / "fake_nccl.so"))
    monkeypatch.setenv("FAKE_NCCL", "rate=100,hang=2:9")
    monkeypatch.setenv("FAKE_NCCL_LOG", str(job.folder / "fake.log"))
    code, _, err = job.run(4, "locate", "--backend", "nccl", "--memory", "host", "--between", "rank",
                           "--mode", "full", "--size", "64K", "--duration", "100ms", "--round-deadline", "2s",
                           "--json", job.json, timeout=60, grace=True)
    assert code == 124, err
    assert "deadline: nothing has moved for" in err and "rank 2" in err
    assert "abort rank 2" in fake_log(job)
    assert job.json.exists(), err
    assert json.loads(job.json.read_text())["run"]["partial"].startswith("deadline: ")


def test_locate_over_nccl_measures_latency_and_both_directions(locate):
    _, record, _, _ = locate(3, "--measure", "latency", size="8", tolerance="0.9", behaviour="")
    assert {m["name"] for m in record["metrics"]} == {"latency_seconds"}
    _, record, _, _ = locate(3, "--two-way", tolerance="0.9")
    assert len(record["metrics"]) == 6


def test_locate_over_nccl_finds_wrong_data_and_a_missing_library(locate):
    code, record, out, _ = locate(3, behaviour="rate=100,wrong=1:3")
    assert code == 1 and "wrong data from rank" in out
    code, record, _, _ = locate(3, library="nonexistent.so")
    assert code == 3 and "NCCL cannot be opened" in record["reason"]
