"""A checkpoint over three hosts of which one has a slow disk: it is named, and the figure of all is the slowest one's.

The hosts of the lab share the machine's disk, so the slow one's ranks run in a blkio control group with a limit."""

import contextlib
import json
import os
import tempfile
import time
from pathlib import Path

import pytest

BIN = os.environ["CLUSTERBENCH_BIN"]
GROUPS = Path("/sys/fs/cgroup/blkio")
LIMIT = 1 << 20  # bytes per second
BYTES = 8 << 20  # per rank


def disk_number(path):
    """Of the whole disk below the directory, as "major:minor"; None if it is no plain block device."""
    device = os.stat(path).st_dev
    node = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    if not node.exists():
        return None
    node = node.resolve()
    return ((node.parent if (node / "partition").exists() else node) / "dev").read_text().strip()


@pytest.fixture
def slow_group():
    disk = disk_number(os.environ["CLUSTERBENCH_BUILD_DIR"])
    if disk is None or not (GROUPS / "blkio.throttle.write_bps_device").exists():
        pytest.skip("no blkio control group (version 1), or the build directory is on no disk")
    group = GROUPS / f"clusterbench-lab-{os.getpid()}"
    group.mkdir()
    try:
        (group / "blkio.throttle.write_bps_device").write_text(f"{disk} {LIMIT}")
        yield group
    finally:
        until = time.monotonic() + 20  # its processes are ending
        while (group / "cgroup.procs").read_text() and time.monotonic() < until:
            time.sleep(0.05)
        group.rmdir()


def test_the_slow_host_of_a_checkpoint_is_named(netns, slow_group):
    slow = netns.hosts[1]
    with tempfile.TemporaryDirectory(dir=os.environ["CLUSTERBENCH_BUILD_DIR"]) as work:
        out = Path(work) / "result.json"
        # The ranks wait until the slow host's processes are in the group: in a namespace of the lab, which has a
        # /sys of its own, they cannot join it themselves.
        wait = f'touch {work}/there.$(hostname); while [ ! -e {work}/go ]; do sleep 0.05; done; exec "$@"'
        with netns.popen(["mpirun", "--host", netns.host_list(1), "-np", "3", "sh", "-c", wait, "sh", BIN, "io", "--dir", work,
                          "--workload", "checkpoint-write", "--size", BYTES, "--quiet", "--json", out]) as job:
            try:
                until = time.monotonic() + 60
                while len(list(Path(work).glob("there.*"))) < 3:
                    assert time.monotonic() < until
                    time.sleep(0.05)
                for pid in netns.pids(slow):
                    with contextlib.suppress(ProcessLookupError):  # a sleep that has just ended
                        (slow_group / "cgroup.procs").write_text(str(pid))
                (Path(work) / "go").touch()
                _, errors = job.communicate(timeout=150)
            finally:
                netns.kill_all()
            assert job.returncode == 0, errors
        (record,) = json.loads(out.read_text())["records"]
        assert not list(Path(work).glob("clusterbench-io-*"))
    metrics = {m["name"]: m for m in record["metrics"]}
    slowest = metrics["slowest_rank_bytes_per_second"]
    assert record["entities"][slowest["entity"]] == {"host": slow, "kind": "rank", "id": "1"}
    assert record["facts"]["slowest_rank"].startswith(f"{slow} rank 1: ")
    # Every rank wrote as much, so the figure of all by the slowest one's time is three times its rate.
    rate = slowest["summary"]["mean"]
    assert metrics["aggregate_durable_bytes_per_second"]["summary"]["mean"] == pytest.approx(3 * rate, rel=1e-6)
    assert rate < 2 * LIMIT


def io_on_all(netns, slots, *args):
    """The record of a run with `slots` ranks on each host, in a directory of the disk that all hosts share."""
    with tempfile.TemporaryDirectory(dir=os.environ["CLUSTERBENCH_BUILD_DIR"]) as work:
        out = Path(work) / "result.json"
        done = netns.run(["mpirun", "--host", netns.host_list(slots), "-np", slots * len(netns.hosts), BIN, "io", "--dir", work,
                          *args, "--quiet", "--json", out])
        assert done.returncode == 0, done.stderr
        assert not list(Path(work).glob("clusterbench-io-*"))
        (record,) = json.loads(out.read_text())["records"]
    assert all(c["passed"] for c in record["checks"])
    return record


def hosts_of(record, metric):
    return [record["entities"][m["entity"]]["host"] for m in record["metrics"] if m["name"] == metric]


def test_each_host_reads_the_part_of_one_file_that_another_host_wrote(netns):
    record = io_on_all(netns, 2, "--workload", "checkpoint-read", "--shared-file", "--size", "4M", "--verify")
    # Without --rank-shift by the ranks of a host, so that none serves itself from its own cache.
    for reader in range(6):
        assert f"rank {reader} reads part {(reader + 2) % 6} of shared.dat" in record["facts"]["reads_from"]
    assert [c["name"] for c in record["checks"]].count("data") == 6
    assert sorted(hosts_of(record, "latency_seconds")) == sorted(2 * netns.hosts)


def test_the_hosts_make_their_files_in_one_directory(netns):
    record = io_on_all(netns, 1, "--workload", "metadata", "--files", "20", "--shared-directory")
    assert record["facts"]["directory"] == "one for all ranks"
    for phase in ("create", "stat", "read", "unlink"):
        assert sorted(hosts_of(record, f"{phase}_latency_seconds")) == netns.hosts
    assert len(record["checks"]) == 3
