"""clusterbench mpi: every collective on real ranks, and that wrong data are seen."""

import itertools

import pytest
from collectives import OPS, factor, metrics

TYPES = ["int8", "uint8", "int32", "uint32", "int64", "uint64", "float", "double"]


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_every_collective_over_a_sweep(job, ranks):
    code, document, out, err = job.measure(
        ranks, "mpi", "--op", ",".join(OPS), "--min-size", "1K", "--max-size", "64K",
        "--step-factor", 8, "--iterations", 20, "--checks", 8)
    assert code == 0, err
    assert document["run"]["ranks"] == ranks
    records = document["records"]
    assert [(r["params"]["op"], r["params"]["size"]) for r in records] == [
        (op, size) for op in OPS for size in (1024, 8192, 65536)]
    for record in records:
        op = record["params"]["op"]
        assert record["outcome"] == "measured"
        assert len(record["checks"]) == ranks
        assert all(c["passed"] and c["value"] == 0 for c in record["checks"])
        assert int(record["facts"]["verified_calls"]) == 8 + 5  # 20 timed: 1, 2, 4, 8, 16; none of the warm-up
        if op == "pingpong":
            latency = metrics(record, "latency_seconds")
            assert len(latency) == ranks // 2
            assert all(m["summary"]["n"] == 20 and m["summary"]["min"] > 0 for m in latency)
            assert not metrics(record, "bus_bytes_per_second")
            continue
        times = metrics(record, "time_seconds")
        assert {record["entities"][m["entity"]]["id"] for m in times} == set(map(str, range(ranks)))
        assert all(m["summary"]["n"] == 20 for m in times)
        algorithm, = metrics(record, "algorithm_bytes_per_second")
        bus, = metrics(record, "bus_bytes_per_second")
        # Per iteration: the size over the slowest rank's time.
        size = int(record["facts"]["actual_bytes"])
        asked = record["params"]["size"]
        if op == "alltoallv":
            assert 0.5 * asked < size <= asked
        else:
            in_blocks = op in ("all_gather", "reduce_scatter", "alltoall", "gather", "scatter")
            assert size == (asked // 4 // 3 // 4 * 4 * 3 * 4 if ranks == 3 and in_blocks else asked)
        # How late each rank was: somebody is the first, and nobody is before it.
        late = list(zip(*(m["samples"] for m in metrics(record, "late_seconds"))))
        assert len(late) == 20
        assert all(min(l) == 0 and max(l) < 10 for l in late)
        pairs = metrics(record, "pair_bytes_per_second")
        assert len(pairs) == (ranks // 2 if op.startswith("pair_") else 0)
        slowest = [max(s) for s in zip(*(m["samples"] for m in times))]
        assert algorithm["samples"] == pytest.approx([size / t for t in slowest], rel=1e-12)
        assert bus["samples"] == pytest.approx(
            [a * factor(op, ranks) for a in algorithm["samples"]], rel=1e-12)


REDUCTIONS = ["sum", "prod", "min", "max"]


def test_every_type_reduces_exactly(job):
    ops = ["all_reduce", "reduce_scatter", "reduce"]
    code, document, _, err = job.measure(
        4, "mpi", "--op", ",".join(ops), "--size", "1K,20004", "--dtype", ",".join(TYPES),
        "--reduction", ",".join(REDUCTIONS), "--iterations", 4, "--checks", 4)
    assert code == 0, err
    points = [tuple(r["params"][key] for key in ("op", "dtype", "reduction", "size")) for r in document["records"]]
    assert points == list(itertools.product(ops, TYPES, REDUCTIONS, [1024, 20004]))
    for record, point in zip(document["records"], points):
        assert len(record["checks"]) == 4 and all(c["passed"] for c in record["checks"]), point


def test_every_type_moves_exactly(job):
    code, document, _, err = job.measure(3, "mpi", "--op", ",".join(OPS), "--size", "1K,20008", "--dtype",
                                         "uint8,double", "--iterations", 4, "--checks", 4)
    assert code == 0, err
    assert [(r["params"]["op"], r["params"]["dtype"], r["params"]["size"]) for r in document["records"]] == list(
        itertools.product(OPS, ["uint8", "double"], [1024, 20008]))
    assert all(c["passed"] for r in document["records"] for c in r["checks"])


def test_types_and_reductions_are_lists_and_a_row_names_what_differs(job):
    code, document, out, err = job.measure(
        2, "mpi", "--op", "all_reduce,all_gather", "--size", "4K", "--dtype", "float,int8",
        "--reduction", "max,sum", "--iterations", 2)
    assert code == 0, err
    params = [r["params"] for r in document["records"]]
    # What moves only has no reduction, and so one record a type.
    assert [(p["op"], p["dtype"], p.get("reduction")) for p in params] == [
        ("all_reduce", "float", "max"), ("all_reduce", "float", "sum"), ("all_reduce", "int8", "max"),
        ("all_reduce", "int8", "sum"), ("all_gather", "float", None), ("all_gather", "int8", None)]
    assert "float all_reduce max " in out and "int8 all_gather " in out
    # What was not asked for is no part of the answer.
    _, document, _, _ = job.measure(2, "mpi", "--size", "4K", "--iterations", 2)
    assert document["records"][0]["params"] == {"op": "all_reduce", "size": 4096, "dtype": "float", "reduction": "sum",
                                                "in-place": False, "iterations": 2, "checks": 20}
    code, _, err = job.run(2, "mpi", "--dtype", "float,half,flaot", "--reduction", "max,avg,smu")
    assert code == 2
    assert "half is not known" in err and "flaot is not known, did you mean float?" in err
    assert "avg is not known" in err and "smu is not known, did you mean sum?" in err


@pytest.mark.parametrize("ops", [["all_reduce"], OPS])
def test_one_wrong_element_is_found_and_takes_the_numbers(job, ops):
    code, document, out, err = job.measure(4, "mpi", "--op", ",".join(ops), "--size", "4K", "--iterations", 5,
                                           "--inject-fault", 2)
    assert code == 1
    assert [r["params"]["op"] for r in document["records"]] == ops
    host = document["run"]["hosts"][0]
    for record in document["records"]:
        op = record["params"]["op"]
        assert record["metrics"] == [], op
        failed = [c for c in record["checks"] if not c["passed"]]
        assert len(failed) == 1, op
        entity = record["entities"][failed[0]["entity"]]
        assert (entity["host"], entity["kind"], entity["id"]) == (host, "rank", "2")
        assert f"{host} rank 2" in failed[0]["detail"]
        if op not in ("reduce", "gather"):  # rank 2 receives nothing there: its guard zone is hit
            assert "element " in failed[0]["detail"] and "expected" in failed[0]["detail"]
        assert failed[0]["value"] > 0
        label = f"{op} " if len(ops) > 1 else ""
        assert any(line.startswith(f"✗ {label}") and "rank 2" in line for line in out.splitlines()), out


IN_PLACE = ["all_reduce", "all_gather", "reduce_scatter", "alltoall"]


@pytest.mark.parametrize("ranks", [2, 3])
def test_in_place(job, ranks):
    code, document, _, err = job.measure(ranks, "mpi", "--op", ",".join(IN_PLACE), "--in-place",
                                         "--size", "1K,20008", "--iterations", 4, "--checks", 4)
    assert code == 0, err
    assert len(document["records"]) == 8
    code, document, _, err = job.measure(ranks, "mpi", "--op", ",".join(IN_PLACE), "--in-place",
                                         "--size", "4K", "--iterations", 2, "--inject-fault", 1)
    assert code == 1
    assert [r["metrics"] for r in document["records"]] == [[]] * 4


def test_groups_measure_at_the_same_time_and_each_is_reported(job):
    code, document, out, err = job.measure(4, "mpi", "--op", "all_reduce", "--split", "half",
                                           "--size", "4K", "--iterations", 20)
    assert code == 0, err
    record, = document["records"]
    bus = metrics(record, "bus_bytes_per_second")
    names = {record["entities"][m["entity"]]["id"] for m in bus}
    assert names == {"lower half", "upper half"}
    assert all(record["entities"][m["entity"]]["kind"] == "group" for m in bus)
    # Two ranks each: the factor is 1, not that of four.
    for a, b in zip(metrics(record, "algorithm_bytes_per_second"), bus):
        assert a["samples"] == b["samples"]
    assert len(metrics(record, "time_seconds")) == 4
    assert "(of 2)" in out


def test_sizes_by_step(job):
    code, document, _, err = job.measure(2, "mpi", "--min-size", "1K", "--max-size", "3K",
                                         "--step-bytes", "1K", "--iterations", 2)
    assert code == 0, err
    assert [r["params"]["size"] for r in document["records"]] == [1024, 2048, 3072]


def test_duration_bounds_a_size(job):
    most = 10000000  # minutes
    code, document, _, err = job.measure(2, "mpi", "--size", "1K,2K", "--duration", "300ms", "--iterations", most)
    assert code == 0, err
    for record in document["records"]:
        one, other = (m["summary"] for m in metrics(record, "time_seconds"))
        assert 20 <= one["n"] == other["n"] < most


def test_one_rank_is_not_enough(job):
    code, document, _, err = job.measure(0, "mpi")
    assert code == 3
    assert document["records"][0]["outcome"] == "skipped"
    assert "needs 2 ranks" in document["records"][0]["reason"]
    assert "needs 2 ranks" in err
    assert job.measure(1, "mpi")[0] == 3


@pytest.mark.parametrize("split, called", [([], "world"), (["--split", "half"], "part")])
def test_without_a_split_the_world_is_called_as_most_programs_do(job, mpi_shim, split, called):
    log = job.folder / "called"
    mpi_shim("world_shim.c", WORLD_SHIM=str(log))
    code, _, err = job.run(4, "mpi", "--op", "alltoall", "--size", "1K", "--iterations", 5, "--checks", 1, *split)
    assert code == 0, err
    lines = log.read_text().split()
    assert len(lines) >= 6 and set(lines) == {called}


@pytest.mark.parametrize("args, text", [
    (["--size", "8G", "--dtype", "double", "--op", "alltoall"], "available"),
    (["--size", "16", "--op", "alltoall"], "too small for 2 ranks"),
    (["--size", "3"], "too small"),
    (["--size", "3G", "--dtype", "int8"], "more elements than one call counts"),
    (["--min-size", "1M", "--max-size", "1K"], "larger than --max-size"),
    (["--size", "1K", "--inject-fault", "2"], "there is no rank 2"),
    (["--size", "1K", "--split", "rack"], "'rack' is none of host, rail, pair, half"),
    (["--size", "1K", "--split", "2"], "group 0 has one rank only"),
    (["--size", "1K", "--op", "broadcast", "--in-place"], "broadcast has no in-place form"),
])
def test_what_cannot_be_done_is_refused_before_measuring(job, args, text):
    code, out, err = job.run(2, "mpi", *args, "--json", job.json)
    assert code == 2
    assert err.count("clusterbench mpi: 1 problem") == 1
    assert text in err
    assert not job.json.exists()


def test_all_problems_at_once(job):
    code, _, err = job.run(2, "mpi", "--size", "16,8G", "--op", "all_gather", "--dtype", "double")
    assert code == 2
    assert "too small" in err and "available" in err
