import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))
from processes import wait_until_busy

BINARY = os.environ["CLUSTERBENCH_BIN"]


class Job:
    """clusterbench under mpirun (ranks > 0) or alone (ranks = 0)."""

    def __init__(self, folder):
        self.folder = folder
        self.json = folder / "result.json"

    def start(self, ranks, *args, grace=True, before=()):
        """`before`: a command that is given the binary and its arguments, and starts it.

        `grace`: once a rank has ended with an error, mpirun leaves the others a second after SIGTERM and waits another
        after SIGKILL. Users have it; without, whoever is still needed then is missed at once."""
        env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
               "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "PRTE_MCA_hwloc_default_binding_policy": "none",
               # A rank that waits leaves its processor to what else runs here, also if there is one for each.
               "OMPI_MCA_mpi_yield_when_idle": "1"}
        if not grace:
            env["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
        launcher = ["mpirun", "-np", str(ranks)] if ranks else []
        # A session of its own, so that everything left of it can be found and ended.
        return subprocess.Popen([*launcher, *map(str, before), BINARY, *map(str, args)], env=env, cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                start_new_session=True)

    def finish(self, process, timeout):
        """(exit code, stdout, stderr, seconds until the end)."""
        begin = time.monotonic()
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            pytest.fail(f"did not end within {timeout} s\n{out}\n{err}")
        return process.returncode, out, err, time.monotonic() - begin

    def run(self, ranks, *args, timeout=120, grace=False, before=()):
        """A job whose ranks all end by themselves, so that none needs grace: (exit code, stdout, stderr)."""
        return self.finish(self.start(ranks, *args, grace=grace, before=before), timeout)[:3]

    def measure(self, ranks, *args, timeout=120, before=()):
        """Like run() with --json, which must be there: (exit code, document, stdout, stderr)."""
        self.json.unlink(missing_ok=True)  # of an earlier job
        code, out, err = self.run(ranks, *args, "--json", self.json, timeout=timeout, before=before)
        assert self.json.exists(), err
        return code, json.loads(self.json.read_text()), out, err

    def seconds_after(self, words, err):
        """How long something took as the job itself tells it: what mpirun needs to end on a busy machine is no part."""
        told = re.search(re.escape(words) + r" ([\d.]+) s\b", err)
        assert told, err
        return float(told[1])

    def ranks_of(self, process):
        """Process ids by rank of the job that this mpirun has started."""
        found = {}
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    fields = stat.read().rpartition(")")[2].split()
                if int(fields[1]) != process.pid or fields[0] == "Z":
                    continue
                with open(f"/proc/{entry}/environ") as environ:
                    pairs = dict(p.split("=", 1) for p in environ.read().split("\0") if "=" in p)
            except (FileNotFoundError, ProcessLookupError):
                continue
            if "OMPI_COMM_WORLD_RANK" in pairs:
                found[int(pairs["OMPI_COMM_WORLD_RANK"])] = int(entry)
        return found

    def wait_for_ranks(self, process, count):
        deadline = time.monotonic() + 60
        while len(found := self.ranks_of(process)) < count:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, found
            time.sleep(0.05)
        return found


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


# Makes each pair of ranks a host of its own, h0 and on, with stand-in GPUs of its own: for Job's `before`.
PAIRS_AS_HOSTS = ["unshare", "--uts", "sh", "-c", """host=$((OMPI_COMM_WORLD_RANK / 2))
hostname "h$host"
export CLUSTERBENCH_FAKE_CUDA="$CLUSTERBENCH_FAKE_CUDA host=$host"
exec "$@"
""", "sh"]
needs_own_hosts = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for host names of its own: unshare --uts")


@pytest.fixture
def mpi_shim(tmp_path, monkeypatch):
    """Puts a shim of this folder in front of libmpi, with what it is told by the environment."""
    def use(source, **environment):
        compiler = shutil.which("mpicc")
        if compiler is None:
            pytest.skip("no mpicc")
        shim = tmp_path / "shim.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-o", shim, Path(__file__).parent / source], check=True, capture_output=True)
        for name, value in {**environment, "CLUSTERBENCH_MPI_LIBRARY": str(shim)}.items():
            monkeypatch.setenv(name, value)
    return use


def by_level(document):
    """{(kind, level): record} of train --scaling."""
    return {(r["params"]["scaling"], r["params"]["level"]): r for r in document["records"]}


def of_entities(record, name):
    """{entity: samples} of a metric; an entity as (host, id)."""
    return {(record["entities"][m["entity"]]["host"], record["entities"][m["entity"]].get("id", "")): m["samples"]
            for m in record["metrics"] if m["name"] == name}


