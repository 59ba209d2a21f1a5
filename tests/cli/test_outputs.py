"""Where documents go: standard output by "-", never through a link of somebody else, never writable for everybody."""

import json
import os
import stat
import subprocess

import pytest

from campaigns import BINARY, at_least, cb, run_local, step, write_profile


@pytest.fixture
def campaign(tmp_path):
    profile = write_profile(tmp_path, [step("speed")], [at_least("speed", "speed", 1)])
    assert run_local(profile, tmp_path / "c").returncode == 0
    return tmp_path / "c"


def test_a_measurement_writes_its_document_to_standard_output(tmp_path):
    done = cb("fake", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["schema"] == "clusterbench.result/2"
    assert "fake" in done.stderr  # the table
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command, option", [("report", "--json"), ("gate", "--json")])
def test_verdicts_go_to_standard_output(campaign, tmp_path, command, option):
    done = cb(command, campaign, option, "-", cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["schema"] == "clusterbench.report/1"
    assert "accepted" in done.stderr.lower()
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("option, begin", [("--html", "<!doctype html>"), ("--md", "# "), ("--junit", "<?xml"), ("--csv", "")])
def test_every_format_goes_to_standard_output(campaign, tmp_path, option, begin):
    done = cb("report", campaign, option, "-", cwd=tmp_path)
    cb("report", campaign, option, tmp_path / "file")
    assert done.returncode == 0
    assert done.stdout == (tmp_path / "file").read_bytes().decode().replace("\r\n", "\n")
    assert done.stdout.lower().startswith(begin)


def test_standard_output_has_room_for_one(campaign):
    done = cb("report", campaign, "--html", "-", "--md", "-")
    assert done.returncode == 2
    assert "one document" in done.stderr


def test_a_document_that_standard_output_does_not_take_is_a_failure():
    with open("/dev/full", "w") as full:
        done = subprocess.run([BINARY, "fake", "--json", "-"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 4
    assert "cannot write standard output: No space left on device" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make a link of another user")
@pytest.mark.parametrize("option", ["--html", "--md", "--json", "--junit"])
def test_another_users_link_is_not_written_through(campaign, tmp_path, option):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    link = tmp_path / "out"
    link.symlink_to(victim)
    os.lchown(link, 65534, 65534)
    done = cb("report", campaign, option, link)
    assert done.returncode == 4
    assert "symbolic link of another user (uid 65534); next:" in done.stderr
    assert victim.read_text() == "precious"
    assert link.is_symlink()


def test_nothing_that_is_made_can_be_written_by_everybody(tmp_path):
    profile = write_profile(tmp_path, [step("speed")], [at_least("speed", "speed", 1)])
    out = tmp_path / "a" / "c"
    line = 'umask 000; exec "$0" run "$1" --launcher none --out "$2"'
    assert subprocess.run(["sh", "-c", line, BINARY, profile, out], capture_output=True, timeout=60).returncode == 0
    made = [tmp_path / "a", out, *out.rglob("*")]
    assert len(made) > 6
    for path in made:
        assert not stat.S_IMODE(path.stat().st_mode) & stat.S_IWOTH, path


@pytest.mark.parametrize("text", ["4KiB", "4KB", "4K", "4k", "4096", "4096B"])
def test_sizes_are_binary_however_they_are_written(text):
    done = cb("mpi", "--size", text, "--json", "-")
    assert json.loads(done.stdout)["records"][0]["params"]["size"] in (4096, [4096])


def test_the_help_says_once_what_a_size_means():
    for command in ("gemm", "io", "mpi"):
        assert cb(command, "--help").stdout.count("1G = 1GiB = 1GB = 2^30 bytes") == 1
