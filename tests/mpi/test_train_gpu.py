"""train --device gpu over several ranks, each with a stand-in GPU (tests/fake_cuda) that runs the real kernels, and a stand-in NCCL whose
calls begin and end in the order of the GPU's streams: every layout, each planted fault, and what fails between GPUs."""
import json
import os
import re
import signal
from pathlib import Path

import conftest
import pytest
from conftest import PAIRS_AS_HOSTS, by_level, check_efficiency, needs_own_hosts, of_entities

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
BIN = BUILD / "bin" / "clusterbench_fake_gpu"
TINY = ["train", "--hidden", "16", "--heads", "4", "--kv-heads", "2", "--head-dim", "4", "--feed-forward", "24", "--vocabulary", "64", "--layers", "2",
        "--sequence", "8"]
# The same 8 sequences a step, however the ranks share them.
LAYOUTS = [
    (2, ["--micro-batches", "2"]),
    (2, ["--micro-batches", "2", "--shard", "zero1"]),
    (2, ["--micro-batches", "4", "--tp", "2"]),
    (2, ["--micro-batches", "4", "--pp", "2"]),
    (4, ["--micro-batches", "2", "--tp", "2"]),
    (4, ["--micro-batches", "4", "--tp", "2", "--pp", "2"]),
]

pytestmark = pytest.mark.skipif(not BIN.exists(), reason="built without CUDA")


@pytest.fixture(autouse=True)
def stand_ins(stand_in_gpus):
    return stand_in_gpus


def scale(job, ranks, *args, steps=3, **options):
    code, document, _, err = job.measure(ranks, *TINY, "--device", "gpu", "--steps", steps, "--warm-up-steps", "0", *args, **options)
    return code, document, err


def train(job, ranks, *args, device="gpu", steps=3, shape=TINY):
    code, document, _, err = job.measure(ranks, *shape, "--device", device, "--steps", steps, "--warm-up-steps", "0", *args)
    record, = document["records"]
    return code, record, err


def samples(record, name):
    return [m["samples"] for m in record["metrics"] if m["name"] == name]


def losses(record):
    metric, = samples(record, "loss_nats")
    return metric


def failed(record):
    """(names of the checks, ids of the GPUs, texts) of what failed."""
    bad = [c for c in record["checks"] if not c["passed"]]
    return ({c["name"] for c in bad}, sorted(record["entities"][c["entity"]]["id"] for c in bad), " ".join(c["detail"] for c in bad))


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    _, record, err = train(conftest.Job(tmp_path_factory.mktemp("alone")), 0, "--micro-batches", "4", "--twin-every", "0", "--library", "builtin",
                           "--threads", "1", device="cpu")
    assert record["metrics"], err
    return losses(record)


@pytest.mark.parametrize("ranks, layout", LAYOUTS)
def test_every_layout_trains_the_decoder_that_a_processor_trains(job, alone, ranks, layout):
    _, record, err = train(job, ranks, *layout)
    wrong = [c for c in record["checks"] if not c["passed"] and not c.get("finding")]  # a busy machine makes stragglers
    assert wrong == [], err
    assert losses(record) == pytest.approx(alone, rel=1e-7)  # measured 3e-9
    assert record["facts"]["collectives"] == "NCCL 2.28.9"
    assert [f"rank {r}: " in record["facts"]["rank_map"] for r in range(ranks)] == [True] * ranks
    gpus = {record["entities"][m["entity"]]["id"] for m in record["metrics"] if m["name"] == "forward_seconds"}
    assert gpus == {str(r) for r in range(ranks)}  # one each
    assert all(s > 0 for samples_of in samples(record, "exposed_communication_seconds") for s in samples_of)
    assert any(s > 0.01 for samples_of in samples(record, "bubble_share") for s in samples_of) == ("--pp" in layout)


def test_the_same_layout_gives_the_same_bits(job):
    results = []
    for _ in range(2):
        _, record, _ = train(job, 2, "--micro-batches", "2", "--twin-every", "0")
        results.append((losses(record), record["facts"]["weights_digest"]))
    assert results[0] == results[1]


def exchanges_of_rank_0(log):
    """(what a GPU had computed when an exchange began, and when it ended) in their order."""
    lines = [line.split() for line in log.read_text().splitlines() if re.match(r"(begin|end) AllReduce rank 0 ", line)]
    return list(zip(*([int(line[-1]) for line in lines if line[0] == word] for word in ("begin", "end"))))


