"""--split grid: every rank works in a group of each dimension at the same time, over MPI and over the stand-in for NCCL."""

import pytest
from collectives import factor, metrics

OPS = ["all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "reduce", "sendrecv", "gather", "scatter",
       "alltoallv"]


def groups(record, dimension):
    return sorted(record["entities"][m["entity"]]["id"] for m in metrics(record, f"{dimension}_bus_bytes_per_second"))


def test_every_collective_over_mpi_in_eight_ranks(job):
    code, document, _, err = job.measure(8, "mpi", "--op", ",".join(OPS), "--size", "16K", "--split", "grid:2,2,2",
                                         "--iterations", 2, "--checks", 2)
    assert code == 0, err
    assert [r["params"]["op"] for r in document["records"]] == OPS
    for record in document["records"]:
        assert len(record["checks"]) == 8 and all(c["passed"] for c in record["checks"])
        for dimension in ("dp", "tp", "pp"):
            assert groups(record, dimension) == [f"{dimension} {i}" for i in range(4)]
        assert not metrics(record, "bus_bytes_per_second"), "no figure mixes the dimensions"
        assert len(metrics(record, "time_seconds")) == 8


def test_a_dimension_s_figure_is_of_its_own_ranks(job):
    """dp of 4 and pp of 1: n is that of the dimension, and the time that of the group's slowest rank."""
    _, document, _, _ = job.measure(4, "mpi", "--size", "64K", "--split", "grid:4,*,1", "--iterations", 6, "--checks", 2)
    record, = document["records"]
    bus, = metrics(record, "dp_bus_bytes_per_second")
    slowest = [max(s) for s in zip(*(m["samples"] for m in metrics(record, "time_seconds")))]
    assert bus["samples"] == pytest.approx([65536 / t * factor("all_reduce", 4) for t in slowest], rel=1e-9)
    assert not groups(record, "tp") and not groups(record, "pp")


def test_a_grid_that_does_not_fit_is_refused(job):
    code, _, err = job.run(4, "mpi", "--size", "4K", "--split", "grid:2,2,2")
    assert code == 2 and "needs 8 ranks, the job has 4" in " ".join(err.split())


def test_wrong_data_in_any_dimension_leaves_no_figure(job):
    code, document, _, _ = job.measure(4, "mpi", "--size", "4K", "--split", "grid:2,2,1", "--iterations", 2,
                                       "--inject-fault", 2)
    record, = document["records"]
    assert code == 1 and record["metrics"] == []
    assert [c["detail"].split(":")[0][-6:] for c in record["checks"] if not c["passed"]] == ["rank 2"]


def test_a_grid_over_nccl(nccl):
    records, _ = nccl(4, "--op", "all_reduce,alltoall,sendrecv", "--size", "32K", "--split", "grid:2,2,1",
                      "--iterations", 4, "--calls", 2, "--checks", 2, "--paths", behaviour="hosts=2")
    for record in records:
        assert groups(record, "dp") == ["dp 0", "dp 1"] and groups(record, "tp") == ["tp 0", "tp 1"]
        assert all(c["passed"] for c in record["checks"]) and len(record["checks"]) == 4
        assert record["facts"]["paths"].startswith("ranks 0-3: IB 4")  # two groups of two ranks, each across
    records, _ = nccl(4, "--size", "32K", "--split", "grid:2,2,1", "--iterations", 2, "--checks", 2,
                      behaviour="wrong=1:3", expect=1)
    assert records[0]["metrics"] == []
    _, err = nccl(2, "--gpus", 2, "--size", "4K", "--split", "grid:2,1,1", expect=2)
    assert "give each rank one GPU" in " ".join(err.split())


def test_a_grid_s_hang_ends_with_124(nccl):
    _, err = nccl(4, "--size", "4K", "--split", "grid:2,2,1", "--iterations", 100000, "--duration", "30s",
                  "--wait-deadline", "2s", behaviour="hang=0:9", expect=124, timeout=60, grace=True)
    assert "deadline: nothing has moved for" in err and "all_reduce 4K" in err
