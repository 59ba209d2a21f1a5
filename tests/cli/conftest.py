"""Fixtures shared by the command line tests."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))  # processes.py

# Profiles of the scripted case are refused to everybody else (docs/guide/profile.md).
os.environ["CLUSTERBENCH_TEST_CASES"] = "1"


@pytest.fixture
def under_mpirun(monkeypatch):
    """No leak check: Open MPI unloads its components before the end, so the checker can neither name nor suppress theirs.

    Whatever else a sanitizer finds still fails the test, and every command runs with the leak check without mpirun too.
    """
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")


@pytest.fixture
def disk():
    """A directory on the disk that the build lies on, not on a tmpfs."""
    with tempfile.TemporaryDirectory(dir=os.environ["CLUSTERBENCH_BUILD_DIR"]) as name:
        kind = subprocess.run(["stat", "-f", "-c", "%T", name], capture_output=True, text=True)
        if kind.stdout.strip() in ("tmpfs", "ramfs"):
            pytest.skip("the build directory is in memory")
        yield Path(name)


@pytest.fixture
def work(disk):
    (disk / "work").mkdir()
    return disk / "work"
