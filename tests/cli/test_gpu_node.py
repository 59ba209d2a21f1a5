"""A whole node of eight stand-in GPUs, by `run` with the shipped profile h20 (gpu_node.py); all products and faults: ci/gpu_nodes.py."""
import os
from pathlib import Path

import pytest

from gpu_node import failing, not_found, open_points, planted, run_node, unexplained

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
SOURCE = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])

pytestmark = pytest.mark.skipif(not (BUILD / "bin" / "clusterbench_fake_gpu").exists(), reason="built without CUDA")


def test_a_healthy_node_is_accepted(tmp_path):
    code, report, text = run_node(BUILD, SOURCE, tmp_path, "h20")
    assert not failing(report) and not open_points(report), text
    assert code == 0, text


def test_a_fault_on_each_of_seven_gpus_is_found_and_named_and_nothing_else(tmp_path):
    """One fault on each GPU but the first, all in one run; none that other work on the machine could hide."""
    names = ["a lower power limit", "an NVLink is down", "half the PCIe lanes", "a row waits to be remapped", "wrong products",
             "a weak memory cell", "a fatal Xid"]
    faults = dict(enumerate(names, 1))
    code, report, text = run_node(BUILD, SOURCE, tmp_path, "h20", **planted("h20", faults))
    assert code == 1, text
    assert not not_found(report, faults), text
    assert not unexplained(report, faults), text
