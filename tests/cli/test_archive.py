"""`bundle`: the same archive whoever packs it, and nothing from outside in it."""

import os
import shutil
import subprocess
import tarfile
import time

from campaigns import cb, files
from signing import campaigns, good


def test_the_bundle_is_the_same_whenever_and_wherever_it_is_packed(good, tmp_path):
    (good / "logs/empty.out").write_bytes(b"")
    first = cb("bundle", good, "--out", tmp_path / "a.tar")
    assert first.returncode == 0, first.stderr
    copy = tmp_path / "other" / "copy"
    shutil.copytree(good, copy)
    for path in copy.rglob("*"):
        os.utime(path, (time.time(), 1))
        path.chmod(0o700)
    second = cb("bundle", str(copy) + "/", "--out", tmp_path / "b.tar")
    assert second.returncode == 0, second.stderr
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
    assert first.stdout.split()[0] == second.stdout.split()[0]
    for name in ("a.tar.gz", "b.tgz"):
        assert cb("bundle", good, "--out", tmp_path / name).returncode == 0
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tgz").read_bytes()
    for archive in ("a.tar", "a.tar.gz"):
        with tarfile.open(tmp_path / archive) as tar:
            members = tar.getmembers()
            assert all(m.isreg() and m.uid == 0 and m.mode == 0o644 for m in members)
            got = {m.name.split("/", 1)[1]: tar.extractfile(m).read() for m in members}
        assert got == files(good)
    names = subprocess.run(["tar", "tf", tmp_path / "a.tar"], capture_output=True, text=True, check=True)
    assert len(names.stdout.splitlines()) == len(files(good))


def test_the_bundle_refuses_links_and_its_own_directory(good, tmp_path):
    done = cb("bundle", good, "--out", good / "a.tar")
    assert done.returncode == 2 and "lies in the campaign" in done.stderr
    (good / "logs/host").symlink_to("/etc/hostname")
    done = cb("bundle", good, "--out", tmp_path / "a.tar")
    assert done.returncode == 2 and "logs/host" in done.stderr
    assert not (tmp_path / "a.tar").exists()
    (good / "logs/host").unlink()
    done = cb("bundle", good, "--out", tmp_path / "none" / "a.tar")
    assert done.returncode == 4
    assert cb("bundle", tmp_path).returncode == 2


def test_long_names_are_kept_and_too_long_ones_named(good, tmp_path):
    name = "records/" + "n" * 90 + ".json"
    (good / name).write_text("x")
    assert cb("bundle", good, "--out", tmp_path / "a.tar").returncode == 0
    with tarfile.open(tmp_path / "a.tar") as tar:
        assert any(m.name.endswith(name) for m in tar.getmembers())
    (good / ("records/" + "m" * 120)).write_text("x")
    done = cb("bundle", good, "--out", tmp_path / "b.tar")
    assert done.returncode == 4 and "too long" in done.stderr
    assert not (tmp_path / "b.tar").exists()
