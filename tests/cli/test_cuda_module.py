"""CUDA runtime and kernels as modules beside the program: which one is taken for which driver, what is said where none can be,
and every GPU case over the table (stand-in runtime of tests/fake_cuda as modules; a libcuda.so.1 that says the version it is told to)."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import test_gds
from campaigns import at_least, step, write_profile
import test_gpu_cases as cases
import test_gpu_flow
from processes import compiled_shim, skip_under_sanitizers
from test_gds import disk  # noqa: F401 (a fixture)

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
PROGRAM = BUILD / "bin/clusterbench_fake_modules"
FAKE = BUILD / "fake"
MODULES = FAKE / "modules"
NCCL = BUILD / "fake/fake_nccl.so"
NAME = "libclusterbench_cuda{}.so"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="built without CUDA")


class Place:
    """A program with modules where a release has them."""

    def __init__(self, folder):
        self.program = folder / "bin/clusterbench"
        self.modules = folder / "lib/clusterbench"
        self.program.parent.mkdir()
        self.modules.mkdir(parents=True)
        shutil.copy(PROGRAM, self.program)

    def put(self, *names):
        """Numbers of the modules, or their paths below the stand-ins."""
        for name in names:
            source = MODULES / (NAME.format(name) if isinstance(name, int) else name)
            shutil.copy(source, self.modules / source.name)
        return self


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("CLUSTERBENCH_CUDA_LIBRARY", str(FAKE / "libcuda.so.1"))
    monkeypatch.setenv("CLUSTERBENCH_NVML_LIBRARY", str(FAKE / "fake_nvml.so"))
    monkeypatch.setenv("CLUSTERBENCH_FAKE_NVML", "gpus=1")
    monkeypatch.setenv("CLUSTERBENCH_CUBLASLT_LIBRARY", str(FAKE / "fake_cublaslt_modules.so"))
    return Place(tmp_path)


def run(place, *args, cuda="", code=0, **env):
    done = subprocess.run([place.program, *args], text=True, capture_output=True, timeout=120, check=False,
                          env={**os.environ, "CLUSTERBENCH_FAKE_CUDA": f"devices=1 memory=536870912 {cuda}", **env})
    assert code in (None, done.returncode), done.stdout + done.stderr
    return done


def copied(place, cuda, code=0, **env):
    """The record of a copy on the device."""
    file = place.program.parent / "r.json"
    run(place, "bandwidth", "--device", "gpu", "--op", "copy", "--size", "32K", "--warm-up", "0s", "--iterations", "3", "--json", file,
        cuda=cuda, code=code, **env)
    return json.loads(file.read_text())["records"][0]


@pytest.mark.parametrize("there, driver, taken, runtime", [
    ((11, 13), 11040, 11, "11.8"),   # 470
    ((11, 13), 12020, 11, "11.8"),   # 535
    ((11, 13), 12080, 11, "11.8"),   # 570
    ((11, 13), 13000, 13, "13.0"),   # 580
    ((11, 13), 13010, 13, "13.0"),
    ((11, 12, 13), 12020, 12, "12.8"),  # within a major version any driver runs any runtime
    ((11, 12, 13), 13000, 13, "13.0"),
    ((11,), 13000, 11, "11.8")])
def test_the_newest_module_that_the_driver_runs_is_taken(place, there, driver, taken, runtime):
    record = copied(place.put(*there), f"driver={driver}")
    assert record["outcome"] == "measured" and record["facts"]["cuda_runtime"] == runtime
    assert record["facts"]["cuda_module"].startswith(f"{NAME.format(taken)} (CUDA {runtime}): the newest here that a driver of CUDA ")


@pytest.mark.parametrize("there, driver, capability, taken, ptx", [
    ((11, 13), 13000, 100, 13, False),
    ((11, 13), 12080, 100, 11, True),       # a B200 with driver 570
    ((11, 12, 13), 12080, 100, 11, True),   # 12 has no code for it, and no PTX
    ((11, 12, 13), 12080, 89, 12, False),   # code for 8.0 runs on 8.9
    ((11, "blackwell/" + NAME.format(13)), 13000, 90, 11, False),
    ((11, "blackwell/" + NAME.format(13)), 13000, 103, 13, False)])
def test_the_module_has_code_for_the_device(place, there, driver, capability, taken, ptx):
    record = copied(place.put(*there), f"driver={driver} capability={capability}")
    fact = record["facts"]["cuda_module"]
    assert fact.startswith(NAME.format(taken)), fact
    assert fact.endswith("compiles its PTX for compute capability 10.0") == ptx


def test_without_a_driver_it_is_said_that_there_is_none(place, monkeypatch):
    monkeypatch.setenv("CLUSTERBENCH_CUDA_LIBRARY", str(place.modules / "libcuda.so.1"))
    record = copied(place.put(11, 13), "", code=3)
    assert record["outcome"] == "skipped" and "cannot be used as the NVIDIA driver's libcuda.so.1" in record["reason"]
    assert "next: unset the variable, or correct it" in record["reason"]
    assert not record.get("metrics")


def test_an_old_driver_is_named_with_the_modules_and_the_ways_out(place):
    reason = copied(place.put(13), "driver=12020", code=3)["reason"]
    assert "driver knows CUDA 12.2" in reason
    assert f"{place.modules / NAME.format(13)} (CUDA 13.0, driver 580 or newer)" in reason
    assert "next: update the driver to 580 or newer" in reason
    assert "libclusterbench_cuda11.so" in reason and "cuda-compat-13-0" in reason
    oldest = copied(place.put(11), "driver=10020", code=3)["reason"]  # 440
    assert "driver knows CUDA 10.2" in oldest and "update the driver to 450 or newer, or put" in oldest


def test_without_a_module_it_is_said_where_one_was_looked_for(place):
    reason = copied(place, "", code=3)["reason"]
    assert f"looked for in {place.program.parent}, {place.modules}" in reason
    assert "libclusterbench_cuda*.so" in reason and "next: unpack the release" in reason and "CLUSTERBENCH_CUDA_MODULE" in reason


def test_a_module_of_another_version_is_refused_with_its_path(place):
    path = place.put("foreign/" + NAME.format(13)).modules / NAME.format(13)
    reason = copied(place, "", code=3)["reason"]
    assert f"{path} is no CUDA module of this clusterbench" in reason and "next: take program and modules from one release" in reason
    # Beside a good one it is not used, and seen.
    fact = copied(place.put(11), "")["facts"]["cuda_module"]
    assert fact.startswith(NAME.format(11)) and f"not used: {path} is no CUDA module" in fact


def test_a_file_that_is_no_library_is_refused_with_its_path(place):
    path = place.modules / NAME.format(13)
    path.write_text("an upload that broke off")
    reason = copied(place, "", code=3)["reason"]
    assert f"the CUDA module {path} does not open" in reason and "next: unpack the release again" in reason


@pytest.fixture
def driver_files(tmp_path):
    """Files of the driver where the loader finds them by name."""
    shutil.copy(FAKE / "libcuda.so.1", tmp_path / "libcuda.so.1")
    shutil.copy(FAKE / "fake_nvml.so", tmp_path / "libnvidia-ml.so.1")
    return str(tmp_path)


def test_a_module_that_crashes_is_not_opened_and_the_next_is_taken(place, driver_files, tmp_path):
    skip_under_sanitizers(place.program)
    path = place.put(11).modules / NAME.format(13)
    compiled_shim(tmp_path, "__attribute__((constructor)) static void begin(void) { volatile int* p = 0; *p = 1; }").rename(path)
    done = run(place, "doctor", "--json", "-", code=None, cuda="driver=13010", LD_LIBRARY_PATH=driver_files)
    seen, = [c for c in json.loads(done.stdout)["hosts"][0]["checks"] if c["id"] == "gpu-driver"]
    assert seen["state"] == "warn" and f"{path}: a process that opens it crashes (signal 11, Segmentation fault)" in seen["seen"]
    assert seen["next"].startswith("unpack the archive of the release again")
    module, = [p for p in json.loads(run(place, "info", "--json", "-", cuda="driver=13010").stdout)["hosts"][0]["parts"] if p["kind"] == "cuda"]
    assert module["attributes"]["path"] == str(place.modules / NAME.format(11)) and "crashes (signal 11" in module["attributes"]["module"]


@pytest.mark.parametrize("there, driver, state", [((11, 13), 12020, "ok"), ((13,), 12020, "fail"), ((), 13000, "fail")])
def test_doctor_asks_for_a_module_that_the_driver_runs(place, driver_files, there, driver, state):
    done = run(place.put(*there), "doctor", "--json", "-", code=None, cuda=f"driver={driver}", LD_LIBRARY_PATH=driver_files)
    seen, = [c for c in json.loads(done.stdout)["hosts"][0]["checks"] if c["id"] == "gpu-driver"]
    assert seen["state"] == state, seen
    assert ("no CUDA module" in seen["seen"]) == (state == "fail")


@pytest.mark.parametrize("good, state", [((), "fail"), ((13,), "fail"), ((12,), "warn")])
def test_doctor_names_a_damaged_module(place, driver_files, good, state):
    """Without it there is none, there is none for this driver, or a lesser one is taken."""
    path = place.put(*good).modules / NAME.format(11)
    path.write_text("an upload that broke off")
    done = run(place, "doctor", "--json", "-", code=None, cuda="driver=12080", LD_LIBRARY_PATH=driver_files)
    seen, = [c for c in json.loads(done.stdout)["hosts"][0]["checks"] if c["id"] == "gpu-driver"]
    assert seen["state"] == state and f"the CUDA module {path} does not open: " in seen["seen"]
    assert seen["next"].startswith("unpack the archive of the release again") and "update the driver" not in seen["next"]


def test_doctor_names_the_variable_of_a_module_that_is_too_new(place, driver_files):
    """One that the driver runs lies beside the program, so neither driver nor release is to blame."""
    named = place.put(12, 13).modules / NAME.format(13)
    done = run(place, "doctor", "--json", "-", code=1, cuda="driver=12080", LD_LIBRARY_PATH=driver_files, CLUSTERBENCH_CUDA_MODULE=str(named))
    seen, = [c for c in json.loads(done.stdout)["hosts"][0]["checks"] if c["id"] == "gpu-driver"]
    assert seen["state"] == "fail" and "the CUDA module that CLUSTERBENCH_CUDA_MODULE names needs a newer driver" in seen["seen"]
    assert seen["next"] == f"unset CLUSTERBENCH_CUDA_MODULE, or correct it: it names {named}"


def test_doctor_names_the_variable_of_a_module_that_is_not_there(place, driver_files):
    done = run(place.put(13), "doctor", "--json", "-", code=1, cuda="driver=13000", LD_LIBRARY_PATH=driver_files, CLUSTERBENCH_CUDA_MODULE="/nonexistent/m.so")
    seen, = [c for c in json.loads(done.stdout)["hosts"][0]["checks"] if c["id"] == "gpu-driver"]
    assert seen["state"] == "fail" and seen["next"] == "unset CLUSTERBENCH_CUDA_MODULE, or correct it: it names /nonexistent/m.so"


def test_a_driver_that_is_too_old_and_a_damaged_module_are_both_said(place):
    path = place.put(13).modules / NAME.format(11)
    path.write_text("an upload that broke off")
    reason = copied(place, "driver=12080", code=3)["reason"]
    assert "update the driver to 580 or newer" in reason and f"not used: the CUDA module {path} does not open" in reason


def test_a_damaged_file_of_the_driver_is_not_called_absent(place, tmp_path):
    (tmp_path / "libcuda.so.1").write_text("")
    text = run(place.put(13), "info", CLUSTERBENCH_CUDA_LIBRARY="", LD_LIBRARY_PATH=str(tmp_path)).stdout
    part = text[text.rindex("  cuda\n"):]
    assert "file too short" in part and "libcuda.so.1 cannot be used" in part and "is not there" not in part


def test_a_stub_of_the_driver_is_not_called_absent(place, tmp_path):
    stub = compiled_shim(tmp_path, "int cuDriverGetVersion(int* version) { return 34; }").rename(tmp_path / "libcuda.so.1")
    text = run(place.put(13), "info", CLUSTERBENCH_CUDA_LIBRARY=str(stub)).stdout
    assert "is not that of a driver" in text and "CUDA's error 34" in text and "is not there" not in text[text.rindex("  cuda\n"):]


def test_a_module_can_be_named(place):
    path = MODULES / NAME.format(11)
    record = copied(place.put(13), "", CLUSTERBENCH_CUDA_MODULE=str(path))
    assert record["facts"]["cuda_module"].startswith(NAME.format(11))
    reason = copied(place, "", code=3, CLUSTERBENCH_CUDA_MODULE="/nonexistent/module.so")["reason"]
    assert "/nonexistent/module.so" in reason and "does not open" in reason


def test_a_module_lies_beside_the_program_too(place):
    shutil.copy(MODULES / NAME.format(11), place.program.parent)
    assert copied(place, "")["outcome"] == "measured"


def test_info_says_which_module_the_driver_gets_and_why(place):
    text = run(place.put(11, 13), "info", cuda="driver=12020").stdout
    part = text[text.rindex("  cuda\n"):]
    assert "driver   12.2" in part and "runtime  11.8" in part and str(place.modules / NAME.format(11)) in part
    assert "the newest here that a driver of CUDA 12.2 runs" in part
    text = run(place, "info", CLUSTERBENCH_CUDA_LIBRARY="/nonexistent.so").stdout
    assert "cannot be used as the NVIDIA driver's libcuda.so.1 (/nonexistent.so: cannot open shared object file" in text[text.rindex("  cuda\n"):]


def test_the_module_of_the_real_kernels_is_one_of_this_program(place):
    """That of this build's nvcc. Its runtime looks for the driver by itself, and finds none."""
    file, = (MODULES / "real").glob("libclusterbench_cuda*.so")
    symbols = subprocess.run(["nm", "-D", "--defined-only", file], capture_output=True, text=True, check=True).stdout.split("\n")
    assert [line.split()[-1] for line in symbols if line] == ["clusterbench_cuda"]
    shutil.copy(file, place.modules)
    text = run(place, "info", cuda="driver=13000").stdout
    part = text[text.rindex("  cuda\n"):]
    assert str(place.modules / file.name) in part and "the newest here that a driver of CUDA 13.0 runs" in part, part
    record = copied(place, "driver=13000", code=3)
    assert record["outcome"] == "skipped" and "no CUDA module" not in record["reason"] and not record["metrics"]


