"""Launchers and libraries that do not fit, and shells with what a launcher left behind."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest
from processes import by_rank

BINARY = os.environ["CLUSTERBENCH_BIN"]
HYDRA = "/usr/bin/mpiexec.hydra"
TOLD = ("OMPI_COMM", "OMPI_UNIVERSE", "PMI_", "PMIX_", "SLURM_", "FLUX_")


def clean(**more):
    return {**{k: v for k, v in os.environ.items() if not k.startswith(TOLD)}, "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **{k: str(v) for k, v in more.items()}}


def ended(*words, timeout=60, **environment):
    return subprocess.run([*map(str, words)], env=clean(**environment), capture_output=True, text=True, timeout=timeout,
                          check=False)


def open_mpi(ranks):
    return ["mpirun", "--oversubscribe", "-np", ranks]


@pytest.fixture
def foreign(tmp_path):
    """A folder in which another MPI seems to lie: its libraries open nothing."""
    library = tmp_path / "other" / "lib"
    library.mkdir(parents=True)
    for name in ("libmpi.so.12", "libmpi.so.40", "libmpi_abi.so.1"):
        (library / name).write_text("no library")
    return library.parent


@pytest.mark.parametrize("told", [{"PMIX_RANK": 2}, {"PMIX_RANK": 0}, {"PMI_RANK": 1}, {"PMI_RANK": 0, "PMI_SIZE": 3},
                                  {"PMIX_RANK": 0, "FLUX_JOB_SIZE": 2}], ids=str)
def test_a_process_that_may_be_one_of_several_measures_nothing(tmp_path, told):
    file = tmp_path / "r.json"
    done = ended(BINARY, "fake", "--json", file, **told)
    assert done.returncode == 2
    assert "finds itself alone" in done.stderr and os.uname().nodename in done.stderr
    assert not file.exists()


def test_ranks_of_a_launcher_that_tells_only_pmix_measure_nothing(tmp_path):
    file = tmp_path / "r.json"
    script = 'R=$OMPI_COMM_WORLD_RANK; for v in $(env | grep -o "^\\(OMPI\\|PMIX\\)_[A-Za-z0-9_]*"); do unset $v; done; ' \
             'PMIX_RANK=$R exec "$@"'
    done = ended(*open_mpi(3), "sh", "-c", script, "sh", BINARY, "fake", "--json", file)
    assert done.returncode == 2
    assert "finds itself alone" in done.stderr
    assert not file.exists()


@pytest.mark.parametrize("more, said", [
    (["env", "CLUSTERBENCH_MPI_LIBRARY=/nowhere/libmpi.so", BINARY, "fake"], "/nowhere/libmpi.so"),
    (["env", "CLUSTERBENCH_MPI_LIBRARY=libmpich.so.12", BINARY, "fake"], "finds itself alone"),
    ([BINARY, "fake", "--valeu", "2"], "--value"),
], ids=["no library", "another MPI", "another option"])
def test_what_only_one_rank_finds_is_said_with_its_place(more, said):
    done = ended(*open_mpi(2), *by_rank([BINARY, "fake"], more), timeout=100)
    assert done.returncode == 2
    assert said in done.stderr
    assert f"{os.uname().nodename} rank 1" in done.stderr


@pytest.mark.parametrize("words", [["judge", "x"], ["nosuch"], ["gemm", "--dtype", "foo"]], ids=" ".join)
@pytest.mark.parametrize("told", [{"OMPI_COMM_WORLD_RANK": 1}, {"SLURM_PROCID": 5},
                                  {"OMPI_COMM_WORLD_RANK": 1, "OMPI_COMM_WORLD_SIZE": 2}], ids=str)
def test_a_shell_with_left_over_variables_hears_its_errors(words, told):
    done = ended(BINARY, *words, **told)
    assert done.returncode == 2
    assert done.stderr.startswith("clusterbench")


def test_the_nearest_launcher_counts(tmp_path):
    file = tmp_path / "r.json"
    done = ended(HYDRA, "-np", 2, BINARY, "fake", "--json", file, OMPI_COMM_WORLD_RANK=1, OMPI_COMM_WORLD_SIZE=2)
    assert done.returncode == 0, done.stderr
    document = json.loads(file.read_text())
    assert document["run"]["ranks"] == 2 and document["tool"]["build"]["mpi"].startswith("MPICH")


def by_mpispawn(tmp_path, name, ranks, *words):
    """Debian's MPICH stands for MVAPICH, which is one, and a script for its launcher."""
    file = tmp_path / "r.json"
    shutil.copy(os.path.realpath("/usr/bin/python3"), tmp_path / name)
    script = pathlib.Path(__file__).with_name("mpispawn.py")
    done = ended(tmp_path / name, script, ranks, BINARY, *words, "--json", file, timeout=120)
    assert done.returncode == 0, done.stderr
    document = json.loads(file.read_text())
    assert document["run"]["ranks"] == ranks and document["tool"]["build"]["mpi"].startswith("MPICH")
    return [check for record in document["records"] for check in record["checks"]]