def test_gradients_are_exchanged_while_the_backward_goes_on(job, tmp_path):
    """Four blocks a step: the head's begins first, between two of a step lies the backward of a layer, and the GPU computes beside."""
    train(job, 2, "--twin-every", "0", "--hash-every", "0")
    step = exchanges_of_rank_0(tmp_path / "nccl.log")[:4]
    head, last, first, embedding = [begin for begin, _ in step]
    assert last - head > 20 and first - last > 20 and embedding >= first, step
    assert any(end > begin for begin, end in step), step


def test_the_vote_names_the_gpu_and_the_layer_of_a_flipped_bit(job):
    code, record, err = train(job, 3, "--inject-fault", "bitflip@1:1")
    names, gpus, text = failed(record)
    assert (code, names, gpus, record["metrics"]) == (1, {"twin"}, ["1"], []), err
    assert "rank 1 differs" in text and "feed-forward of layer 1, forward" in text


def test_a_message_that_leaves_late_holds_what_was_sent(job, alone, stand_ins):
    """Its caller has used the array again by then, and the next message has a place of its own."""
    stand_ins(nccl="late_sends=1:300")
    _, record, err = train(job, 2, "--micro-batches", "4", "--pp", "2", "--twin-every", "0", steps=2)
    assert losses(record) == pytest.approx(alone[:2], rel=1e-7), err


def test_neighbours_that_send_to_each_other_do_not_wait_for_each_other(job, alone):
    """ncclSend blocks its communicator until the peer receives. In 1F1B both neighbours send and then receive: with one communicator
    for both directions the first step would never end."""
    _, record, err = train(job, 2, "--micro-batches", "4", "--pp", "2", "--twin-every", "0", "--hang-after", "5s", steps=1)
    assert losses(record) == pytest.approx(alone[:1], rel=1e-7), err


def test_large_logits_do_not_leave_the_range_of_exponentials(job):
    """Each exponential is that of a logit minus the largest one of all ranks. Any other number that the ranks agree on gives the same loss
    as long as the logits are small."""
    wide = ["train", "--hidden", "128", "--heads", "4", "--kv-heads", "2", "--head-dim", "4", "--feed-forward", "24", "--vocabulary", "64",
            "--layers", "1", "--sequence", "8"]
    args = ["--micro-batches", "2", "--twin-every", "0", "--learning-rate", "10"]
    _, whole, err = train(job, 0, *args, "--library", "builtin", "--threads", "1", device="cpu", steps=8, shape=wide)
    assert whole["metrics"], err
    _, shared, err = train(job, 2, *args, "--tp", "2", steps=8, shape=wide)
    assert shared["metrics"], err
    # Nats: logits of that size, and e^100 is no fp32 number. Rounding grows with such steps: only the first ones are the same.
    assert max(losses(whole)) > 100 and max(losses(shared)) > 100
    assert losses(shared)[:3] == pytest.approx(losses(whole)[:3], rel=1e-3)


def test_what_a_gpu_waits_for_is_exposed_and_no_computing(job, stand_ins):
    stand_ins(nccl="bus=AllGather:20")  # each takes 25 ms, and a step has ten
    _, record, err = train(job, 2, "--tp", "2", "--twin-every", "0", steps=2)
    exposed = samples(record, "exposed_communication_seconds")
    assert len(exposed) == 2 and min(map(min, exposed)) > 0.2, err


def test_a_slow_gpu_is_named_and_its_numbers_stand(job):
    # Half its computing is more than the noise of a busy machine, mostly.
    for _ in range(3):
        code, record, err = train(job, 2, "--micro-batch", "8", "--twin-every", "0", "--inject-fault", "slow@1", steps=6)
        names, gpus, text = failed(record)
        if names:
            break
    assert (code, names, gpus) == (1, {"straggler"}, ["1"]), err
    assert all(c["finding"] for c in record["checks"] if not c["passed"]) and "rank 1" in text
    computing = [m for m in record["metrics"] if m["name"] == "forward_seconds"]
    assert sorted(record["entities"][m["entity"]]["id"] for m in computing) == ["0", "1"]


def test_the_first_number_that_is_not_finite_is_located_behind_a_stage(job):
    code, record, err = train(job, 2, "--pp", "2", "--micro-batches", "2", "--twin-every", "0", "--inject-fault", "nan@0:0")
    names, gpus, text = failed(record)
    assert (code, names, gpus, record["metrics"]) == (1, {"finite"}, ["0"], []), err
    assert "feed-forward of layer 0, forward" in text


