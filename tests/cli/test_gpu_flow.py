"""GPUs that hang, told by the clock: on the stand-ins of test_gpu_cases.py, whose other cases may run beside anything."""

import os
import signal
import subprocess
import time

import test_gpu_cases as cases
from test_gpu_cases import detail, failed, median

pytestmark = cases.pytestmark


def test_a_hang_is_told_and_the_rest_is_kept(tmp_path):
    records = cases.run(tmp_path, "burn", "--phase", "bf16,march", "--hang-after", "2s", cuda="hang@0=30", code=1)
    assert ("hang", "0") in failed(records[0]) and ("gpu", "0") in failed(records[0])
    assert ("hang", "1") not in failed(records[0])
    assert "has not finished a step of bf16 after 2 s: it hangs" in detail(records[0], "hang", "0")
    assert failed(records[1]) == {("gpu", "0")}
    assert median(records[1], "bytes_per_second", "1")


def test_a_gpu_that_hangs_under_small_products_is_named(tmp_path):
    """A stream that is full makes the next launch wait, where no deadline sees it; so no step fills it."""
    record = cases.run(tmp_path, "burn", "--phase", "bf16", "--hang-after", "2s", cuda="hang@1=60 flops=1e12", code=1)[0]
    assert failed(record) == {("hang", "1"), ("gpu", "1"), ("result", "1")}  # it ended no pass
    assert median(record, "flops_per_second", "0") and not median(record, "flops_per_second", "1")


def test_an_interrupted_product_does_not_wait_for_a_step_that_hangs(tmp_path):
    """The next step is queued while one runs. Interrupted then, its memory was freed, and freeing waits for the step: for ever."""
    hung, file = tmp_path / "hung", tmp_path / "r.json"
    (quick,) = cases.run(tmp_path, "gemm", "--algorithms", "1", cuda="devices=1")
    # Operands, four products to choose the algorithm, two to size a batch, two batches; the third hangs while the second runs.
    third = 2 * int(quick["facts"]["buffer_sets"]) + 4 + 2 + 2 + 1
    env = dict(os.environ, CLUSTERBENCH_CUBLASLT_LIBRARY=str(cases.FAKE / "fake_cublaslt.so"), CLUSTERBENCH_FAKE_CUDA_HUNG=str(hung),
               CLUSTERBENCH_FAKE_CUDA=f"memory=536870912 devices=1 wall=1 flops=5e5 hang={third}",
               # The thread that frees is still in the driver when the program ends: no object of the program may be gone then.
               CLUSTERBENCH_FAKE_CUDA_SLOW_EXIT="1", MALLOC_PERTURB_="165",
               CLUSTERBENCH_NVML_LIBRARY=str(cases.FAKE / "fake_nvml.so"), CLUSTERBENCH_FAKE_NVML="gpus=1")
    job = subprocess.Popen([cases.BIN, "gemm", "--device", "gpu", "--m", "64", "--n", "64", "--k", "64", "--warm-up", "0s", "--algorithms", "1",
                            "--iterations", "100", "--json", file], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not hung.exists() and time.monotonic() < until:
        time.sleep(0.02)
    job.send_signal(signal.SIGINT)  # within the second of the product before the one that hangs
    begun = time.monotonic()
    job.communicate(timeout=100)
    assert job.returncode == 130
    assert 9 < time.monotonic() - begun < 30  # ten seconds of patience
