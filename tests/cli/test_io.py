"""clusterbench io: figures of the path asked for, right data, and nothing left or changed that is not its own."""
import contextlib
import hashlib
import json
import mmap
import os
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from io_runs import BIN, io, left, metric, records


def uring_allowed(tmp):
    facts = records("--dir", tmp, "--size", "64K", "--no-direct", tmp=tmp)[0]["facts"]
    return facts["engine"].startswith("io_uring")


@pytest.mark.parametrize("engine", ["io_uring", "threads"])
@pytest.mark.parametrize("rw", ["read", "randread", "write", "randwrite"])
def test_each_access_with_each_engine(disk, work, engine, rw):
    if engine == "io_uring" and not uring_allowed(disk):
        pytest.skip("io_uring is not allowed here")
    (r,) = records("--dir", work, "--rw", rw, "--size", "8M", "--block-size", "64K",
                   "--queue-depth", 4, "--threads", 2, "--engine", engine, "--verify", tmp=disk)
    assert r["outcome"] == "measured"
    assert r["params"]["direction"] == ("write" if "write" in rw else "read")
    assert r["facts"]["path"] == "direct"
    assert r["facts"]["engine"].startswith(engine)
    assert r["entities"][0]["kind"] == "filesystem"
    assert {c["name"]: c["passed"] for c in r["checks"]} == {"data": True, "direct": True}
    assert metric(r, "latency_seconds")["summary"]["n"] == 8 * 1024 // 64  # every block once
    # A fixed amount of work: one figure, all bytes over the whole time, however the disk stalled.
    (rate,) = metric(r, "bytes_per_second")["samples"]
    assert rate > 0
    assert "interval_bytes_per_second" not in [m["name"] for m in r["metrics"]]
    assert ("fsync_seconds" in [m["name"] for m in r["metrics"]]) == ("write" in rw)
    assert ("requests_per_system_call" in [m["name"] for m in r["metrics"]]) == (engine == "io_uring")
    assert left(work) == []


@pytest.mark.parametrize("engine", ["threads", "null"])
def test_the_processors_counter_is_the_clock_where_it_is_the_kernels(disk, work, engine):
    (r,) = records("--dir", work, "--size", "4M", "--engine", engine, tmp=disk)
    source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    if source.exists() and source.read_text().strip() in ("tsc", "arch_sys_counter"):
        told = re.fullmatch(r"processor's counter, its scale within ([\d.]+) ppm of CLOCK_MONOTONIC_RAW", r["facts"]["clock"])
        assert float(told[1]) <= 10
    else:
        assert r["facts"]["clock"] == "CLOCK_MONOTONIC"


def test_a_mixed_run_gives_a_record_for_each_direction(disk, work):
    args = ["--dir", work, "--rw", "randrw", "--size", "4M", "--rwmix", "75", "--verify"]
    read, write = records(*args, tmp=disk)
    assert [read["params"]["direction"], write["params"]["direction"]] == ["read", "write"]
    n = metric(read, "latency_seconds")["summary"]["n"]
    assert n + metric(write, "latency_seconds")["summary"]["n"] == 1024
    assert 0.65 < n / 1024 < 0.85
    assert "fsync_seconds" not in [m["name"] for m in read["metrics"]]
    (only,) = records(*args, "--direction", "write", tmp=disk)
    assert only["params"]["direction"] == "write"


def test_bounded_by_time_gives_the_mean_and_a_time_line(disk, work):
    (r,) = records("--dir", work, "--size", "8M", "--duration", "1s", "--warm-up", "100ms", tmp=disk)
    (ios,) = metric(r, "io_per_second")["samples"]
    n = metric(r, "latency_seconds")["summary"]["n"]
    assert ios == pytest.approx(n / 1.0)
    intervals = metric(r, "interval_bytes_per_second")["samples"]
    assert 6 <= len(intervals) <= 10
    (line,) = [s for s in r["telemetry"]["series"] if s["name"] == "read_bytes_per_second"]
    assert line["values"] == pytest.approx(intervals)
    width = line["at"][1] - line["at"][0]
    # The last interval ends with or before the counted time, and they hold no more than was counted.
    assert 1.1 - width < line["at"][-1] < 1.1 + 1e-6
    assert sum(intervals) * width < n * 4096 * (1 + 1e-6)
    assert metric(r, "latency_seconds")["histogram"]


def test_a_kept_file_is_checked_again_later(disk, work):
    (r,) = records("--dir", work, "--rw", "write", "--size", "4M", "--block-size", "128K", "--keep", tmp=disk)
    (path,) = [n.removeprefix("kept ") for n in r["notes"] if n.startswith("kept ")]
    assert left(work) == []  # what was kept on purpose is no leftover
    again = ["--file", path, "--rw", "read", "--block-size", "64K", "--verify-only"]
    (r,) = records(*again, tmp=disk)
    assert {c["name"]: c["passed"] for c in r["checks"]}["data"]
    assert r["facts"]["data_check"] == "every block"
    for at, data, words in [(1 << 20, b"\0" * 4096, "(missing) holds zeros"),
                            (3 << 20, Path(path).read_bytes()[:4096], "(misplaced) holds the data of offset 0"),
                            (700, b"\x80", "(bit flip)")]:
        saved = Path(path).read_bytes()
        with open(path, "r+b") as f:
            f.seek(at)
            f.write(data)
        out = disk / "r.json"
        io(*again, json_file=out, expect=1)
        (r,) = json.loads(out.read_text())["records"]
        (check,) = [c for c in r["checks"] if c["name"] == "data"]
        assert words in check["detail"] and path in check["detail"]
        Path(path).write_bytes(saved)
    Path(path).write_bytes(b"\0" * (1 << 20))
    assert "does not begin with a whole sector of ours" in io(*again, expect=4).stderr


