"""train over MPI: every layout trains the same decoder, and each planted fault is named."""

import os
import re
import signal

import pytest
from conftest import PAIRS_AS_HOSTS, by_level, check_efficiency, needs_own_hosts, of_entities
from processes import compiled_shim, skip_under_sanitizers

TINY = ["train", "--library", "builtin", "--threads", "1"]
# The same 8 sequences a step, however the ranks share them.
LAYOUTS = [
    (2, ["--micro-batches", "2"]),
    (4, ["--micro-batches", "1"]),
    (2, ["--micro-batches", "2", "--shard", "zero1"]),
    (2, ["--micro-batches", "4", "--tp", "2"]),
    (2, ["--micro-batches", "4", "--tp", "2", "--recompute", "layer"]),
    (4, ["--micro-batches", "2", "--pp", "2", "--shard", "zero1"]),
]


def losses(document):
    record, = document["records"]
    metric, = [m for m in record["metrics"] if m["name"] == "loss_nats"]
    return metric["samples"]


def eight_steps(job, ranks, *args):
    _, document, _, err = job.measure(ranks, *TINY, "--steps", "8", "--warm-up-steps", "0", "--twin-every", "0",
                                      "--hash-every", "4", *args)
    wrong = [c for c in document["records"][0]["checks"] if not c["passed"] and not c.get("finding")]
    assert wrong == [], err
    return losses(document)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    from conftest import Job
    return eight_steps(Job(tmp_path_factory.mktemp("alone")), 0, "--micro-batches", "4")


@pytest.mark.parametrize("ranks, layout", LAYOUTS)
def test_every_layout_trains_the_same_decoder(job, alone, ranks, layout):
    assert eight_steps(job, ranks, *layout) == pytest.approx(alone, rel=1e-5)
    assert alone[-1] < alone[0]


def test_a_pipeline_gives_the_same_bits(job, alone):
    assert eight_steps(job, 2, "--micro-batches", "4", "--pp", "2") == alone


def failed(job, ranks, fault, *args, steps=4, hash_every=1):
    """(name of the check, ids of the ranks, texts) of what failed."""
    code, document, _, err = job.measure(ranks, *TINY, "--steps", steps, "--warm-up-steps", "0", "--hash-every", hash_every,
                                         "--inject-fault", fault, *args)
    record, = document["records"]
    bad = [c for c in record["checks"] if not c["passed"]]
    assert code == 1 and bad, err
    assert record["metrics"] == []
    return ({c["name"] for c in bad}, sorted(int(record["entities"][c["entity"]]["id"]) for c in bad),
            " ".join(c["detail"] for c in bad))


def test_the_vote_names_the_rank_and_the_layer_of_a_flipped_bit(job):
    names, ranks, text = failed(job, 3, "bitflip@1:1")
    assert (names, ranks) == ({"twin"}, [1])
    assert "rank 1 differs" in text and "feed-forward of layer 1, forward" in text


def test_two_that_contradict_each_other_are_both_named_at_the_place_of_the_fault(job):
    # Ranks 1 and 3 hold the second half of the matrices of their replicas.
    names, ranks, text = failed(job, 4, "bitflip@1:0", "--tp", "2")
    assert (names, ranks) == ({"twin"}, [1, 3])
    assert "feed-forward of layer 0, forward" in text and "a third replica would decide" in text


def test_alone_a_rank_is_compared_with_itself(job):
    names, ranks, text = failed(job, 0, "0")
    assert (names, ranks) == ({"twin"}, [0])
    assert "computed the same step twice" in text


def test_a_weight_that_changes_by_itself_is_seen_by_the_other_replicas(job):
    names, ranks, text = failed(job, 3, "weight@2", "--twin-every", "0")
    assert (names, ranks) == ({"weights"}, [2])
    assert "rank 2 differs" in text


