"""Strangers at a job's ports: idle connections, single bytes, a scan of all ports. The job ends as without them."""

import importlib.util
import os
import pathlib

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
