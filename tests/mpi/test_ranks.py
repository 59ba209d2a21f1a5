"""Agreement between ranks, with the fake case: what fails on one rank never hangs the others."""

import json
import os
import signal
import subprocess

import pytest
from processes import is_open_mpi_5, wait_until_busy

BINARY = os.environ["CLUSTERBENCH_BIN"]


@pytest.mark.parametrize("ranks", [1, 4])
def test_every_rank_is_gathered(job, ranks):
    code, document, _, err = job.measure(ranks, "fake", "--value", 8, "--samples", 10, "--size",
                                         "1K,4K")
    assert code == 0, err
    assert document["run"]["ranks"] == ranks
    assert len(document["records"]) == 2
    for record in document["records"]:
        assert [e["id"] for e in record["entities"] if e["kind"] == "rank"] == [str(r) for r in range(ranks)]
        assert [m["summary"]["n"] for m in record["metrics"]] == [10] * ranks
        assert all(m["summary"]["median"] == 8 for m in record["metrics"])
        assert len(record["checks"]) == ranks


def test_a_slow_rank_keeps_its_own_number(job):
    _, document, _, _ = job.measure(4, "fake", "--value", 8, "--slow-rank", 3)
    assert [m["summary"]["median"] for m in document["records"][0]["metrics"]] == [8, 8, 8, 4]


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_failing_rank_is_named_and_nobody_waits(job, ranks):
    bad = ranks - 1
    code, document, _, err = job.measure(ranks, "fake", "--failing-rank", bad)
    assert code == 4
    assert "partial" not in document["run"]  # written when all had heard of it, not when their time was up
    record, = document["records"]
    host = document["run"]["hosts"][0]
    assert record["outcome"] == "errored"
    assert record["where"] == (f"{host} rank {bad}" if ranks > 1 else host)
    assert record["reason"] == "fails as it was told"
    assert record["metrics"] == []
    assert f"{host} rank {bad}: fails as it was told" in err or ranks == 1


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_wrong_rank_takes_the_records_numbers(job, ranks):
    code, document, _, _ = job.measure(ranks, "fake", "--wrong-rank", ranks - 1)
    assert code == 1
    record, = document["records"]
    assert record["metrics"] == []
    assert [c["passed"] for c in record["checks"]] == [True] * (ranks - 1) + [False]


def test_a_hanging_rank_ends_the_job_at_the_stall(job, nothing_left):
    process = job.start(4, "fake", "--hanging-rank", 2, "--stall", "2s", "--json", job.json)
    pids = job.wait_for_ranks(process, 4)
    code, _, err, _ = job.finish(process, timeout=60)
    assert code == 124
    assert 2 <= job.seconds_after("deadline: nothing has moved for", err) < 8
    host = os.uname().nodename
    assert f"not there : {host} rank 2: " in err
    assert "in running" in err  # rank 2 itself
    assert "ranks 0-1,3 on " in err and "waiting for the other ranks" in err
    document = json.loads(job.json.read_text())
    assert f"{host} rank 2" in document["run"]["partial"]
    # What was finished is there, without rank 2's share.
    record, = document["records"]
    assert [e["id"] for e in record["entities"] if e["kind"] == "rank"] == ["0", "1", "3"]
    assert "ranks 2" in record["notes"][0]
    nothing_left(pids.values())


def test_a_rank_that_starts_late_is_no_stall(job):
    """As from a slow file system: the others wait for it in MPI_Init, which is no measurement that has stalled."""
    late = job.folder / "late.sh"
    late.write_text('[ "$OMPI_COMM_WORLD_RANK" != 1 ] || sleep 2\nexec "$@"\n')
    code, document, _, err = job.measure(2, "fake", "--stall", "1s", before=("sh", late))
    assert code == 0, err
    assert "partial" not in document["run"]