def test_a_profile_cannot_name_a_module(place, tmp_path):
    (tmp_path / "p.json").write_text(json.dumps({"schema": "clusterbench.profile/1", "id": "p", "name": "p", "steps": [
        {"id": "s", "case": "bandwidth", "env": {"CLUSTERBENCH_CUDA_MODULE": "/tmp/x.so"}}]}))
    assert "CLUSTERBENCH_CUDA_MODULE" in run(place, "profile", "validate", str(tmp_path / "p.json"), code=2).stderr


@pytest.mark.parametrize("case", ["gemm", "burn"])
def test_a_driver_and_a_module_without_cublas(place, case):
    """What multiplies is skipped with a next step, and what copies is measured."""
    file = place.program.parent / "skipped.json"
    absent = {"CLUSTERBENCH_CUBLASLT_LIBRARY": "/nonexistent/libcublasLt.so.13"}
    run(place.put(13), case, "--device", "gpu", "--json", file, cuda="driver=13000", code=3, **absent)
    record = json.loads(file.read_text())["records"][0]
    assert record["outcome"] == "skipped" and not record.get("metrics")
    assert "/nonexistent/libcublasLt.so.13" in record["reason"] and "; next: install cuBLAS" in record["reason"]
    assert copied(place, "driver=13000", **absent)["outcome"] == "measured"