@pytest.mark.parametrize("layout", [[], ["--shard", "zero1"]])
def test_it_is_seen_whatever_the_number_of_updates_before_the_weights_are_compared(job, layout):
    for steps in (4, 5):  # a bit that flips twice is as it was
        names, ranks, _ = failed(job, 2, "weight@1", *layout, steps=steps, hash_every=10)
        assert (names, ranks) == ({"weights"}, [0, 1])


def test_a_fault_is_planted_in_a_layer_of_its_rank(job):
    names, ranks, text = failed(job, 2, "1", "--pp", "2")
    assert (names, ranks) == ({"twin"}, [1]) and "feed-forward of layer 1, forward" in text
    code, _, err = job.run(2, *TINY, "--pp", "2", "--inject-fault", "bitflip@1:0")
    assert code == 2 and "rank 1 computes layers 1 to 1, not layer 0" in err


@pytest.mark.parametrize("layout", [[], ["--pp", "2", "--micro-batches", "2"]])
def test_the_first_number_that_is_not_finite_is_located(job, layout):
    names, ranks, text = failed(job, 2, "nan@1:1", "--twin-every", "0", *layout)
    assert (names, ranks) == ({"finite"}, [1])
    assert "feed-forward of layer 1, forward" in text and "in step 0" in text


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs a core for each of two ranks")
def test_a_slow_rank_is_named_although_all_steps_take_equally_long(job):
    # Large enough that a pause of half its computing is more than the noise of a busy machine, of three runs in one at least.
    for _ in range(3):
        _, document, _, err = job.measure(2, *TINY, "--steps", "25", "--micro-batch", "8", "--twin-every", "0",
                                          "--inject-fault", "slow@1")
        record, = document["records"]
        slow = [(c["name"], record["entities"][c["entity"]]["id"], c["finding"], c["value"] > 1.2)
                for c in record["checks"] if not c["passed"]]
        # In a run it may be missed; nobody else is accused.
        assert all((name, rank) == ("straggler", "1") for name, rank, _, _ in slow), err
        if slow == [("straggler", "1", True, True)]:
            break
    assert slow == [("straggler", "1", True, True)], err
    assert "tokens_per_second" in {m["name"] for m in record["metrics"]}  # a finding: the numbers stand


def test_a_slow_rank_is_no_fault_where_nobody_looks_for_one(job):
    """Of ranks that share cores one waits while another computes."""
    code, _, err = job.run(len(os.sched_getaffinity(0)) + 1, "train", "--steps", 2, "--warm-up-steps", 0, "--threads", 1, "--inject-fault", "slow@1")
    assert code == 2 and "ranks share cores, so no slow rank is looked for; next: fewer ranks on a host" in " ".join(err.split()), err


def test_ranks_that_cannot_share_the_work_are_told_before_anything_is_computed(job):
    code, _, err = job.run(3, *TINY, "--tp", "2")
    assert code == 2 and "3 ranks are no multiple of --tp 2 × --pp 1" in err
    code, _, err = job.run(4, *TINY, "--tp", "4")
    assert code == 2 and "4 does not divide 2 heads of keys and values" in err


def test_a_rank_that_dies_is_named_with_its_step(job):
    process = job.start(3, *TINY, "--steps", "10000000", "--json", job.json)
    ranks = job.wait_for_ranks(process, 3)
    # Progress is told every ten seconds: then it trains.
    assert any("step " in line for line in iter(process.stderr.readline, ""))
    os.kill(ranks[1], signal.SIGKILL)
    _, _, err, _ = job.finish(process, 100)
    assert "a rank was lost" in err and re.search(r"not there : \S+ rank 1: .*last in (twin step after )?step \d+", err), err


def resumable(job, folder, steps, *args):
    _, document, _, err = job.measure(2, *TINY, "--steps", steps, "--warm-up-steps", "1", "--twin-every", "0", "--shard", "zero1",
                                      "--checkpoint-dir", str(folder), "--checkpoint-every", "4", *args)
    record, = document["records"]
    assert "weights_digest" in record["facts"], err
    return record["facts"]


