"""cg --device gpu on a stand-in GPU that runs the real kernels on the CPU (tests/fake_cuda): what a user sees."""
import json
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
BIN = BUILD / "bin" / "clusterbench_fake_gpu"
FAKE = BUILD / "fake"

pytestmark = pytest.mark.skipif(not BIN.exists(), reason="built without CUDA")


def run(tmp_path, *args, size=16, cuda="", devices=1, ranks=0, code=0):
    """The record; `cuda` is the stand-in's script. Its GPUs are H20s, which are no reason to refuse."""
    file = tmp_path / "c.json"
    file.unlink(missing_ok=True)
    env = dict(os.environ, CLUSTERBENCH_FAKE_CUDA=f"devices={devices} memory=134217728 {cuda}",
               CLUSTERBENCH_NVML_LIBRARY=str(FAKE / "fake_nvml.so"), CLUSTERBENCH_FAKE_NVML=f"gpus={devices}")
    launcher = ["mpirun", "--oversubscribe", "-np", str(ranks)] if ranks else []
    done = subprocess.run([*launcher, BIN, "cg", "--device", "gpu", "--size", str(size), "--iterations", "2", *map(str, args), "--json", file],
                          env=env, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(file.read_text())["records"][0] if file.exists() else done.stderr


def metric(record, name, gpu="0"):
    for m in record["metrics"]:
        if m["name"] == name and record["entities"][m["entity"]]["id"] == gpu:
            return m
    return None


def failed(record):
    return {(c["name"], record["entities"][c["entity"]]["id"]): c["detail"] for c in record["checks"] if not c["passed"]}


def test_it_solves_and_its_figures_follow_from_one_another(tmp_path):
    record = run(tmp_path, devices=2, cuda="name=NVIDIA_H20")  # which lu refuses
    assert not failed(record)
    nonzeros = [(3 * e - 2) ** 3 for e in (16, 8, 4, 2)]
    operations = 12 * 16 ** 3 + 2 * nonzeros[0] + 10 * sum(nonzeros[:3]) + 4 * nonzeros[3]
    for gpu in "01":
        seconds = metric(record, "time_seconds", gpu)["samples"]
        assert len(seconds) == 2
        assert metric(record, "flops_per_second", gpu)["samples"] == pytest.approx([operations / s for s in seconds])
        assert metric(record, "bytes_per_second", gpu)["ceiling"]["value"] == pytest.approx(1e9, rel=0.05)
    assert sorted(c["name"] for c in record["checks"]) == sorted(2 * ["symmetry", "convergence", "residual", "gpu"])
    convergence = next(c for c in record["checks"] if c["name"] == "convergence")
    assert 5 < convergence["value"] < convergence["limit"]


def test_a_changed_element_is_found(tmp_path):
    record = run(tmp_path, "--inject-fault", 0, devices=2, code=1)
    assert set(failed(record)) == {("residual", "0")}
    assert not metric(record, "time_seconds", "0") and metric(record, "time_seconds", "1")


@pytest.mark.parametrize("what, check", [("operator", "symmetry"), ("sweep", "symmetry"), ("coarse", "convergence")])
def test_a_wrong_operator_sweep_or_cycle_is_found(tmp_path, what, check):
    record = run(tmp_path, cuda=f"flip={what}", code=1)
    assert (check, "0") in failed(record) and not any(m["name"] in ("time_seconds", "bytes_per_second") for m in record["metrics"])


def test_a_gpu_that_fails_or_hangs_is_named_and_the_other_goes_on(tmp_path):
    record = run(tmp_path, devices=2, cuda="die@1=300", ranks=2, code=1)
    assert set(failed(record)) == {("gpu", "1")} and metric(record, "time_seconds", "0")
    for ranks in (0, 2):
        record = run(tmp_path, "--hang-after", "4s", "--stall", "2s", devices=2, cuda="hang@1=300", ranks=ranks, code=1)
        assert "has not finished CG on a cube of edge" in failed(record)["gpu", "1"] and metric(record, "time_seconds", "0")


@pytest.mark.parametrize("dies, launch, ranks", [("0", 1, 2), ("1", 20, 0)])
def test_a_gpu_may_fail_before_the_sets(tmp_path, dies, launch, ranks):
    """While its problem is made, and while its checks run."""
    record = run(tmp_path, devices=2, cuda=f"die@{dies}={launch}", ranks=ranks, code=1)
    other = "10"[int(dies)]
    assert set(failed(record)) == {("gpu", dies)} and metric(record, "time_seconds", other) and not metric(record, "time_seconds", dies)


@pytest.mark.parametrize("slow", "01")
def test_a_slow_gpu_does_not_make_the_other_slow(tmp_path, slow):
    shared = "start=0 launch=1e-7"
    alone = metric(run(tmp_path, cuda=shared), "time_seconds")["samples"][0]
    record = run(tmp_path, devices=2, cuda=f"{shared} slow@{slow}=0.1")
    seconds = {gpu: metric(record, "time_seconds", gpu)["samples"][0] for gpu in "01"}
    other = "10"[int(slow)]
    assert seconds[other] == pytest.approx(alone, rel=0.05) and seconds[slow] > 5 * alone


def test_what_cannot_be_solved_is_refused(tmp_path):
    assert "20 is no multiple of 8" in run(tmp_path, size=20, code=2)
    record = run(tmp_path, size=64, code=4)
    assert record["outcome"] == "errored" and "a cube of edge 64 needs" in record["reason"]
    # The cube itself would fit: 47 MB. What is loaded beside it would not.
    record = run(tmp_path, size=48, cuda="memory=100000000", code=4)
    assert record["outcome"] == "errored" and "a cube of edge 48 needs" in record["reason"]