@pytest.mark.parametrize("driver, state", [(12020, "warn"), (13000, "ok"), (13010, "ok")])
def test_doctor_says_that_a_cublas_is_newer_than_the_driver(place, driver, state):
    """The stand-in is of CUDA 13.1."""
    done = run(place.put(11), "doctor", "--json", "-", cuda=f"driver={driver}", code=None)
    seen, = [c for c in json.loads(done.stdout)["hosts"][0]["checks"] if c["id"] == "cublas"]
    assert seen["state"] == state
    assert ("is of CUDA 13, and the driver's newest is CUDA 12" in seen["seen"]) == (state == "warn")


def test_a_copy_on_a_host_takes_the_modules_along(place, tmp_path):
    """`run --copy-to` brings program and module into one folder, where nothing else is, and that module is the one in use."""
    here, copies, out = os.uname().nodename, tmp_path / "copies", tmp_path / "out"
    copies.mkdir()
    copy = {"id": "copy", "case": "bandwidth", "deadline": "60s", "informative": True, "why": "test",
            "params": {"device": "gpu", "op": "copy", "size": "32K", "warm-up": "0s", "iterations": 3}}
    path = write_profile(tmp_path, [copy, step("all", scope="cluster")], [at_least("rate", "all", 1)])
    run(place.put(13), "run", path, "--out", out, "--launcher", "mpirun", "--hosts", f"{here}:1", "--copy-to", copies, cuda="driver=13000")
    document = json.loads((out / "records/001-copy.json").read_text())
    assert document["run"]["argv"][0].startswith(f"{copies}/clusterbench-")
    assert document["records"][0]["facts"]["cuda_module"].startswith(NAME.format(13))
    assert list(copies.iterdir()) == []


