"""infer --device gpu over several ranks, each with a stand-in GPU (tests/fake_cuda), over a stand-in NCCL: the tokens of one rank, planted
faults, and what fails between GPUs."""
import os
import re
from pathlib import Path

import conftest
import pytest

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
BIN = BUILD / "bin" / "clusterbench_fake_gpu"
FAKE = BUILD / "fake"
H100 = "name=NVIDIA_H100_80GB_HBM3"
SMALL = ["infer", "--device", "gpu", "--hidden", "16", "--heads", "4", "--kv-heads", "2", "--head-dim", "4", "--feed-forward", "24", "--vocabulary", "64",
         "--layers", "2", "--prompt", "6", "--new-tokens", "4", "--repetitions", "1"]

pytestmark = pytest.mark.skipif(not BIN.exists(), reason="built without CUDA")


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch, tmp_path):
    """A host of two GPUs; what a test says of them comes behind."""
    def say(cuda="", nccl=""):
        monkeypatch.setattr(conftest, "BINARY", BIN)
        monkeypatch.setenv("CLUSTERBENCH_FAKE_CUDA", f"devices=2 memory=67108864 {H100} total=8.5e10 {cuda}")
        monkeypatch.setenv("CLUSTERBENCH_FAKE_NVML", f"gpus=2 {H100} memory_total_bytes=8.5e10 clock_hertz=1.5e9")
        monkeypatch.setenv("FAKE_NCCL", f"streams,{nccl}")
        monkeypatch.setenv("FAKE_NCCL_LOG", str(tmp_path / "nccl.log"))
        for name in ("cublaslt", "nvml", "nccl"):
            monkeypatch.setenv(f"CLUSTERBENCH_{name.upper()}_LIBRARY", str(FAKE / f"fake_{name}.so"))
    say()
    return say


# Ten of a replica's kernels and products behind its last generation. The probes have 26 at least, and more on a fast machine.
IN_THE_PROBES = 290


def generated(job, ranks, *args, batch="2"):
    code, document, _, err = job.measure(ranks, *SMALL, "--batch", batch, *args)
    record, = document["records"]
    assert code == 0, err
    return record


def failed(record):
    return {c["name"]: (record["entities"][c["entity"]]["id"], c["detail"]) for c in record["checks"] if not c["passed"]}


def names(record, entity):
    return {m["name"] for m in record["metrics"] if m["entity"] == entity}


@pytest.fixture
def alone(job):
    return generated(job, 0)


def of_entity(record, entity, name):
    return [m["samples"] for m in record["metrics"] if m["name"] == name and m["entity"] == entity]


def test_two_gpus_share_the_matrices_and_generate_the_same_tokens(job, alone):
    """Their exchanges are a part of the graph: how long they took is then not seen, and so not given."""
    record = generated(job, 2, "--tp", "2")
    assert record["facts"]["tokens_digest"] == alone["facts"]["tokens_digest"] and not failed(record)
    assert record["facts"]["graph"] == "a decode step is one launch of a CUDA graph"
    assert "decode_tokens_per_second" in names(record, 0) and "decode_tokens_per_second" not in names(record, 1)
    assert "bytes_per_second" in names(record, 0) & names(record, 1)  # by which a profile compares nodes: each GPU must have it
    for entity in (0, 1):
        assert of_entity(record, entity, "kv_cache_bytes") == [[2 * 128 * 9 / 2]]
        assert of_entity(record, entity, "exposed_communication_seconds") == []
    assert any("how long it waited in them is not seen" in note for note in record["notes"])


def test_without_a_graph_the_exchanges_are_seen(job, stand_ins, alone):
    stand_ins(cuda="no_capture=900")
    record = generated(job, 2, "--tp", "2")
    assert record["facts"]["tokens_digest"] == alone["facts"]["tokens_digest"] and "kernel by kernel" in record["facts"]["graph"]
    for entity in (0, 1):
        assert min(of_entity(record, entity, "exposed_communication_seconds")[0]) > 0


@pytest.mark.parametrize("cuda, call", [("no_capture@1=900", "cudaStreamBeginCapture"), ("no_end@1=901", "cudaStreamEndCapture")])
def test_one_rank_that_records_no_graph_makes_all_of_its_matrices_go_without(job, stand_ins, alone, cuda, call):
    """An exchange of a recorded step meets only exchanges of recorded steps."""
    stand_ins(cuda=cuda)
    record = generated(job, 2, "--tp", "2")
    assert record["facts"]["tokens_digest"] == alone["facts"]["tokens_digest"] and "one launch" not in record["facts"]["graph"]
    assert call in record["facts"]["graph"] and "another rank" in record["facts"]["graph"]
    assert "dmesg" not in record["facts"]["graph"]


