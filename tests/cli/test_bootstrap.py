"""ci/bootstrap.sh where packages are missing: what it installs, and what it says where it cannot."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"]) / "ci" / "bootstrap.sh"
MISSING = "libfmt-dev zlib1g-dev"  # alphabetically


@pytest.fixture
def machine(tmp_path):
    """A PATH of stand-ins: a dpkg that lacks two packages, an apt-get that keeps a log and succeeds."""

    def tool(name, text):
        file = tmp_path / name
        file.write_text(f"#!/bin/bash\n{text}\n")
        file.chmod(0o755)

    for name in ("bash", "env", "dirname", "awk", "sort", "comm", "sed"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")
    tool("dpkg-query", f'for p in "${{@:4}}"; do case " {MISSING} " in *" $p "*) ;; *) echo "$p installed" ;; esac; done')
    tool("apt-get", f'echo "$*" >>{tmp_path}/apt.log')
    tool("id", "echo 0")
    return tool


def bootstrap(tmp_path, *args):
    return subprocess.run(
        ["bash", SCRIPT, *args], env={"PATH": str(tmp_path)}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )


def test_root_installs_what_is_missing(machine, tmp_path):
    done = bootstrap(tmp_path, "--build")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "apt.log").read_text().splitlines()[-1].endswith(f"install -y --no-install-recommends {MISSING}")


def test_each_option_adds_its_section(machine, tmp_path):
    counts = [int(bootstrap(tmp_path, *args, "--print").stdout.split(" of ")[1].split()[0]) for args in (["--build"], [], ["--release"], ["--cross"])]
    assert counts == sorted(set(counts)), counts


def test_print_installs_nothing(machine, tmp_path):
    done = bootstrap(tmp_path, "--build", "--print")
    assert done.returncode == 0 and done.stdout.endswith(f" missing: {MISSING}\n")
    assert not (tmp_path / "apt.log").exists()


@pytest.mark.parametrize("sudo,why", [(None, "there is no sudo"), ("exit 1", "needs root")])
def test_a_user_without_root_is_told_the_packages(machine, tmp_path, sudo, why):
    machine("id", "echo 1000")
    if sudo:
        machine("sudo", sudo)
    done = bootstrap(tmp_path, "--build")
    assert done.returncode == 2
    assert why in done.stderr
    assert f"next: run as root: apt-get install --no-install-recommends {MISSING}\n" in done.stderr
    assert not (tmp_path / "apt.log").exists()


def test_a_user_with_sudo_installs(machine, tmp_path):
    machine("id", "echo 1000")
    machine("sudo", '[ "$1" = -n ] || exec "$@"')
    done = bootstrap(tmp_path, "--build")
    assert done.returncode == 0, done.stderr
    assert MISSING in (tmp_path / "apt.log").read_text()


def test_without_network_the_packages_are_named(machine, tmp_path):
    # apt-get update succeeds although no source answers; the installation does not.
    machine("apt-get", 'case "$*" in *update*) exit 0 ;; *) echo "E: Unable to locate package" >&2; exit 100 ;; esac')
    done = bootstrap(tmp_path, "--build")
    assert done.returncode == 2
    assert f"could not install: {MISSING}" in done.stderr and "no network" in done.stderr
    assert f"apt-get install --no-install-recommends {MISSING}" in done.stderr
