"""CUDA modules, and a driver, that never open: `doctor` and `info` wait for each, and name it."""

import json
import shutil
import time

import pytest

from processes import compiled_shim, skip_under_sanitizers
from test_cuda_module import NAME, NCCL, driver_files, place, pytestmark, run  # noqa: F401 (fixtures among them)


@pytest.fixture
def hanging(place, tmp_path):
    """A module that never opens: what waits for it never ends."""
    skip_under_sanitizers(place.program, "what hangs is left behind with its memory")
    slow = compiled_shim(tmp_path, "#include <unistd.h>\n__attribute__((constructor)) static void begin(void) { sleep(10000); }")
    slow.rename(place.modules / NAME.format(13))
    return place


def test_doctor_names_a_module_that_hangs_and_tries_the_libraries(hanging, driver_files):
    done = run(hanging, "doctor", "--json", "-", code=1, cuda="driver=13010", CLUSTERBENCH_NCCL_LIBRARY=str(NCCL), LD_LIBRARY_PATH=driver_files)
    seen = {c["id"]: c for c in json.loads(done.stdout)["hosts"][0]["checks"]}
    path = hanging.modules / NAME.format(13)
    assert seen["gpu-driver"]["state"] == "fail" and f"the CUDA module {path} does not open: {path}: it does not open within 8 s" in seen["gpu-driver"]["seen"]
    assert "the folder of clusterbench may lie on a slow file system" in seen["gpu-driver"]["next"]
    assert (seen["nccl"]["state"], seen["cublas"]["state"]) == ("ok", "ok")


def test_doctor_names_each_module_that_hangs_and_no_library(hanging, driver_files):
    names = [NAME.format(number) for number in (11, 12, 13)]
    for name in names[:2]:
        shutil.copy(hanging.modules / names[2], hanging.modules / name)
    done = run(hanging, "doctor", "--json", "-", code=1, cuda="driver=12080", CLUSTERBENCH_NCCL_LIBRARY=str(NCCL), LD_LIBRARY_PATH=driver_files)
    seen = {c["id"]: c for c in json.loads(done.stdout)["hosts"][0]["checks"]}
    assert seen["gpu-driver"]["state"] == "fail"
    for name in names:
        assert f"the CUDA module {hanging.modules / name} does not open" in seen["gpu-driver"]["seen"]
    assert seen["nccl"]["state"] == "ok"
    assert "is of CUDA 13, and the driver's newest is CUDA 12" in seen["cublas"]["seen"]  # it was opened


def test_beside_a_module_that_hangs_the_driver_is_known(hanging):
    begun = time.monotonic()
    module, = [p for p in json.loads(run(hanging, "info", "--json", "-", cuda="driver=12080").stdout)["hosts"][0]["parts"] if p["kind"] == "cuda"]
    assert module["attributes"]["driver"] == "12.8" and f"{hanging.modules / NAME.format(13)}: it does not open within 8 s" in str(module["unavailable"])
    assert time.monotonic() - begun < 30


def test_info_says_that_the_driver_hangs_and_which_file(place, tmp_path):
    skip_under_sanitizers(place.program, "what hangs is left behind with its memory")
    slow = compiled_shim(tmp_path, "#include <unistd.h>\nint cuDriverGetVersion(int* version) { sleep(10000); return 0; }").rename(tmp_path / "libcuda.so.1")
    text = run(place.put(13), "info", CLUSTERBENCH_CUDA_LIBRARY=str(slow)).stdout
    assert f"the driver hangs: {slow} has not answered within 20 s" in text[text.rindex("  cuda\n"):]
