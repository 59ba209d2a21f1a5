"""clusterbench tcp on real ranks of one host: figures, verification, schedules, bad input; rounds beside --stall."""

import json
import os
import signal
import socket

import pytest
from collectives import metrics
from processes import wait_until_busy


def test_bandwidth_and_latency_of_a_pair(job):
    code, document, out, err = job.measure(
        2, "tcp", "--duration", "500ms", "--streams", "1,3", "--direction", "one-way,two-way")
    assert code == 0, err
    records = document["records"]
    assert [(r["params"]["test"], r["params"].get("direction"), r["params"]["streams"])
            for r in records] == [
        ("bandwidth", "one-way", 1), ("bandwidth", "one-way", 3), ("bandwidth", "two-way", 1),
        ("bandwidth", "two-way", 3), ("latency", None, 1)]
    for record in records[:4]:
        bandwidth, = metrics(record, "bytes_per_second")
        assert bandwidth["summary"]["n"] <= 10
        assert bandwidth["summary"]["mean"] > 0  # half of the windows may pass without a sender on a busy machine
        assert "ceiling" not in bandwidth  # loopback has no rate
        pair = record["entities"][bandwidth["entity"]]
        assert (pair["kind"], pair["id"]) == ("pair", "lo rank 0")
        assert len(metrics(record, "retransmits")) == 1
        two_way = record["params"]["direction"] == "two-way"
        assert len(metrics(record, "reverse_retransmits")) == two_way
        for name in ("send_cpu_per_gigabit_seconds", "receive_cpu_per_gigabit_seconds"):
            cost, = metrics(record, name)
            assert cost["summary"]["max"] > 0
        assert record["facts"]["zero_copy"].startswith("off")  # loopback copies
        assert record["facts"]["congestion_control"]
    latency, = metrics(records[4], "half_round_trip_seconds")
    tail, = metrics(records[4], "latency_p999_seconds")
    summary = latency["summary"]
    assert 0 < summary["min"] <= summary["median"] <= summary["p99"] <= summary["max"]
    assert tail["summary"]["median"] <= summary["max"]


def test_every_byte_is_compared(job):
    code, document, out, err = job.measure(2, "tcp", "--duration", "300ms", "--verify")
    assert code == 0, err
    checks = [c for r in document["records"] for c in r["checks"]]
    assert len(checks) == 1 + 2  # the receiving end; of a ping-pong both
    assert all(c["name"] == "data" and c["passed"] for c in checks)


def test_a_wrong_byte_takes_the_numbers(job):
    code, document, out, err = job.measure(2, "tcp", "--duration", "300ms", "--verify",
                                           "--inject-fault", 1, "--test", "bandwidth")
    assert code == 1
    record, = document["records"]
    assert not record["metrics"]
    wrong, = [c for c in record["checks"] if not c["passed"]]
    assert "is wrong from byte" in wrong["detail"]


# The sender of a bandwidth, a rank without a partner, the senders of an incast, a rank that is not there.
@pytest.mark.parametrize("ranks, rank, more, message", [
    (2, 0, ("--test", "bandwidth"), "rank 0 receives nothing that could be spoilt; ranks that do: 1"),
    (3, 2, ("--test", "latency"), "rank 2 receives nothing that could be spoilt; ranks that do: 0-1"),
    (3, 2, ("--test", "bandwidth", "--schedule", "incast"), "rank 2 receives nothing that could be spoilt; ranks that do: 0"),
    (2, 7, (), "there is no rank 7")])
def test_a_fault_that_no_end_would_plant_is_refused(job, ranks, rank, more, message):
    code, out, err = job.run(ranks, "tcp", "--duration", "200ms", "--verify", "--inject-fault", rank, *more)
    assert code == 2, out + err
    assert message in err


def test_the_first_rank_that_receives_can_be_asked_for(job):
    code, document, _, err = job.measure(3, "tcp", "--duration", "200ms", "--verify", "--inject-fault", -1, "--test", "bandwidth")
    assert code == 1, err
    (record,) = document["records"]
    wrong = [record["entities"][c["entity"]] for c in record["checks"] if not c["passed"]]
    assert len(wrong) == 1 and "rank 1" in json.dumps(wrong) and not record["metrics"]


def test_each_point_has_the_fault_at_the_first_of_its_own_receivers(job):
    """Bandwidth and latency compare with code of their own: a fault in one of them proves nothing of the other."""
    code, document, _, err = job.measure(2, "tcp", "--duration", "200ms", "--verify", "--inject-fault", -1)
    assert code == 1 and len(document["records"]) == 2, err
    for record in document["records"]:
        assert [c["name"] for c in record["checks"] if not c["passed"]] == ["data"] and not record["metrics"], record["params"]