# ---- the cases, over the table of each module ----
@pytest.fixture(params=[11, 13])
def over_module(request, place, monkeypatch):
    """Makes the functions of test_gpu_cases run the program that has modules, with a driver that takes this one."""
    place.put(11, 13)
    fakes = place.program.parent.parent / "fake"
    fakes.mkdir()
    shutil.copy(FAKE / "fake_cublaslt_modules.so", fakes / "fake_cublaslt.so")
    (fakes / "fake_nvml.so").symlink_to(FAKE / "fake_nvml.so")
    monkeypatch.setattr(cases, "BIN", place.program)
    monkeypatch.setattr(cases, "FAKE", fakes)
    driver = {11: 12020, 13: 13000}[request.param]
    plain = cases.run
    monkeypatch.setattr(cases, "run", lambda *args, cuda="", **more: plain(*args, cuda=f"driver={driver} {cuda}", **more))
    return request.param


CASES = [cases.test_every_type_is_multiplied_and_right, cases.test_a_wrong_product_has_no_number, cases.test_copies,
         cases.test_every_wrong_copy_is_counted, cases.test_peers, cases.test_burn, cases.test_all_memory_tests, cases.test_ranks_share_the_gpus,
         test_gpu_flow.test_a_hang_is_told_and_the_rest_is_kept, cases.test_small_products_are_not_the_time_of_their_launches,
         cases.test_a_fatal_xid_ends_that_gpu]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_over_the_table(over_module, tmp_path, case):
    case(tmp_path)


