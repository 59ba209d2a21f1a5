"""clusterbench io --workload: what training clusters ask of storage, over several ranks."""
import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

BIN = os.environ["CLUSTERBENCH_BIN"]


@pytest.fixture
def work():
    with tempfile.TemporaryDirectory(dir=os.environ["CLUSTERBENCH_BUILD_DIR"]) as name:
        yield Path(name)


def run(work, *args, ranks=1, expect=0):
    out = work / "result.json"
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    launcher = ["mpirun", "-np", str(ranks), "--oversubscribe"] if ranks > 1 else []
    done = subprocess.run([*launcher, BIN, "io", "--json", out, "--quiet", *map(str, args)], capture_output=True, text=True,
                          timeout=200, env=env)
    assert done.returncode == expect, done.stderr
    assert not list(work.glob("clusterbench-io-*"))
    return json.loads(out.read_text())["records"] if expect == 0 else done.stderr


def values(record, name):
    return [m["summary"]["mean"] for m in record["metrics"] if m["name"] == name]


@pytest.mark.usefixtures("under_mpirun")
def test_a_checkpoint_counts_fsync_and_close_and_the_slowest_rank(work):
    # 105 GB over 8 ranks, a five thousandth of it: 2.6 MB, which is no whole block of 4 MiB: one block.
    (r,) = run(work, "--dir", work, "--workload", "checkpoint-write", "--model", "8B", "--scale", "0.0002", ranks=2)
    assert r["params"]["rw"] == "write" and r["params"]["size"] == 4 << 20
    durable, plain = values(r, "durable_bytes_per_second"), values(r, "bytes_per_second")
    assert len(durable) == 2 and all(d < p for d, p in zip(durable, plain))
    (slowest,) = values(r, "slowest_rank_bytes_per_second")
    assert slowest == pytest.approx(min(durable), rel=1e-6)
    # Both wrote as much: all bytes over the longest time.
    assert values(r, "aggregate_durable_bytes_per_second") == [pytest.approx(2 * slowest, rel=1e-6)]
    assert "of the median rank's rate" in r["facts"]["slowest_rank"]


@pytest.mark.usefixtures("under_mpirun")
def test_a_checkpoint_is_read_by_another_rank_than_wrote_it(work):
    (r,) = run(work, "--dir", work, "--workload", "checkpoint-read", "--rank-shift", "1", "--size", "4M", "--verify", ranks=3)
    checks = [c for c in r["checks"] if c["name"] == "data"]
    assert len(checks) == 3 and all(c["passed"] for c in checks)
    assert r["facts"]["reads_from"].count("reads") == 3
    for reader in range(3):
        assert f"rank {reader} reads rank{(reader + 1) % 3}.dat" in r["facts"]["reads_from"]


def test_a_sweep_gives_a_record_for_each_queue_depth(work):
    records = run(work, "--dir", work, "--workload", "qd-sweep", "--size", "4M", "--duration", "100ms", "--warm-up", "0s")
    assert [r["params"]["queue-depth"] for r in records] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert all(values(r, "io_per_second")[0] > 0 for r in records)


@pytest.mark.usefixtures("under_mpirun")
def test_metadata_counts_every_file_of_every_phase(work):
    (r,) = run(work, "--dir", work, "--workload", "metadata", "--files", "50", ranks=2)
    for phase in ("create", "stat", "read", "unlink"):
        counts = [m["summary"]["n"] for m in r["metrics"] if m["name"] == f"{phase}_latency_seconds"]
        assert counts == [50, 50]
        (both,) = values(r, f"aggregate_{phase}_per_second")
        # 100 files over the slower rank's time: twice what the slower rank did.
        assert both == pytest.approx(2 * min(values(r, f"{phase}_per_second")), rel=1e-6)
    assert all(c["passed"] for c in r["checks"])


def test_a_kv_cache_is_planned_in_time_and_soak_checks_everything(work):
    assert "--rate" in run(work, "--dir", work, "--workload", "kv-cache", expect=2)
    records = run(work, "--dir", work, "--workload", "kv-cache", "--rate", "40", "--size", "32M", "--duration", "1s",
                  "--warm-up", "0s", "--verify")
    assert {r["params"]["direction"] for r in records} <= {"read", "write"}
    assert sum(m["summary"]["n"] for r in records for m in r["metrics"] if m["name"] == "latency_seconds") <= 40
    for r in run(work, "--dir", work, "--workload", "soak", "--size", "8M", "--duration", "500ms", "--warm-up", "0s"):
        assert r["facts"]["data_check"] == "every block"
        assert all(c["passed"] for c in r["checks"])
