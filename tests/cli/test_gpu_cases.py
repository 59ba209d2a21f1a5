"""gemm, bandwidth and burn on GPUs, with a CUDA runtime, kernels and cuBLASLt that work on host memory (tests/fake_cuda).

What is run is all that the program does around them: order of calls, waits, buffers, verification, faults, failing GPUs.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
BIN = BUILD / "bin" / "clusterbench_fake_gpu"
FAKE = BUILD / "fake"

pytestmark = pytest.mark.skipif(not BIN.exists(), reason="built without CUDA")

QUICK = {
    "gemm": ("--m", "64", "--n", "64", "--k", "64", "--warm-up", "0s", "--iterations", "6", "--algorithms", "3"),
    "bandwidth": ("--size", "32K", "--warm-up", "0s", "--iterations", "6"),
    "burn": ("--size", "128", "--memory-share", "0.05"),
}


def run(tmp_path, case, *args, cuda="", nvml="", ranks=0, code=0, table=False):
    """The records, or what is printed; `cuda` and `nvml` are the stand-ins' scripts."""
    file = tmp_path / "r.json"
    file.unlink(missing_ok=True)
    gpus = next((w.split("=")[1] for w in cuda.split() if w.startswith("devices=")), "2")
    memory = 134217728 if case == "burn" else 536870912  # its kernels are really computed, over a share of all memory
    env = dict(
        os.environ, CLUSTERBENCH_CUBLASLT_LIBRARY=str(FAKE / "fake_cublaslt.so"), CLUSTERBENCH_FAKE_CUDA=f"memory={memory} {cuda}",
        CLUSTERBENCH_NVML_LIBRARY=str(FAKE / "fake_nvml.so"), CLUSTERBENCH_FAKE_NVML=f"gpus={gpus} {nvml}",
    )
    if case == "burn" and "--duration" not in args:
        args = (*args, "--duration", "300ms")
    launcher = ["mpirun", "--oversubscribe", "-np", str(ranks)] if ranks else []
    quick = dict(zip(QUICK[case][::2], QUICK[case][1::2]))
    quick = [word for name, value in quick.items() if name not in args for word in (name, value)]
    done = subprocess.run(
        [*launcher, BIN, case, "--device", "gpu", *quick, *args, "--json", str(file)],
        env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if table else json.loads(file.read_text())["records"]


def median(record, name, gpu):
    for metric in record["metrics"]:
        if metric["name"] == name and record["entities"][metric["entity"]]["id"] == gpu:
            return metric["summary"]["median"]
    return None


def failed(record):
    """(check, GPU) of each that failed."""
    return {(c["name"], record["entities"][c["entity"]]["id"]) for c in record["checks"] if not c["passed"]}


def detail(record, name, gpu):
    return next(c["detail"] for c in record["checks"] if c["name"] == name and record["entities"][c["entity"]]["id"] == gpu)


DTYPES = "fp64,fp64_vector,fp32,tf32,fp16,bf16,fp8_e4m3,fp8_e5m2,int8"


def test_every_type_is_multiplied_and_right(tmp_path):
    records = run(tmp_path, "gemm", "--dtype", DTYPES)
    assert [r["params"]["dtype"] for r in records] == DTYPES.split(",")
    for record in records:
        assert not failed(record)
        assert {c["name"] for c in record["checks"]} == {"product", "gpu"}
        rate = "operations_per_second" if record["params"]["dtype"] == "int8" else "flops_per_second"
        for gpu in "01":
            # The invented device's rate: the fast algorithm was chosen, and its time is the events'.
            assert 0.9e9 < median(record, rate, gpu) < 1e9
        vector = record["params"]["dtype"] in ("fp64_vector", "fp32")
        assert record["facts"]["units"] == ("vector units" if vector else "tensor cores")
        assert record["facts"]["algorithm"].startswith("0000000000000001")


def test_fp4_needs_blackwell(tmp_path):
    record = run(tmp_path, "gemm", "--dtype", "fp4", code=3)[0]
    assert record["outcome"] == "skipped" and record["reason"] == "NVIDIA H20 has no fp4"
    assert not failed(run(tmp_path, "gemm", "--dtype", "fp4", cuda="capability=100")[0])


def test_a_library_without_an_algorithm_is_a_skip(tmp_path):
    record = run(tmp_path, "gemm", cuda="refuse=gemm", code=3)[0]
    assert record["outcome"] == "skipped" and "has no algorithm for bf16 64×64×64" in record["reason"]


def test_a_wrong_product_has_no_number(tmp_path):
    record = run(tmp_path, "gemm", "--dtype", "bf16,int8", cuda="flip@1=gemm", code=1)
    for r in record:
        assert failed(r) == {("product", "1")}
        rate = "operations_per_second" if r["params"]["dtype"] == "int8" else "flops_per_second"
        assert median(r, rate, "0") and not median(r, rate, "1")


def test_the_slow_gpu_is_named(tmp_path):
    record = run(tmp_path, "gemm", cuda="slow@1=0.5")[0]
    assert median(record, "flops_per_second", "1") < 0.7 * median(record, "flops_per_second", "0")


@pytest.mark.parametrize("ranks", [0, 2])
@pytest.mark.parametrize("case", ["gemm", "burn"])
def test_a_gpu_that_fails_does_not_take_the_others_along(tmp_path, case, ranks):
    phase = ("--phase", "bf16,sm") if case == "burn" else ("--dtype", "bf16,fp32")
    records = run(tmp_path, case, *phase, cuda="die@1=25", ranks=ranks, code=1)
    assert len(records) == 2
    assert ("gpu", "1") in failed(records[0]) and ("gpu", "0") not in failed(records[0])
    why = detail(records[0], "gpu", "1")
    assert "launch failure" in why or "cublasLtMatmul" in why
    assert "GPU-00000000-0000-0000-0000-000000000001" in why
    for record in records:  # the second one too: it is not asked again
        assert ("gpu", "1") in failed(record)
        assert median(record, "flops_per_second", "0") and not median(record, "flops_per_second", "1")


OPS = "host_to_device,device_to_host,two_way,copy,triad,read"


def test_copies(tmp_path):
    for record in run(tmp_path, "bandwidth", "--op", OPS + ",latency", "--memory", "pinned,pageable"):
        assert not failed(record), record["params"]
        patterns = [c for c in record["checks"] if c["name"] == "pattern"]
        assert len(patterns) == 2
        name = "latency_seconds" if record["params"]["op"] == "latency" else "bytes_per_second"
        for gpu in "01":
            assert median(record, name, gpu) > 0


def test_every_wrong_copy_is_counted(tmp_path):
    for record in run(tmp_path, "bandwidth", "--op", "host_to_device,device_to_host,two_way,copy", cuda="flip@1=copy", code=1):
        assert failed(record) == {("pattern", "1")}
        assert median(record, "bytes_per_second", "0") and not median(record, "bytes_per_second", "1")
        check = next(c for c in record["checks"] if not c["passed"])
        assert "the first at 0x4000 of" in check["detail"]
        ways = 2 if record["params"]["op"] == "two_way" else 1
        # One byte of every copy of six samples and of the one before them, and not of the last alone.
        assert check["value"] >= 7 * ways
    for op in ("triad", "read"):
        assert failed(run(tmp_path, "bandwidth", "--op", op, cuda=f"flip@0={op}", code=1)[0]) == {("pattern", "0")}


def test_peers(tmp_path):
    ops = ("--op", "peer_write,peer_read,peer_two_way,peer_latency", "--engine", "ce,sm")
    latency = run(tmp_path, "bandwidth", "--op", "peer_latency")[0]
    assert len(latency["metrics"]) == 2 and not failed(latency)
    records = run(tmp_path, "bandwidth", "--op", "peer_write,peer_read,peer_two_way", "--engine", "ce,sm", cuda="devices=3")
    assert len(records) == 6
    for record in records:
        pairs = {(e["id"], e["peer"][-1]) for e in record["entities"] if e["kind"] == "pair"}
        assert pairs == {(a, b) for a in "012" for b in "012" if a != b}
        assert not failed(record)
    text = run(tmp_path, "bandwidth", "--op", "peer_read", cuda="devices=3", table=True)
    lines = text.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("bytes_per_second from"))
    assert [line.split()[0].split(":")[1] for line in lines[head + 1:head + 4]] == list("012")
    assert lines[head + 1].split()[1] == "X" and "MB/s" in lines[head + 1]
    # Copy engines go through host memory; a kernel cannot, and is no success without a number.
    for record in run(tmp_path, "bandwidth", *ops, cuda="peer=0", code=3):
        if record["params"].get("engine") == "ce":
            assert record["metrics"] and any("cannot reach the memory of GPU" in n for n in record["notes"])
        else:
            assert record["outcome"] == "skipped" and "cannot reach the memory of GPU" in record["reason"]


