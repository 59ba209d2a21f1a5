"""`doctor` and `info` before libraries that hang, crash or end the process that opens them: each is a row with a step. What hangs beside
them is in test_doctor_hangs.py."""

import json
import os
import shutil

import pytest

from campaigns import BINARY, cb
from processes import compiled_shim, skip_under_sanitizers
from test_doctor import CRASHED, CRASHES, FAKE, HANGS, document, on_pci, states

SLOW_LIBRARY = HANGS + "__attribute__((constructor)) static void begin(void) { sleep(100); }"
ENDS = "#include <stdlib.h>\n__attribute__((constructor)) static void begin(void) { exit(0); }"
HARMS = {CRASHES: CRASHED, ENDS: "a process that opens it is ended by it, with exit code 0",
         SLOW_LIBRARY: "it does not open within 8 s"}
by_harm = pytest.mark.parametrize("source", HARMS, ids=["crashes", "ends", "hangs"])


@by_harm
@pytest.mark.parametrize("row, variable", [("gpu-driver", "CLUSTERBENCH_CUDA_LIBRARY"), ("nccl", "CLUSTERBENCH_NCCL_LIBRARY"),
                                           ("cublas", "CLUSTERBENCH_CUBLASLT_LIBRARY"), ("mpi", "CLUSTERBENCH_MPI_LIBRARY"),
                                           ("gpu-driver", "CLUSTERBENCH_NVML_LIBRARY")])
def test_a_library_that_harms_its_process_is_a_row(tmp_path, row, variable, source):
    """The rows of the others are as without it. Of NVML alone the GPUs are known here, so nothing is known of them."""
    if row == "mpi" and not shutil.which("mpirun"):
        pytest.skip("no mpirun")
    skip_under_sanitizers(BINARY)
    library = compiled_shim(tmp_path, source)
    env = {**os.environ, "CLUSTERBENCH_NVML_LIBRARY": str(FAKE / "fake_nvml.so"), "CLUSTERBENCH_FAKE_NVML": "gpus=2",
           "CLUSTERBENCH_CUDA_LIBRARY": str(FAKE / "libcuda.so.1")}
    _, whole = document(env=env)
    done, found = document(env={**env, variable: str(library)})
    seen, expected = ({c["id"]: c for c in d["hosts"][0]["checks"]} for d in (found, whole))
    warned = row in ("nccl", "cublas")
    assert done.returncode == (1 if "fail" in states(found["hosts"][0]).values() else 0) and seen[row]["state"] == ("warn" if warned else "fail")
    assert f"{library}: {HARMS[source]} ({variable} is set)" in seen[row]["seen"]
    assert f"unset {variable}, or correct it: it names {library}" in seen[row]["next"]
    if row != "gpu-driver":
        assert all(seen[id]["state"] == expected[id]["state"] for id in seen if id != row)


@by_harm
def test_a_driver_that_harms_its_process_is_installed_again(tmp_path, source):
    """No variable names it: the loader finds it."""
    skip_under_sanitizers(BINARY)
    text = on_pci(tmp_path, "--json", "-", source=source, CLUSTERBENCH_FAKE_NVML="gpus=0")
    seen, = [c for c in json.loads(text)["hosts"][0]["checks"] if c["id"] == "gpu-driver"]
    assert seen["state"] == "fail" and seen["seen"] == f"2 GPUs, but libcuda.so.1: {HARMS[source]}"
    assert "install the driver again" in seen["next"] and "restart the host" in seen["next"]


@by_harm
def test_an_nvml_that_harms_its_process_is_installed_again(tmp_path, source):
    skip_under_sanitizers(BINARY)
    text = on_pci(tmp_path, "--json", "-", nvml=source)
    seen, = [c for c in json.loads(text)["hosts"][0]["checks"] if c["id"] == "gpu-driver"]
    assert seen["state"] == "fail" and seen["seen"] == f"2 GPUs, but NVML does not open: libnvidia-ml.so.1: {HARMS[source]}"
    assert "install the driver again" in seen["next"] and "restart the host" in seen["next"]


def test_a_library_that_crashes_is_said_in_chinese(tmp_path):
    skip_under_sanitizers(BINARY)
    row, = [line for line in on_pci(tmp_path, "--lang", "zh", source=CRASHES).splitlines() if line.startswith("gpu-driver")]
    assert "失败" in row and "libcuda.so.1：打开它的进程会崩溃（信号 11" in row and "重新安装驱动，或重启主机" in row


@by_harm
def test_info_goes_on_without_a_library_that_harms_its_process(tmp_path, source):
    skip_under_sanitizers(BINARY)
    library = compiled_shim(tmp_path, source)
    done = cb("info", "--json", "-", timeout=60, env={**os.environ, "CLUSTERBENCH_MPI_LIBRARY": str(library)})
    mpi, = [p for p in json.loads(done.stdout)["hosts"][0]["parts"] if (p["kind"], p["id"]) == ("library", "mpi")]
    assert done.returncode == 0 and HARMS[source] in str(mpi["unavailable"]["version"])


@pytest.mark.parametrize("words, processes", [(["doctor"], 2), (["info"], 2), (["skeleton", "--duration", "10ms"], 1)])
def test_what_measures_starts_no_child_for_a_library(tmp_path, words, processes):
    """The library writes down each process that opens it."""
    log = tmp_path / "log"
    library = compiled_shim(tmp_path, f"""#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(void) {{ FILE* f = fopen("{log}", "a"); fprintf(f, "%d\\n", getpid()); fclose(f); }}""")
    cb(*words, env={**os.environ, "CLUSTERBENCH_NVML_LIBRARY": str(library)})
    opened = log.read_text().split()
    assert len(opened) == len(set(opened)) == processes
