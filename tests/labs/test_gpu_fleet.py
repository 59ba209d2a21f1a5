"""A profile of GPUs over three hosts, each with stand-in GPUs: storage that goes to them directly, and one host where it does not.
ci/gpu_fleet.py runs all such profiles with all their faults."""
import os
import sys
from pathlib import Path

import pytest
from netns_lab import NetnsLab, why_not

SOURCE = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
sys.path.insert(0, str(SOURCE / "tests/cli"))
from gpu_fleet import run_fleet, wrong_of  # noqa: E402
from gpu_node import failing  # noqa: E402

pytestmark = [pytest.mark.skipif(why_not() is not None, reason=str(why_not())),
              pytest.mark.skipif(not (BUILD / "bin/clusterbench_fake_gpu").exists(), reason="built without CUDA")]


@pytest.mark.parametrize("fault", [None, "cuFile copies through the host", "wrong data from storage"])
def test_storage_for_gpus_of_three_hosts(tmp_path, fault):
    faults = {(1, 3): fault} if fault else {}
    with NetnsLab(3) as lab:
        code, report, said = run_fleet(BUILD, SOURCE, tmp_path, lab, "gds", faults)
        if fault:
            assert code == 1 and wrong_of(report, faults, lab.hosts) == ([], []), said
            return
    # A busy machine may leave the comparison of the hosts' rates open.
    assert code in (0, 3) and not failing(report), said
    states = {c["id"]: c["state"] for c in report["criteria"]}
    assert {states[f"gds-{way}.{what}"] for way in ("read", "write") for what in ("path", "data")} == {"pass"}, said