def test_a_weight_that_a_replica_received_wrong_is_seen(job, stand_ins):
    stand_ins(nccl="wrong=1:2")
    code, record, err = train(job, 2, "--shard", "zero1", "--hash-every", "1")
    names, gpus, _ = failed(record)
    assert code == 1 and "weights" in names and record["metrics"] == [] and gpus == ["0", "1"], err


def test_a_gradient_that_a_replica_received_wrong_in_its_last_bit_is_seen(job, stand_ins):
    """A majority of three names the one."""
    stand_ins(nccl="wrong=2:2")
    code, record, err = train(job, 3, "--hash-every", "4", "--twin-every", "0", steps=4)
    names, gpus, _ = failed(record)
    assert (code, names, gpus, record["metrics"]) == (1, {"weights"}, ["2"], []), err


@pytest.mark.parametrize("layout, group", [([], "all_reduce of the replicas (0, 1): NCCL 2.28.9: all_reduce: remote process exited"),
                                           (["--tp", "2"], "of the ranks that share matrices (0, 1): NCCL 2.28.9"),
                                           (["--pp", "2"], "of neighbouring stages of the pipeline (ranks 0, 1): NCCL 2.28.9")])
def test_an_error_of_the_library_names_gpu_and_group(job, stand_ins, layout, group):
    stand_ins(nccl="error=1:7")
    code, record, err = train(job, 2, *layout, steps=20)
    assert code == 4 and record["metrics"] == []
    assert re.search(r"\S+:[01] \(GPU-0{8}-\S+\): ", err) and group in err, err
    assert "next: look at the other ranks" in err and "`clusterbench nccl` over the same GPUs" in err


@pytest.mark.parametrize("cuda, words", [("die@1=300", "cudaErrorLaunchFailure"),
                                         ("hang@1=300", "CUDA device 1 has not finished training step after 2 s: it hangs")])
def test_a_gpu_that_is_lost_is_named_and_nobody_waits_for_it(job, stand_ins, cuda, words):
    stand_ins(cuda=cuda)
    code, record, err = train(job, 2, "--hang-after", "2s")
    assert code == 4 and record["metrics"] == []
    assert re.search(r"rank 1: \S+:1 \(GPU-00000000-0000-0000-0000-000000000001\): ", err) and words in err, err


@pytest.mark.parametrize("layout, group", [([], r"all_reduce of the replicas \(0, 1\)"),
                                           (["--pp", "2"], r"(send|receive) of neighbouring stages of the pipeline \(ranks 0, 1\)")])
def test_an_exchange_that_hangs_ends_the_job_and_tells_who_waited_for_whom(job, stand_ins, tmp_path, layout, group):
    stand_ins(nccl="hang=1:7")
    code, _, err = job.run(2, *TINY, "--device", "gpu", "--hang-after", "2s", *layout, timeout=60, grace=True)
    assert code == 124, err
    assert re.search(rf"waiting +: rank 0 on \S+: waiting for {group} on \S+:0 \(GPU-0{{8}}-\S+\)", err), err
    assert "abort rank" in (tmp_path / "nccl.log").read_text()


def test_a_rank_that_dies_is_named_with_its_step(job):
    process = job.start(2, *TINY, "--device", "gpu", "--steps", "1000000", "--twin-every", "0", "--json", job.json)
    ranks = job.wait_for_ranks(process, 2)
    assert any("step " in line for line in iter(process.stderr.readline, ""))
    os.kill(ranks[1], signal.SIGKILL)
    _, _, err, _ = job.finish(process, 100)
    assert "a rank was lost" in err and re.search(r"not there : \S+ rank 1: .*step \d+", err), err


def test_what_cannot_be_shared_is_refused(job, stand_ins):
    code, _, err = job.run(2, *TINY, "--device", "gpu", "--gpu", "1")
    assert code == 2 and "2 ranks take a GPU each" in err
    code, _, err = job.run(2, *TINY, "--device", "gpu", "--tp", "2", "--shard", "zero1")
    assert code == 2 and "there are no replicas to divide the optimizer's state with" in err
    stand_ins(devices=1)
    code, _, err = job.run(2, *TINY, "--device", "gpu")
    assert code == 2 and "rank 1 has no GPU left: start at most as many ranks on a host as it has GPUs" in err