def test_sums_of_switches_are_left_out_unless_the_user_wants_them(job, stand_ins, monkeypatch, tmp_path):
    """They have other bits each time, and `repeat` would accuse every GPU."""
    record = generated(job, 2, "--tp", "2", "--dtype", "bf16")
    assert "with NCCL_NVLS_ENABLE=0" in record["facts"]["collectives"] and not failed(record)
    assert set(re.findall("nvls (.*)", (tmp_path / "nccl.log").read_text())) == {"0"}
    (tmp_path / "nccl.log").unlink()
    monkeypatch.setenv("NCCL_NVLS_ENABLE", "1")
    assert "NVLS" not in generated(job, 2, "--tp", "2")["facts"]["collectives"]
    assert set(re.findall("nvls (.*)", (tmp_path / "nccl.log").read_text())) == {"1"}


def test_replicas_need_no_nccl(job, stand_ins, monkeypatch):
    monkeypatch.setenv("CLUSTERBENCH_NCCL_LIBRARY", "/none.so")
    assert "decode_tokens_per_second" in names(generated(job, 2), 1)


def test_replicas_generate_their_own_sequences_without_nccl_between_them(job):
    record, four = generated(job, 2), generated(job, 0, batch="4")
    assert record["facts"]["tokens_digest"] == four["facts"]["tokens_digest"]
    assert "one launch of a CUDA graph" in record["facts"]["graph"] and "collectives" not in record["facts"]
    assert "decode_tokens_per_second" in names(record, 0) & names(record, 1)


def test_the_gpu_whose_cache_is_wrong_is_named(job):
    code, document, _, err = job.measure(2, *SMALL, "--tp", "2", "--inject-fault", "bitflip@1:0")
    record, = document["records"]
    assert code == 1 and record["metrics"] == [], err
    entity, detail = failed(record)["repeat"]
    assert entity == "1" and "keys and values of layer 0" in detail and "rank 1" in detail


def test_requests_are_served_by_gpus_that_share_matrices(job):
    code, document, _, err = job.measure(2, *SMALL, "--tp", "2", "--batch", "1", "--arrival-rate", "50", "--requests", "3")
    assert code == 0, err
    _, load = document["records"]
    taken, = [m["samples"] for m in load["metrics"] if m["name"] == "requests_of_generation"]
    assert sum(taken) == 3 and not failed(load)


@pytest.mark.parametrize("what, why", [
    ("die@1=1", "cudaErrorLaunchFailure"), ("die@1=150", "cudaErrorLaunchFailure"), ("die@1=PROBES", "cudaErrorLaunchFailure"),
    ("hang@1=1", "has not finished generating tokens after 1 s: it hangs")])
def test_a_replica_whose_gpu_fails_is_named_and_the_others_come_to_their_end(job, stand_ins, what, why):
    """While it makes weights, decodes, and in the probes behind the last generation: nobody waits for it there."""
    stand_ins(cuda=what.replace("PROBES", str(IN_THE_PROBES)))
    code, document, _, err = job.measure(2, *SMALL, "--hang-after", "1s" if "hang" in what else "120s", timeout=60)
    record, = document["records"]
    assert code == 1 and record["metrics"] == [], err
    assert {c["name"] for c in record["checks"]} >= ({"gpu"} if "PROBES" not in what else {"gpu", "repeat", "cache"})
    entity, detail = failed(record)["gpu"]
    assert entity == "1" and "GPU-00000000-0000-0000-0000-000000000001" in detail and why in detail


def test_a_replica_without_memory_is_named(job, stand_ins):
    stand_ins(cuda="full@1=1")
    code, document, _, err = job.measure(2, *SMALL, timeout=60)
    assert code == 4 and document["records"][0]["metrics"] == []
    assert re.search(r"rank 1: \S+:1 \(GPU-0{8}-0000-0000-0000-000000000001\)", err) and "out of memory" in err, err


def test_a_gpu_that_shares_matrices_and_fails_is_named_and_nobody_waits_for_it(job, stand_ins):
    stand_ins(cuda="die@1=150")
    code, document, _, err = job.measure(2, *SMALL, "--tp", "2")
    record, = document["records"]
    assert code == 4 and record["metrics"] == []
    assert re.search(r"rank 1: \S+:1 \(GPU-00000000-0000-0000-0000-000000000001\): ", err) and "cudaErrorLaunchFailure" in err, err


def test_an_error_of_the_library_names_gpu_and_group(job, stand_ins):
    stand_ins(nccl="error=1:7")
    code, document, _, err = job.measure(2, *SMALL, "--tp", "2")
    record, = document["records"]
    assert code == 4 and record["metrics"] == []
    assert "of the ranks that share matrices (0, 1): NCCL 2.28.9" in err, err


@pytest.mark.parametrize("call", [5, 20])
def test_an_exchange_that_hangs_ends_the_job_and_tells_who_waited_for_whom(job, stand_ins, call):
    """In the prompt, which is launched call by call, and within a recorded step."""
    stand_ins(nccl=f"hang=1:{call}")
    code, _, err = job.run(2, *SMALL, "--tp", "2", "--hang-after", "1s", timeout=100, grace=True)
    assert code == 124, err
    what = "all_reduce" if call == 5 else "an exchange of a recorded step"
    assert re.search(rf"waiting +: rank 0 on \S+: waiting for {what} of the ranks that share matrices \(0, 1\) on \S+:0 \(GPU-0{{8}}-\S+\)", err), err
