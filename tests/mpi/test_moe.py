"""clusterbench moe: tokens to the ranks of their experts and back, on real ranks; wrong data and dead ranks are seen."""

import re

import pytest
from collectives import metrics

SMALL = ["--batch", "32", "--hidden", "256", "--experts", "12", "--top-k", "3", "--iterations", "5"]


def only(record, name):
    metric, = metrics(record, name)
    return metric["samples"]


def of_ranks(record, name):
    """Iteration by iteration, the samples of all ranks."""
    return list(zip(*(m["samples"] for m in metrics(record, name)), strict=True))


def approx(values):
    return pytest.approx(list(values), rel=1e-12)


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_every_routing_is_verified_and_every_figure_follows_from_the_times(job, ranks):
    code, document, out, err = job.measure(ranks, "moe", *SMALL, "--routing", "balanced,random,skewed:1", "--checks", "2")
    assert code == 0, err
    records = document["records"]
    assert [(r["params"]["batch"], r["params"]["routing"]) for r in records] == [
        (32, "balanced"), (32, "random"), (32, "skewed:1")]
    for record in records:
        assert sorted({c["name"] for c in record["checks"]}) == ["combine", "digest", "dispatch"]
        assert len(record["checks"]) == 3 * ranks and all(c["passed"] for c in record["checks"])
        # Two calls before, two after, and 1, 2, 4 of those that follow one another; each with packing and without.
        assert int(record["facts"]["verified_calls"]) == 2 * (2 + 2 + 3)
        for name in ("late_counts_seconds", "late_seconds"):
            late = of_ranks(record, name)
            assert len(late) == 5 and all(min(l) == 0 for l in late)  # some rank is the first
        for name in ("dispatch_seconds", "dispatch_exchange_seconds", "combine_seconds", "combine_exchange_seconds"):
            of = metrics(record, name)
            assert {record["entities"][m["entity"]]["id"] for m in of} == set(map(str, range(ranks)))
            assert all(m["summary"]["n"] == 5 and m["summary"]["min"] > 0 for m in of)
        for part in ("dispatch", "combine"):
            times = of_ranks(record, f"{part}_exchange_seconds")
            assert only(record, f"{part}_spread") == approx(max(t) / min(t) for t in times)
        # One host: no network between hosts, and so neither its figure nor a ceiling.
        assert not metrics(record, "dispatch_host_bytes_per_second")
        assert all("ceiling" not in m for m in record["metrics"])
    skewed = records[2]
    # Experts 0 to 2 are on rank 0 with up to four ranks: all tokens go there. A row counts 256 + 2 · 4 bytes there, 512 back.
    assert only(skewed, "routing_imbalance") == [ranks]
    sends, receives, back = 32 * 264, (ranks - 1) * 32 * 264, (ranks - 1) * 32 * 512
    slowest = [max(t) for t in of_ranks(skewed, "dispatch_exchange_seconds")]
    assert only(skewed, "dispatch_send_bytes_per_second") == approx(sends / t for t in slowest)
    assert only(skewed, "dispatch_receive_bytes_per_second") == approx(receives / t for t in slowest)
    slowest = [max(t) for t in of_ranks(skewed, "combine_exchange_seconds")]
    assert only(skewed, "combine_send_bytes_per_second") == approx(back / t for t in slowest)
    assert only(skewed, "combine_receive_bytes_per_second") == approx(32 * 512 / t for t in slowest)
    # A rank gets 32 tokens in the mean, its own included.
    whole = [max(t) for t in of_ranks(skewed, "dispatch_seconds")]
    assert only(skewed, "dispatch_algorithm_bytes_per_second") == approx(32 * 264 / t for t in whole)
    assert f"a rank gets 32.0 tokens in the mean, {document['run']['hosts'][0]} rank 0 most" in skewed["facts"]["routed"]
    assert "skewed:1" in out and "routing_imbalance" in out


@pytest.mark.parametrize("types", [("fp8", "fp32"), ("bf16", "bf16"), ("bf16", "fp32")])
def test_every_type_is_exact(job, types):
    code, document, _, err = job.measure(4, "moe", *SMALL, "--dtype", types[0], "--combine-dtype", types[1], "--routing", "skewed:0.4")
    assert code == 0, err
    record, = document["records"]
    assert all(c["passed"] and c.get("value", 0) == 0 for c in record["checks"])