def test_ranks_resume_at_the_newest_step_that_all_have_whole(job, tmp_path):
    straight = resumable(job, tmp_path, "16")  # checkpoints of 4, 8, 12 and 16: two stay
    for file in tmp_path.glob("*.checkpoint"):
        file.unlink()
    resumable(job, tmp_path, "10")  # of 4 and 8
    newest = tmp_path / "clusterbench-train-rank1.1.checkpoint"
    newest.write_bytes(newest.read_bytes()[:100])  # rank 1 was killed while it wrote
    resumed = resumable(job, tmp_path, "16", "--resume")
    assert resumed["resumed_at"] == "4"
    assert resumed["weights_digest"] == straight["weights_digest"]


needs_two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs a core for each of two ranks")
SCALED = [*TINY, "--steps", "5", "--warm-up-steps", "1", "--twin-every", "0"]


def losses_of(record, who=("", "")):
    return of_entities(record, "loss_nats")[who]


@needs_own_hosts
@needs_two_cores
def test_groups_of_growing_size_train_the_same_and_are_compared(job):
    """Four ranks on two hosts: each by itself, each host by itself, all; with as many tokens a rank, then with as many a step."""
    _, plain, _, err = job.measure(4, *SCALED, before=PAIRS_AS_HOSTS)
    _, document, _, err = job.measure(4, *SCALED, "--scaling", "weak,strong", before=PAIRS_AS_HOSTS, timeout=400)
    found = by_level(document)
    assert list(found) == [(kind, level) for kind in ("weak", "strong") for level in ("replica", "host", "all")], err
    for kind in ("weak", "strong"):
        replica, host, whole = (found[(kind, level)] for level in ("replica", "host", "all"))
        assert of_entities(replica, "tokens_per_second").keys() == {("h0", "0"), ("h0", "1"), ("h1", "2"), ("h1", "3")}
        assert of_entities(host, "tokens_per_second").keys() == {("h0", ""), ("h1", "")}
        assert of_entities(whole, "tokens_per_second").keys() == {("", "")}
        assert not of_entities(replica, "scaling_efficiency") and not of_entities(host, "host_scaling_efficiency")
        check_efficiency(host, "scaling_efficiency", replica)
        check_efficiency(whole, "scaling_efficiency", replica)
        check_efficiency(whole, "host_scaling_efficiency", host)
        assert losses_of(whole) == losses_of(plain["records"][0])  # bit by bit
        assert not [c for r in (replica, host, whole) for c in r["checks"] if not c["passed"] and not c.get("finding")]
        assert replica["facts"]["groups"] == "4 group(s) at the same time, each of 1 rank(s) on 1 host(s)"
        assert host["facts"]["groups"] == "2 group(s) at the same time, each of 2 rank(s) on 1 host(s)"
    assert found[("weak", "replica")]["facts"]["batch"] == "1 replica(s) × 1 micro-batch(es) × 2 sequence(s) of 32 tokens"
    assert found[("strong", "replica")]["facts"]["batch"] == "1 replica(s) × 4 micro-batch(es) × 2 sequence(s) of 32 tokens"
    # The same tokens in each step, however many ranks share them.
    for who in [("h0", "0"), ("h1", "3")]:
        assert losses_of(found[("strong", "replica")], who) == pytest.approx(losses_of(found[("strong", "all")]), rel=1e-5)
    # Each by itself on the first tokens: all alike.
    alone = of_entities(found[("weak", "replica")], "loss_nats")
    assert all(losses == alone[("h0", "0")] for losses in alone.values())


@needs_own_hosts
@needs_two_cores
def test_ranks_that_share_matrices_are_the_smallest_group(job):
    _, document, _, err = job.measure(4, *SCALED, "--scaling", "weak", "--tp", "2", before=PAIRS_AS_HOSTS)
    found = by_level(document)
    assert list(found) == [("weak", "host"), ("weak", "all")], err  # a replica is a host here
    check_efficiency(found[("weak", "all")], "scaling_efficiency", found[("weak", "host")])
    check_efficiency(found[("weak", "all")], "host_scaling_efficiency", found[("weak", "host")])


