"""A campaign where a machine lacks what is usually there: no HOME, a /tmp without execution, a read-only installation, no launcher, another
architecture."""

import os
import shutil
import struct
import subprocess
import tempfile

import pytest
from campaigns import BINARY, at_least, cb, step, write_profile

EM_RISCV = 243
HERE = os.uname().nodename


@pytest.fixture
def campaign(tmp_path):
    """Runs a campaign of two ranks after a shell line, and returns what came out."""
    path = write_profile(tmp_path, [step("all", scope="cluster", deadline="60s")], [at_least("rate", "all", 1)])
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs root for mounts of its own: unshare --mount")

    def run(before="true", binary=BINARY, more=()):
        line = f'{before} && exec "$@"'
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", line, "sh", binary, "run", path, "--out", tmp_path / "out", "--launcher", "mpirun", "--hosts", f"{HERE}:2",
             *more],
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


def test_a_copy_for_another_architecture_is_refused_and_removed(campaign, tmp_path):
    """What lies at the running program's path is hidden by the same program for another architecture, and that is copied."""
    program, other, place = tmp_path / "clusterbench", tmp_path / "other", tmp_path / "place"
    place.mkdir()
    subprocess.run(["strip", "-o", program, BINARY], check=True)
    shutil.copy(program, other)
    with other.open("r+b") as f:
        f.seek(18)  # e_machine
        f.write(struct.pack("<H", EM_RISCV))
    done = campaign(f'exec 9<{program} && mount --bind {other} {program} && shift && set -- /proc/self/fd/9 "$@"', program,
                    ["--copy-to", place])
    assert done.returncode == 4, done.stdout + done.stderr
    assert f"{HERE}: not copied to {place}: the program does not start there: another architecture, or a libc older than 2.28" in done.stderr
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("option, hosts", [("--hosts", "a,b"), ("--hosts", "a"), ("--spares", "b:1")])
def test_without_a_launcher_other_hosts_are_out_of_reach(tmp_path, option, hosts):
    """The PATH has neither mpirun nor srun."""
    path = write_profile(tmp_path, [step("all")], [at_least("rate", "all", 1)])
    (tmp_path / "nothing").mkdir()
    here = ["--hosts", f"{HERE}:1"] if option == "--spares" else []
    done = cb("run", path, "--out", tmp_path / "out", *here, option, hosts, env={**os.environ, "PATH": str(tmp_path / "nothing")})
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"{option}  needs mpirun or srun to reach other hosts: install Open MPI, or run on this host alone" in done.stderr
    assert not (tmp_path / "out").exists()
