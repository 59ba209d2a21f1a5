"""File systems without locks or hard links, containers without /proc or /dev/null: a way that works, or the cause."""

import os
import subprocess

import pytest

from campaigns import BINARY, at_least, cb, manifest_holds, step, write_profile
from processes import compiled_shim, skip_under_sanitizers

CALLS = {
    "flock": "int flock(int fd, int how) { errno = ENOSYS; return -1; }",
    "link": "int link(const char *a, const char *b) { errno = EPERM; return -1; }",
    "renameat2": "int renameat2(int d, const char *a, int e, const char *b, unsigned f) { errno = EINVAL; return -1; }",
}


@pytest.fixture
def without(tmp_path):
    """Runs the program on a system where some calls fail as file systems make them fail."""

    def run(calls, *arguments):
        library = compiled_shim(tmp_path, "#include <errno.h>\n" + "\n".join(CALLS[c] for c in calls))
        return cb(*arguments, env={**os.environ, "LD_PRELOAD": str(library)})

    return run


@pytest.fixture
def profile(tmp_path):
    return write_profile(tmp_path, [step("speed")], [at_least("speed", "speed", 1)])


def test_without_hard_links_a_campaign_is_measured(without, profile, tmp_path):
    skip_under_sanitizers(BINARY)
    done = without(["link"], "run", profile, "--launcher", "none", "--out", tmp_path / "c")
    assert done.returncode == 0, done.stderr
    assert manifest_holds(tmp_path / "c")[0]
    again = without(["link"], "run", profile, "--launcher", "none", "--out", tmp_path / "c")
    assert again.returncode == 2  # it is not written over


def test_without_any_way_to_name_a_file_once_the_cause_is_said(without, profile, tmp_path):
    skip_under_sanitizers(BINARY)
    done = without(["link", "renameat2"], "run", profile, "--launcher", "none", "--out", tmp_path / "c")
    assert done.returncode == 4
    assert "neither hard links nor renames" in done.stderr and "next:" in done.stderr


def test_without_locks_the_cause_is_said(without, profile, tmp_path):
    skip_under_sanitizers(BINARY)
    done = without(["flock"], "run", profile, "--launcher", "none", "--out", tmp_path / "c")
    assert done.returncode == 4
    assert "this file system has no locks; next: mount it with them (Lustre: -o flock" in done.stderr


def hidden(directory, *arguments):
    """With an empty directory in that one's place."""
    line = f'mount -t tmpfs none {directory} && exec "$0" "$@"'
    return subprocess.run(["unshare", "-m", "sh", "-c", line, BINARY, *map(str, arguments)],
                          capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to hide a directory")
@pytest.mark.parametrize("directory, cause", [("/proc", "/proc/self/exe cannot be read"),
                                              ("/dev", "/dev/null cannot be opened: No such file or directory")])
def test_in_a_container_without_it_the_cause_is_said(profile, tmp_path, directory, cause):
    if directory == "/proc":
        skip_under_sanitizers(BINARY, "a sanitizer reads /proc itself")
    if subprocess.run(["unshare", "-m", "true"]).returncode != 0:
        pytest.skip("not permitted to make a mount namespace")
    out = tmp_path / "c"
    done = hidden(directory, "run", profile, "--launcher", "none", "--out", out)
    logs = "".join(p.read_text() for p in out.rglob("*") if p.is_file())
    assert done.returncode in (3, 4)
    assert cause in done.stderr + logs
    assert "next: mount " + directory in done.stderr + logs