@pytest.mark.parametrize("fault", ["bitflip", "nan"])
@pytest.mark.parametrize("phase, check", [("bf16", "result"), ("sm", "sm"), ("march", "memory")])
def test_an_injected_fault_is_found_over_the_table(over_module, tmp_path, phase, check, fault):
    cases.test_an_injected_fault_is_found(tmp_path, phase, check, fault)


@pytest.mark.parametrize("case", ["gemm", "burn"])
def test_a_gpu_that_fails_over_the_table(over_module, tmp_path, case):
    cases.test_a_gpu_that_fails_does_not_take_the_others_along(tmp_path, case, 0)


@pytest.mark.parametrize("code, what", [(802, "systemctl status nvidia-fabricmanager"), (46, "exclusive or prohibited mode")])
def test_why_the_runtime_of_a_module_does_not_start(over_module, tmp_path, code, what):
    record = cases.run(tmp_path, "gemm", cuda=f"count_error={code}", code=3)[0]
    assert record["outcome"] == "skipped" and what in record["reason"]


@pytest.mark.parametrize("driver", [12020, 13000])
def test_nccl_over_the_table(place, tmp_path, driver):
    """Data is made and compared by the module's kernels on two GPUs."""
    file = tmp_path / "nccl.json"
    done = subprocess.run(
        ["mpirun", "--oversubscribe", "-np", "2", place.put(11, 13).program, "nccl", "--op", "all_reduce", "--size", "32K", "--json", file],
        text=True, capture_output=True, timeout=120, check=False,
        env={**os.environ, "CLUSTERBENCH_FAKE_CUDA": f"devices=2 driver={driver}", "CLUSTERBENCH_FAKE_NVML": "gpus=2",
             "CLUSTERBENCH_NCCL_LIBRARY": str(NCCL)})
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads(file.read_text())["records"][0]
    assert record["outcome"] == "measured" and record["checks"] and all(c["passed"] for c in record["checks"])


