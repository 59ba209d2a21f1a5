"""`doctor`: a table and a document of what is in the way, on this host and on others."""

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from campaigns import BINARY, cb
from processes import compiled_shim, skip_under_sanitizers

FAKE = Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "fake"
HERE = socket.gethostname()
CHECKS = ["shared-memory", "locked-memory", "rdma", "gpu-driver", "nccl", "cublas", "processors", "memory", "clock", "mpi", "pmix", "own-name", "localhost"]
ROOT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def document(*options, **more):
    done = cb("doctor", "--json", "-", *options, timeout=200, **more)
    return done, json.loads(done.stdout)


def states(host):
    return {c["id"]: c["state"] for c in host["checks"]}


def test_this_host_is_checked():
    done, found = document()
    assert found["schema"] == "clusterbench.doctor/1"
    (host,) = found["hosts"]
    assert host["host"] == HERE and [c["id"] for c in host["checks"]] == CHECKS
    assert done.returncode == (1 if "fail" in states(host).values() else 0)
    for check in host["checks"]:
        assert check["state"] in ("ok", "warn", "fail", "not checked") and check["seen"] and check["say"]["id"]
        assert ("next" in check) == (check["state"] in ("warn", "fail"))
        assert check["id"] in done.stderr  # the table, beside the document


def test_both_languages():
    assert "next step" in cb("doctor").stdout
    assert "下一步" in cb("doctor", "--lang", "zh").stdout
    assert cb("doctor", "--lang", "de").returncode == 2


