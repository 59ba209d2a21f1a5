"""nccl over stand-in GPUs, a rank each."""
import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not (Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "bin" / "clusterbench_fake_gpu").exists(),
                                reason="built without CUDA")


def test_a_rank_without_a_gpu_is_the_only_problem_of_a_split(job, stand_in_gpus):
    stand_in_gpus(devices=1)
    code, _, err = job.run(2, "nccl", "--op", "all_reduce", "--size", "4K", "--split", "host")
    assert code == 2 and "1 problem" in err and "rank 1 has no GPU left" in err
