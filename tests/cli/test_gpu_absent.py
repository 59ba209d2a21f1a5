"""GPU cases on machines that lack something: skipped with the reason, exit 3, never a number."""

import json
import os
import subprocess
from pathlib import Path

import pytest

BIN = os.environ["CLUSTERBENCH_BIN"]
FAKE = Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "fake" / "fake_nvml.so"
CASES = [("gemm",), ("gemm", "--dtype", "fp8_e4m3,int8", "--search"), ("bandwidth",), ("burn", "--duration", "1s")]

has_gpu = any(Path("/proc/driver/nvidia/gpus").glob("*"))
pytestmark = pytest.mark.skipif(has_gpu, reason="this machine has a GPU")


def run(*args, **env):
    return subprocess.run([BIN, *args], env={**os.environ, **env}, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("case", CASES)
def test_no_gpu(case, tmp_path):
    file = tmp_path / "r.json"
    done = run(case[0], "--device", "gpu", *case[1:], "--json", str(file), CLUSTERBENCH_NVML_LIBRARY="/nonexistent.so")
    assert done.returncode == 3
    assert f"clusterbench {case[0]}: skipped: no GPU on " in done.stderr
    record = json.loads(file.read_text())["records"][0]
    assert record["outcome"] == "skipped" and not record.get("metrics")


@pytest.mark.parametrize("case", CASES)
def test_gpus_but_no_cuda(case):
    """NVML lists eight GPUs; CUDA's driver, or CUDA in this build, is missing."""
    done = run(case[0], "--device", "gpu", *case[1:], CLUSTERBENCH_NVML_LIBRARY=str(FAKE))
    assert done.returncode == 3, done.stderr
    assert "skipped: " in done.stderr
    assert "CUDA" in done.stderr


@pytest.mark.parametrize(
    "args,what",
    [
        (("gemm", "--dtype", "fp8_e4m3", "--m", "100", "--n", "128", "--k", "128"), "needs multiples of 16"),
        (("gemm", "--m", "128"), "--m, --n and --k go together"),
        (("gemm", "--search", "--m", "128", "--n", "128", "--k", "128"), "looks for the shape itself"),
        (("burn", "--pulse", "2"), "is not HZ:DUTY"),
        (("burn", "--pulse", "2:0.99"), "is not HZ:DUTY"),
        (("burn", "--phase", "bf17"), "bf17 is not known"),
        (("burn", "--inject-fault", "gremlin"), "gremlin is not known"),
        (("bandwidth", "--op", "triads"), "did you mean triad"),
    ],
)
def test_mistakes_are_named_before_anything_runs(args, what):
    done = run(args[0], "--device", "gpu", *args[1:])
    assert done.returncode == 2
    assert what in done.stderr


def test_list_names_the_gpu_cases():
    lines = run("list", CLUSTERBENCH_NVML_LIBRARY="/nonexistent.so").stdout.splitlines()
    for case in ("gemm", "bandwidth", "burn"):
        line = next(x for x in lines if x.split()[:2] == [case, "gpu"])
        assert "no: no GPU on this host" in line
    assert any(x.startswith("health") and "no GPU" in x for x in lines)