def check_efficiency(record, name, base):
    """Each group's, of each step, over the medians of the groups of `base` that lie in it."""
    apart = {key: statistics.median(samples) for key, samples in of_entities(base, "tokens_per_second").items()}
    together, shares = of_entities(record, "tokens_per_second"), of_entities(record, name)
    assert shares.keys() == together.keys() and shares
    for (host, _), samples in shares.items():
        whole = sum(rate for (on, _), rate in apart.items() if host in ("", on))
        assert samples == pytest.approx([rate / whole for rate in together[(host, _)]], rel=1e-9)


def gone(pid):
    """True for a process that has ended, also if nobody has reaped it."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.fixture
def nothing_left():
    """Asserts that these processes end within a few seconds."""
    def check(pids):
        deadline = time.monotonic() + 5
        while not all(gone(p) for p in pids):
            assert time.monotonic() < deadline, [p for p in pids if not gone(p)]
            time.sleep(0.05)
    return check


@pytest.fixture
def stand_in_gpus(monkeypatch, tmp_path):
    """Jobs run on a host of four stand-in GPUs with a stand-in NCCL in the order of their streams; what a test says of them comes behind."""
    build = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
    product = "name=NVIDIA_H100_80GB_HBM3"

    def say(cuda="", nccl="", devices=4):
        monkeypatch.setattr(sys.modules[__name__], "BINARY", build / "bin" / "clusterbench_fake_gpu")
        monkeypatch.setenv("CLUSTERBENCH_FAKE_CUDA", f"devices={devices} memory=67108864 {product} total=8.5e10 {cuda}")
        monkeypatch.setenv("CLUSTERBENCH_FAKE_NVML", f"gpus={devices} {product} memory_total_bytes=8.5e10 clock_hertz=1.5e9")
        monkeypatch.setenv("FAKE_NCCL", f"streams,{nccl}")
        monkeypatch.setenv("FAKE_NCCL_LOG", str(tmp_path / "nccl.log"))
        for name in ("cublaslt", "nvml", "nccl"):
            monkeypatch.setenv(f"CLUSTERBENCH_{name.upper()}_LIBRARY", str(build / "fake" / f"fake_{name}.so"))
    say()
    return say


@pytest.fixture
def rank_dies(job, nothing_left):
    """A rank of four is killed while it measures: the job ends, names it, and leaves nothing."""
    def check(victim, *args):
        process = job.start(4, *args, "--iterations", 1000000, "--stall", "5s", grace=False)
        pids = job.wait_for_ranks(process, 4)
        wait_until_busy(pids[victim], 0.5)
        os.kill(pids[victim], signal.SIGKILL)
        code, _, err, _ = job.finish(process, 60)
        assert code != 0 and f"rank {victim}" in err, err
        nothing_left(pids.values())
    return check


@pytest.fixture
def rank_hangs(job, nothing_left):
    """A rank of four stands still while it measures: the job ends at the stall, and says who is missing and what was measured."""
    def check(victim, doing, *args):
        process = job.start(4, *args, "--iterations", 1000000, "--stall", "2s")
        pids = job.wait_for_ranks(process, 4)
        wait_until_busy(pids[victim], 0.5)
        os.kill(pids[victim], signal.SIGSTOP)
        code, _, err, _ = job.finish(process, 60)
        assert code == 124, err
        assert f"not there : {os.uname().nodename} rank {victim}: has been silent for" in err
        assert doing in err
        nothing_left(pids.values())
    return check


@pytest.fixture
def nccl(job, monkeypatch):
    """Runs with the stand-in behaving as told, and ends with the exit code that is expected: (records, stderr). The
    table is in job.table."""
    def run(ranks, *args, behaviour="", library="fake_nccl.so", expect=0, timeout=120, grace=False):
        monkeypatch.setenv("CLUSTERBENCH_NCCL_LIBRARY", str(Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "fake" / library))
        monkeypatch.setenv("FAKE_NCCL", behaviour)
        monkeypatch.setenv("FAKE_NCCL_LOG", str(job.folder / "fake.log"))
        job.json.unlink(missing_ok=True)
        code, out, err = job.run(ranks, "nccl", "--memory", "host", *args, "--json", job.json,
                                 timeout=timeout, grace=grace)
        assert code == expect, err + out
        job.table = out
        document = json.loads(job.json.read_text()) if job.json.exists() else {"records": []}
        return document["records"], err
    return run
