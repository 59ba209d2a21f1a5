"""`doctor` where the driver or NCCL hangs or is of no use: the row with the cause says so, and the others blame no library for it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from campaigns import BINARY
from processes import compiled_shim, skip_under_sanitizers
from test_doctor import FAKE, HANGS
from test_doctor_libraries import SLOW_LIBRARY

SILENT_DRIVER = HANGS + "int cuDriverGetVersion(int* version) { sleep(100); *version = 12080; return 0; }"
BROKEN_DRIVER = "int cuDriverGetVersion(int* version) { return 999; }"
STUB_OF_OLD = "int cuDriverGetVersion(int* version) { *version = 0; return 0; }"
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
