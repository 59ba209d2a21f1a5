"""locate over MPI where rounds miss their deadline: MPI may still write to their buffers, so they are kept until it has ended. And where
few messages fit into a round."""
import os
import time
from pathlib import Path

import pytest

LOCATE = ("locate", "--backend", "mpi", "--between", "rank", "--mode", "full")
MIB = 1 << 20


def resident_bytes(pid):
    """The process's memory that is not shared with others; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
        return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
    except (FileNotFoundError, ProcessLookupError):
        return 0


def watched(job, ranks, *args, most):
    """(exit code, stdout, stderr, the most memory that the ranks had at a time). Ends a job that takes more than `most`."""
    process = job.start(ranks, *args, grace=False)
    pids = job.wait_for_ranks(process, ranks).values()
    peak, end = 0, time.monotonic() + 200
    while process.poll() is None and time.monotonic() < end:
        peak = max(peak, sum(map(resident_bytes, pids)))
        if peak > most:
            for pid in pids:
                os.kill(pid, 9)
        time.sleep(0.02)
    code, out, err, _ = job.finish(process, 60)
    assert peak <= most, out + err
    return code, out, err, peak


def test_buffers_of_rounds_that_miss_their_deadline_are_freed_when_they_end(job):
    # Two ranks of three have 8 messages of 48 MiB each in a round of at least 18; to have that memory alone takes longer
    # than the round's deadline on most hosts.
    code, out, err, _ = watched(job, 3, *LOCATE, "--tolerance", 0.9, "--size", "48M", "--duration", "1ms",
                                "--round-deadline", "100ms", "--repeats", 3, most=6 * 2 * 8 * 48 * MIB)
    assert code in (0, 1), out + err
    if "did not answer within" not in out:
        pytest.skip("the rounds end within the shortest deadline that can be asked for")


def host_with(folder, mib):
    (folder / "proc").mkdir()
    (folder / "proc" / "meminfo").write_text(f"MemTotal: 99999999 kB\nMemAvailable: {mib * 1024} kB\n")
    return folder


def test_messages_that_never_end_end_the_job_before_the_host_is_full(job, tmp_path, mpi_shim):
    # A round of rank 1 with another keeps 8 messages of 1 MiB at either end: 16 MiB. 75 MiB are for them.
    mpi_shim("lost_sends_shim.c", LOST_FROM="1", LOST_BYTES=str(MIB))
    code, document, out, err = job.measure(3, *LOCATE, "--size", "1M", "--duration", "20ms", "--round-deadline", "1s",
                                           "--repeats", 20, "--sysroot", host_with(tmp_path, 100))
    assert code not in (0, 124), out + err
    record, = document["records"]
    assert record["outcome"] == "errored"
    host = os.uname().nodename
    assert "4 round(s) did not end within the deadline; their messages still hold 64.0 MiB on " + host in record["reason"]
    assert "the next round needs 16.0 MiB, but all may take 75.0 MiB there" in record["reason"]
    assert f"2 pair(s) of ranks do not answer: {host} rank 1 → {host} rank 0, {host} rank 1 → {host} rank 2" in record["reason"]
    assert "next: a longer --round-deadline, or a smaller --size" in record["reason"]


def test_messages_that_never_end_are_a_finding_where_the_host_has_the_memory(job, mpi_shim):
    mpi_shim("lost_sends_shim.c", LOST_FROM="1", LOST_BYTES="4096")
    code, document, out, err = job.measure(3, *LOCATE, "--size", "4K", "--duration", "20ms", "--round-deadline", "100ms",
                                           "--repeats", 2)
    assert code == 1, out + err
    assert "did not answer within 0.12 s" in out
    assert document["records"][0]["outcome"] == "measured"


def test_messages_that_all_lie_ready_are_not_divided_by_the_time_of_a_look(job):
    """Each pair had terabytes a second."""
    _, document, out, err = job.measure(3, *LOCATE, "--tolerance", 0.9, "--size", "4M", "--duration", "1ms", "--round-deadline", "1s",
                                        "--repeats", 3)
    record, = document["records"]
    assert all(m["summary"]["max"] < 1e11 for m in record["metrics"]), record["metrics"]
    told = str(record["checks"]) + record.get("reason", "")  # beside other tests the noise may hide all
    assert record["metrics"] or "too few messages" in told or "hides all that is less than" in told, out + err


def test_large_messages_that_come_at_one_look_are_no_suspects(job):
    """Nothing was wrong with them but that all eight were there: "too few messages" made every rank a suspect."""
    _, document, out, err = job.measure(3, *LOCATE, "--tolerance", 0.9, "--size", "32M", "--two-way", "--repeats", 1)
    record, = document["records"]
    assert "too few messages" not in str(record["checks"]), out + err
    assert record["metrics"] or "hides all that is less than" in record.get("reason", ""), out + err
