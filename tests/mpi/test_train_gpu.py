"""train --device gpu over MPI: stand-in GPUs that run the real kernels (tests/fake_cuda) exchange by a stand-in NCCL whose calls keep
the order of streams (tests/fake_nccl). Every layout trains the decoder that processors train, and what fails is named."""

import collections
import json
import os
import re
import signal
from pathlib import Path

import conftest
import pytest

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
BIN = BUILD / "bin" / "clusterbench_fake_gpu"
FAKE = BUILD / "fake"
H100 = "name=NVIDIA_H100_80GB_HBM3"
SMALL = ["train", "--sequence", "16", "--layers", "2", "--warm-up-steps", "0"]

pytestmark = pytest.mark.skipif(not BIN.exists(), reason="built without CUDA")


@pytest.fixture
def gpus(job, monkeypatch):
    """Sets the stand-ins up."""
    def set_up(cuda="", nccl="", devices=4):
        monkeypatch.setattr(conftest, "BINARY", str(BIN))
        for name, value in {
                "CLUSTERBENCH_FAKE_CUDA": f"devices={devices} memory=67108864 {H100} total=8.5e10 {cuda}",
                "CLUSTERBENCH_CUBLASLT_LIBRARY": FAKE / "fake_cublaslt.so", "CLUSTERBENCH_NVML_LIBRARY": FAKE / "fake_nvml.so",
                "CLUSTERBENCH_FAKE_NVML": f"gpus={devices} {H100} memory_total_bytes=8.5e10 clock_hertz=1.5e9",
                "CLUSTERBENCH_NCCL_LIBRARY": FAKE / "fake_nccl.so", "FAKE_NCCL": f"streams,{nccl}",
                "FAKE_NCCL_LOG": job.folder / "nccl.log"}.items():
            monkeypatch.setenv(name, str(value))
        return job
    return set_up


def metrics(record, name):
    return [m["samples"] for m in record["metrics"] if m["name"] == name]


def trained(job, ranks, device, *args):
    """The record of four steps, of which no check failed but findings: others use this machine too."""
    library = ["--library", "builtin", "--threads", "1"] if device == "cpu" else []
    _, document, _, err = job.measure(ranks, *SMALL, "--device", device, "--steps", "4", *library, *args)
    record, = document["records"]
    assert [c for c in record["checks"] if not c["passed"] and not c.get("finding")] == [], err
    assert metrics(record, "loss_nats"), err
    return record


def exchanges(job):
    """Of each rank, in order: (function, operations that its GPU had done when the exchange began, and when it ended)."""
    begun, out = collections.defaultdict(list), collections.defaultdict(list)
    for line in (job.folder / "nccl.log").read_text().splitlines():
        found = re.fullmatch(r"(begin|end) (\w*) rank (\d+) computed (\d+)", line)
        if not found:
            continue
        what, name, rank, computed = found.groups()
        if what == "begin":
            begun[rank, name].append(int(computed))
        else:
            out[rank].append((name, begun[rank, name].pop(0), int(computed)))
    return out


@pytest.mark.parametrize("ranks, layout", [
    (2, []), (2, ["--shard", "zero1"]), (2, ["--tp", "2"]), (2, ["--pp", "2", "--micro-batches", "4"]), (4, ["--tp", "2"])])
def test_every_layout_trains_what_processors_train(gpus, ranks, layout):
    job = gpus()
    gpu = trained(job, ranks, "gpu", *layout)
    cpu = trained(job, ranks, "cpu", *layout)
    # Measured: 5e-9.
    assert metrics(gpu, "loss_nats")[0] == pytest.approx(metrics(cpu, "loss_nats")[0], rel=2e-8)
    assert gpu["facts"]["layout"] == cpu["facts"]["layout"]
    assert gpu["facts"]["collectives"] == "NCCL 2.28.9"
    assert gpu["facts"]["rank_map"].count("GPU ") == ranks
    assert sorted(e["id"] for e in gpu["entities"] if e["kind"] == "gpu") == [str(i) for i in range(ranks)]
    assert {c["name"] for c in gpu["checks"]} >= {"finite", "first_loss", "floor", "twin", "gpu"}
    assert len(metrics(gpu, "exposed_communication_seconds")) == ranks
    if layout == ["--tp", "2"] and ranks == 2:  # every layer waits: the GPU's own clock tells it
        assert min(min(s) for s in metrics(gpu, "exposed_communication_seconds")) > 0


def test_a_step_repeats_bit_by_bit_and_gradients_are_exchanged_while_the_backward_goes_on(gpus):
    job = gpus()
    args = ("--micro-batches", "2", "--twin-every", "0", "--hash-every", "0")
    first = trained(job, 2, "gpu", *args)
    seen = exchanges(job)
    again = trained(job, 2, "gpu", *args)
    assert first["facts"]["weights_digest"] == again["facts"]["weights_digest"]
    assert metrics(first, "loss_nats") == metrics(again, "loss_nats")
    blocks = 4  # the head, two layers, the embedding
    for rank in ("0", "1"):
        step = seen[rank][:blocks]
        assert [name for name, _, _ in step] == ["AllReduce"] * blocks
        begins = [begin for _, begin, _ in step]
        assert begins == sorted(begins) and begins[0] < begins[1] < begins[2], "each begins when its layer is done"
        assert any(end > begin for _, begin, end in step[:-1]), "the GPU computes meanwhile"


