"""kv-transfer --backend nccl: pages between stand-in GPUs (tests/fake_cuda) by a stand-in NCCL in the order of their streams."""
import os
import re
from pathlib import Path

import pytest
from collectives import metrics

pytestmark = pytest.mark.skipif(not (Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "bin" / "clusterbench_fake_gpu").exists(),
                                reason="built without CUDA")

# 4 layers of 8 pages of 512 bytes, as in test_kv_transfer.py.
SMALL = ["kv-transfer", "--model", "tiny", "--layers", "4", "--page-tokens", "4", "--prompt", "30", "--iterations", "3"]
NCCL = [*SMALL, "--backend", "nccl"]


@pytest.fixture(autouse=True)
def gpus(stand_in_gpus):
    """As the real library between the GPUs of a host: two ranks connect within their first group, and an abort ends the calls of its own rank."""
    def say(nccl="", **more):
        stand_in_gpus(nccl=f"abort=local,{nccl}", **more)
    say()
    return say


@pytest.mark.parametrize("ranks, options, messages", [
    (2, [], 32), (4, ["--pack"], 4), (2, ["--scatter", "none", "--join"], 4), (3, ["--window", "3", "--schedule", "one-at-a-time"], 32)])
def test_every_page_is_verified_as_over_mpi(job, ranks, options, messages):
    code, document, out, err = job.measure(ranks, *NCCL, *options)
    assert code == 0, err + out
    record, = document["records"]
    pairs = ranks // 2
    assert len(record["checks"]) == 2 * pairs and all(c["passed"] and c["value"] == 0 for c in record["checks"])
    assert f"4 layers of 8 pages of 512 B: 16.0 KiB in {messages} messages" in record["facts"]["cache"]
    assert record["facts"]["library"] == "NCCL 2.28.9" and "GPU 0" in record["facts"]["memory"]
    assert int(record["facts"]["verified_calls"]) >= 2 * 3
    for name in ("transfer_seconds", "first_layer_seconds", "longest_layer_seconds", "plain_seconds", "bytes_per_second", "share_of_plain"):
        of = metrics(record, name)
        assert len(of) == pairs and all(len(m["samples"]) == 3 and min(m["samples"]) > 0 for m in of)
    first, whole = (metrics(record, name)[0]["samples"] for name in ("first_layer_seconds", "transfer_seconds"))
    assert all(f <= w for f, w in zip(first, whole, strict=True))
    assert any("rank 2 has no partner" in note for note in record.get("notes", [])) == (ranks == 3)


def test_a_layer_is_acknowledged_once_it_is_there(job, gpus):
    gpus(nccl="bus=SendRecv:80")  # a layer of 4 KiB takes 51 ms
    code, document, _, err = job.measure(2, *NCCL[:-4], "--iterations", "1", "--backend", "nccl")
    assert code == 0, err
    (first,), (whole,), (longest,) = ([m["samples"][0] for m in metrics(document["records"][0], f"{name}_seconds")]
                                      for name in ("first_layer", "transfer", "longest_layer"))
    # The receiver waits for the first layer before the clock starts.
    assert first < whole / 2 and whole > 0.15 and longest >= 0.05


def test_what_the_library_brings_wrong_is_named_with_pair_layer_and_page(job, gpus):
    """Of the receiver's calls the first connects and the fourth brings the third layer; the last of its pages is spoilt."""
    gpus(nccl="wrong=1:4")
    code, document, _, err = job.measure(2, *NCCL)
    record, = document["records"]
    bad = [c for c in record["checks"] if not c["passed"]]
    assert code == 1 and len(bad) == 1 and record["metrics"] == [], err
    assert re.search(r"rank 0 → \S+ rank 1: transfer 1: layer 2, page 7: byte 0 of 512: got 0x", bad[0]["detail"]), bad


def test_a_planted_fault_is_named(job):
    code, document, _, _ = job.measure(4, *NCCL, "--inject-fault", "swap@1:2")
    bad, = [c for c in document["records"][0]["checks"] if not c["passed"]]
    assert code == 1 and "layer 2, page 4: layer 2, page 5 came in its place" in bad["detail"]


def test_an_error_of_the_library_names_pair_and_gpu(job, gpus):
    gpus(nccl="error=1:10")
    code, document, out, err = job.measure(2, *NCCL)
    record, = document["records"]
    said = out + err
    assert code == 4 and record["metrics"] == [], said
    assert re.search(r"rank 0 → \S+ rank 1: \S+:1 \(GPU-\S+1\): receiving pages: the exchange with the other GPUs failed: .*remote process exited", said)
    assert "GPU-00000000-0000-0000-0000-000000000000" not in said, said


@pytest.mark.parametrize("cuda, words", [("hang_copy@1=3", "CUDA device 1 has not finished copying pages after 1 s: it hangs"),
                                         ("die_copy@0=2", "cudaErrorLaunchFailure"), ("die_copy@1=2", "cudaErrorLaunchFailure")])
def test_a_gpu_that_is_lost_is_named_and_nobody_waits_for_it(job, gpus, cuda, words):
    """Copies of each transfer: the pool to the GPU, and back from it."""
    gpus(cuda=cuda)
    code, document, out, err = job.measure(4, *NCCL, "--hang-after", "1s")
    record, = document["records"]
    said = out + err
    assert code == 4 and record["outcome"] == "errored" and record["metrics"] == [], said
    lost = cuda.partition("@")[2][0]
    assert f"(GPU-00000000-0000-0000-0000-00000000000{lost}): copying pages: " in said and words in said, said
    assert len(set(re.findall(r"GPU-[0-9a-f-]+", said))) == 1, said


def test_a_transfer_that_hangs_ends_the_job_and_tells_what_each_rank_did(job, gpus):
    gpus(nccl="hang=1:7")
    code, _, err = job.run(2, *NCCL, "--hang-after", "1s", timeout=60, grace=True)
    assert code == 124, err
    assert re.search(r"waiting +: ranks 0-1 on \S+: 30 tokens, together", err), err


def test_without_nccl_it_is_skipped_with_the_reason(job, monkeypatch):
    monkeypatch.setenv("CLUSTERBENCH_NCCL_LIBRARY", "nonexistent.so")
    code, document, _, _ = job.measure(2, *NCCL)
    record, = document["records"]
    assert code == 3 and record["outcome"] == "skipped" and "NCCL cannot be opened" in record["reason"]