def test_nothing_measured_is_no_success(tmp_path):
    record = run(tmp_path, "bandwidth", "--op", "host_to_device", "--numa", "far", code=3)[0]
    assert record["outcome"] == "skipped" and "no other NUMA node" in record["reason"]


def test_burn(tmp_path):
    records = run(tmp_path, "burn", "--phase", "bf16,fp64,int8,hbm,sm,march", "--duration", "2s")
    for record in records:
        assert not failed(record), record["checks"]
        for gpu in "01":
            assert median(record, "passes_per_second", gpu) > 0
    assert records[0]["facts"]["golden"] == "majority of the GPUs"
    assert any("the time did not suffice for all 8 memory tests" in n for n in records[-1]["notes"])


def test_all_memory_tests(tmp_path):
    small = "devices=1 memory=4194304"
    record = run(tmp_path, "burn", "--phase", "march", "--duration", "2s", cuda=small)[0]
    assert not failed(record) and not any("did not suffice" in n for n in record["notes"])
    # The last of them, in which nothing is inverted, finds what went wrong while memory was moved.
    moved = run(tmp_path, "burn", "--phase", "march", "--duration", "2s", cuda=small + " flip=copy", code=1)[0]
    assert failed(moved) == {("memory", "0")} and "memory test 7 step 0" in detail(moved, "memory", "0")


