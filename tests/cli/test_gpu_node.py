"""A whole node of eight stand-in GPUs, by `run` with the shipped profile h20 (gpu_node.py); all products and faults: ci/gpu_nodes.py."""
import os
from pathlib import Path

import pytest

from gpu_node import FAULTS, failing, open_points, run_node

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
SOURCE = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])

pytestmark = pytest.mark.skipif(not (BUILD / "bin" / "clusterbench_fake_gpu").exists(), reason="built without CUDA")


def test_a_healthy_node_is_accepted(tmp_path):
    code, report, text = run_node(BUILD, SOURCE, tmp_path, "h20")
    assert not failing(report) and not open_points(report), text
    assert code == 0, text


def test_a_fault_on_each_of_seven_gpus_is_found_and_named_and_nothing_else(tmp_path):
    """One fault on each GPU but the first, all in one run; none that other work on the machine could hide."""
    planted = ["a lower power limit", "an NVLink is down", "half the PCIe lanes", "a row waits to be remapped", "wrong products",
               "a weak memory cell", "a fatal Xid"]
    words = {"nvml": "", "cuda": ""}
    wanted = {}
    for gpu, name in enumerate(planted, 1):
        kind, word, criterion = FAULTS[name]
        words[kind] += " " + word.replace("@3", f"@{gpu}")
        wanted[criterion] = gpu
    code, report, text = run_node(BUILD, SOURCE, tmp_path, "h20", **words)
    found = failing(report)
    assert code == 1, text
    for criterion, gpu in wanted.items():
        assert {name.split(":")[-1] for name in found[criterion]} == {str(gpu)}, (criterion, found)
    assert not any(name.endswith(":0") for names in found.values() for name in names)
