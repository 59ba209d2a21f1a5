"""Strangers at a job's ports: idle connections, single bytes, a scan of all ports. The job ends as without them."""

import importlib.util
import os
import pathlib
import subprocess
import time

import pytest

BINARY = os.environ["CLUSTERBENCH_BIN"]
TOOL = pathlib.Path(__file__).parent.parent / "tools" / "strangers.py"


@pytest.fixture
def strangers():
    spec = importlib.util.spec_from_file_location("strangers", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("arguments", [["fake", "--samples", "60", "--pause", "20ms"], ["tcp", "--duration", "500ms"]],
                         ids=lambda a: a[0])
def test_a_job_under_attack_ends_as_one_alone(strangers, arguments):
    done = strangers.run(BINARY, arguments, idle=900)  # raises unless the exit code is 0
    assert done["value"] > 0


def test_nothing_listens_while_bytes_are_carried(strangers):
    """So a scan of the ports meets the kernel alone, and no thread of the ranks."""
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    job = subprocess.Popen(["mpirun", *root, "--oversubscribe", "-np", "2", BINARY, "tcp", "--duration", "3s", "--quiet"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    closed_since = time.monotonic()
    while job.poll() is None:
        if strangers.listening_ports(strangers.ranks_of(job.pid)):
            closed_since = time.monotonic()
        time.sleep(0.02)
    assert job.returncode == 0
    assert time.monotonic() - closed_since > 2.5