@pytest.mark.parametrize("fault", ["bitflip", "nan"])
@pytest.mark.parametrize("phase,check", [("bf16", "result"), ("fp64", "result"), ("hbm", "result"), ("sm", "sm"), ("march", "memory")])
def test_an_injected_fault_is_found(tmp_path, phase, check, fault):
    record = run(tmp_path, "burn", "--phase", phase, "--inject-fault", fault, cuda="devices=3", code=1)[0]
    wanted = {(check, "0")} | ({("finite", "0")} if fault == "nan" and check == "result" and phase != "hbm" else set())
    assert failed(record) == wanted
    if (phase, fault) == ("bf16", "bitflip"):
        # Word 128·128·2/16+5 of a column-major 128×128 result of four elements a word.
        assert "row 20 column 64 (tile 0,0 of 128×128), bit 13" in detail(record, "result", "0")
        assert "1 wrong in" in detail(record, "result", "0")


def test_a_gpu_that_is_always_wrong_is_outvoted(tmp_path):
    record = run(tmp_path, "burn", "--phase", "bf16", cuda="devices=3 flip@1=gemm", code=1)[0]
    assert failed(record) == {("result", "1")}
    assert "differs from the golden one" in detail(record, "result", "1")
    # Two that differ decide nothing.
    two = run(tmp_path, "burn", "--phase", "bf16", cuda="flip@1=gemm", code=1)[0]
    assert failed(two) == {("result", "0"), ("result", "1")}


def test_a_stored_golden(tmp_path):
    golden = tmp_path / "golden.json"
    run(tmp_path, "burn", "--phase", "bf16", "--write-golden", str(golden), cuda="devices=1")
    assert not failed(run(tmp_path, "burn", "--phase", "bf16", "--golden", str(golden), cuda="devices=1")[0])
    # One GPU that is wrong from the start: only the stored golden sees it.
    alone = run(tmp_path, "burn", "--phase", "bf16", cuda="devices=1 flip=gemm")[0]
    assert any("compared with its own first result" in n for n in alone["notes"])
    seen = run(tmp_path, "burn", "--phase", "bf16", "--golden", str(golden), cuda="devices=1 flip=gemm", code=1)[0]
    assert failed(seen) == {("result", "0")}


def test_a_fatal_xid_ends_that_gpu(tmp_path):
    records = run(tmp_path, "burn", "--phase", "bf16,hbm", "--duration", "1s", nvml="xid@1=79", code=1)
    for record in records:
        assert failed(record) - {("result", "1")} == {("gpu", "1")}
        assert median(record, "passes_per_second", "0")
    assert "Xid 79" in detail(records[0], "gpu", "1")