def failed(job, ranks, fault, *args):
    code, document, _, err = job.measure(ranks, *SMALL, "--device", "gpu", "--steps", "3", "--hash-every", "1", "--inject-fault", fault,
                                         *args)
    record, = document["records"]
    bad = [c for c in record["checks"] if not c["passed"]]
    assert code == 1 and bad, err
    assert record["metrics"] == []
    return ({c["name"] for c in bad}, sorted(int(record["entities"][c["entity"]]["id"]) for c in bad),
            " ".join(c["detail"] for c in bad))


@pytest.mark.parametrize("ranks, fault, args, name, named, words", [
    (3, "bitflip@1:0", [], "twin", [1], "rank 1 differs"),
    (2, "nan@1:0", ["--twin-every", "0"], "finite", [1], "feed-forward of layer 0, forward"),
    (2, "nan@1:1", ["--twin-every", "0", "--pp", "2"], "finite", [1], "feed-forward of layer 1, forward"),
    (3, "weight@2", ["--twin-every", "0"], "weights", [2], "rank 2 differs")])
def test_a_fault_that_is_planted_on_a_gpu_is_found_and_its_gpu_named(gpus, ranks, fault, args, name, named, words):
    names, found, text = failed(gpus(), ranks, fault, *args)
    assert (names, found) == ({name}, named) and words in text


def lost(job, *args, timeout=60):
    """What is told of a job that ends badly, which leaves no number: (exit code, stderr)."""
    code, _, err = job.run(2, *SMALL, "--device", "gpu", "--steps", "100000", "--hang-after", "2s", *args, "--json", job.json,
                           timeout=timeout, grace=True)
    for record in json.loads(job.json.read_text())["records"]:
        assert record["metrics"] == []
    return code, " ".join(err.split())


@pytest.mark.parametrize("cuda, nccl, layout, words", [
    ("", "error=1:9", [], ["vm:1 (GPU-00000000-0000-0000-0000-000000000001): all_reduce of the replicas (0, 1): NCCL 2.28.9",
                           "dmesg | grep -i xid on their hosts, and `clusterbench nccl`"]),
    ("", "error=1:9", ["--tp", "2"], ["of the ranks that share matrices (0, 1): NCCL 2.28.9"]),
    ("", "error=1:9", ["--pp", "2"], ["neighbouring stages of the pipeline (ranks 0, 1): NCCL 2.28.9"]),
    ("die@1=900", "", [], ["vm:1 (GPU-00000000-0000-0000-0000-000000000001)", "cudaErrorLaunchFailure"]),
    ("hang@1=900", "", [], ["CUDA device 1 has not finished training step after 2 s: it hangs"])])
def test_a_gpu_or_an_exchange_that_fails_is_named(gpus, cuda, nccl, layout, words):
    code, err = lost(gpus(cuda, nccl), *layout)
    assert code == 4, err
    for part in words:
        assert part.replace("vm:", f"{os.uname().nodename}:") in err


@pytest.mark.parametrize("layout, group", [([], "all_reduce of the replicas (0, 1)"),
                                           (["--pp", "2"], "neighbouring stages of the pipeline (ranks 0, 1)")])
def test_an_exchange_that_hangs_ends_the_job_with_its_group(gpus, layout, group):
    job = gpus(nccl="hang=1:9")
    code, err = lost(job, *layout)
    assert code == 124, err
    assert "deadline: nothing has moved for" in err and f"{group} on {os.uname().nodename}:" in err
    assert "abort rank" in (job.folder / "nccl.log").read_text()


def test_a_rank_that_dies_is_named(gpus):
    job = gpus()
    process = job.start(2, *SMALL, "--device", "gpu", "--steps", "100000", "--twin-every", "0", "--json", job.json)
    ranks = job.wait_for_ranks(process, 2)
    assert any("step " in line for line in iter(process.stderr.readline, ""))
    os.kill(ranks[1], signal.SIGKILL)
    _, _, err, _ = job.finish(process, 60)
    assert "a rank was lost" in err and re.search(r"not there : \S+ rank 1: .*last in", err), err


@pytest.mark.parametrize("devices, args, words", [
    (1, [], "rank 1 has no GPU left: start at most as many ranks on a host as it has GPUs"),
    (2, ["--gpu", "0"], "2 ranks take a GPU each, in their order on a host"),
    (2, ["--tp", "2", "--shard", "zero1"], "there are no replicas to divide the optimizer's state with"),
    (2, ["--tp", "2", "--pp", "2"], "2 ranks are no multiple of --tp 2 × --pp 2")])
def test_what_does_not_fit_the_ranks_is_refused(gpus, devices, args, words):
    code, _, err = gpus(devices=devices).run(2, *SMALL, "--device", "gpu", *args)
    assert code == 2 and words in " ".join(err.split())


def test_without_nccl_it_is_skipped_with_the_reason(gpus, monkeypatch):
    job = gpus()
    monkeypatch.setenv("CLUSTERBENCH_NCCL_LIBRARY", "nonexistent.so")
    code, _, err = job.run(2, *SMALL, "--device", "gpu")
    assert code == 3 and "NCCL cannot be opened" in err