def test_a_sender_that_receives_in_another_point_spoils_that(job):
    code, document, _, err = job.measure(2, "tcp", "--duration", "200ms", "--verify", "--inject-fault", 0)
    assert code == 1, err
    assert [[c["passed"] for c in r["checks"]] for r in document["records"]] == [[True], [False, True]]


def test_every_directed_pair_once(job):
    code, document, out, err = job.measure(3, "tcp", "--duration", "200ms", "--schedule", "shift",
                                           "--streams", 1, "--test", "bandwidth")
    assert code == 0, err
    record, = document["records"]
    pairs = [(record["entities"][m["entity"]]["id"], record["entities"][m["entity"]]["peer"])
             for m in metrics(record, "bytes_per_second")]
    host = document["run"]["hosts"][0]
    assert sorted(pairs) == sorted(
        (f"lo rank {a}", f"{host}:lo rank {b}") for a in range(3) for b in range(3) if a != b)


LOCATE = ("locate", "--backend", "mpi", "--between", "rank", "--mode", "full", "--tolerance", 0.9)


def available_bytes():
    with open("/proc/meminfo") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))


# With 1 GiB a message: 16 messages of an end over MPI, 8 over TCP.
@pytest.mark.parametrize("backend, messages", [("mpi", 16), ("tcp", 8)])
def test_messages_larger_than_the_memory_are_refused_before_they_are_made(job, backend, messages):
    needed = 4 * messages << 30
    if needed < 0.8 * available_bytes():
        pytest.skip("this host has the memory")
    code, out, err = job.run(4, "locate", "--backend", backend, "--between", "rank", "--two-way", "--size", "1G")
    assert code == 2, out + err
    assert "the messages of 4 rank(s) on" in err and f"need {needed / 2**30:.1f} GiB" in err and "next: a smaller --size" in err


def test_a_round_that_takes_longer_than_the_stall_is_no_hang(job):
    code, document, _, err = job.measure(2, "tcp", "--duration", "1200ms", "--stall", "1s", "--test", "bandwidth")
    assert code == 0, err
    # Of three ranks one waits for the two others in every round.
    code, document, _, err = job.measure(3, *LOCATE, "--two-way", "--duration", "1200ms", "--repeats", 1, "--stall", "1s")
    assert code == 0, err
    assert document["records"][0]["outcome"] == "measured"


def test_a_rank_that_stops_in_a_round_is_named_after_the_rounds_deadline(job, nothing_left):
    process = job.start(3, *LOCATE, "--duration", "1s", "--repeats", 50, "--round-deadline", "1s", "--stall", "1s")
    pids = job.wait_for_ranks(process, 3)
    wait_until_busy(pids[1], 0.5)
    os.kill(pids[1], signal.SIGSTOP)
    code, _, err, _ = job.finish(process, timeout=60)
    assert code == 124, err
    assert f"not there : {os.uname().nodename} rank 1: has been silent for" in err
    assert 1 < job.seconds_after("has been silent for", err) < 1 + 1 + 1 + 6  # the round, its deadline, the stall
    nothing_left(pids.values())


@pytest.mark.parametrize("args, message", [
    (("--interface", "nosuch0"), "nosuch0 is not known"),
    (("--verify", "--zero-copy", "on"), "leave --zero-copy on out"),
    (("--max-size", "1K"), "needs --min-size"),
])
def test_bad_input_is_told_before_anything_is_measured(job, args, message):
    code, out, err = job.run(2, "tcp", *args)
    assert code == 2
    assert message in err


def test_one_rank_is_skipped_with_the_reason(job):
    code, out, err = job.run(0, "tcp")
    assert code == 3
    assert "needs 2 ranks" in err


def test_a_bisection_by_leaf_says_how_many_pairs_cross(job, tmp_path):
    leaves = tmp_path / "leaves"
    leaves.write_text(f"{socket.gethostname()} a\n")
    code, document, out, err = job.measure(
        4, "tcp", "--schedule", "bisection", "--leaf-map", leaves, "--test", "bandwidth",
        "--duration", "200ms")
    assert code == 0, err
    assert document["records"][0]["facts"]["bisection"] == (
        "1 leaf of --leaf-map, 0 of 2 pairs cross")  # one host is on one leaf


@pytest.mark.parametrize("text, said", [
    ("n1\n", "line 1: write HOST LEAF"), ("elsewhere a\n", "has no line for the host"),
    ("", "empty"), ("# none\n", "names no host"), (None, "No such file")])
def test_a_wrong_leaf_map_is_told_before_anything_is_measured(job, tmp_path, text, said):
    leaves = tmp_path / "leaves"
    if text is not None:
        leaves.write_text(text)
    code, _, err = job.run(2, "tcp", "--schedule", "bisection", "--leaf-map", leaves)
    assert code == 2, err
    assert said in err