def test_a_fatal_xid_ends_that_gpu_for_later_records_too(tmp_path):
    # gemm looks for it when a record ends, not while it measures.
    for record in run(tmp_path, "gemm", "--dtype", "bf16,int8", nvml="xid@1=79", code=1):
        assert failed(record) == {("gpu", "1")}
        assert "Xid 79" in detail(record, "gpu", "1")
        assert {record["entities"][m["entity"]]["id"] for m in record["metrics"]} == {"0"}


def test_other_ranks_measure_on_where_rank_zero_has_no_gpu_left(tmp_path):
    first, later = run(tmp_path, "gemm", "--dtype", "bf16,int8", "--iterations", "40", nvml="xid@0=79", ranks=2, code=1)
    for record in (first, later):
        assert failed(record) == {("gpu", "0")}
        (rate,) = [m for m in record["metrics"] if m["name"].endswith("_per_second")]
        assert record["entities"][rate["entity"]]["id"] == "1" and rate["summary"]["n"] == 40


def test_pulses(tmp_path):
    record = run(tmp_path, "burn", "--phase", "bf16", "--pulse", "4:0.5", "--duration", "3s")[0]
    assert 2 < median(record, "pulse_hertz", "0") <= 4.4


def test_ranks_share_the_gpus(tmp_path):
    record = run(tmp_path, "gemm", cuda="devices=4", ranks=2)[0]
    assert sorted(e["id"] for e in record["entities"]) == list("0123")
    alone = run(tmp_path, "gemm", "--one-at-a-time", cuda="devices=4", ranks=2)[0]
    assert all(median(alone, "flops_per_second", gpu) for gpu in "0123")


@pytest.mark.parametrize(
    "cuda,what",
    [
        ("count_error=35 driver=12040", "the driver knows CUDA 12.4, this program was built with 13.0: update the driver to 580 or newer"),
        ("count_error=802", "systemctl status nvidia-fabricmanager"),
        ("count_error=46", "exclusive or prohibited mode"),
    ],
)
def test_why_cuda_does_not_start(tmp_path, cuda, what):
    for case in QUICK:
        record = run(tmp_path, case, cuda=cuda, code=3)[0]
        assert record["outcome"] == "skipped" and what in record["reason"]


def test_mig_mode_is_a_reason(tmp_path):
    record = run(tmp_path, "gemm", nvml="mig_mode@1=1", code=3)[0]
    assert "GPU 1 is in MIG mode" in record["reason"]


def test_too_little_memory_is_said(tmp_path):
    record = run(tmp_path, "gemm", cuda="memory=268435456", code=4)[0]
    assert record["outcome"] == "errored" and "give a smaller --size" in record["reason"]


def counts(record):
    return {m["name"]: m["summary"]["n"] for m in record["metrics"]}


def test_every_sample_of_a_long_product_is_in_its_rates(tmp_path):
    (record,) = run(tmp_path, "gemm", "--dtype", "bf16", "--iterations", "3000", cuda="devices=1")
    n = counts(record)
    assert n["flops_per_second"] == 3000
    assert n["share_of_spec"] == 3000 and all(n[name] == 3000 for name in n if name.startswith("share_of_"))


def test_every_sample_of_a_long_copy_is_in_its_figures(tmp_path):
    (record,) = run(tmp_path, "bandwidth", "--op", "copy", "--size", "4K", "--iterations", "2100", cuda="devices=1")
    n = counts(record)
    assert n["bytes_per_second"] == n["share_of_spec"] == 2100  # beyond what is kept as a list


# ---- a fault on the first GPU of a rank ----
@pytest.mark.parametrize("dtype", DTYPES.split(","))
def test_a_changed_element_of_a_product_is_found(tmp_path, dtype):
    record = run(tmp_path, "gemm", "--dtype", dtype, "--inject-fault", "0", code=1)[0]
    assert failed(record) == {("product", "0")}
    rate = "operations_per_second" if dtype == "int8" else "flops_per_second"
    assert median(record, rate, "0") is None and median(record, rate, "1") > 0
    assert "1 of " in detail(record, "product", "0")


OF_HOST_MEMORY = ("host_to_device", "device_to_host", "two_way")


@pytest.mark.parametrize("memory, op", [*(("pinned", op) for op in (*OF_HOST_MEMORY, "copy", "triad", "read", "latency")),
                                        *(("pageable", op) for op in OF_HOST_MEMORY)])
