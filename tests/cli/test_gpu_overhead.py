"""`gpu-overhead` on a CUDA runtime whose calls cost what a script says (tests/fake_cuda)."""
import json
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
BIN = BUILD / "bin" / "clusterbench_fake_gpu"
FAKE = BUILD / "fake"

pytestmark = pytest.mark.skipif(not BIN.exists(), reason="built without CUDA")


def run(tmp_path, *args, cuda="", code=0):
    file = tmp_path / "r.json"
    file.unlink(missing_ok=True)
    env = dict(os.environ, CLUSTERBENCH_FAKE_CUDA=f"devices=2 {cuda}", CLUSTERBENCH_NVML_LIBRARY=str(FAKE / "fake_nvml.so"),
               CLUSTERBENCH_FAKE_NVML="gpus=2")
    done = subprocess.run([BIN, "gpu-overhead", "--warm-up", "0s", *(() if "--iterations" in args else ("--iterations", "5")), *args, "--json", file], env=env,
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return {r["params"]["op"]: r for r in json.loads(file.read_text())["records"]}


def least(record, name, gpu="0"):
    (metric,) = [m for m in record["metrics"] if m["name"] == name and record["entities"][m["entity"]]["id"] == gpu]
    return metric["summary"]["min"]


def failed(record):
    return {(c["name"], record["entities"][c["entity"]]["id"]) for c in record["checks"] if not c["passed"]}


def test_every_figure_of_calls_that_cost_what_is_known(tmp_path):
    """A launch takes its caller 200 us and the device's invented clock 20 us, an allocation 3 ms, one from the pool 400 us; a kernel
    of the device takes 2 us."""
    costs = "launch=2e-5 launch_cost=2e-4 graph_cost=2e-3 copy_cost=3e-4 malloc_cost=3e-3 pool_cost=4e-4"
    records = run(tmp_path, "--launches", "5", "--iterations", "20", cuda=costs)
    assert set(records) == {"launch", "graph", "round_trip", "copy", "allocate"}
    assert not any(failed(r) for r in records.values())
    # By the device's clock: five launches of 20 us and the last one's kernel; a launch of a graph and its five kernels.
    assert least(records["launch"], "launch_interval_seconds") == pytest.approx((5 * 20e-6 + 2e-6) / 5, rel=0.01)
    assert least(records["launch"], "kernels_per_second") == pytest.approx(5 / (5 * 20e-6 + 2e-6), rel=0.01)
    assert least(records["graph"], "graph_interval_seconds") == pytest.approx((20e-6 + 5 * 2e-6) / 5, rel=0.01)
    assert least(records["graph"], "graph_speedup") == pytest.approx(102 / 30, rel=0.05)  # the first sample begins behind a fill
    # By the host's clock: never less than the cost, and the least sample is close to it.
    for op, name, cost in (("launch", "launch_seconds", 2e-4), ("graph", "graph_launch_seconds", 2e-3),
                           ("round_trip", "round_trip_seconds", 2e-4), ("copy", "copy_to_device_seconds", 3e-4),
                           ("copy", "copy_to_host_seconds", 3e-4), ("allocate", "malloc_seconds", 3e-3),
                           ("allocate", "free_seconds", 3e-3), ("allocate", "pool_malloc_seconds", 4e-4),
                           ("allocate", "pool_free_seconds", 4e-4)):
        for gpu in "01":
            assert cost <= least(records[op], name, gpu) < 2 * cost, name


def test_a_launch_that_did_not_run_has_no_number(tmp_path):
    records = run(tmp_path, "--op", "launch,graph,round_trip", "--launches", "20", cuda="flip@1=count", code=1)
    for record in records.values():
        assert failed(record) == {("count", "1")}
        assert not [m for m in record["metrics"] if record["entities"][m["entity"]]["id"] == "1"]
        assert [m for m in record["metrics"] if record["entities"][m["entity"]]["id"] == "0"]
    detail = next(c["detail"] for c in records["launch"]["checks"] if not c["passed"])
    assert "1 launches ran, 100 were made" in detail


@pytest.mark.parametrize("op, check", [("launch", "count"), ("graph", "count"), ("round_trip", "count"), ("copy", "pattern"),
                                       ("allocate", "pattern")])
def test_a_planted_fault_is_found(tmp_path, op, check):
    record = run(tmp_path, "--op", op, "--launches", "5", "--inject-fault", "0", code=1)[op]
    assert failed(record) == {(check, "0")}


def test_wrong_bytes_of_a_copy_are_counted(tmp_path):
    """The stand-in changes the same bit on the way back, so that only the device sees it."""
    record = run(tmp_path, "--op", "copy", "--size", "8K", cuda="flip@0=copy", code=1)["copy"]
    assert failed(record) == {("pattern", "0")}
    assert "5 of 10 copies were wrong" in next(c["detail"] for c in record["checks"] if not c["passed"])


def test_a_gpu_that_hangs_is_named_and_the_other_measured(tmp_path):
    record = run(tmp_path, "--op", "launch", "--launches", "20", cuda="die@0=30", code=1)["launch"]
    assert failed(record) == {("gpu", "0")}
    assert [m for m in record["metrics"] if record["entities"][m["entity"]]["id"] == "1"]
