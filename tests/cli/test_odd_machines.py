"""A campaign where a machine lacks what is usually there: no HOME, a /tmp without execution, a read-only installation."""

import os
import shutil
import subprocess
import tempfile

import pytest
from campaigns import BINARY, at_least, step, write_profile


@pytest.fixture
def campaign(tmp_path):
    """Runs a campaign of two ranks after a shell line, and returns what came out."""
    path = write_profile(tmp_path, [step("all", scope="cluster", deadline="60s")], [at_least("rate", "all", 1)])
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs root for mounts of its own: unshare --mount")

    def run(before="true", binary=BINARY):
        line = f'{before} && exec "$@"'
        host = os.uname().nodename
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", line, "sh", binary, "run", path, "--out", tmp_path / "out", "--launcher", "mpirun", "--hosts", f"{host}:2"],
            capture_output=True, text=True, timeout=200, check=False,
        )

    return run


def test_without_home(campaign):
    done = campaign("unset HOME")
    assert done.returncode == 0, done.stderr


def test_tmp_without_execution(campaign):
    # A new /tmp would hide the profile and the output below it: the old one is mounted once more with the flag.
    # The program lies elsewhere, since this checkout may itself be below /tmp.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as elsewhere:
        binary = shutil.copy(BINARY, elsewhere)
        done = campaign("mount --bind /tmp /tmp && mount -o remount,bind,noexec /tmp", binary)
    assert done.returncode == 0, done.stderr


def test_a_read_only_installation(campaign, tmp_path):
    prefix = tmp_path / "opt"
    prefix.mkdir()
    binary = shutil.copy(BINARY, prefix)
    done = campaign(f"mount --bind {prefix} {prefix} && mount -o remount,bind,ro {prefix}", binary)
    assert done.returncode == 0, done.stderr
    assert [p.name for p in prefix.iterdir()] == ["clusterbench"]