def test_a_changed_byte_of_a_copy_is_found(tmp_path, memory, op):
    record = run(tmp_path, "bandwidth", "--op", op, "--memory", memory, "--inject-fault", "0", code=1)[0]
    assert failed(record) == {("pattern", "0")}
    name = "latency_seconds" if op == "latency" else "bytes_per_second"
    assert median(record, name, "0") is None and median(record, name, "1") > 0


@pytest.mark.parametrize("op", ["peer_write", "peer_read", "peer_two_way"])
@pytest.mark.parametrize("engine", ["ce", "sm"])
def test_a_changed_byte_of_a_peer_copy_is_found(tmp_path, op, engine):
    record = run(tmp_path, "bandwidth", "--op", op, "--engine", engine, "--inject-fault", "0", code=1)[0]
    assert failed(record) == {("pattern", "0")}


def test_a_fault_of_another_rank_is_of_that_rank(tmp_path):
    record = run(tmp_path, "gemm", "--inject-fault", "1", cuda="devices=4", ranks=2, code=1)[0]
    assert len(failed(record)) == 1 and failed(record) != {("product", "0")}
    run(tmp_path, "gemm", "--inject-fault", "0", code=1)


def idle_share(file, devices, begin, end):
    """Of each device between these shares of its time: how much of it nothing ran."""
    spans = {}
    for line in file.read_text().splitlines():
        device, start, stop = line.split()
        spans.setdefault(int(device), []).append((float(start), float(stop)))
    assert sorted(spans) == list(range(devices))
    out = []
    for busy in spans.values():
        since, until = busy[-1][1] * begin, busy[-1][1] * end
        worked = sum(max(0.0, min(stop, until) - max(start, since)) for start, stop in busy)
        out.append(1 - worked / (until - since))
    return out


@pytest.mark.parametrize("case, flops, args", [
    ("burn", 8e8, ("--phase", "bf16", "--duration", "3s")),
    ("gemm", 1e8, ("--dtype", "bf16", "--iterations", "60", "--algorithms", "1"))])
def test_eight_gpus_of_a_process_never_wait_for_the_host(tmp_path, monkeypatch, case, flops, args):
    """A launch takes the host 20 us, a product 5 ms. Queueing a step for the other seven GPUs before the next one of the
    first cost 6 % of every step, and in burn.power the idle time counted as missing power."""
    monkeypatch.setenv("CLUSTERBENCH_FAKE_CUDA_BUSY", str(tmp_path / "busy"))
    run(tmp_path, case, *args, cuda=f"devices=8 launch=2e-5 flops={flops}")
    shares = idle_share(tmp_path / "busy", 8, 0.4, 0.9)
    assert max(shares) <= 0.01, shares


def test_the_first_step_has_the_products_that_fit_into_it(tmp_path):
    """A product of a second, as fp64 on an H20: twenty of them made the first step a hang on a GPU that was sound."""
    record = run(tmp_path, "burn", "--phase", "fp64", "--pulse", "5:0.9", cuda="flops=4e6")[0]
    assert median(record, "passes_per_second", "0") == pytest.approx(median(record, "pulse_hertz", "0"), rel=1e-6)


def test_results_beyond_what_is_compared_are_told(tmp_path):
    note = "the results cover"
    record = run(tmp_path, "burn", "--phase", "bf16", "--memory-share", "0.9", cuda="memory=536870912")[0]
    assert [n for n in record["notes"] if note in n and "give a larger --size" in n]
    record = run(tmp_path, "burn", "--phase", "bf16")[0]
    assert not [n for n in record["notes"] if note in n]




def test_energy_is_held_against_the_work_that_was_done(tmp_path):
    """Six samples of 39 products, and a meter that shows one joule more at the window's end: not the rate times the
    wall's clock, which counts idling as work. Each GPU's meter is read with its own time."""
    record = run(tmp_path, "gemm", "--dtype", "bf16", nvml="energy_millijoules_step=1000")[0]
    for gpu in "01":
        assert median(record, "flops_per_joule", gpu) == pytest.approx(6 * 39 * 2 * 64 ** 3, rel=1e-9)


