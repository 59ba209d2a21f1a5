"""The same binary under the MPI of the launcher that starts it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "tools"))
import any_mpi  # noqa: E402

BINARY = os.environ["CLUSTERBENCH_BIN"]
OPEN_MPI = "libmpi.so.40"
MPICH = "libmpich.so.12"
HYDRA = "/usr/bin/mpiexec.mpich"


def started(launcher, ranks, *words, **environment):
    known = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_COMM", "PMI", "PMIX"))}
    return subprocess.run([*launcher, "-np", str(ranks), BINARY, *map(str, words)], timeout=120, text=True,
                          capture_output=True, env={**known, **environment}, check=False)


def mpirun():
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return ["mpirun", *root, "--oversubscribe"]


@pytest.mark.parametrize("launcher, library", [(mpirun(), "Open MPI v"), ([HYDRA], "MPICH ")], ids=["open mpi", "mpich"])
def test_collectives_are_right_under_the_launchers_own_library(tmp_path, launcher, library):
    file = tmp_path / "r.json"
    done = started(launcher, 4, "mpi", "--op", "all_reduce,alltoall,reduce_scatter,all_gather,broadcast,reduce,sendrecv",
                   "--size", "1K,256K", "--duration", "50ms", "--json", file)
    assert done.returncode == 0, done.stderr
    document = json.loads(file.read_text())
    assert document["run"]["ranks"] == 4
    assert document["tool"]["build"]["mpi"].startswith(library)
    for record in document["records"]:
        assert record["facts"]["library"].startswith(library)
        assert record["metrics"] and all(check["passed"] for check in record["checks"])


@pytest.mark.parametrize("launcher", [mpirun(), [HYDRA]], ids=["open mpi", "mpich"])
def test_a_rank_that_fails_is_named_under_any(tmp_path, launcher):
    file = tmp_path / "r.json"
    done = started(launcher, 3, "fake", "--failing-rank", 2, "--json", file)
    assert done.returncode != 0
    record, = json.loads(file.read_text())["records"]
    assert "rank 2" in json.dumps(record)


def test_pairs_over_mpich(tmp_path):
    file = tmp_path / "r.json"
    for turn in range(1, 8):
        done = started([HYDRA], 3, "locate", "--backend", "mpi", "--between", "rank", "--mode", "full", "--measure", "latency",
                       "--duration", f"{50 * turn}ms", "--repeats", "1", "--tolerance", "0.9", "--json", file)
        record, = json.loads(file.read_text())["records"]
        if "hides all that is less than" in record.get("reason", ""):
            continue  # beside other tests: it says so and gives no figure, until it has looked for long enough
        # Each pair in both directions.
        assert [m["name"] for m in record["metrics"]] == ["latency_seconds"] * 6, (record.get("reason"), done.stderr)
        assert all(0 < m["summary"]["min"] < 1 for m in record["metrics"])
        if done.returncode == 0:
            break
        # Three ranks that spin on fewer processors leave one pair far behind the others now and then, which is told.
        assert [c["name"] for c in record["checks"] if not c["passed"]] == ["no_suspect"], done.stderr
    else:
        pytest.fail(done.stdout + done.stderr)


@pytest.mark.parametrize("launcher, other", [([HYDRA], OPEN_MPI)], ids=["mpich"])
def test_the_library_of_another_mpi_is_not_measured_with(launcher, other):
    done = started(launcher, 2, "fake", CLUSTERBENCH_MPI_LIBRARY=other)
    assert done.returncode == 2
    assert "this process finds itself alone" in done.stderr
    assert "Open MPI v" in done.stderr and "CLUSTERBENCH_MPI_LIBRARY" in done.stderr


def test_a_library_that_is_not_there(tmp_path):
    done = started(mpirun(), 2, "fake", CLUSTERBENCH_MPI_LIBRARY=tmp_path / "libmpi.so")
    assert done.returncode == 2
    assert str(tmp_path / "libmpi.so") in done.stderr and "CLUSTERBENCH_MPI_LIBRARY" in done.stderr
    assert "next: name the libmpi.so of that launcher" in done.stderr


def test_a_library_that_is_no_mpi():
    done = started(mpirun(), 2, "fake", CLUSTERBENCH_MPI_LIBRARY="libm.so.6")
    assert done.returncode == 2
    assert "has no MPI_" in done.stderr


def test_alone_no_library_is_needed(tmp_path):
    file = tmp_path / "r.json"
    done = subprocess.run([BINARY, "fake", "--json", str(file)], timeout=60, text=True, capture_output=True, check=False,
                          env={**os.environ, "CLUSTERBENCH_MPI_LIBRARY": str(tmp_path / "libmpi.so")})
    assert done.returncode == 0, done.stderr
    assert json.loads(file.read_text())["tool"]["build"]["mpi"] == "none"


def test_the_program_is_linked_to_no_mpi():
    dynamic = subprocess.run(["readelf", "-d", BINARY], text=True, capture_output=True, check=True).stdout
    assert "libmpi" not in dynamic and "libopen-pal" not in dynamic


@pytest.mark.parametrize("launcher", [mpirun(), [HYDRA]], ids=["open mpi", "mpich"])
def test_a_wrong_value_that_all_ranks_share_is_not_laid_on_one_host(tmp_path, launcher):
    """MPICH 4.0 compares unsigned numbers as signed ones; a planted fault is one rank's own."""
    file = tmp_path / "r.json"
    shared = "every rank received the same wrong value"
    words = ["mpi", "--op", "all_reduce", "--dtype", "uint64", "--reduction", "max", "--size", "64K", "--iterations", 2]
    done = started(launcher, 2, *words, "--json", file)
    record, = json.loads(file.read_text())["records"]
    right = all(check["passed"] for check in record["checks"])
    assert done.returncode == (0 if right else 1)
    assert any(shared in note for note in record["notes"]) != right
    assert started(launcher, 2, *words[:3], "--size", "64K", "--iterations", 2, "--inject-fault", 1, "--json", file).returncode == 1
    record, = json.loads(file.read_text())["records"]
    assert not any(shared in note for note in record["notes"])


