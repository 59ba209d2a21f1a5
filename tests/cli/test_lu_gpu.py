"""lu --device gpu on a stand-in GPU that runs the real kernels on the CPU (tests/fake_cuda): what a user sees."""
import json
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
BIN = BUILD / "bin" / "clusterbench_fake_gpu"
FAKE = BUILD / "fake"
H100 = "NVIDIA_H100_80GB_HBM3"

pytestmark = pytest.mark.skipif(not BIN.exists(), reason="built without CUDA")


def run(tmp_path, *args, cuda="", name=H100, devices=2, ranks=0, code=0):
    """The records; `cuda` is the stand-in's script."""
    file = tmp_path / "l.json"
    file.unlink(missing_ok=True)
    env = dict(
        os.environ, CLUSTERBENCH_CUBLASLT_LIBRARY=str(FAKE / "fake_cublaslt.so"), CLUSTERBENCH_NVML_LIBRARY=str(FAKE / "fake_nvml.so"),
        CLUSTERBENCH_FAKE_CUDA=f"devices={devices} memory=134217728 total=8.5e10 name={name} {cuda}",
        CLUSTERBENCH_FAKE_NVML=f"gpus={devices} name={name} memory_total_bytes=8.5e10")
    launcher = ["mpirun", "--oversubscribe", "-np", str(ranks)] if ranks else []
    iterations = () if "--iterations" in args else ("--iterations", "1")
    done = subprocess.run([*launcher, BIN, "lu", "--device", "gpu", *iterations, *map(str, args), "--json", file],
                          env=env, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(file.read_text())["records"]


def metric(record, name, gpu="0"):
    for m in record["metrics"]:
        if m["name"] == name and record["entities"][m["entity"]]["id"] == gpu:
            return m
    return None


def failed(record):
    """What failed, and of which GPU, with its reason."""
    return {(c["name"], record["entities"][c["entity"]]["id"]): c["detail"] for c in record["checks"] if not c["passed"]}


def test_it_solves_and_its_figures_follow_from_one_another(tmp_path):
    records = run(tmp_path, "--size", "1,7,65,150", "--block", 16, "--iterations", 2)
    assert [r["params"]["size"] for r in records] == [1, 7, 65, 150]
    for record in records:
        assert not failed(record)
        n = record["params"]["size"]
        assert record["facts"]["library"] == "cuBLASLt 13.1.0"
        for gpu in "01":
            seconds, rate = metric(record, "time_seconds", gpu)["samples"], metric(record, "flops_per_second", gpu)
            assert len(seconds) == 2
            assert rate["samples"] == pytest.approx([(2 / 3 * n ** 3 + 1.5 * n ** 2) / s for s in seconds])
            spec = metric(record, "share_of_spec", gpu)["samples"]
            assert spec == pytest.approx([r / 67e12 for r in rate["samples"]])
            if n <= 16:  # no update: nothing to compare with
                assert "ceiling" not in rate and metric(record, "share_of_gemm", gpu) is None
                continue
            assert record["facts"]["units"] == "tensor cores"
            share = metric(record, "share_of_gemm", gpu)["samples"]
            assert share == pytest.approx([r / rate["ceiling"]["value"] for r in rate["samples"]])
            assert 0.45e9 < rate["ceiling"]["value"] < 0.5e9  # of the invented device and the library's first proposal, a slow one
        residuals = [c for c in record["checks"] if c["name"] == "residual"]
        assert len(residuals) == 2 and all(0 <= c["value"] < c["limit"] == 16 for c in residuals)


def test_without_a_size_it_takes_what_fits(tmp_path):
    record, = run(tmp_path, cuda="memory=72200000", devices=1)
    assert record["params"]["size"] == 256 and record["params"]["block"] == 64 and not failed(record)
    record, = run(tmp_path, "--size", 5000, cuda="memory=72200000", devices=1, code=4)
    assert record["outcome"] == "errored" and "order 5000 needs" in record["reason"]


@pytest.mark.parametrize("name, capability", [
    ("NVIDIA_H20", 90), ("NVIDIA_H800", 90), ("NVIDIA_L40S", 89), ("NVIDIA_GeForce_RTX_4090", 89),
    ("NVIDIA_L4", 89)])  # which no sheet has: its chip says it
def test_a_gpu_that_is_not_made_for_fp64_is_refused(tmp_path, name, capability):
    record, = run(tmp_path, "--size", 64, name=name, cuda=f"total=8.5e10 capability={capability}", code=3)
    assert record["outcome"] == "skipped" and "next: gemm, train or bandwidth" in record["reason"]


def test_columns_where_the_library_has_no_fast_way_are_refused(tmp_path):
    env = dict(os.environ, CLUSTERBENCH_FAKE_CUDA="devices=1")
    done = subprocess.run([BIN, "lu", "--device", "gpu", "--block", "100"], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "--block  100 is no multiple of 16" in done.stderr, done.stderr


def test_a_gpu_that_fails_when_its_memory_is_asked_for_is_named(tmp_path):
    record, = run(tmp_path, devices=1, cuda="fail_memory_info=2", code=1)
    assert record["params"]["size"] == 256 and set(failed(record)) == {("gpu", "0")} and not record["metrics"]


def test_solutions_with_other_bits_have_no_number(tmp_path):
    """HPL's residual accepts both: one has been solved from a matrix of which an element is another one by 10^-12 of it."""
    args = ("--size", 100, "--block", 16, "--iterations")
    record, = run(tmp_path, *args, 3, cuda="flip@1=wobble", code=1)
    assert set(failed(record)) == {("residual", "1")} and "gave different solutions" in failed(record)["residual", "1"]
    assert metric(record, "flops_per_second", "0") and not metric(record, "flops_per_second", "1")
    record, = run(tmp_path, *args, 1, cuda="flip@1=wobble")
    assert not failed(record)


def test_an_unknown_product_is_measured(tmp_path):
    record, = run(tmp_path, "--size", 64, name="NVIDIA_X1", devices=1)
    assert not failed(record) and metric(record, "flops_per_second") and not metric(record, "share_of_spec")


def test_a_wrong_product_has_no_number(tmp_path):
    record, = run(tmp_path, "--size", 100, "--block", 16, cuda="flip@1=gemm", code=1)
    assert set(failed(record)) == {("residual", "1")}
    assert metric(record, "flops_per_second", "0") and not metric(record, "flops_per_second", "1")


@pytest.mark.parametrize("mistake", ["exchange", "update"])
def test_a_lost_exchange_and_a_lost_update_have_no_number(tmp_path, mistake):
    record, = run(tmp_path, "--size", 100, "--block", 16, cuda=f"flip@1={mistake}", code=1)
    assert set(failed(record)) == {("residual", "1")}


def test_a_panel_that_does_not_wait_for_its_update_is_found(tmp_path):
    """The third wait is that of the second panel for the columns that the first one changes."""
    record, = run(tmp_path, "--size", 300, "--block", 128, cuda="forget_wait@1=3", code=1)
    assert set(failed(record)) == {("residual", "1")}


@pytest.mark.parametrize("size", [64, 200])  # of the larger one the residual is no number
def test_a_changed_element_is_found(tmp_path, size):
    record, = run(tmp_path, "--size", size, "--block", 48, "--inject-fault", 0, code=1)
    assert set(failed(record)) == {("residual", "0")}
    assert not metric(record, "flops_per_second", "0") and metric(record, "flops_per_second", "1")
    assert "the scaled residual is" in failed(record)["residual", "0"]
    value = next(c for c in record["checks"] if not c["passed"]).get("value")
    assert value is None if size == 200 else value > 16


@pytest.mark.parametrize("ranks", [0, 2])
def test_a_gpu_that_fails_is_named_and_the_other_goes_on(tmp_path, ranks):
    record, = run(tmp_path, "--size", 100, "--block", 16, cuda="die@1=60", ranks=ranks, code=1)
    assert set(failed(record)) == {("gpu", "1")}
    assert "GPU-00000000-0000-0000-0000-000000000001" in failed(record)["gpu", "1"]
    assert metric(record, "flops_per_second", "0") and not metric(record, "flops_per_second", "1")


# By a clock that the GPUs share with the host's launches.
SHARED = "start=0 launch=1e-7"


@pytest.mark.parametrize("hung, ranks", [("0", 0), ("1", 0), ("1", 2)])
def test_a_gpu_that_hangs_is_named_and_the_other_has_its_own_figure(tmp_path, hung, ranks):
    """The watchdog, whose patience is shorter, does not come first: the GPU has a deadline of its own."""
    args = ("--size", 100, "--block", 16, "--stall", "2s")
    alone = metric(run(tmp_path, *args, cuda=SHARED)[0], "time_seconds")["samples"][0]
    record, = run(tmp_path, *args, "--hang-after", "4s", cuda=f"{SHARED} hang@{hung}=60", ranks=ranks, code=1)
    assert set(failed(record)) == {("gpu", hung)}
    assert "has not finished LU of order 100 after 4 s: it hangs" in failed(record)["gpu", hung]
    other = "10"[int(hung)]
    assert metric(record, "time_seconds", other)["samples"] == pytest.approx([alone], rel=0.05)
    assert not metric(record, "time_seconds", hung)


@pytest.mark.parametrize("slow", "01")
def test_a_slow_gpu_does_not_make_the_other_slow(tmp_path, slow):
    args = ("--size", 300, "--block", 128)
    alone = metric(run(tmp_path, *args, cuda=SHARED)[0], "time_seconds")["samples"][0]
    record, = run(tmp_path, *args, cuda=f"{SHARED} slow@{slow}=0.1")
    seconds = {gpu: metric(record, "time_seconds", gpu)["samples"][0] for gpu in "01"}
    other = "10"[int(slow)]
    assert seconds[other] == pytest.approx(alone, rel=0.05) and seconds[slow] > 5 * alone


@pytest.mark.parametrize("ranks", [0, 2])
def test_a_gpu_that_failed_is_named_where_the_library_refuses_products(tmp_path, ranks):
    record, = run(tmp_path, "--size", 100, "--block", 16, cuda="refuse=gemm", ranks=ranks, code=3)
    assert record["outcome"] == "skipped" and not failed(record)
    record, = run(tmp_path, "--size", 100, "--block", 16, cuda="refuse=gemm die@0=1", ranks=ranks, code=1)
    assert record["outcome"] == "skipped" and set(failed(record)) == {("gpu", "0")}


@pytest.mark.parametrize("dies, launch", [("0", 1), ("1", 3), ("0", 76), ("1", 80)])
def test_a_gpu_may_fail_at_any_time(tmp_path, dies, launch):
    """While its matrix is made, its products are timed, the solution is checked, products are timed again: about 82 launches."""
    record, = run(tmp_path, "--size", 100, "--block", 16, cuda=f"die@{dies}={launch}", ranks=2, code=1)
    assert set(failed(record)) == {("gpu", dies)}
    other = "10"[int(dies)]
    assert metric(record, "flops_per_second", other) and not metric(record, "flops_per_second", dies)


def test_equal_gpus_have_equal_figures(tmp_path):
    record, = run(tmp_path, "--size", 300, "--block", 128, devices=3, cuda=SHARED)
    first, *others = [metric(record, "time_seconds", gpu)["samples"][0] for gpu in "012"]
    assert others == pytest.approx([first, first], rel=0.05)
    assert any("one after the other" in note for note in record["notes"])


def test_ranks_share_the_gpus(tmp_path):
    record, = run(tmp_path, "--size", 65, devices=4, ranks=2)
    assert sorted(e["id"] for e in record["entities"] if e["kind"] == "gpu") == list("0123")
    assert not failed(record) and all(metric(record, "flops_per_second", gpu) for gpu in "0123")


def test_panels_are_factored_beside_the_updates(tmp_path):
    """By the device's clock: panels alone, products alone, both. One after the other, both would take the sum."""
    def seconds(memory_rate, flops):
        record, = run(tmp_path, "--size", 256, "--block", 32, cuda=f"start=0 memory_rate={memory_rate} flops={flops}", devices=1)
        return metric(record, "time_seconds")["samples"][0]
    panels = seconds(1e12, 1e18)
    rate = 1.5 * (2 / 3 * 256 ** 3) / panels
    products = seconds(1e18, rate)
    both = seconds(1e12, rate)
    assert 0.5 < products / panels < 2
    assert both < 0.8 * (products + panels), (panels, products, both)
