"""infer over MPI: ranks that share matrices generate the tokens of one, and a fault is named."""

import contextlib
import json
import os
import signal
import time

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


def samples_of(record, entity, name):
    found, = [m["samples"] for m in record["metrics"] if m["entity"] == entity and m["name"] == name]
    return found


SHORT = ["--prompt", "4", "--new-tokens", "4", "--batch", "2"]
LOAD = [*SHORT, "--arrival-rate", "20", "--requests", "20"]


def loaded(job, *args):
    code, document, _, err = job.measure(2, *SMALL[:5], "--repetitions", "1", *LOAD, *args)
    assert code == 0, err
    _, record = document["records"]
    assert {c["name"] for c in record["checks"] if c["passed"]} == {"cache", "finite", "repeat"}
    return record


def test_each_replica_has_arrivals_of_its_own(job):
    record = loaded(job)
    for entity in (0, 1):
        assert len(samples_of(record, entity, "request_seconds")) == 20
    assert samples_of(record, 0, "offered_requests_per_second") != samples_of(record, 1, "offered_requests_per_second")


def test_ranks_that_share_matrices_serve_one_queue(job):
    record = loaded(job, "--tp", "2")
    assert len(samples_of(record, 0, "request_first_token_seconds")) == 20 and "request_seconds" not in names(record, 1)
    assert sum(samples_of(record, 0, "requests_of_generation")) == 20


def capacities_of(record):
    return [samples_of(record, entity, "capacity_requests_per_second")[0] for entity in (0, 1)]


FROM_THE_ARRIVAL = {"queueing_seconds", "request_first_token_seconds", "request_first_token_p90_seconds", "request_seconds"}


def test_a_replica_that_keeps_up_does_not_stand_for_one_that_cannot(job):
    """Rank 1 is stopped four fifths of the time, and half of what it could serve before comes to each."""
    longer = ["--hidden", "512", "--layers", "4"]  # a generation takes a good part of such a stop
    rate = min(capacities_of(loaded(job, *longer))) / 2
    process = job.start(2, *SMALL[:5], "--repetitions", "20", *SHORT, *longer, "--arrival-rate", rate, "--requests", "30", "--json", job.json)
    slowed = job.wait_for_ranks(process, 2)[1]
    while process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(slowed, signal.SIGSTOP)
            time.sleep(0.04)
            os.kill(slowed, signal.SIGCONT)
        time.sleep(0.01)
    code, _, err, _ = job.finish(process, 10)
    assert code == 0, err
    _, record = json.loads(job.json.read_text())["records"]
    expected = FROM_THE_ARRIVAL if min(capacities_of(record)) > rate else set()  # a machine may be busy otherwise
    assert [names(record, entity) & FROM_THE_ARRIVAL for entity in (0, 1)] == [expected, expected]
    assert expected or any("grows without end" in note for note in record["notes"]), record["notes"]


def test_a_signal_ends_ranks_that_wait_for_requests(job):
    process = job.start(2, *SMALL[:5], "--tp", "2", "--repetitions", "1", "--arrival-rate", "0.001", "--requests", "2", "--json", job.json)
    job.wait_for_ranks(process, 2)
    time.sleep(3)  # the next request comes in a quarter of an hour
    process.send_signal(signal.SIGTERM)
    code, _, _, _ = job.finish(process, 60)
    assert code != 0