@pytest.mark.parametrize("kind, compiler, launcher", [("Open MPI", "mpicc.openmpi", "mpirun.openmpi"), ("MPICH", "mpicc.mpich", "mpiexec.mpich")])
def test_a_plain_loop_runs_in_the_ranks_of_the_program(tmp_path, monkeypatch, kind, compiler, launcher):
    """What ci/any-mpi.sh compares with: the point of a job before and after, behind the right library."""
    def flat(times):
        return [times[0], *times[1], *times[2]]

    def of(point, version):
        return any_mpi.times_of_job(mpi, BINARY, library, tmp_path, version, point)
    for name in [name for name in os.environ if name.startswith(("OMPI_COMM", "PMI"))]:
        monkeypatch.delenv(name)
    mpi = any_mpi.Mpi(kind, [launcher], compiler)
    document, why = any_mpi.measured(mpi, 2, [BINARY], tmp_path, "--op", "all_reduce", "--size", "64", "--duration", "1ms")
    assert document, why
    version = document["tool"]["build"]["mpi"]
    assert version.startswith(kind)
    library = any_mpi.compile_plain(mpi, tmp_path)
    times = {point: of(point, version) for point in any_mpi.POINTS}
    for own, before, after in times.values():
        assert all(0 < seconds < 1 for seconds in (own, *before, *after)) and len(before) == len(after) == 2
    for op in any_mpi.OPS:  # four mebibytes take longer than 32 bytes for the loop too, so that it has the point that was asked for
        assert all(large > small for small, large in zip(flat(times[op, 32]), flat(times[op, 4 << 20])))
    with pytest.raises(any_mpi.Failed, match="stood behind the plain loop, not another on 2"):
        of(any_mpi.POINTS[0], "another")