def test_reading_a_file_changes_nothing_of_it(disk):
    path = disk / "data"
    path.write_bytes(os.urandom(1 << 20))
    os.utime(path, (1e9, 1.5e9))  # read long before it was written: the kernel would note the reading
    before = path.stat()
    io("--file", path, "--rw", "randread", "--size", "1M")
    after = path.stat()
    assert (after.st_atime_ns, after.st_mtime_ns, after.st_ctime_ns) == (before.st_atime_ns, before.st_mtime_ns, before.st_ctime_ns)


def test_batches_never_hold_more_than_the_queue_depth(disk, work):
    if not uring_allowed(disk):
        pytest.skip("io_uring is not allowed here")
    for depth in (1, 4, 32):
        (r,) = records("--dir", work, "--size", "4M", "--queue-depth", depth, tmp=disk)
        assert 0 < metric(r, "requests_per_system_call")["summary"]["mean"] <= depth


def test_zipf_a_rate_and_the_null_engine(disk, work):
    (r,) = records("--dir", work, "--size", "4M", "--distribution", "zipf", "--verify", tmp=disk)
    assert {c["name"]: c["passed"] for c in r["checks"]}["data"]
    (r,) = records("--dir", work, "--size", "4M", "--rate", "100", "--duration", "1s", "--warm-up", "0s", tmp=disk)
    assert 0 < metric(r, "latency_seconds")["summary"]["n"] <= 100
    (r,) = records("--dir", work, "--size", "4M", "--engine", "null", "--duration", "1s", tmp=disk)
    assert r["facts"]["path"] == "none: no request was made"
    assert metric(r, "cpu_seconds_per_io")["summary"]["mean"] > 0
    assert "--reap" in io("--dir", work, "--queue-depth", 4, "--reap", 8, expect=2).stderr


class Mapped:
    """Keeps the first file that a run makes below the directory in the page cache: what is mapped is not evicted."""

    def __init__(self, directory):
        self.directory, self.stop, self.maps = directory, threading.Event(), []
        self.thread = threading.Thread(target=self.work)

    def work(self):
        while not self.stop.is_set():
            for path in self.directory.glob("clusterbench-io-*/rank0.dat"):
                with contextlib.suppress(OSError, ValueError), open(path, "rb") as f:
                    self.maps.append(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ))  # ValueError: still empty
                    bytes(memoryview(self.maps[0])[::4096])
                    return
            time.sleep(0.001)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        for m in self.maps:
            m.close()


@pytest.mark.parametrize("rw, words", [("read", "evicted: reads come from memory"),
                                       ("write", "evicted: what was read back came from memory and proves nothing")])
def test_a_page_cache_that_keeps_the_file_is_noted(disk, work, rw, words):
    args = ["--dir", work, "--rw", rw, "--size", "32M", "--block-size", "64K", "--no-direct"]
    (r,) = records(*args, tmp=disk)
    assert not any("evicted:" in n for n in r["notes"])
    with Mapped(work) as mapped:
        (r,) = records(*args, tmp=disk)
        assert mapped.maps
    assert any(words in n for n in r["notes"]), r["notes"]
    if rw == "read":
        assert float(r["facts"]["page_cache_at_start"].split()[0]) > 10


def test_cached_is_called_cached(disk, work):
    (r,) = records("--dir", work, "--size", "8M", "--no-direct", "--duration", "1s", tmp=disk)
    assert r["facts"]["path"] == "page cache"
    assert any("memory" in n for n in r["notes"])
    assert "direct" not in [c["name"] for c in r["checks"]]


def test_tmpfs_is_called_memory_also_with_direct(disk):
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm")
    for direct in ("--direct", "--no-direct"):
        out = disk / "r.json"
        done = subprocess.run([BIN, "io", "--dir", "/dev/shm", "--size", "4M", direct, "--json", str(out)],
                              capture_output=True, text=True, timeout=60)
        if done.returncode == 4 and direct == "--direct":
            assert "use --no-direct" in done.stderr  # kernels before 6.6
            continue
        (r,) = json.loads(out.read_text())["records"]
        assert r["facts"]["path"] == "tmpfs (memory)"
        assert any("of memory, not of a disk" in n for n in r["notes"])
    assert left("/dev/shm") == []


