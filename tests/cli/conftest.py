"""Fixtures shared by the command line tests."""

import pytest


@pytest.fixture
def under_mpirun(monkeypatch):
    """No leak check: Open MPI unloads its components before the end, so the checker can neither name nor suppress theirs.

    Whatever else a sanitizer finds still fails the test, and every command runs with the leak check without mpirun too.
    """
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")
