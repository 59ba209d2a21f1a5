"""--reduction avg of clusterbench nccl: over which numbers of GPUs it is verified. GPUs and NCCL are stand-ins."""
import json
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
BIN = BUILD / "bin" / "clusterbench_fake_gpu"
FAKE = BUILD / "fake"

pytestmark = pytest.mark.skipif(not BIN.exists(), reason="built without CUDA")


def average(tmp_path, gpus, types, expect=0, behaviour=""):
    out = tmp_path / "r.json"
    env = dict(os.environ, CLUSTERBENCH_FAKE_CUDA=f"memory=536870912 devices={gpus}", FAKE_NCCL=behaviour,
               CLUSTERBENCH_NCCL_LIBRARY=str(FAKE / "fake_nccl.so"), CLUSTERBENCH_NVML_LIBRARY=str(FAKE / "fake_nvml.so"),
               CLUSTERBENCH_FAKE_NVML=f"gpus={gpus}")
    done = subprocess.run([BIN, "nccl", "--op", "all_reduce", "--size", "4K", "--iterations", "2", "--reduction", "avg", "--dtype", types,
                           "--json", out], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == expect, done.stdout + done.stderr
    return json.loads(out.read_text())["records"] if expect < 2 else done.stderr


def test_integers_are_averaged_over_any_number_of_gpus(tmp_path):
    records = average(tmp_path, 3, "int8,uint32,int64")
    assert [r["params"]["dtype"] for r in records] == ["int8", "uint32", "int64"]
    assert all(r["metrics"] and all(c["passed"] for c in r["checks"]) for r in records)
    (wrong,) = average(tmp_path, 3, "int32", expect=1, behaviour="wrong=0:1")
    assert not wrong.get("metrics") and any("expected" in c["detail"] for c in wrong["checks"] if not c["passed"])


def test_floats_only_over_a_power_of_two(tmp_path):
    refused = " ".join(average(tmp_path, 3, "int32,float", expect=2).split())
    assert "1 problem" in refused and "of floats only over a number of ranks that is a power of two, not 3" in refused
    assert average(tmp_path, 4, "float")[0]["metrics"]
