"""clusterbench io on small and failing filesystems, where io_uring is forbidden or absent, and with several ranks."""
import ctypes
import json
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from io_runs import BIN, io, left, metric, records
from processes import by_rank


# ---- what needs root: small filesystems ----

def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


def mount_ext4(image, mebibytes, where, *options):
    """Makes the file system in a new file, and the directory to mount it on."""
    where.mkdir()
    with open(image, "wb") as f:
        f.truncate(mebibytes << 20)
    made = run("/usr/sbin/mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=1,nodiscard", image)
    assert made.returncode == 0, made.stderr
    if run("mount", "-o", ",".join(["loop", *options]), image, where).returncode:
        pytest.skip("loop mounts are not permitted here")


@pytest.fixture
def small_tmpfs(disk):
    where = disk / "small"
    where.mkdir()
    if run("mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", where).returncode:
        pytest.skip("mount is not permitted here")
    yield where
    run("umount", "-l", where)


def test_a_full_disk_is_found_before_anything_is_written(small_tmpfs):
    done = io("--dir", small_tmpfs, "--size", "64M", "--no-direct", expect=4)
    assert "free" in done.stderr and "next: lower --size" in done.stderr
    assert list(small_tmpfs.iterdir()) == []
    done = io("--dir", small_tmpfs, "--size", "16M", "--no-direct")
    assert list(small_tmpfs.iterdir()) == []


def body(stdout):
    """What a person sees below the heading."""
    heading, *rest = stdout.splitlines()
    assert heading == "io on 1 host, 1 rank"
    return rest


@pytest.mark.parametrize("rw", ["write", "randread"])
def test_a_device_that_fails_in_the_middle(small_tmpfs, disk, rw):
    """An ext4 of 192 MiB whose backing file has only 48 MiB of room: writes fail with EIO."""
    where = disk / "mnt"
    mount_ext4(small_tmpfs / "image", 192, where)
    try:
        done = io("--dir", where, "--rw", rw, "--size", "96M", "--block-size", "64K", expect=4)
        assert re.search(r"write of \d+ bytes at offset \d+ of \S+/rank0.dat failed: "
                         r"(Input/output error \(EIO\)|No space left on device \(ENOSPC\)); next:", done.stderr), done.stderr
        seen = body(done.stdout)
        assert re.match(r"✗ \S+: .*write of \d+ bytes at offset \d+ of .*; next: ", seen[0]), done.stdout
        if rw == "write":
            until = re.fullmatch(r"  until then: \S+: (\d+) requests, (\d+) bytes in (\d+\.\d+) s, .*", seen[1])
            assert int(until[1]) > 0 and int(until[2]) == int(until[1]) * 65536 and float(until[3]) > 0
        else:  # before any request was measured
            until = re.search(r": laying out the file, after (\d+) of 100663296 bytes and \d+\.\d+ s: write", seen[0])
            assert 0 < int(until[1]) < 100663296 and not any("until then" in line for line in seen)
        assert not re.search(r"bytes_per_second|[MG]B/s|IOPS", done.stdout)  # a part of a run has no rate
        assert left(where) == []
    finally:
        run("umount", "-l", where)


@pytest.fixture
def journals_data(disk):
    """An ext4 that takes O_DIRECT and writes through the page cache and its journal, and says so to statx."""
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 1):
        pytest.skip("the kernel does not tell whether a file has direct IO")
    where = disk / "mnt"
    mount_ext4(disk / "image", 96, where, "data=journal")
    yield where
    run("umount", "-l", where)


def test_a_file_system_that_buffers_direct_io_is_not_measured_as_direct(journals_data):
    refused = io("--dir", journals_data, "--size", "16M", expect=4)
    assert "mnt has no direct IO for this file" in refused.stderr and "next: use --no-direct" in refused.stderr
    io("--dir", journals_data, "--size", "16M", "--no-direct")
    assert left(journals_data) == []


