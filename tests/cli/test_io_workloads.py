"""clusterbench io --workload: what training clusters ask of storage, over several ranks."""
import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from processes import by_rank

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


def cluster(record, name):
    """A figure of all ranks."""
    (m,) = [m for m in record["metrics"] if m["name"] == name and record["entities"][m["entity"]]["kind"] == "cluster"]
    return m["summary"]["mean"]


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
    records = run(work, "--dir", work, "--workload", "qd-sweep", "--size", "4M", "--duration", "500ms", "--warm-up", "0s")
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
    for r in run(work, "--dir", work, "--workload", "soak", "--size", "8M", "--duration", "1s", "--warm-up", "0s"):
        assert r["facts"]["data_check"] == "every block"
        assert all(c["passed"] for c in r["checks"])


# ---- several ranks in one file or directory ----

@pytest.mark.usefixtures("under_mpirun")
@pytest.mark.parametrize("workload", ["checkpoint-write", "checkpoint-read"])
def test_one_file_of_all_ranks(work, workload):
    (r,) = run(work, "--dir", work, "--workload", workload, "--shared-file", "--size", "8M", "--rank-shift", "1", "--verify",
               "--keep", ranks=3)
    (path,) = [n.removeprefix("kept ") for n in r["notes"] if n.startswith("kept ")]
    assert path.endswith("/shared.dat") and os.path.getsize(path) == 3 * (8 << 20)
    checks = [c for c in r["checks"] if c["name"] == "data"]
    assert len(checks) == 3 and all(c["passed"] for c in checks)
    if workload == "checkpoint-read":
        assert "rank 0 reads part 1 of shared.dat" in r["facts"]["reads_from"]
        assert "rank 2 reads part 0 of shared.dat" in r["facts"]["reads_from"]
    # The whole file, by one process: every rank's part stands where it belongs.
    again = ["--file", path, "--rw", "read", "--block-size", "64K", "--verify-only"]
    (r,) = run(work, *again)
    assert all(c["passed"] for c in r["checks"])
    data = Path(path).read_bytes()
    with open(path, "r+b") as f:  # rank 1's first sector over rank 2's
        f.seek(16 << 20)
        f.write(data[8 << 20:(8 << 20) + 512])
    done = subprocess.run([BIN, "io", "--json", work / "r.json", "--quiet", *again], capture_output=True, text=True, timeout=100)
    assert done.returncode == 1
    (record,) = json.loads((work / "r.json").read_text())["records"]
    (check,) = [c for c in record["checks"] if c["name"] == "data"]
    assert "offset 16777216 (misplaced) holds the data of offset 8388608" in check["detail"]


@pytest.mark.usefixtures("under_mpirun")
@pytest.mark.parametrize("how", [[], ["--shared-file"]])
def test_what_was_written_is_read_back_by_another_rank(work, how):
    (r,) = run(work, "--dir", work, "--rw", "randrw", "--threads", "2", "--size", "4M", "--rank-shift", "1", "--verify", "--direction",
               "write", *how, ranks=3)
    wanted = "part {} of shared.dat by rank {}" if how else "rank{}.dat by rank {}"
    assert sorted(r["facts"]["read_back"].split("; ")) == sorted(wanted.format((n + 1) % 3, n) for n in range(3))
    checks = [c for c in r["checks"] if c["name"] == "data"]
    assert len(checks) == 3 and all(c["passed"] for c in checks)


@pytest.mark.usefixtures("under_mpirun")
def test_metadata_in_one_directory(work):
    (r,) = run(work, "--dir", work, "--workload", "metadata", "--files", "20", "--shared-directory", ranks=3)
    assert r["facts"]["directory"] == "one for all ranks"
    for phase in ("create", "stat", "read", "unlink"):
        assert [m["summary"]["n"] for m in r["metrics"] if m["name"] == f"{phase}_latency_seconds"] == [20] * 3
    assert len([c for c in r["checks"] if c["passed"]]) == 3


# ---- several jobs ----

@pytest.mark.usefixtures("under_mpirun")
def test_a_checkpoint_while_a_data_set_is_read(work):
    alone, meanwhile, checkpoint = run(work, "--dir", work, "--workload", "mixed", "--size", "16M", "--duration", "1s",
                                       "--warm-up", "0s", "--verify", ranks=2)
    assert [r["params"]["workload"] for r in (alone, meanwhile, checkpoint)] == ["dataset-read", "mixed", "mixed"]
    assert [r["params"]["direction"] for r in (alone, meanwhile, checkpoint)] == ["read", "read", "write"]
    assert all(c["passed"] for r in (alone, meanwhile, checkpoint) for c in r["checks"])
    before, now = values(alone, "bytes_per_second"), values(meanwhile, "bytes_per_second")
    assert values(meanwhile, "share_of_undisturbed") == [pytest.approx(n / b) for n, b in zip(now, before)]
    assert len(values(checkpoint, "durable_bytes_per_second")) == 2
    assert cluster(checkpoint, "aggregate_durable_bytes_per_second") > 0


def test_memory_as_a_cache_beside_the_disk(work):
    memory, disk = run(work, "--dir", work, "--workload", "memory-cache", "--size", "16M", "--duration", "1s", "--warm-up", "0s")
    assert memory["facts"]["path"] == "tmpfs (memory)" and disk["facts"]["path"] == "direct"
    (speedup,) = values(memory, "speedup_over_storage")
    assert speedup == pytest.approx(values(memory, "bytes_per_second")[0] / values(disk, "bytes_per_second")[0])
    assert "which is no memory" in run(work, "--dir", work, "--workload", "memory-cache", "--cache-dir", work, expect=4)