@pytest.mark.parametrize("rw", ["read", "write"])
def test_gds_over_the_table(place, disk, monkeypatch, rw):  # noqa: F811
    monkeypatch.setattr(test_gds, "FAKE_GPU", place.put(11, 13).program)
    test_gds.test_the_way_by_the_host_has_page_locked_memory_and_each_rank_its_own_gpu(disk, monkeypatch, rw)


@pytest.mark.parametrize("driver", [12020, 13000])
def test_training_over_the_table(place, driver):
    """Every kernel of a step crosses the table; losses and checks are as without a module."""
    file = place.program.parent / "t.json"
    run(place.put(11, 13), "train", "--device", "gpu", "--steps", "5", "--sequence", "8", "--json", file, cuda=f"driver={driver}")
    (record,) = json.loads(file.read_text())["records"]
    assert record["outcome"] == "measured" and all(c["passed"] for c in record["checks"])
    assert "first_loss" in {c["name"] for c in record["checks"]}


@pytest.mark.parametrize("driver", [11080, 13000])
def test_solvers_over_the_table(place, driver):
    place.put(11, 13)
    script = f"name=NVIDIA_H100_80GB_HBM3 total=8.5e10 driver={driver}"
    run(place, "lu", "--device", "gpu", "--size", "70", "--block", "16", "--iterations", "1", cuda=script)
    run(place, "cg", "--device", "gpu", "--size", "16", "--iterations", "1", cuda=script)


def test_health_over_the_table(place):
    run(place.put(11, 13), "health", "--json", place.program.parent / "h.json")
    records = json.loads((place.program.parent / "h.json").read_text())["records"]
    assert records and all(r["outcome"] == "measured" for r in records)


# ---- the file ----
@pytest.mark.parametrize("number", [11, 12, 13])
def test_a_module_exports_its_table_alone(number):
    names = subprocess.run(["nm", "-D", "--defined-only", MODULES / NAME.format(number)], text=True, capture_output=True, check=True).stdout
    assert [line.split()[-1] for line in names.splitlines()] == ["clusterbench_cuda"]
