"""What was finished stays: one point that fails, or a signal, costs no other point, in every family of cases."""

import json
import os
import pty
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from processes import compiled_shim, has_sanitizers

BINARY = os.environ["CLUSTERBENCH_BIN"]
BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
FAKE_GPU = BUILD / "bin" / "clusterbench_fake_gpu"
FAKE = BUILD / "fake"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
GPU = {"CLUSTERBENCH_CUBLASLT_LIBRARY": str(FAKE / "fake_cublaslt.so"), "CLUSTERBENCH_FAKE_CUDA": "devices=1 memory=536870912",
       "CLUSTERBENCH_NVML_LIBRARY": str(FAKE / "fake_nvml.so"), "CLUSTERBENCH_FAKE_NVML": "gpus=1"}

without_cuda = pytest.mark.skipif(not FAKE_GPU.exists() or not (FAKE / "fake_nvml.so").exists(), reason="built without CUDA or nvml.h")
without_cufile = pytest.mark.skipif(not (FAKE / "fake_cufile.so").exists(), reason="built without the stand-in for cuFile")


def measure(tmp_path, *args, binary=BINARY, env=None, code=0):
    out = tmp_path / "r.json"
    done = subprocess.run([binary, *map(str, args), "--json", out], capture_output=True, text=True, timeout=240,
                          env={**os.environ, **(env or {})}, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(out.read_text())["records"]


def outcomes(records):
    return [r["outcome"] for r in records]


def test_a_product_that_does_not_fit_costs_itself(tmp_path):
    records = measure(tmp_path, "gemm", "--device", "cpu", "--library", "builtin", "--size", "64,65536,96", "--iterations", "6", code=4)
    assert outcomes(records) == ["measured", "errored", "measured"]
    assert [r["params"]["size"] for r in records] == [64, 65536, 96]
    assert "needs 96.0 GiB" in records[1]["reason"] and records[1]["where"] == os.uname().nodename
    assert records[1]["metrics"] == []


def test_arrays_that_do_not_fit_leave_the_latency(tmp_path):
    stream, latency = measure(tmp_path, "bandwidth", "--device", "cpu", "--op", "copy,triad,latency", "--size", "1024T", "--max-size",
                              "4K", code=4)
    assert stream["outcome"] == "errored" and stream["params"]["op"] == ["copy", "triad"]
    assert latency["outcome"] == "measured" and latency["metrics"]


@without_cuda
def test_a_product_that_does_not_fit_on_a_gpu_costs_itself(tmp_path):
    records = measure(tmp_path, "gemm", "--device", "gpu", "--size", "128,32768,256", "--warm-up", "0s", "--iterations", "6",
                      binary=FAKE_GPU, env=GPU, code=4)
    assert outcomes(records) == ["measured", "errored", "measured"]


def test_a_point_that_fails_costs_itself(tmp_path):
    records = measure(tmp_path, "fake", "--size", "1K,2K,4K", "--failing-rank", "0", "--failing-size", "2K", code=4)
    assert outcomes(records) == ["measured", "errored", "measured"]
    assert records[1]["reason"] == "fails as it was told"


@without_cufile
def test_a_way_to_the_gpu_that_fails_leaves_the_others(tmp_path, work):
    env = {"CLUSTERBENCH_CUFILE_LIBRARY": str(FAKE / "fake_cufile.so"), "FAKE_CUFILE": "error"}
    records = measure(tmp_path, "gds", "--dir", work, "--memory", "host", "--size", "1M", "--block-size", "64K", "--queue-depth", "4",
                      "--mode", "sync,bounce", "--duration", "100ms", env=env, code=4)
    assert outcomes(records) == ["errored", "measured"]
    assert [r["params"]["mode"] for r in records] == ["sync", "bounce"]
    assert list(work.iterdir()) == []


class Terminal:
    """A program whose progress goes to a terminal, so that it is drawn at once."""

    def __init__(self, binary, args, env):
        leader, follower = pty.openpty()
        self.process = subprocess.Popen([binary, *map(str, args)], stdout=subprocess.DEVNULL, stderr=follower,
                                        env={**os.environ, **env})
        os.close(follower)
        self.seen, self.ended, self.leader, self.changed = "", False, leader, threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            try:
                more = os.read(self.leader, 65536)
            except OSError:  # the program has ended
                more = b""
            with self.changed:
                self.seen += more.decode(errors="replace")
                self.ended = not more
                self.changed.notify_all()
            if not more:
                return

    def wait_for(self, text):
        with self.changed:
            self.changed.wait_for(lambda: text in self.seen or self.ended, timeout=120)
            assert text in self.seen, self.seen


INTERRUPTED = [
    # family, arguments, the point at which the signal comes, values of the points that are then finished
    pytest.param(BINARY, {}, ("gemm", "--device", "cpu", "--library", "builtin", "--size", "300,1400", "--iterations", "300"),
                 "1400×1400×1400", "size", [300], id="gemm-cpu"),
    pytest.param(BINARY, {}, ("bandwidth", "--device", "cpu", "--op", "latency", "--min-size", "64M", "--max-size", "512M", "--step-factor", "2"),
                 "latency 128M", "size", [1 << 26], id="bandwidth-cpu"),
    pytest.param(BINARY, {}, ("io", "--dir", "WORK", "--workload", "qd-sweep", "--size", "8M", "--duration", "1s"),
                 "queue depth 4", "queue-depth", [1, 2], id="io"),
    # Ten requests a second: the checkpoint takes six seconds.
    pytest.param(BINARY, {}, ("io", "--dir", "WORK", "--workload", "mixed", "--size", "256M", "--rate", "10", "--duration", "1s", "--warm-up", "0s"),
                 "checkpoint", "workload", ["dataset-read"], id="io-mixed"),
    # One record: what the phases before had measured.
    pytest.param(BINARY, {}, ("io", "--dir", "WORK", "--workload", "metadata", "--files", "20000"),
                 "metadata stat", "workload", ["metadata"], id="io-metadata"),
    pytest.param(BINARY, {"CLUSTERBENCH_CUFILE_LIBRARY": str(FAKE / "fake_cufile.so"), "FAKE_CUFILE": "direct"},
                 ("gds", "--dir", "WORK", "--memory", "host", "--size", "1M", "--block-size", "64K", "--queue-depth", "4", "--allow-compat",
                  "--mode", "sync,bounce,batch", "--duration", "1s"),
                 "gds bounce", "mode", ["sync"], marks=without_cufile, id="gds"),
    pytest.param(FAKE_GPU, GPU, ("gemm", "--device", "gpu", "--size", "128", "--dtype", "bf16,fp64,fp32", "--warm-up", "500ms", "--duration", "1s"),
                 "gemm fp64", "dtype", ["bf16"], marks=without_cuda, id="gemm-gpu"),
    pytest.param(FAKE_GPU, GPU, ("bandwidth", "--device", "gpu", "--op", "copy,read,triad", "--size", "1M", "--warm-up", "500ms", "--duration", "1s"),
                 "bandwidth read", "op", ["copy"], marks=without_cuda, id="bandwidth-gpu"),
    pytest.param(FAKE_GPU, GPU, ("burn", "--device", "gpu", "--phase", "bf16,hbm,march", "--size", "128", "--memory-share", "0.05",
                                 "--duration", "6s"),
                 "burn hbm", "phase", ["bf16"], marks=without_cuda, id="burn-gpu"),
]


STAT_WAITS = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int fstatat(int directory, const char *name, struct stat *out, int flags) {
  int (*real)(int, const char *, struct stat *, int) = dlsym(RTLD_NEXT, "fstatat");
  while (strcmp(name, "rank0.0.dat") == 0 && access(getenv("MAY_STAT"), F_OK) != 0) usleep(10000);
  return real(directory, name, out, flags);
}
"""


@pytest.fixture
def held(tmp_path):
    """An environment in which the phase `stat` of io's metadata waits for the file MAY_STAT. A sanitizer allows no such
    library: there the test races the phases, which take longer then."""
    env = {"MAY_STAT": str(tmp_path / "may-stat")}
    return env if has_sanitizers(BINARY) else {**env, "LD_PRELOAD": str(compiled_shim(tmp_path, STAT_WAITS))}


@pytest.mark.parametrize("binary, env, args, point, key, before", INTERRUPTED)
def test_ctrl_c_keeps_the_points_before_it(disk, work, held, binary, env, args, point, key, before):
    out = disk / "r.json"
    args = [work if a == "WORK" else a for a in args]
    run = Terminal(binary, [*args, "--json", out], {**env, **(held if "metadata" in args else {})})
    run.wait_for(point)
    run.process.send_signal(signal.SIGINT)
    Path(held["MAY_STAT"]).touch()
    assert run.process.wait(timeout=120) == 130, run.seen
    document = json.loads(out.read_text())
    assert document["run"]["partial"] == "interrupted"
    done = [r["params"][key] for r in document["records"]]
    # The signal may come when the point has just ended: then that one is there as well.
    assert done[:len(before)] == before and len(done) <= len(before) + 1, run.seen
    assert all(r["outcome"] == "measured" and r["metrics"] for r in document["records"])
    assert list(work.iterdir()) == []


def disturbed(disk, work, args, point, disturb, env=None):
    """The records of a run of io, of which `disturb` spoils a file as soon as that point has begun."""
    out = disk / "r.json"
    run = Terminal(BINARY, ["io", "--dir", work, *args, "--json", out], env or {})
    run.wait_for(point)
    disturb()
    assert run.process.wait(timeout=120) == 4, run.seen
    assert list(work.iterdir()) == []
    return json.loads(out.read_text())["records"]


def test_a_file_that_goes_away_leaves_the_phases_before(disk, work, held):
    def remove_last():
        (directory,) = work.iterdir()
        (directory / "rank0.19999.dat").unlink()
        Path(held["MAY_STAT"]).touch()
    before, failed = disturbed(disk, work, ["--workload", "metadata", "--files", "20000"], "metadata stat", remove_last, held)
    names = {m["name"] for m in before["metrics"]}
    assert before["outcome"] == "measured" and {"create_per_second", "create_latency_seconds"} <= names
    assert "unlink_per_second" not in names
    assert failed["outcome"] == "errored" and failed["metrics"] == []
    assert "rank0.19999.dat" in failed["reason"]


def test_a_data_set_that_is_cut_off_leaves_the_reading_alone(disk, work):
    def cut():
        for file in work.rglob("*"):
            if file.is_file() and file.stat().st_size > 1 << 20:
                os.truncate(file, 0)
    alone, *beside = disturbed(disk, work, ["--workload", "mixed", "--size", "256M", "--rate", "10", "--duration", "1s", "--warm-up",
                                            "0s"], "checkpoint", cut)
    assert alone["outcome"] == "measured" and alone["params"]["workload"] == "dataset-read" and alone["metrics"]
    assert beside[0]["outcome"] == "errored" and beside[0]["params"]["workload"] == "mixed"
    assert not any(m["name"] == "share_of_undisturbed" for r in beside for m in r["metrics"])


def records_so_far(out, process, at_least=1):
    """The document that a job keeps while it runs, once it has that many records."""
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        if out.exists() and len(document := json.loads(out.read_text())["records"]) >= at_least:
            return document
        time.sleep(0.02)
    raise AssertionError(f"no record was kept: {process.poll()}")


KILLED = ["gemm", "--device", "cpu", "--library", "builtin", "--size", "200,220,1400", "--iterations", "300"]


def test_points_outlive_a_process_that_is_killed(disk):
    out = disk / "r.json"
    with subprocess.Popen([BINARY, *KILLED, "--json", out, "--quiet"]) as run:
        records_so_far(out, run, at_least=2)
        run.kill()
    document = json.loads(out.read_text())
    assert [r["params"]["size"] for r in document["records"]] == [200, 220]
    assert all(r["outcome"] == "measured" and r["metrics"] for r in document["records"])
    assert document["run"]["partial"] == "the process that writes the results ended before the measurement did"
    assert [f.name for f in disk.iterdir()] == ["r.json"]
    gate = subprocess.run([BINARY, "gate", out], capture_output=True, text=True, timeout=60, check=False)
    assert gate.returncode != 0, gate.stdout


def rank_zero(launcher):
    """The process identifier of rank 0 below that launcher."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rsplit(")", 1)[1].split()[1])
            environment = (status.parent / "environ").read_bytes().split(b"\0")
        except (OSError, IndexError):
            continue
        if parent == launcher and b"OMPI_COMM_WORLD_RANK=0" in environment:
            return int(status.parent.name)
    raise AssertionError("rank 0 does not run")


def test_points_outlive_rank_zero(disk):
    """What both ranks had finished is in the document, though nobody was left to write it."""
    out = disk / "r.json"
    command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", "2", BINARY, *KILLED, "--json", out, "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, **AS_ROOT}) as run:
        kept = records_so_far(out, run)
        os.kill(rank_zero(run.pid), signal.SIGKILL)
        assert run.wait(timeout=60) != 0
    records = json.loads(out.read_text())["records"]
    assert records[:len(kept)] == kept
    assert [e["id"] for e in records[0]["entities"]] == ["rank 0", "rank 1"]
    assert {m["entity"] for m in records[0]["metrics"]} == {0, 1}
    assert not [n for n in records[0]["notes"] if "without the shares" in n]


def test_a_document_that_goes_to_a_pipe_is_written_once():
    done = subprocess.run([BINARY, "gemm", "--device", "cpu", "--library", "builtin", "--size", "64,96", "--iterations", "6", "--json", "/dev/stdout",
                           "--quiet"], capture_output=True, text=True, timeout=120, check=True)
    assert len(json.loads(done.stdout)["records"]) == 2