# ---- who was done when ----

@pytest.mark.usefixtures("under_mpirun")
def test_first_and_last_done_and_the_rate_until_then(work):
    (r,) = run(work, "--dir", work, "--rw", "read", "--size", "8M", "--block-size", "64K", "--threads", "2", ranks=2)
    first, last = cluster(r, "first_done_seconds"), cluster(r, "last_done_seconds")
    ranks = [m for m in r["metrics"] if m["name"] == "first_done_seconds" and r["entities"][m["entity"]]["kind"] == "filesystem"]
    assert len(ranks) == 2 and first == min(m["summary"]["mean"] for m in ranks) and first <= last
    # No more than everything by then.
    assert 0 < cluster(r, "stonewall_bytes_per_second") <= 2 * (8 << 20) / first * (1 + 1e-9)
    threads = [m["samples"] for m in r["metrics"] if m["name"] == "thread_bytes_per_second"]
    assert [len(t) for t in threads] == [2, 2]


def test_latency_over_time(work):
    (r,) = run(work, "--dir", work, "--size", "4M", "--duration", "3s", "--warm-up", "0s")
    lines = {s["name"]: s for s in r["telemetry"]["series"]}
    mean, most = lines["read_latency_mean_seconds"]["values"], lines["read_latency_max_seconds"]["values"]
    assert len(mean) == len(most) >= 6 and all(0 < a <= b for a, b in zip(mean, most))
    (latency,) = [m["summary"] for m in r["metrics"] if m["name"] == "latency_seconds"]
    assert max(most) <= latency["max"] and min(mean) >= latency["min"]


# ---- a steady state ----

def test_figures_of_a_steady_state_or_none(work):
    args = ["--dir", work, "--size", "4M", "--engine", "null", "--duration", "1s", "--warm-up", "0s", "--steady"]
    out = work / "result.json"
    done = subprocess.run([BIN, "io", "--json", out, "--quiet", *args, "--round", "200ms"], capture_output=True, text=True, timeout=60)
    (r,) = json.loads(out.read_text())["records"]
    (check,) = [c for c in r["checks"] if c["name"] == "steady"]
    rounds = int(re.search(r"after (\d+) rounds of 0.2 s", r["facts"]["steady_state"])[1])
    # Whether it gets steady is up to the machine; what follows from it is not.
    assert done.returncode == (0 if check["passed"] else 1)
    assert bool(r.get("metrics")) == check["passed"] and 5 <= rounds <= 25
    assert (check["value"] <= 0.2) or not check["passed"]
    assert "--duration" in run(work, "--dir", work, "--steady", expect=2)


# ---- one rank fails ----

@pytest.fixture
def failing(work):
    """A filesystem of 192 MiB whose backing file has room for 48."""
    small, mount = work / "small", work / "dies"
    small.mkdir()
    mount.mkdir()

    def sh(*command):
        return subprocess.run(list(map(str, command)), capture_output=True, text=True).returncode == 0

    if not sh("mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", small):
        pytest.skip("mount is not permitted here")
    try:
        with open(small / "image", "wb") as f:
            f.truncate(192 << 20)
        assert sh("/usr/sbin/mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=1,nodiscard", small / "image")
        if not sh("mount", "-o", "loop", small / "image", mount):
            pytest.skip("loop mounts are not permitted here")
        yield mount
    finally:
        sh("umount", "-l", mount)
        sh("umount", "-l", small)


@pytest.mark.usefixtures("under_mpirun")
def test_when_one_rank_fails_all_stop(work, failing):
    healthy, out = work / "lives", work / "result.json"
    for where in (healthy, failing):
        (where / "here").mkdir(parents=True)
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    one = [BIN, "io", "--dir", "here", "--rw", "write", "--size", "96M", "--block-size", "64K", "--duration", "90s",
           "--warm-up", "0s", "--quiet", "--json", out]
    begun = time.monotonic()
    ranks = by_rank(["env", "-C", healthy, *one], ["env", "-C", failing, *one])
    done = subprocess.run(["mpirun", "--oversubscribe", "-np", "2", *ranks],
                          capture_output=True, text=True, timeout=150, env=env)
    assert done.returncode == 4, done.stderr
    assert time.monotonic() - begun < 75  # not the 90 s that the healthy rank was asked for
    (r,) = json.loads(out.read_text())["records"]
    assert r["outcome"] == "errored" and r.get("metrics", []) == []
    assert "rank 1" in done.stderr and "rank1.dat failed:" in r["reason"] and "at offset" in r["reason"]
    assert re.search(r"\((EIO|ENOSPC)\)", r["reason"])
    parts = r["facts"]["until_the_error"].split("; ")
    assert len(parts) == 2 and parts[0].endswith("then stopped with the others")
    assert all(int(re.search(r"(\d+) requests", part)[1]) > 0 for part in parts)
    for where in (healthy, failing):
        assert list((where / "here").iterdir()) == []


@pytest.mark.parametrize("given, refused", [
    (("--workload", "checkpoint-write", "--rw", "write"), "--rw"),
    (("--workload", "dataset-read", "--block-size", "4K"), "--block-size"),
    (("--workload", "soak", "--queue-depth", "4"), "--queue-depth"),
    (("--workload", "checkpoint-read", "--duration", "60s"), "--duration"),
    (("--workload", "checkpoint-write", "--model", "8B", "--size", "1G"), "--size"),
])
def test_what_a_workload_sets_cannot_be_given_as_well(work, given, refused):
    said = run(work, "--dir", work, *given, "--dry-run", expect=2)
    assert refused in said and "give one of the two" in said
