"""What tests of several kinds ask of running processes."""

import os
import shlex
import subprocess
import time

import pytest


def has_sanitizers(program):
    with open(program, "rb") as file:
        code = file.read()
    return b"__asan_init" in code or b"__tsan_init" in code


def skip_under_sanitizers(program, why="a sanitizer wants to be loaded first"):
    if has_sanitizers(program):
        pytest.skip(why)


def compiled_shim(folder, source):
    """A library of these lines of C, which LD_PRELOAD puts in front of the system's."""
    file, library = folder / "shim.c", folder / "shim.so"
    file.write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, file], check=True)
    return library


def wait_until_busy(pid, seconds):
    """Ranks poll while they measure: until this one has used so much CPU time, however busy the machine is. Starting a
    rank of four takes 0.06 s of it, also where six processes want two cores."""
    deadline = time.monotonic() + 120
    ticks = seconds * os.sysconf("SC_CLK_TCK")
    while True:
        with open(f"/proc/{pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        assert fields[0] != "Z", f"{pid} has ended"
        if int(fields[11]) + int(fields[12]) >= ticks:
            return
        assert time.monotonic() < deadline, f"{pid} is idle"
        time.sleep(0.05)


def slowness():
    """How many times 12 ms of CPU time a loop takes now, 1 to 2: it took 15 ms on an idle core of a slow host, 17 beside others. Who shares
    a core's units and caches makes a second of CPU time do less: what is limited in CPU time has its limit times this."""
    def loop():
        begun, x = time.process_time(), 0
        for i in range(300_000):
            x = (x * 31 + i) % 1_000_003
        return time.process_time() - begun

    return min(2.0, max(1.0, sorted(loop() for _ in range(15))[7] / 0.012))


def by_rank(*commands):
    """One command for mpirun that is the first of these on rank 0, the next on rank 1 …: the mpirun of Open MPI 5.0.7 (Debian 13) ends by
    a signal where it is given two programs."""
    turns = "".join(f"{rank}) exec {shlex.join(map(str, words))} ;; " for rank, words in enumerate(commands))
    return ["sh", "-c", f"case $OMPI_COMM_WORLD_RANK in {turns}esac"]


def is_open_mpi_5():
    return "(Open MPI) 5." in subprocess.run(["mpirun", "--version"], capture_output=True, text=True, timeout=60, check=False).stdout