def test_a_failed_rank_is_heard_though_another_never_comes(job, nothing_left):
    process = job.start(4, "fake", "--failing-rank", 1, "--hanging-rank", 2, "--stall", "3s", "--json", job.json)
    pids = job.wait_for_ranks(process, 4)
    code, _, err, seconds = job.finish(process, timeout=60)
    assert code == 4, err
    assert seconds < 3 + 11  # the stall; without it 15
    assert "a rank has failed, and the others wait for it" in err
    assert f"not there : {os.uname().nodename} rank 1: has failed: fails as it was told" in err
    assert "has failed: fails as it was told" in json.loads(job.json.read_text())["run"]["partial"]
    nothing_left(pids.values())


def test_a_hanging_process_alone_ends_at_the_deadline(job):
    code, _, err = job.run(0, "fake", "--hanging-rank", 0, "--deadline", "1s", timeout=20)
    assert code == 124
    assert "nothing has moved for" in err
    assert f"{os.uname().nodename}: stuck in running" in err


def test_a_stopped_rank_inside_a_collective_ends_the_job(job, nothing_left):
    process = job.start(4, "mpi", "--size", "64K", "--iterations", 10000000, "--stall", "2s")
    pids = job.wait_for_ranks(process, 4)
    wait_until_busy(pids[1], 0.5)
    os.kill(pids[1], signal.SIGSTOP)
    code, _, err, _ = job.finish(process, timeout=60)
    assert code == 124, err
    assert f"not there : {os.uname().nodename} rank 1: has been silent for" in err
    assert 2 <= job.seconds_after("has been silent for", err) < 10
    assert "all_reduce 64K, " in err
    nothing_left(pids.values())


def test_a_killed_rank_ends_the_job(job, nothing_left):
    process = job.start(4, "mpi", "--size", "64K", "--iterations", 10000000, "--stall", "5s")
    pids = job.wait_for_ranks(process, 4)
    wait_until_busy(pids[3], 0.5)
    os.kill(pids[3], signal.SIGKILL)
    code, _, err, _ = job.finish(process, timeout=40)
    assert code != 0
    assert "rank 3" in err
    nothing_left(pids.values())


@pytest.mark.parametrize("case", [["mpi", "--size", "64K", "--iterations", "10000000"],
                                  ["burn", "--duration", "1h"]])
def test_ctrl_c_leaves_a_partial_document_and_nothing_else(job, nothing_left, case):
    process = job.start(4, *case, "--json", job.json)
    pids = job.wait_for_ranks(process, 4)
    wait_until_busy(pids[0], 0.5)
    process.send_signal(signal.SIGINT)
    code, _, err, seconds = job.finish(process, timeout=20)
    # Open MPI 4.1's mpirun answers SIGINT with SIGTERM to the ranks and its own exit code 1.
    assert code in (1, 130), err
    assert seconds < 15
    nothing_left(pids.values())
    document = json.loads(job.json.read_text())
    assert document["run"]["partial"] == "interrupted"
    assert sorted(p.name for p in job.folder.iterdir()) == ["result.json"]


def test_ctrl_c_writes_one_document_to_standard_output(job):
    process = job.start(2, "mpi", "--size", "64K", "--iterations", 10000000, "--json", "-")
    wait_until_busy(job.wait_for_ranks(process, 2)[0], 0.5)
    process.send_signal(signal.SIGINT)
    _, out, err, _ = job.finish(process, timeout=20)
    if not out and is_open_mpi_5():
        pytest.skip("the mpirun of Open MPI 5 forwards nothing more once it is interrupted: --json FILE is written")
    assert json.loads(out)["run"]["partial"] == "interrupted", err


def test_sigint_to_one_rank_stops_all(job, nothing_left):
    process = job.start(4, "mpi", "--size", "64K", "--iterations", 10000000, "--json", job.json)
    pids = job.wait_for_ranks(process, 4)
    wait_until_busy(pids[0], 0.5)
    os.kill(pids[2], signal.SIGINT)
    code, _, err, seconds = job.finish(process, timeout=20)
    assert code == 130, err
    assert seconds < 15
    nothing_left(pids.values())
    assert json.loads(job.json.read_text())["run"]["partial"] == "interrupted"