@pytest.mark.parametrize("when", ["laying out", "measuring"])
@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_after_a_signal(disk, work, when, sig):
    size = "2G" if when == "laying out" else "4M"
    out = disk / "r.json"
    process = subprocess.Popen([BIN, "io", "--dir", work, "--size", size, "--duration", "60s",
                                "--json", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        until = time.time() + 20
        while not left(work) and time.time() < until:
            time.sleep(0.01)
        assert left(work)
        time.sleep(0.1 if when == "laying out" else 1.0)
        process.send_signal(sig)
        assert process.wait(20) == 130
    finally:
        process.kill()
        process.communicate()
    assert left(work) == []
    assert json.loads(out.read_text())["run"]["partial"] == "interrupted"


def test_a_killed_run_is_mentioned_by_the_next_and_not_touched(disk, work):
    process = subprocess.Popen([BIN, "io", "--dir", work, "--size", "4M", "--duration", "60s"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.time() + 20
        while not left(work) and time.time() < until:
            time.sleep(0.01)
        time.sleep(0.3)
    finally:
        process.kill()
        process.wait()
    (old,) = left(work)
    content = {p: p.stat().st_mtime for p in (work / old).iterdir()}
    (r,) = records("--dir", work, "--size", "1M", tmp=disk)
    assert any(old in note for note in r["notes"])
    assert left(work) == [old]
    assert {p: p.stat().st_mtime for p in (work / old).iterdir()} == content


def test_a_given_file_is_never_changed(disk):
    path = disk / "customer.dat"
    path.write_bytes(os.urandom(4 << 20))
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    stamp = path.stat().st_mtime_ns
    for rw in ("read", "randread"):
        for engine in ("auto", "threads"):
            (r,) = records("--file", path, "--rw", rw, "--engine", engine, tmp=disk)
            assert any("not checked" in n for n in r["notes"])
            assert "data" not in [c["name"] for c in r["checks"]]
    for rw in ("write", "randwrite", "randrw"):
        done = io("--file", path, "--rw", rw, expect=2)
        assert "--allow-overwrite" in done.stderr
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert path.stat().st_mtime_ns == stamp
    (r,) = records("--file", path, "--rw", "randwrite", "--allow-overwrite", "--verify", tmp=disk)
    assert {c["name"]: c["passed"] for c in r["checks"]}["data"]
    assert path.stat().st_size == 4 << 20
    assert hashlib.sha256(path.read_bytes()).hexdigest() != before


def test_data_changed_behind_our_back_gives_no_number(disk, work):
    out = disk / "r.json"
    process = subprocess.Popen([BIN, "io", "--dir", work, "--size", "4M", "--duration", "20s", "--verify",
                                "--json", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        until = time.time() + 20
        while not list(work.glob("*/rank0.dat")) and time.time() < until:
            time.sleep(0.01)
        time.sleep(1.0)
        (path,) = work.glob("*/rank0.dat")
        fd = os.open(path, os.O_WRONLY)
        os.pwrite(fd, b"!", 1234567)
        os.fsync(fd)
        os.close(fd)
        assert process.wait(20) == 1
    finally:
        process.kill()
        process.communicate()
    (r,) = json.loads(out.read_text())["records"]
    assert r.get("metrics", []) == []
    (data,) = [c for c in r["checks"] if c["name"] == "data"]
    assert not data["passed"]
    assert "rank0.dat" in data["detail"] and "offset 1234560" in data["detail"]
    assert left(work) == []


@pytest.mark.parametrize("args, words", [
    ([], ["--dir", "is needed"]),
    (["--dir", ".", "--file", "x"], ["together with --file"]),
    (["--dir", ".", "--block-size", "1001"], ["multiple of 8"]),
    (["--dir", ".", "--size", "4K", "--threads", "2"], ["fewer than one block"]),
    (["--dir", ".", "--rw", "randomread"], ["did you mean randread?"]),
    (["--dir", ".", "--queue-depth", "0"], ["below the least"]),
    (["--dir", ".", "--duration", "0s"], ["longer than 0"]),
])
def test_bad_options(args, words):
    done = io(*args, expect=2)
    for word in words:
        assert word in done.stderr


def test_directories_that_cannot_be_used(disk):
    (disk / "file").write_text("x")
    (disk / "a").symlink_to("b")
    (disk / "b").symlink_to("a")
    for name, why in [("missing", "No such file"), ("file", "Not a directory"), ("a", "symbolic links")]:
        done = io("--dir", disk / name, expect=4)
        assert why in done.stderr and "next:" in done.stderr and socket.gethostname() in done.stderr


def test_direct_io_with_a_block_that_is_not_aligned(disk, work):
    done = io("--dir", work, "--block-size", 4104, "--size", "1M", expect=4)
    assert "multiples of" in done.stderr and "--no-direct" in done.stderr
    assert left(work) == []
    (r,) = records("--dir", work, "--block-size", 47008, "--size", "4M", "--no-direct", "--verify", tmp=disk)
    assert r["outcome"] == "measured"


def test_more_than_there_is_room_for(work):
    done = io("--dir", work, "--size", "900T", expect=4)
    assert re.search(r"has [\d.]+ MiB free, but 1 rank needs [\d.]+ MiB", done.stderr)
    assert left(work) == []