def test_a_checkpoint_there_says_that_it_went_through_the_page_cache(journals_data, tmp_path):
    out = tmp_path / "t.json"
    done = run(BIN, "train", "--library", "builtin", "--threads", "1", "--steps", "4", "--warm-up-steps", "1", "--checkpoint-dir", journals_data,
               "--checkpoint-every", "3", "--json", out)
    assert done.returncode == 0, done.stdout + done.stderr
    record, = json.loads(out.read_text())["records"]
    assert record["facts"]["checkpoint_path"].startswith("page cache, "), record["facts"]


# ---- io_uring forbidden or absent ----

def forbid_io_uring():
    """A seccomp filter as container runtimes have it: io_uring_setup (425) answers EPERM."""
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, 425), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
    program = b"".join(struct.pack("HBBI", *c) for c in code)
    buffer = ctypes.create_string_buffer(program)

    class Fprog(ctypes.Structure):
        _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    prog = Fprog(len(code), ctypes.cast(buffer, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.byref(prog), 0, 0) == 0


def test_without_io_uring_threads_are_used_and_it_is_said(disk, work):
    (r,) = records("--dir", work, "--size", "4M", "--verify", tmp=disk, preexec_fn=forbid_io_uring)
    assert r["facts"]["engine"].startswith("threads")
    assert any("instead of io_uring: a seccomp filter" in n for n in r["notes"])
    done = io("--dir", work, "--size", "4M", "--engine", "io_uring", expect=4, preexec_fn=forbid_io_uring)
    assert "seccomp" in done.stderr and "--engine auto" in done.stderr


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace: apt-get install strace")
def test_a_kernel_that_has_no_io_uring(disk, work):
    """strace gives the answer of such a kernel. Where the tests themselves run under a seccomp filter, the filter may have given it."""
    before = ["strace", "-f", "-o", disk / "calls", "-e", "trace=io_uring_setup", "-e", "inject=io_uring_setup:error=ENOSYS"]
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")  # the leak check does not work under strace
    filtered = "\nSeccomp:\t2" in Path("/proc/self/status").read_text()
    why = "a seccomp filter (container runtime) forbids io_uring_setup" if filtered else "this kernel has no io_uring"
    (r,) = records("--dir", work, "--size", "1M", "--verify", tmp=disk, before=before, env=env)
    assert r["facts"]["engine"].startswith("threads") and metric(r, "bytes_per_second")
    assert r["checks"] and all(c["passed"] for c in r["checks"])
    assert any(n.endswith(f"threads with pread/pwrite instead of io_uring: {why}") for n in r["notes"]), r["notes"]
    done = io("--dir", work, "--size", "1M", "--engine", "io_uring", expect=4, before=before, env=env)
    assert why in done.stderr and "--engine auto" in done.stderr


# ---- several ranks ----

@pytest.mark.usefixtures("under_mpirun")
def test_every_rank_has_its_own_file(disk, work):
    out = disk / "r.json"
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(["mpirun", "-np", "3", "--oversubscribe", BIN, "io", "--dir", work, "--size", "4M",
                           "--json", out], capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, done.stderr
    (r,) = json.loads(out.read_text())["records"]
    latencies = [m for m in r["metrics"] if m["name"] == "latency_seconds"]
    assert [m["summary"]["n"] for m in latencies] == [1024] * 3
    assert [r["entities"][m["entity"]]["id"].rsplit(" ", 2)[1:] for m in latencies] == [
        ["rank", "0"], ["rank", "1"], ["rank", "2"]]
    total = metric(r, "aggregate_bytes_per_second")
    assert r["entities"][total["entity"]]["kind"] == "cluster"
    assert left(work) == []


@pytest.mark.usefixtures("under_mpirun")
def test_one_rank_that_cannot_work_is_named_and_none_waits(disk, work):
    """The same --dir on both ranks, but only rank 0's host (here: working directory) has it."""
    (disk / "elsewhere").mkdir()
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    one = [BIN, "io", "--dir", "work", "--size", "4M"]
    ranks = by_rank(["env", "-C", disk, *one], ["env", "-C", disk / "elsewhere", *one])
    done = subprocess.run(["mpirun", "--oversubscribe", "-np", "2", *ranks],
                          capture_output=True, text=True, timeout=50, env=env)
    assert done.returncode == 4
    assert "rank 1" in done.stderr and "No such file" in done.stderr
    assert left(work) == []