@pytest.mark.parametrize("name", ["mpispawn", "mpirun_rsh"])
def test_ranks_of_mvapichs_launcher_join_by_number_and_port(tmp_path, name):
    checks = by_mpispawn(tmp_path, name, 3, "mpi", "--size", "1K", "--duration", "50ms")
    assert checks and all(check["passed"] for check in checks)


def test_a_single_rank_of_mvapichs_launcher_is_not_refused(tmp_path):
    by_mpispawn(tmp_path, "mpispawn", 1, "fake")


@pytest.mark.parametrize("variable", ["I_MPI_ROOT", "MPI_HOME", "MPICH_DIR", "CRAY_MPICH_DIR"])
@pytest.mark.parametrize("launcher, library, other", [
    (open_mpi(2), "Open MPI", ("libmpi.so.12", "libmpich.so.12")),
    ([HYDRA, "-np", 2], "MPICH", ("libmpi.so.40", "libmpi.so.40"))], ids=["open mpi", "hydra"])
def test_variables_of_another_mpi_do_not_take_the_launchers_library_away(tmp_path, variable, launcher, library, other):
    file = tmp_path / "r.json"
    foreign = tmp_path / "other"
    (foreign / "lib").mkdir(parents=True)
    (foreign / "lib" / other[0]).symlink_to(f"/usr/lib/x86_64-linux-gnu/{other[1]}")
    done = ended(*launcher, BINARY, "fake", "--json", file, **{variable: foreign})
    assert done.returncode == 0, done.stderr
    assert json.loads(file.read_text())["tool"]["build"]["mpi"].startswith(library)


def test_a_launchers_own_library_that_does_not_open_is_an_error(foreign):
    programs = foreign / "bin"
    programs.mkdir()
    for name in ("mpiexec.hydra", "hydra_pmi_proxy"):
        shutil.copy(f"/usr/bin/{name}", programs / name)
    done = ended(programs / "mpiexec.hydra", "-np", 2, BINARY, "fake")
    assert done.returncode == 2
    assert f"{foreign}/lib/libmpi.so.12" in done.stderr and "CLUSTERBENCH_MPI_LIBRARY" in done.stderr
    assert "was started by " in done.stderr and "hydra_pmi_proxy" in done.stderr


def test_the_interface_is_told_by_the_library_and_not_by_its_file(tmp_path):
    disguised = tmp_path / "libmpi_abi.so.1"
    disguised.symlink_to("/usr/lib/x86_64-linux-gnu/libmpich.so.12")
    done = ended(HYDRA, "-np", 2, BINARY, "mpi", "--size", "1K", "--duration", "50ms", CLUSTERBENCH_MPI_LIBRARY=disguised)
    assert done.returncode == 0, done.stderr


def test_a_pipe_is_no_library(tmp_path):
    pipe = tmp_path / "libmpi.so"
    os.mkfifo(pipe)
    done = ended(*open_mpi(1), BINARY, "fake", CLUSTERBENCH_MPI_LIBRARY=pipe)
    assert done.returncode == 2
    assert "not a regular file" in done.stderr


def test_the_variable_is_named_where_its_library_is_no_mpi():
    done = ended(*open_mpi(1), BINARY, "fake", CLUSTERBENCH_MPI_LIBRARY="libm.so.6")
    assert "has no MPI_" in done.stderr and "CLUSTERBENCH_MPI_LIBRARY is set" in done.stderr
