"""Ways to hurt data with clusterbench io, each of them refused: links, devices in use, files that stand for more than
themselves, and places that are no storage. Nothing outside may change."""
import hashlib
import json
import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from random import Random

import pytest

BIN = os.environ["CLUSTERBENCH_BIN"]


def io(*args, expect, **kwargs):
    done = subprocess.run([BIN, "io", "--no-color", *map(str, args)], capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, **kwargs)
    assert done.returncode == expect, done.stderr + done.stdout
    return done


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


@pytest.fixture
def disk():
    with tempfile.TemporaryDirectory(dir=os.environ["CLUSTERBENCH_BUILD_DIR"]) as name:
        yield Path(name)


@pytest.fixture
def file(disk):
    """A customer's file; whatever a test does, it must be the same afterwards."""
    path = disk / "customer.dat"
    path.write_bytes(os.urandom(1 << 20))
    before = (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
    yield path
    assert (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) == before


WRITE = ("--rw", "randwrite", "--block-size", "4K", "--no-direct")


def test_a_file_without_permission_and_with_the_wrong_one(file):
    assert "--allow-overwrite" in io("--file", file, *WRITE, expect=2).stderr
    # What is meant for a device does not open the way to a file.
    assert "is no block device" in io("--file", file, *WRITE, "--allow-raw-write", "SN1", expect=2).stderr


def test_links_to_a_file(file, disk):
    (disk / "symbolic").symlink_to(file.name)
    (disk / "dangling").symlink_to("nothing")
    os.link(file, disk / "hard")
    for name, why in [("symbolic", "symbolic link to customer.dat"), ("dangling", "No such file"),
                      ("hard", "2 names"), (file.name, "2 names")]:
        done = io("--file", disk / name, *WRITE, "--allow-overwrite", expect=2)
        assert why in done.stderr and "next:" in done.stderr


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero", "/dev/full", "/proc/self/oom_score_adj", "/etc"])
def test_what_is_no_regular_file(path):
    done = io("--file", path, *WRITE, "--allow-overwrite", expect=2)
    assert "neither a regular file nor a block device" in done.stderr or "kernel's own" in done.stderr


def test_a_file_that_is_exchanged_for_a_link_meanwhile(file, disk):
    """What is under the name changes as fast as it can; the customer's file must not change (fixture)."""
    name, link, mine = disk / "name", disk / "link", disk / "mine"
    over = threading.Event()

    def exchange():
        while not over.is_set():
            mine.write_bytes(b"x" * (1 << 20))
            os.replace(mine, name)
            link.symlink_to(file.name)
            os.replace(link, name)

    exchanger = threading.Thread(target=exchange)
    exchanger.start()
    try:
        for _ in range(12):
            done = run(BIN, "io", "--file", name, *WRITE, "--allow-overwrite", "--duration", "20ms", "--quiet")
            # 4: exchanged between looking and opening; 2: it was the link when looked at.
            assert done.returncode in (0, 2, 4), done.stderr
    finally:
        over.set()
        exchanger.join()


def test_a_fifo_is_refused_and_nobody_waits_at_it(disk):
    os.mkfifo(disk / "fifo")
    for rw in ("read", "write"):
        done = io("--file", disk / "fifo", "--rw", rw, "--allow-overwrite", expect=2 if rw == "write" else 4)
        assert "neither a" in done.stderr


@pytest.mark.parametrize("path, why", [("/", "root of the system"), ("/proc", "kernel's own"), ("/sys/kernel", "kernel's own"),
                                       ("/dev", "belongs to the system (/dev)"), ("/etc", "belongs to the system (/etc)"),
                                       ("/usr/share/doc", "belongs to the system (/usr)"),
                                       ("/proc/self/cwd/../../../../../../../../../..", "root of the system")])
def test_places_that_are_no_storage(path, why):
    done = io("--dir", path, "--size", "1M", expect=2)
    assert why in done.stderr and "next:" in done.stderr
    assert why in io("--dir", path, "--workload", "metadata", "--files", "1", expect=2).stderr


def root_disk():
    """The device that / lies on and its whole disk, as the kernel numbers them."""
    number = os.stat("/").st_dev
    node = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not node.exists() or os.geteuid() != 0:
        return []
    here = node.resolve()
    out = ["/dev/" + here.name]
    if (here / "partition").exists():
        out.append("/dev/" + here.parent.name)
    return [p for p in out if Path(p).exists()]


def test_the_disk_that_the_system_is_on_by_every_name(disk):
    """--dry-run, so that nothing could be written even if the guard failed."""
    devices = root_disk()
    if not devices:
        pytest.skip("the root filesystem is on no device that can be seen here")
    for device in devices:
        link = disk / ("by-id-" + Path(device).name)
        link.symlink_to(device)
        for name in (device, link, f"/dev/../dev/{Path(device).name}"):
            for permission in (["--allow-overwrite"], ["--allow-raw-write", "SN1"]):
                done = io("--file", name, "--rw", "write", *permission, "--dry-run", expect=2)
                assert "is mounted on" in done.stderr


@pytest.fixture
def loop(disk):
    """A loop device over an image with an ext4 filesystem."""
    image = disk / "image"
    with open(image, "wb") as f:
        f.truncate(32 << 20)
    assert run("/usr/sbin/mkfs.ext4", "-q", "-E", "lazy_itable_init=1,nodiscard", image).returncode == 0
    made = run("/usr/sbin/losetup", "--find", "--show", image)
    if made.returncode != 0:
        pytest.skip("loop devices are not permitted here")
    device = made.stdout.strip()
    yield device, image
    run("/usr/sbin/losetup", "-d", device)


def test_a_loop_device_and_the_file_below_it(loop, disk):
    device, image = loop
    before = hashlib.sha256(image.read_bytes()).hexdigest()
    done = io("--file", device, *WRITE, "--allow-raw-write", "x", expect=2)
    for why in ("loop device over", "no serial number", "ext4 signature (filesystem)"):
        assert why in done.stderr  # all at once
    assert "is mounted" not in done.stderr
    done = io("--file", image, *WRITE, "--allow-overwrite", expect=2)
    assert f"what the loop device {Path(device).name} stands on" in done.stderr

    where = disk / "mnt"
    where.mkdir()
    if run("mount", device, where).returncode == 0:
        try:
            done = io("--file", device, *WRITE, "--allow-raw-write", "x", expect=2)
            assert f"is mounted on {where}" in done.stderr
        finally:
            run("umount", where)
    else:
        assert hashlib.sha256(image.read_bytes()).hexdigest() == before


def test_reading_a_device_in_use_is_allowed(loop, disk):
    device, _ = loop
    out = disk / "r.json"
    io("--file", device, "--rw", "read", "--no-direct", "--json", out, expect=0)
    assert json.loads(out.read_text())["records"][0]["outcome"] == "measured"


def test_the_permission_needs_a_device(disk):
    assert "--allow-raw-write" in io("--dir", disk, "--rw", "write", "--allow-raw-write", "SN1", expect=2).stderr


# ---- --dry-run, space ----

def notes(*args, tmp, expect=0):
    out = tmp / "notes.json"
    io(*args, "--json", out, expect=expect)
    (record,) = json.loads(out.read_text())["records"]
    assert record.get("metrics", []) == []
    return record["notes"]


def test_a_dry_run_says_what_it_would_do_and_does_nothing(file, disk):
    (disk / "work").mkdir()
    (note,) = notes("--dir", disk / "work", "--size", "1M", "--dry-run", tmp=disk)
    assert f"would make {disk}/work/clusterbench-io-" in note and "1M" in note and "free" in note
    (note,) = notes("--file", file, *WRITE, "--allow-overwrite", "--dry-run", tmp=disk)
    assert f"would DESTROY the content of the file {file}" in note and "1048576 bytes from offset 0" in note
    (note,) = notes("--file", file, "--no-direct", "--dry-run", tmp=disk)
    assert f"would read the file {file}" in note
    (note,) = notes("--dir", disk / "work", "--workload", "metadata", "--files", "7", "--dry-run", tmp=disk)
    assert "7 files of 4096 bytes would be made" in note
    assert list((disk / "work").iterdir()) == []


def test_all_ranks_need_room_together(disk, monkeypatch):
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")  # Open MPI's own, see conftest.py
    where = disk / "small"
    where.mkdir()
    if run("mount", "-t", "tmpfs", "-o", "size=64m,nr_inodes=16", "tmpfs", where).returncode:
        pytest.skip("mount is not permitted here")
    try:
        args = ["--dir", where, "--size", "16M", "--no-direct", "--dry-run"]
        io(*args, expect=0)
        done = io(*args, "--max-fill", "20", expect=4)
        assert "would be 25.0 % full" in done.stderr and "limit is 20 %" in done.stderr and "--max-fill" in done.stderr
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = subprocess.run(["mpirun", "-np", "4", "--oversubscribe", BIN, "io", *map(str, args)], capture_output=True,
                              text=True, timeout=120, env=env)
        assert done.returncode == 4 and "4 ranks need" in done.stderr, done.stderr
        for i in range(13):  # root directory + 13 of 16: two are left, three are needed
            (where / str(i)).touch()
        done = io(*args, expect=4)
        assert "has 2 inodes free, but 1 rank needs 3" in done.stderr
        assert len(list(where.iterdir())) == 13
    finally:
        run("umount", "-l", where)


# ---- --clean ----

def ours(directory):
    return sorted(p.name for p in directory.iterdir() if p.name.startswith("clusterbench-io-"))


def tree(directory):
    """Everything below, with content: what must not change."""
    out = {}
    for p in sorted(directory.rglob("*")):
        out[str(p)] = (p.lstat().st_mode, p.lstat().st_mtime_ns, p.read_bytes() if p.is_file() and not p.is_symlink() else b"")
    return out


def start(work, *args):
    return subprocess.Popen([BIN, "io", "--dir", work, "--size", "2M", "--duration", "60s", "--warm-up", "0s", "--no-fsync",
                             *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


def wait_for_file(work):
    until = time.time() + 30
    while not list(work.glob("*/rank0.dat")) and time.time() < until:
        time.sleep(0.005)
    assert list(work.glob("*/rank0.dat"))


def test_killed_at_random_moments_leaves_only_what_clean_removes(disk):
    work = disk / "work"
    work.mkdir()
    neighbour = work / "customer"
    neighbour.mkdir()
    (neighbour / "data").write_bytes(os.urandom(4096))
    (work / "clusterbench-io-notes.txt").write_text("by hand")
    (work / "link").symlink_to("customer")
    before = tree(disk)
    random = Random(6)
    begun = time.monotonic()
    process = start(work)
    wait_for_file(work)
    one_start = time.monotonic() - begun
    process.kill()
    process.wait()
    assert len(ours(work)) == 2  # so there is something to remove, whatever the moments below hit
    killed = 0
    while killed < 50 and (killed < 5 or time.monotonic() - begun < 15):
        process = start(work, "--rw", random.choice(["write", "randwrite", "randread", "randrw"]))
        time.sleep(random.uniform(0.2, 1.5) * one_start)
        process.kill()
        process.wait()
        killed += 1
        if killed % 5 == 0:
            kept = notes("--clean", work, tmp=disk)
            (disk / "notes.json").unlink()
            assert [n for n in kept if "stays" in n] == [n for n in kept if "clusterbench-io-notes.txt" in n]
            assert ours(work) == ["clusterbench-io-notes.txt"]
    io("--clean", work, expect=0)
    assert ours(work) == ["clusterbench-io-notes.txt"]
    changed = {k: v for k, v in tree(disk).items() if k not in (str(work),)}
    assert changed == {k: v for k, v in before.items() if k not in (str(work),)}


def test_clean_leaves_a_run_that_works_alone(disk):
    work = disk / "work"
    work.mkdir()
    process = start(work)
    try:
        wait_for_file(work)
        (name,) = ours(work)
        (note,) = notes("--clean", work, tmp=disk)
        assert f"{name}: a run uses it, so it stays" in note
        assert process.poll() is None and ours(work) == [name]
    finally:
        process.kill()
        process.wait()
    (note,) = notes("--clean", work, tmp=disk)
    assert f"{name} removed" in note and ours(work) == []
    assert "nothing of ours" in notes("--clean", work, tmp=disk)[0]


@pytest.fixture
def leftover(disk):
    """The directory of a run that was killed."""
    work = disk / "work"
    work.mkdir()
    process = start(work)
    try:
        wait_for_file(work)
    finally:
        process.kill()
        process.wait()
    (name,) = ours(work)
    return work / name


def foreign_file(path):
    (path / "thesis.tex").write_text("years of work")
    return "thesis.tex in it is not ours"


def file_replaced_by_a_link(path):
    (path / "rank0.dat").unlink()
    (path / "rank0.dat").symlink_to("/etc/passwd")
    return "rank0.dat in it is not ours"


def directory_inside(path):
    (path / "results").mkdir()
    return "results in it is not ours"


def damaged_marker(path):
    (path / ".clusterbench-io").write_text("clusterbench-io/1 x")
    return "its marker is damaged"


def no_marker(path):
    (path / ".clusterbench-io").unlink()
    return "no marker of ours"


def marker_is_a_link(path):
    (path / ".clusterbench-io").rename(path.parent / "elsewhere")
    (path / ".clusterbench-io").symlink_to("../elsewhere")
    return "its marker cannot be opened"


def renamed(path):
    path.rename(path.parent / "clusterbench-io-kept-for-later")
    return "it is a copy, or was renamed"


def a_copy(path):
    subprocess.run(["cp", "-a", path, path.parent / "copy"], check=True)
    subprocess.run(["rm", "-r", path], check=True)
    (path.parent / "copy").rename(path)
    return "it is a copy, or was renamed"


def of_another_host(path):
    marker = path / ".clusterbench-io"
    words = marker.read_text().splitlines()
    words[0] = words[0].rsplit(" ", 1)[0] + " node17"
    marker.write_text("\n".join(words) + "\n")
    return "it was made on node17"


def a_link_in_its_place(path):
    path.rename(path.parent / "real")
    path.symlink_to("real")
    return "clusterbench-io-"  # whatever open(2) calls it


@pytest.mark.parametrize("change", [foreign_file, file_replaced_by_a_link, directory_inside, damaged_marker, no_marker,
                                    marker_is_a_link, renamed, a_copy, of_another_host, a_link_in_its_place])
def test_clean_leaves_what_is_not_as_we_left_it(leftover, disk, change):
    work = leftover.parent
    why = change(leftover)
    before = tree(work)
    (note,) = notes("--clean", work, tmp=disk)
    assert why in note and "so it stays" in note
    assert tree(work) == before


def test_clean_of_what_is_not_there(disk):
    assert "cannot be cleaned" in io("--clean", disk / "missing", expect=4).stderr
    assert "without --dir" in io("--clean", disk, "--dir", disk, expect=2).stderr