def test_without_a_launcher_only_this_host_can_be_measured(tmp_path):
    done, found = document(env={**os.environ, "PATH": str(tmp_path)})
    mpi = next(c for c in found["hosts"][0]["checks"] if c["id"] == "mpi")
    assert (mpi["state"], mpi["seen"]) == ("warn", "neither mpirun nor srun is in the PATH")
    done = cb("doctor", "--hosts", "n1,n2", env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 2 and "needs mpirun or srun" in done.stderr


@pytest.mark.parametrize("check, variable, file", [("nccl", "CLUSTERBENCH_NCCL_LIBRARY", "fake_nccl.so"),
                                                   ("cublas", "CLUSTERBENCH_CUBLASLT_LIBRARY", "fake_cublaslt_modules.so")])
@pytest.mark.parametrize("there", [True, False])
def test_libraries_of_gpus_are_opened_where_there_are_gpus(check, variable, file, there):
    if there and not (FAKE / file).exists():
        pytest.skip("built without CUDA")
    library = FAKE / file if there else "/nonexistent/lib.so"
    _, found = document(env={**os.environ, "CLUSTERBENCH_NVML_LIBRARY": str(FAKE / "fake_nvml.so"), "CLUSTERBENCH_FAKE_NVML": "gpus=2",
                             variable: str(library)})
    seen, = [c for c in found["hosts"][0]["checks"] if c["id"] == check]
    assert seen["state"] == ("ok" if there else "warn")
    assert ("/nonexistent/lib.so" in seen["seen"]) != there
    assert there or variable in seen["next"]


def test_a_library_of_another_name_is_no_cublas():
    _, found = document(env={**os.environ, "CLUSTERBENCH_NVML_LIBRARY": str(FAKE / "fake_nvml.so"), "CLUSTERBENCH_FAKE_NVML": "gpus=2",
                             "CLUSTERBENCH_CUBLASLT_LIBRARY": str(FAKE / "fake_nccl.so")})
    seen, = [c for c in found["hosts"][0]["checks"] if c["id"] == "cublas"]
    assert seen["state"] == "warn" and "fake_nccl.so is no cuBLASLt" in seen["seen"]


HANGS = "#include <unistd.h>\n"
SILENT_DRIVER = HANGS + "int cuDriverGetVersion(int* version) { sleep(100); *version = 12080; return 0; }"
BROKEN_DRIVER = "int cuDriverGetVersion(int* version) { return 999; }"
STUB_OF_OLD = "int cuDriverGetVersion(int* version) { *version = 0; return 0; }"
SLOW_LIBRARY = HANGS + "__attribute__((constructor)) static void begin(void) { sleep(100); }"
HANGING_DRIVER = {"gpu-driver": ("fail", "dmesg"), "nccl": ("warn", "dmesg"), "cublas": ("warn", "dmesg")}
UNFIT_DRIVER = {"gpu-driver": ("fail", "stubs"), "nccl": ("warn", "CLUSTERBENCH_NCCL_LIBRARY"), "cublas": ("warn", "CLUSTERBENCH_CUBLASLT_LIBRARY")}
SLOW_NCCL = {"nccl": ("warn", "run it again"), "cublas": ("warn", "run it again")}


@pytest.mark.parametrize("program", ["clusterbench", "clusterbench_fake_modules"])
@pytest.mark.parametrize("variable, source, rows", [
    ("CLUSTERBENCH_CUDA_LIBRARY", SILENT_DRIVER, HANGING_DRIVER), ("CLUSTERBENCH_CUDA_LIBRARY", SLOW_LIBRARY, HANGING_DRIVER),
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
    code = {BROKEN_DRIVER: 999, STUB_OF_OLD: 0}.get(source)
    assert code is None or f"{library} tells no version (CUDA's error {code})" in seen["gpu-driver"]["seen"]


def test_a_named_driver_that_is_not_there_is_named():
    _, found = document(env={**os.environ, "CLUSTERBENCH_NVML_LIBRARY": str(FAKE / "fake_nvml.so"), "CLUSTERBENCH_FAKE_NVML": "gpus=2",
                             "CLUSTERBENCH_CUDA_LIBRARY": "/nonexistent/libcuda.so.1"})
    seen, = [c for c in found["hosts"][0]["checks"] if c["id"] == "gpu-driver"]
    assert seen["state"] == "fail" and "/nonexistent/libcuda.so.1" in seen["seen"] and "CLUSTERBENCH_CUDA_LIBRARY" in seen["seen"]


@pytest.mark.parametrize("listed, words, state", [("none pmi2 pmix", "", "ok"), ("none cray_shasta", "", "warn"),
                                                  ("none pmi2", "--mpi=pmi2 -v", "ok"), ("none pmi2", "-v --mpi pmi2", "ok"),
                                                  ("none pmi2", "--mpi=pmix --mpi=pmi2", "ok"), ("none pmi2", "--mpi=pmi2 --mpi pmix", "warn"),
                                                  ("none pmi2", "--exclusive", "warn"),
                                                  ("none pmi2", "--mpi=pmi_2", "warn"), ("none pmi2", "--mpi=none", "warn")])
def test_srun_is_asked_for_pmix(tmp_path, listed, words, state):
    (tmp_path / "srun").write_text(f"#!/bin/sh\necho {listed} >&2\n")
    (tmp_path / "srun").chmod(0o755)
    _, found = document(env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "CLUSTERBENCH_SRUN_ARGS": words})
    assert states(found["hosts"][0])["pmix"] == state


def test_an_srun_that_hangs_is_not_waited_for(tmp_path):
    (tmp_path / "srun").write_text("#!/bin/sh\nexec sleep 100\n")
    (tmp_path / "srun").chmod(0o755)
    done = subprocess.run([BINARY, "doctor", "--json", "-"], capture_output=True, text=True, timeout=30,
                          env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    pmix = next(c for c in json.loads(done.stdout)["hosts"][0]["checks"] if c["id"] == "pmix")
    assert (pmix["state"], pmix["seen"]) == ("warn", "srun --mpi=list does not answer")


def test_a_host_that_cannot_be_reached_fails_and_is_named(tmp_path):
    """The launcher fails for it, so the ports between the hosts cannot be tried either."""
    (tmp_path / "mpirun").write_text("#!/bin/sh\nexit 9\n")
    (tmp_path / "mpirun").chmod(0o755)
    done, found = document("--hosts", f"{HERE},far", env={**ROOT, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == 1
    here, far, between = found["hosts"]
    assert list(states(here)) == CHECKS
    assert (far["host"], states(far)) == ("far", {"reached": "fail"})
    assert "exit code 9" in far["checks"][0]["seen"] and "doctor --json -" in far["checks"][0]["next"]
    assert states(between) == {"listeners": "fail"}