@pytest.mark.parametrize("node", [0, 1])
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_pageable_copies_are_staged_on_the_cpus_that_were_asked_for(tmp_path, monkeypatch, node):
    """The driver copies them on the calling thread: bound only while the buffers were made, it ran anywhere."""
    monkeypatch.setenv("HWLOC_SYNTHETIC", "node:2 core:1 pu:1")
    monkeypatch.setenv("CLUSTERBENCH_FAKE_CUDA_STAGING", str(tmp_path / "cpus"))
    for bus in ("1b", "2b"):
        device = tmp_path / f"sys/bus/pci/devices/0000:{bus}:00.0"
        device.mkdir(parents=True)
        for name, content in {"numa_node": node, "vendor": "0x10de", "device": "0x2329", "class": "0x030200"}.items():
            (device / name).write_text(f"{content}\n")
    run(tmp_path, "bandwidth", "--op", "host_to_device", "--memory", "pageable", "--sysroot", str(tmp_path))
    cpus = (tmp_path / "cpus").read_text().split("\n")[:-1]
    assert len(cpus) > 12 and set(cpus) == {f"{node} "}


@pytest.mark.parametrize("case", ["gemm", "bandwidth", "burn"])
def test_a_build_without_code_for_the_gpu_is_not_the_gpus_fault(tmp_path, case):
    record = run(tmp_path, case, cuda="no_kernels=209", code=3)[0]
    assert "built without code for compute capability 9.0" in record["reason"]
    assert not record["checks"]


def test_another_error_is_not_told_as_missing_code(tmp_path):
    record = run(tmp_path, "gemm", cuda="no_kernels=719", code=3)[0]
    assert "cudaFuncGetAttributes" in record["reason"] and "built without" not in record["reason"]


@pytest.mark.parametrize("case, args", [("gemm", ()), ("burn", ("--phase", "bf16"))])
def test_a_gpu_that_dies_in_a_call_of_the_library_is_named(tmp_path, case, args):
    """The library's "internal error" was a skipped record that named no GPU, and exit code 3."""
    record = run(tmp_path, case, *args, cuda="blas_meets_death@0=1", code=1)[0]
    assert {gpu for _, gpu in failed(record)} == {"0"}


@pytest.mark.parametrize("status, ranks", [(1, 0), (14, 2)])  # not initialized, internal error
def test_a_library_that_does_not_start_is_not_the_gpus_fault(tmp_path, status, ranks):
    """CUDA 13's cuBLASLt beside a driver of CUDA 12: every GPU failed its check, with "see dmesg"."""
    for case, args in (("gemm", ()), ("burn", ("--phase", "bf16"))):
        record = run(tmp_path, case, *args, cuda=f"blas={status}", ranks=ranks, code=3)[0]
        assert "cublasLtCreate" in record["reason"]
        assert not failed(record)


@pytest.mark.parametrize("case, args", [
    ("gemm", ("--dtype", "bf16")),
    *(("bandwidth", ("--op", op)) for op in ("host_to_device", "device_to_host", "two_way", "copy", "triad", "read"))])
def test_what_is_sampled_needs_no_more_memory(tmp_path, case, args):
    """A verdict of 16 bytes was allocated for every copy: taken by another program, one rank left the others waiting."""
    records = run(tmp_path, case, *args, "--iterations", "12", cuda="full=40")
    assert not any(failed(r) for r in records) and all(r["outcome"] == "measured" for r in records)


def test_memory_phases_have_the_memorys_rate_as_their_ceiling(tmp_path):
    for record in run(tmp_path, "burn", "--phase", "hbm,march"):
        rates = [m for m in record["metrics"] if m["name"] == "bytes_per_second"]
        assert rates and all(m["ceiling"]["value"] == 4e12 for m in rates)


def test_small_products_are_not_the_time_of_their_launches(tmp_path):
    """A product of 7 us, 2 us of which is the GPU's own start of a kernel, and a launch of 20 us: one after the other
    they gave a third of the rate."""
    record = run(tmp_path, "gemm", "--dtype", "bf16", cuda="launch=2e-5 flops=1e11")[0]
    assert record["facts"]["launched_as"].startswith("one CUDA graph of ")
    rate = 2 * 64 ** 3 / (2 * 64 ** 3 / 1e11 + 2e-6)
    assert median(record, "flops_per_second", "0") == pytest.approx(rate, rel=0.05)
    large = run(tmp_path, "gemm", "--dtype", "bf16")[0]
    assert "launched_as" not in large["facts"]
