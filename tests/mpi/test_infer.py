"""infer over MPI: ranks that share matrices generate the tokens of one, and a fault is named."""

import pytest

SMALL = ["infer", "--library", "builtin", "--threads", "1", "--prompt", "16", "--new-tokens", "8",
         "--repetitions", "1"]


def generated(job, ranks, *args, batch="2"):
    code, document, _, err = job.measure(ranks, *SMALL, "--batch", batch, *args)
    record, = document["records"]
    assert code == 0, err
    return record


def names(record, entity):
    return {m["name"] for m in record["metrics"] if m["entity"] == entity}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    from conftest import Job
    return generated(Job(tmp_path_factory.mktemp("alone")), 0)


def test_two_ranks_share_the_matrices_and_generate_the_same_tokens(job, alone):
    record = generated(job, 2, "--tp", "2")
    assert record["facts"]["tokens_digest"] == alone["facts"]["tokens_digest"]
    assert [e["id"] for e in record["entities"] if e["kind"] == "rank"] == ["0", "1"]
    # What the replica did stands with its first rank, what a rank read with each.
    assert "decode_tokens_per_second" in names(record, 0) and "decode_tokens_per_second" not in names(record, 1)
    for entity in (0, 1):
        half, = [m for m in record["metrics"] if m["name"] == "kv_cache_bytes" and m["entity"] == entity]
        assert half["samples"] == [2 * 23 * 512 / 2]
        exchanges, = [m for m in record["metrics"]
                      if m["name"] == "exposed_communication_seconds" and m["entity"] == entity]
        assert min(exchanges["samples"]) > 0


def test_replicas_generate_their_own_sequences(job, alone):
    record = generated(job, 2)
    assert record["facts"]["tokens_digest"] != alone["facts"]["tokens_digest"]
    assert "decode_tokens_per_second" in names(record, 0) & names(record, 1)
    four = generated(job, 0, batch="4")
    assert record["facts"]["tokens_digest"] == four["facts"]["tokens_digest"]  # sequences 0 to 3 in both


@pytest.mark.parametrize("fault, check, text", [
    ("bitflip@1:0", "repeat", "rank 1 generated the same tokens twice with two results, first at: keys and values of layer 0"),
    ("nan@1:1", "finite", "rank 1: attention of layer 1, forward"),
])
def test_the_rank_whose_cache_is_wrong_is_named(job, fault, check, text):
    code, document, _, err = job.measure(2, *SMALL, "--tp", "2", "--inject-fault", fault)
    record, = document["records"]
    assert code == 1 and record["metrics"] == [], err
    bad = [c for c in record["checks"] if c["name"] == check and not c["passed"]]
    assert [record["entities"][c["entity"]]["id"] for c in bad] == ["1"]
    assert text in bad[0]["detail"]
