"""TCP through a queue that marks (`tc red … ecn`) in the emulated machine: our share of marks is the queue's, where both ends
agreed on ECN; where one did not, there is none, and the queue drops. ci/loss_sweep.py has the rest."""

import os
import sys
from pathlib import Path

import pytest

SOURCE = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "ci"))
import loss_sweep  # noqa: E402


def test_marks_are_those_of_the_queue():
    directory = Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "vm-lab"
    if reason := loss_sweep.VmLab(directory, modules=loss_sweep.MODULES).missing():
        pytest.skip(reason)
    done = loss_sweep.run(os.environ["CLUSTERBENCH_BIN"], ["ecn"], [0], directory, timeout=300)
    assert done.rc == 0, done.stdout + done.stderr + done.console[-2000:]
    lines = [line for line in done.stdout.splitlines() if line.startswith("| ecn")]
    assert len(lines) == len(loss_sweep.ECN) and all("right" in line for line in lines), done.stdout
