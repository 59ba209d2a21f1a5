import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))  # processes.py
sys.path.insert(0, str(Path(__file__).parent / "netns"))
import netns_lab  # noqa: E402

# Profiles of the scripted case are refused to everybody else (docs/guide/profile.md).
os.environ["CLUSTERBENCH_TEST_CASES"] = "1"


@pytest.fixture(scope="session")
def clusterbench():
    """The binary under test."""
    return os.environ["CLUSTERBENCH_BIN"]


@pytest.fixture(scope="module")
def netns():
    """A lab of three hosts; skipped with the reason where it cannot stand."""
    reason = netns_lab.why_not()
    if reason:
        pytest.skip(reason)
    with netns_lab.NetnsLab(3) as lab:
        yield lab