def test_sizes_that_were_finished_are_kept(job):
    process = job.start(2, "mpi", "--size", "1K,64M", "--iterations", 1000, "--checks", 1, "--json",
                        job.json)
    wait_until_busy(job.wait_for_ranks(process, 2)[0], 2)
    process.send_signal(signal.SIGINT)
    job.finish(process, timeout=20)
    document = json.loads(job.json.read_text())
    assert document["run"]["partial"] == "interrupted"
    record, = document["records"]
    assert record["params"]["size"] == 1024
    assert {m["summary"]["n"] for m in record["metrics"]} == {1000}


def test_a_killed_rank_leaves_the_products_before_it(job, nothing_left):
    process = job.start(2, "gemm", "--device", "cpu", "--library", "builtin", "--threads", 1, "--size", "128,1400", "--iterations", 200,
                        "--stall", "5s", "--json", job.json)
    pids = job.wait_for_ranks(process, 2)
    wait_until_busy(pids[1], 5)  # the small product takes less than one second
    os.kill(pids[1], signal.SIGKILL)
    code, _, err, _ = job.finish(process, timeout=60)
    assert code != 0
    document = json.loads(job.json.read_text())
    assert "rank 1" in document["run"]["partial"], err
    record, = document["records"]
    assert record["params"]["size"] == 128 and record["outcome"] == "measured"
    assert len(record["metrics"]) >= 4 and len(record["entities"]) == 2
    nothing_left(pids.values())


@pytest.mark.parametrize("args", [["fake", "--valeu", "2"], ["fake", "--samples", "many"],
                                  ["faek"], ["fake", "--stall", "soon"]])
def test_bad_options_are_said_once(job, args):
    for _ in range(3):  # which rank ends first is left to chance
        code, out, err = job.run(4, *args)
        assert code == 2
        assert out == ""
        assert sum(line.startswith("clusterbench") for line in err.splitlines()) == 1, err


def test_an_unwritable_file_is_found_before_measuring(job):
    code, _, err = job.run(4, "mpi", "--size", "64K", "--iterations", 10000000, "--json",
                           job.folder / "missing" / "r.json")  # minutes
    assert code == 2
    assert err.count("cannot be written") == 1
    assert job.run(4, "fake", "--json", job.folder)[0] == 2


def test_processes_that_think_they_are_alone_are_an_error():
    """What a launcher of another MPI, or srun without PMIx, leads to: N times one rank."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "PMI_", "SLURM_"))}
    for claim, advice in [({"PMI_SIZE": "4", "PMI_RANK": "0"}, "another MPI"),
                          ({"SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "0"}, "--mpi=pmix")]:
        done = subprocess.run([BINARY, "fake"], env={**env, **claim}, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2, done.stderr
        name, count = next(iter(claim.items()))
        said = " ".join(done.stderr.split())
        assert f"{name} says {count} processes" in said and advice in said
    env["SLURM_STEP_NUM_TASKS"] = "1"
    assert subprocess.run([BINARY, "fake"], env=env, capture_output=True, timeout=60).returncode == 0


def test_a_fault_at_a_rank_that_measures_nothing_is_refused(job):
    latency = ("bandwidth", "--device", "cpu", "--op", "latency", "--max-size", "64K")
    code, out, err = job.run(3, *latency, "--iterations", 10, "--inject-fault", 2)
    assert code == 2, out + err
    assert "rank 2 measures nothing that could be spoilt; ranks that do: 0" in err
    code, _, err = job.run(3, *latency[:4], "copy", "--size", "2M", "--iterations", 10, "--inject-fault", 2)
    assert code == 1, err


def test_ranks_that_share_cores_are_told_beside_the_bandwidth(job):
    crowded = "more ranks than cores on a host"
    stream = ("bandwidth", "--device", "cpu", "--op", "copy", "--size", "2M", "--iterations", 10)
    for ranks, told in ((1, False), (len(os.sched_getaffinity(0)) + 1, True)):
        code, document, _, err = job.measure(ranks, *stream)
        assert code == 0, err
        assert any(crowded in note for note in document["records"][0]["notes"]) == told