def test_the_same_seed_gives_the_same_data_and_another_seed_others(job):
    digests = []
    for seed in (1, 1, 2):
        code, document, _, err = job.measure(3, "moe", *SMALL, "--seed", seed)
        assert code == 0, err
        digests.append(document["records"][0]["facts"]["data_digest"])
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("fault, check, rank, text", [
    ("1", "dispatch", 1, "element 128: got 0x"),
    ("element@3", "dispatch", 3, "element 128: got 0x"),
    ("token@2", "dispatch", 2, "in place of token "),
    ("expert@1", "dispatch", 1, " came for expert "),
    ("sum@0", "combine", 0, "sum of token 16, experts "),
])
def test_what_is_wrong_is_named_with_its_rank_and_takes_the_numbers(job, fault, check, rank, text):
    code, document, out, _ = job.measure(4, "moe", *SMALL, "--inject-fault", fault)
    assert code == 1
    record, = document["records"]
    assert record["metrics"] == [] and "data_digest" not in record["facts"]
    bad, = [c for c in record["checks"] if not c["passed"]]
    host = document["run"]["hosts"][0]
    entity = record["entities"][bad["entity"]]
    assert (bad["name"], entity["host"], entity["id"]) == (check, host, str(rank))
    assert bad["detail"].startswith(f"{host} rank {rank}: check 1 before timing: ") and text in bad["detail"]
    assert "next: " in bad["detail"] and bad["value"] >= 1
    assert f"rank {rank}" in out


def test_a_fault_of_a_rank_without_tokens_is_seen_too(job):
    code, document, _, _ = job.measure(4, "moe", *SMALL, "--routing", "skewed:1", "--inject-fault", "token@2")
    bad, = [c for c in document["records"][0]["checks"] if not c["passed"]]
    assert code == 1 and "memory beside the buffer was overwritten" in bad["detail"]


@pytest.mark.parametrize("args, text", [
    (["--experts", "10"], "10 experts cannot be divided among 4 ranks"),
    (["--experts", "4", "--top-k", "5"], "a token cannot choose 5 of 4 experts"),
    (["--hidden", "200"], "200 is no multiple of 128"),
    (["--routing", "random,skewed:2"], "skewed:2 is not known"),
    (["--inject-fault", "token@4"], "there is no rank 4"),
    (["--inject-fault", "tokens@1"], "tokens@1 is no fault"),
    (["--batch", "1048576", "--hidden", "1048576"], "ask for fewer tokens"),
])
def test_what_cannot_be_measured_is_refused_with_the_reason(job, args, text):
    code, out, err = job.run(4, "moe", *args)
    assert code == 2 and out == "", err
    assert text in err


def test_one_rank_is_skipped(job):
    code, document, _, _ = job.measure(0, "moe", *SMALL)
    assert code == 3 and document["records"][0]["outcome"] == "skipped"


def test_a_pause_is_no_part_of_a_call(job):
    code, document, _, err = job.measure(2, "moe", *SMALL, "--idle", "100ms", "--checks", "1")
    assert code == 0, err
    record, = document["records"]
    # Pauses: four in each of the five timed iterations; none is in a time. The fastest call of a busy machine tells.
    assert min(min(t) for t in of_ranks(record, "dispatch_exchange_seconds")) < 0.1
    assert record["params"]["idle"] == 0.1


def test_a_rank_that_dies_ends_the_job_and_is_named(rank_dies):
    rank_dies(2, "moe", "--hidden", "256")


def test_a_rank_that_hangs_ends_the_job_at_the_stall(rank_hangs):
    rank_hangs(1, "128 tokens, random", "moe", "--hidden", "256")


@pytest.mark.parametrize("after, name", [("MPI_Barrier", "late_counts_seconds"), ("MPI_Alltoall", "late_seconds")])
def test_a_rank_that_comes_or_packs_late_is_named_by_its_row(job, mpi_shim, after, name):
    """All ranks end at the same time, so no duration names it; and who comes late to the counts packs with the others."""
    mpi_shim("late_rank_shim.c", LATE_RANK="2", LATE_AFTER=after)
    code, document, out, err = job.measure(3, "moe", *SMALL)
    assert code == 0, err
    record, = document["records"]
    late = {record["entities"][m["entity"]]["id"]: m["summary"]["median"] for m in metrics(record, name)}
    # The others sleep in the exchange until it comes, and then share the processors with it.
    assert late["2"] > 0.015 and max(late, key=late.get) == "2", late
    row, = [line for line in out.splitlines() if name in line]
    assert re.search(r"rank 2|:2 \(of 3\)", row), row
