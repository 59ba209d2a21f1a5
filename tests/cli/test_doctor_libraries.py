"""`doctor` and `info` before libraries that hang, crash or end the process that opens them: each is a row with a step."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from campaigns import BINARY, cb
from processes import compiled_shim, skip_under_sanitizers
from test_doctor import CRASHED, CRASHES, FAKE, HANGS, document, on_pci, states

SILENT_DRIVER = HANGS + "int cuDriverGetVersion(int* version) { sleep(100); *version = 12080; return 0; }"
BROKEN_DRIVER = "int cuDriverGetVersion(int* version) { return 999; }"
STUB_OF_OLD = "int cuDriverGetVersion(int* version) { *version = 0; return 0; }"
SLOW_LIBRARY = HANGS + "__attribute__((constructor)) static void begin(void) { sleep(100); }"
ENDS = "#include <stdlib.h>\n__attribute__((constructor)) static void begin(void) { exit(0); }"
HARMS = {CRASHES: CRASHED, ENDS: "a process that opens it is ended by it, with exit code 0",
         SLOW_LIBRARY: "it does not open within 8 s"}
by_harm = pytest.mark.parametrize("source", HARMS, ids=["crashes", "ends", "hangs"])
HANGING_DRIVER = {"gpu-driver": ("fail", "dmesg"), "nccl": ("warn", "dmesg"), "cublas": ("warn", "dmesg")}
UNFIT_DRIVER = {"gpu-driver": ("fail", "unset CLUSTERBENCH_CUDA_LIBRARY, or correct it"), "nccl": ("warn", "CLUSTERBENCH_NCCL_LIBRARY"), "cublas": ("warn", "CLUSTERBENCH_CUBLASLT_LIBRARY")}
SLOW_NCCL = {"nccl": ("warn", "run it again"), "cublas": ("warn", "CLUSTERBENCH_CUBLASLT_LIBRARY")}


@pytest.mark.parametrize("program", ["clusterbench", "clusterbench_fake_modules"])
@pytest.mark.parametrize("variable, source, rows", [
    ("CLUSTERBENCH_CUDA_LIBRARY", SILENT_DRIVER, HANGING_DRIVER), ("CLUSTERBENCH_CUDA_LIBRARY", SLOW_LIBRARY, UNFIT_DRIVER),
    ("CLUSTERBENCH_CUDA_LIBRARY", BROKEN_DRIVER, UNFIT_DRIVER), ("CLUSTERBENCH_CUDA_LIBRARY", STUB_OF_OLD, UNFIT_DRIVER), ("CLUSTERBENCH_NCCL_LIBRARY", SLOW_LIBRARY, SLOW_NCCL)],
    ids=["driver hangs", "driver's file hangs", "driver fails", "driver of version 0", "NCCL hangs"])
def test_of_what_hangs_the_cause_is_named(tmp_path, program, variable, source, rows):
    skip_under_sanitizers(BINARY, "what hangs is left behind with its memory")
    file = Path(BINARY).parent / program
    if not file.exists():
        pytest.skip("built without CUDA")
    library = compiled_shim(tmp_path, source).rename(tmp_path / ("libcuda.so.1" if "CUDA" in variable else "libnccl.so.2"))
    done = subprocess.run([file, "doctor", "--json", "-"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "CLUSTERBENCH_NVML_LIBRARY": str(FAKE / "fake_nvml.so"), "CLUSTERBENCH_FAKE_NVML": "gpus=2",
                               "CLUSTERBENCH_NCCL_LIBRARY": "/nonexistent/libnccl.so", "CLUSTERBENCH_CUBLASLT_LIBRARY": "/nonexistent/libcublasLt.so",
                               "LD_LIBRARY_PATH": str(tmp_path), variable: str(library)})
    seen = {c["id"]: c for c in json.loads(done.stdout)["hosts"][0]["checks"]}
    for row, (state, next_step) in rows.items():
        assert seen[row]["state"] == state and next_step in seen[row]["next"], seen[row]
    if source == SLOW_LIBRARY:
        row, = [seen[row] for row in ("gpu-driver", "nccl") if str(library) in seen[row]["seen"]]
        assert f"{library}: it does not open within 8 s ({variable} is set)" in row["seen"] and f"unset {variable}, or correct it" in row["next"]
    code = {BROKEN_DRIVER: 999, STUB_OF_OLD: 0}.get(source)
    assert code is None or f"{library} tells no version (CUDA's error {code})" in seen["gpu-driver"]["seen"]


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