def test_ranks_that_share_a_core_have_no_efficiency(job):
    core = str(min(os.sched_getaffinity(0)))
    _, document, _, err = job.measure(2, *SCALED, "--scaling", "weak", before=["taskset", "-c", core])
    replica, whole = document["records"]
    assert len(of_entities(replica, "tokens_per_second")) == 2 and of_entities(whole, "tokens_per_second"), err
    assert not of_entities(whole, "scaling_efficiency")
    assert any("ranks share cores" in note and "no scaling efficiency" in note for note in whole["notes"])


@needs_two_cores
def test_wrong_data_of_a_rank_alone_is_named_and_nothing_is_compared_with_it(job):
    code, document, _, err = job.measure(2, *TINY, "--steps", "3", "--warm-up-steps", "0", "--scaling", "weak",
                                         "--inject-fault", "bitflip@1:0")
    replica, whole = document["records"]
    bad, = [c for c in replica["checks"] if not c["passed"] and not c.get("finding")]
    finite = {replica["entities"][c["entity"]]["id"] for c in replica["checks"] if c["name"] == "finite"}
    assert finite == {"0"}  # whoever was stopped before its first step has not been looked at
    assert code == 1 and bad["name"] == "twin" and replica["entities"][bad["entity"]]["id"] == "1", err
    assert "rank 1 computed the same step twice" in bad["detail"]
    assert replica["metrics"] == [] and whole["metrics"] == []
    assert "no scaling_efficiency: level replica has no numbers, with which it would be compared" in whole["notes"]


def test_a_rank_that_dies_while_it_trains_alone_is_named(job):
    process = job.start(3, *TINY, "--steps", "10000000", "--scaling", "weak", "--json", job.json)
    ranks = job.wait_for_ranks(process, 3)
    assert any("step " in line for line in iter(process.stderr.readline, ""))
    os.kill(ranks[1], signal.SIGKILL)
    _, _, err, _ = job.finish(process, 100)
    assert "a rank was lost" in err and re.search(r"not there : \S+ rank 1: .*last in (twin step after )?step \d+", err), err


@pytest.mark.parametrize("ranks, layout, stuck, call", [(2, ("--library", "auto"), "0", "MPI_Iallreduce"), (3, ("--library", "builtin", "--pp", "3", "--layers", "3", "--micro-batches", "4"), "1", "MPI_Isend")],
                         ids=["replicas", "stages"])
def test_a_rank_that_does_not_come_to_an_exchange_is_named_and_not_who_waits_there(job, mpi_shim, ranks, layout, stuck, call):
    mpi_shim("stuck_rank_shim.c", STUCK_RANK=stuck, STUCK_CALL=call)
    code, out, err = job.run(ranks, "train", "--threads", "1", "--steps", "6", "--twin-every", "0", "--stall", "10s", *layout)
    assert code == 124, out + err
    assert re.findall(r"not there : \S+ rank (\d+): is behind", err) == [stuck], err
    assert re.search(r"waiting   : ranks? \S+ on \S+: step 0, inside", err), err


def test_an_exchange_that_never_ends_accuses_nobody_who_waits_elsewhere(job, mpi_shim):
    """Each rank of 0 and 1, and of 2 and 3, has half of the matrices. The gradients of 0 and 2 do not arrive; 1 and 3 are done with theirs."""
    mpi_shim("stuck_rank_shim.c", LOST_RANKS="02")
    code, out, err = job.run(4, *TINY, "--steps", "6", "--twin-every", "0", "--stall", "4s", "--tp", "2")
    assert code == 124, out + err
    assert "every rank is there" in err and "not there" not in err, err


