"""moe --device gpu over several ranks, each with a stand-in GPU (tests/fake_cuda) that runs the real kernels, and a stand-in NCCL in the order
of the GPU's streams: the bits of the processor, and each thing that goes wrong is found and named."""
import os
import re
from pathlib import Path

import pytest
from collectives import metrics

pytestmark = pytest.mark.skipif(not (Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "bin" / "clusterbench_fake_gpu").exists(),
                                reason="built without CUDA")

SMALL = ["moe", "--batch", "32", "--hidden", "256", "--experts", "12", "--top-k", "3", "--iterations", "3"]
ON_GPU = [*SMALL, "--device", "gpu"]


@pytest.fixture(autouse=True)
def gpus(stand_in_gpus):
    """As the real library between the GPUs of a host: two ranks connect within their first group, and an abort ends the calls of its own rank."""
    def say(nccl="", **more):
        stand_in_gpus(nccl=f"abort=local,{nccl}", **more)
    say()
    return say


def measured(job, ranks, *args, expect=0):
    code, document, out, err = job.measure(ranks, *args)
    assert code == expect, err + out
    return document["records"], out + err


def wrong(record):
    """(name, id of the rank, text) of the check that failed."""
    bad, = [c for c in record["checks"] if not c["passed"]]
    return bad["name"], record["entities"][bad["entity"]]["id"], bad["detail"]


@pytest.mark.parametrize("ranks, options", [
    (2, ["--routing", "balanced,random"]), (3, ["--routing", "random,skewed:1"]), (4, ["--dtype", "bf16", "--combine-dtype", "fp32"]),
    (3, ["--batch", "300", "--hidden", "128", "--iterations", "1"])])  # more tokens than a block has threads, rows of no whole vectors
def test_gpus_make_the_bits_of_processors(job, ranks, options):
    """skewed:1 leaves ranks without a token. The digest is of all rows that came and of all sums."""
    shape = [*SMALL, *options] if "--batch" not in options else ["moe", "--experts", "12", "--top-k", "3", *options]
    here, _ = measured(job, ranks, *shape)
    there, _ = measured(job, ranks, *shape, "--device", "gpu")
    assert len(here) == len(there)
    for a, b in zip(here, there, strict=True):
        assert a["facts"]["data_digest"] == b["facts"]["data_digest"]
        assert {n: b["facts"][n] for n in ("routed", "row", "verified_calls")} == {n: a["facts"][n] for n in ("routed", "row", "verified_calls")}
        assert len(b["checks"]) == 3 * ranks and all(c["passed"] for c in b["checks"])
        assert {m["name"] for m in a["metrics"]} == {m["name"] for m in b["metrics"]}
        assert b["facts"]["library"] == "NCCL 2.28.9" and f"rank {ranks - 1}: " in b["facts"]["rank_map"]
        for part in ("dispatch", "combine"):
            whole, rows = ([min(m["samples"]) for m in metrics(b, f"{part}_{name}")] for name in ("seconds", "exchange_seconds"))
            assert len(whole) == len(rows) == ranks and min(whole + rows) > 0


@pytest.mark.parametrize("nccl, check, rank, text", [
    ("wrong=1:2", "dispatch", "1", r"\S+ rank 2 announced \d+ tokens, expected \d+"),
    ("wrong=1:3", "dispatch", "1", r"token \d+ \(\S+ rank 2\): element 0: got 0x"),
    ("wrong=2:5", "combine", "2", r"sum of token \d+, experts .*: element 0: got"),
])
def test_what_the_library_brings_wrong_is_named_with_rank_and_token(job, gpus, nccl, check, rank, text):
    """Of a rank's calls the first connects, the second tells counts, the third brings tokens, the fourth brings them once more, the fifth brings
    results."""
    gpus(nccl=nccl)
    (record,), _ = measured(job, 3, *ON_GPU, expect=1)
    name, where, detail = wrong(record)
    assert (name, where, record["metrics"]) == (check, rank, [])
    assert re.search(rf"rank {rank}: check 1 before timing: {text}", detail), detail


@pytest.mark.parametrize("fault, check, rank, text", [
    ("token@2", "dispatch", "2", "in place of token "), ("sum@0", "combine", "0", "sum of token 16, experts ")])
def test_a_planted_fault_is_named_with_its_rank(job, fault, check, rank, text):
    (record,), _ = measured(job, 3, *ON_GPU, "--inject-fault", fault, expect=1)
    name, where, detail = wrong(record)
    assert (name, where, record["metrics"]) == (check, rank, []) and text in detail


def test_a_byte_beside_the_rows_in_the_memory_of_the_gpu_is_found(job):
    """A rank that gets no token has nothing else to spoil."""
    (record,), _ = measured(job, 3, *ON_GPU, "--routing", "skewed:1", "--inject-fault", "element@2", expect=1)
    name, where, detail = wrong(record)
    assert (name, where) == ("dispatch", "2") and "memory beside the buffer was overwritten" in detail, detail


