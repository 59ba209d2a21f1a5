"""The GPU cases that test_cuda_module.py does not run, over the table of each CUDA module: stand-in runtime, driver and NCCL. verbs --memory gpu
is not among them: it needs RDMA devices (tests/labs/test_verbs_hosts_vm.py)."""

import json
import os
import subprocess

import pytest
from test_cuda_module import FAKE, NCCL, PROGRAM, place  # noqa: F401 (place is a fixture)

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="built without CUDA")

# Ranks under mpirun (0: none) and the command. Few rows go through infer's own kernels, more go through the library.
CASES = {
    "infer": (0, "infer --device gpu --batch 1,9 --hidden 16 --heads 4 --kv-heads 2 --head-dim 4 --feed-forward 24 --vocabulary 64 --layers 2"
                 " --prompt 6 --new-tokens 5 --repetitions 2"),
    "gpu-overhead": (0, "gpu-overhead --warm-up 0s --iterations 5"),
    "overlap": (0, "overlap --size 128 --message 64K --warm-up 0s --iterations 3"),
    "moe": (2, "moe --device gpu --batch 32 --hidden 256 --experts 12 --top-k 3 --iterations 3"),
    "kv-transfer": (2, "kv-transfer --backend nccl --model tiny --layers 4 --page-tokens 4 --prompt 30 --iterations 3"),
    "locate": (3, "locate --backend nccl --between rank --mode full --size 64K --duration 100ms --tolerance 0.9"),
}


def records(place, command, ranks=0, driver=13000, code=0):  # noqa: F811
    file = place.program.parent / "r.json"
    product = "name=NVIDIA_H100_80GB_HBM3"
    start = ["mpirun", "--oversubscribe", "-np", str(ranks)] if ranks else []
    # The stand-in NCCL finds the runtime's streams by their names, which a module keeps to itself.
    start += ["env", f"LD_PRELOAD={FAKE / 'libfake_cuda_runtime.so'}"]
    done = subprocess.run(
        [*start, place.program, *command.split(), "--json", file], text=True, capture_output=True, timeout=120, check=False,
        env={**os.environ, "CLUSTERBENCH_FAKE_CUDA": f"devices=3 memory=536870912 {product} total=8.5e10 driver={driver}",
             "CLUSTERBENCH_FAKE_NVML": f"gpus=3 {product} memory_total_bytes=8.5e10 clock_hertz=1.5e9",
             "CLUSTERBENCH_NCCL_LIBRARY": str(NCCL), "FAKE_NCCL": "streams,abort=local"})
    assert done.returncode == code, done.stdout + done.stderr
    found = json.loads(file.read_text())["records"]
    assert found
    return found


@pytest.mark.parametrize("module, driver", [(11, 12020), (13, 13000)])
@pytest.mark.parametrize("case", CASES)
def test_over_the_table(place, case, module, driver):  # noqa: F811
    """The only module that is there."""
    ranks, command = CASES[case]
    for record in records(place.put(module), command, ranks, driver):
        assert record["outcome"] == "measured" and record["metrics"]
        assert record["checks"] and all(c["passed"] for c in record["checks"])


@pytest.mark.parametrize("case", CASES)
def test_without_a_module_nothing_is_measured(place, case):  # noqa: F811
    ranks, command = CASES[case]
    for record in records(place, command, ranks, code=3):
        assert record["outcome"] == "skipped" and "no CUDA module lies beside this program" in record["reason"]
        assert not record["metrics"]


@pytest.mark.parametrize("modules", [(11, 13), ()])
@pytest.mark.parametrize("command, check", [("watch --duration 1s", "gpu"), ("preflight", "idle_gpus")])
def test_what_the_driver_alone_tells_needs_no_module(place, command, check, modules):  # noqa: F811
    (record,) = records(place.put(*modules), command)
    assert record["outcome"] == "measured" and "cuda_module" not in record["facts"]
    assert check in {c["name"] for c in record["checks"]}