def test_steps_that_ranks_did_alone_accuse_nobody_of_a_later_hang(job, mpi_shim):
    """Rank 1 ends its own training at the first step, since it meets a NaN, and rank 0 does all. Together it is rank 0 that does not come."""
    mpi_shim("stuck_rank_shim.c", STUCK_RANK="0", STUCK_CALL="MPI_Iallreduce")
    code, out, err = job.run(2, *TINY, "--steps", "6", "--warm-up-steps", "0", "--twin-every", "0", "--scaling", "weak", "--inject-fault", "nan@1:0",
                             "--stall", "4s")
    assert code == 124, out + err
    assert re.findall(r"not there : \S+ rank (\d+)", err) == ["0"], err


def test_a_group_that_ends_early_waits_for_one_that_trains_on(job):
    """Rank 1 ends within a tenth of a second; ten times that and --stall are over before rank 0 has done its steps."""
    code, document, _, err = job.measure(2, *TINY, "--steps", "6000", "--warm-up-steps", "0", "--twin-every", "0", "--scaling", "weak",
                                         "--inject-fault", "nan@1:0", "--stall", "3s")
    replica, whole = document["records"]
    assert code == 1 and replica["outcome"] == whole["outcome"] == "measured", err
    assert {replica["entities"][c["entity"]]["id"] for c in replica["checks"] if not c["passed"] and not c.get("finding")} == {"1"}, err


def test_a_rank_whose_flush_hangs_is_named_and_not_those_that_wait_for_it(job, tmp_path, monkeypatch):
    skip_under_sanitizers(os.environ["CLUSTERBENCH_BIN"])
    hangs = compiled_shim(tmp_path, "#include <stdlib.h>\n#include <sys/stat.h>\n#include <unistd.h>\nint fsync(int f) { struct stat s;"
                      " const char* rank = getenv(\"OMPI_COMM_WORLD_RANK\");"
                      " if (rank && atoi(rank) == 1 && !fstat(f, &s) && S_ISREG(s.st_mode)) sleep(600); return 0; }")
    monkeypatch.setenv("LD_PRELOAD", str(hangs))
    code, out, err = job.run(2, *TINY, "--steps", "6", "--warm-up-steps", "1", "--twin-every", "0", "--checkpoint-dir", tmp_path,
                             "--checkpoint-every", "3", "--stall", "4s")
    assert code == 124, out + err
    assert re.search(r"not there : \S+ rank 1: .*checkpoint after step 3", err), err
    assert not re.search(r"not there : \S+ rank 0", err), err


def test_a_level_that_fails_costs_only_itself(job, tmp_path):
    """A rank may take 2.25 MiB here. It needs 2.57 MiB if it keeps the optimizer's state by itself, and 1.94 MiB if two ranks divide it."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 100000 kB\nMemAvailable: 5760 kB\n")
    code, document, _, err = job.measure(2, *TINY, "--micro-batch", "1", "--sequence", "8", "--steps", "3", "--warm-up-steps", "0",
                                         "--scaling", "weak", "--shard", "zero1", "--sysroot", tmp_path)
    replica, whole = document["records"]
    assert (replica["outcome"], whole["outcome"]) == ("errored", "measured"), err
    assert code == (1 if any(not c["passed"] for c in whole["checks"]) else 4)  # a busy machine makes stragglers
    assert all(f"rank {rank} needs 2.57 MiB" in replica["reason"] for rank in (0, 1)), replica["reason"]
    assert of_entities(whole, "tokens_per_second") and not of_entities(whole, "scaling_efficiency")


def test_what_cannot_be_compared_is_refused(job):
    code, _, err = job.run(0, *TINY, "--scaling", "weak")
    assert code == 2 and "the levels of 1 rank(s) on 1 host(s) are the same" in err
    code, _, err = job.run(2, *TINY, "--level", "all")
    assert code == 2 and "--level  needs --scaling, which compares the levels" in err