def test_a_gpu_that_packs_late_is_named_by_its_row(job, gpus):
    gpus(cuda="slow@2=0.0005")
    (record,), _ = measured(job, 3, *ON_GPU)
    late = {record["entities"][m["entity"]]["id"]: m["summary"]["median"] for m in metrics(record, "late_seconds")}
    assert late["2"] > 0.05 and max(late, key=late.get) == "2", late


# The kernels of the first check: places, rows, 24 times guard zones, sums, 12 times guard zones, sums, 12 times guard zones.
@pytest.mark.parametrize("cuda, words", [
    ("die@1=2", "cudaErrorLaunchFailure"),
    ("hang@1=3", "CUDA device 1 has not finished verify_byte after 1 s: it hangs"),
    ("hang@1=27", "CUDA device 1 has not finished adding results after 1 s: it hangs"),
    ("hang@1=53", "CUDA device 1 has not finished finding the places of tokens after 1 s: it hangs")])
def test_a_gpu_that_is_lost_is_named_and_nobody_waits_for_it(job, gpus, cuda, words):
    """And no other: the ranks that hear of it say nothing of their own GPUs."""
    gpus(cuda=cuda)
    (record,), said = measured(job, 3, *ON_GPU, "--hang-after", "1s", expect=4)
    assert record["outcome"] == "errored" and record["metrics"] == []
    assert re.search(r"rank 1: \S+:1 \(GPU-00000000-0000-0000-0000-000000000001\): ", said) and words in said, said
    assert "then dmesg | grep -i xid on its host" in said
    assert "GPU-00000000-0000-0000-0000-000000000000" not in said and "GPU-00000000-0000-0000-0000-000000000002" not in said, said


def test_a_gpu_that_is_lost_stays_so_in_the_points_behind(job, gpus):
    gpus(cuda="die@1=5")
    records, said = measured(job, 2, "moe", "--batch", "32,64", *ON_GPU[3:], expect=4)
    assert [r["outcome"] for r in records] == ["errored"] * 2
    assert len(re.findall(r"rank 1: \S+:1 \(GPU-\S+1\): ", said)) >= 2 and "asking for its memory" in said, said


def test_what_the_second_sum_leaves_undone_is_found(job, gpus):
    """The kernel that adds what came the second time: the sums of the first time are gone by then."""
    gpus(cuda="lost@1=40")
    (record,), _ = measured(job, 2, *ON_GPU, expect=1)
    name, where, detail = wrong(record)
    assert (name, where) == ("combine", "1") and "sum of token 0" in detail


def test_the_hosts_polls_are_in_no_time_of_combine(job, gpus):
    """A look at an event takes the host a second here: the GPU has its end before the host looks."""
    gpus(cuda="launch=1e-6 query=1")
    (record,), _ = measured(job, 2, *ON_GPU)
    for name in ("combine_seconds", "combine_exchange_seconds", "dispatch_exchange_seconds"):
        assert max(min(m["samples"]) for m in metrics(record, name)) < 0.9, name


def test_an_error_of_the_library_names_gpu_and_call(job, gpus):
    gpus(nccl="error=1:3")
    (record,), said = measured(job, 2, *ON_GPU, expect=4)
    assert record["metrics"] == []
    assert re.search(r"rank 1: \S+:1 \(GPU-\S+1\): dispatch: the exchange with the other GPUs failed: NCCL 2\.28\.9: .*remote process exited", said)
    assert "GPU-00000000-0000-0000-0000-000000000000" not in said, said


def test_an_exchange_that_hangs_ends_the_job_and_tells_what_each_rank_did(job, gpus):
    gpus(nccl="hang=1:4")
    code, _, err = job.run(2, *ON_GPU, "--hang-after", "1s", timeout=60, grace=True)
    assert code == 124, err
    for rank in (0, 1):
        assert re.search(rf"waiting +: rank {rank} on \S+: 32 tokens, dispatch rows on \S+:{rank}, inside step \d+\n", err), err
    assert "every rank is there and equally far" in err


def test_a_rank_that_dies_is_named(rank_dies):
    rank_dies(1, *SMALL[:-2], "--device", "gpu")


def test_what_cannot_be_measured_is_refused_or_skipped(job, gpus, monkeypatch):
    gpus(devices=1)
    code, _, err = job.run(2, *ON_GPU)
    assert code == 2 and "rank 1 has no GPU left: start at most as many ranks on a host as it has GPUs" in err
    gpus()
    code, _, err = job.run(2, "moe", "--device", "gpu", "--batch", "8192", "--experts", "4", "--top-k", "2", "--hidden", "2048")
    assert code == 2 and "ask for fewer tokens or a smaller --hidden" in err and "are free" in err
    monkeypatch.setenv("CLUSTERBENCH_NCCL_LIBRARY", "nonexistent.so")
    (record,), _ = measured(job, 2, *ON_GPU, expect=3)
    assert record["outcome"] == "skipped" and "NCCL cannot be opened" in record["reason"]