def test_without_nccl_it_is_skipped_with_the_reason(job, monkeypatch):
    monkeypatch.setenv("CLUSTERBENCH_NCCL_LIBRARY", "nonexistent.so")
    code, document, _, _ = job.measure(2, *TINY, "--device", "gpu")
    record, = document["records"]
    assert code == 3 and record["outcome"] == "skipped" and "NCCL cannot be opened" in json.dumps(record)


@needs_own_hosts
@pytest.mark.parametrize("layout", [[], ["--shard", "zero1"]])
def test_groups_of_growing_size_train_the_same_and_are_compared(job, layout):
    _, plain, err = scale(job, 4, *layout, before=PAIRS_AS_HOSTS)
    _, document, err = scale(job, 4, *layout, "--scaling", "weak,strong", before=PAIRS_AS_HOSTS, timeout=400)
    found = by_level(document)
    assert list(found) == [(kind, level) for kind in ("weak", "strong") for level in ("replica", "host", "all")], err
    gpus = {("h0", "0"), ("h0", "1"), ("h1", "0"), ("h1", "1")}
    for kind in ("weak", "strong"):
        replica, host, whole = (found[(kind, level)] for level in ("replica", "host", "all"))
        assert of_entities(replica, "tokens_per_second").keys() == gpus, err
        assert of_entities(host, "tokens_per_second").keys() == {("h0", ""), ("h1", "")}
        check_efficiency(host, "scaling_efficiency", replica)
        check_efficiency(whole, "scaling_efficiency", replica)
        check_efficiency(whole, "host_scaling_efficiency", host)
        assert of_entities(whole, "loss_nats") == of_entities(plain["records"][0], "loss_nats")  # bit by bit
        assert "collectives" not in replica["facts"] and "collectives" in host["facts"]
    strong = of_entities(found[("strong", "replica")], "loss_nats")
    for gpu in gpus:
        assert strong[gpu] == pytest.approx(of_entities(found[("strong", "all")], "loss_nats")[("", "")], rel=1e-6)


@needs_own_hosts
def test_ranks_that_share_matrices_are_the_smallest_group(job):
    _, document, err = scale(job, 4, "--tp", "2", "--scaling", "weak", before=PAIRS_AS_HOSTS)
    found = by_level(document)
    assert list(found) == [("weak", "host"), ("weak", "all")], err  # a replica is a host here
    check_efficiency(found[("weak", "all")], "scaling_efficiency", found[("weak", "host")])


def test_a_gpu_that_is_lost_alone_is_named_and_trains_in_no_larger_group(job, stand_ins):
    stand_ins(cuda="die@1=300")
    code, document, err = scale(job, 2, "--scaling", "weak")
    replica, whole = document["records"]
    names, gpus, text = failed(replica)
    assert (code, names, gpus, replica["metrics"]) == (1, {"gpu"}, ["1"], []), err
    assert "cudaErrorLaunchFailure" in text
    assert whole["outcome"] == "errored" and "GPU-00000000-0000-0000-0000-000000000001" in json.dumps(whole), err


def test_a_rank_that_dies_while_it_trains_alone_is_named(job):
    process = job.start(2, *TINY, "--device", "gpu", "--steps", "1000000", "--twin-every", "0", "--scaling", "weak", "--json", job.json)
    ranks = job.wait_for_ranks(process, 2)
    assert any("step " in line for line in iter(process.stderr.readline, ""))
    os.kill(ranks[1], signal.SIGKILL)
    _, _, err, _ = job.finish(process, 100)
    assert "a rank was lost" in err and re.search(r"not there : \S+ rank 1: .*step \d+", err), err


@needs_own_hosts
def test_an_exchange_that_fails_in_one_host_does_not_hang_the_other(job, stand_ins):
    """Rank 1 of each communicator fails its 7th call: in both hosts, and again with all."""
    stand_ins(nccl="error=1:7")
    code, document, err = scale(job, 4, "--scaling", "weak", "--level", "host,all", steps=20, before=PAIRS_AS_HOSTS)
    host, whole = document["records"]
    assert code == 4 and (host["outcome"], whole["outcome"]) == ("errored", "errored"), err
    for name in ("h0", "h1"):
        assert re.search(rf"{name}:[01] \(GPU-", json.dumps(host)), host
