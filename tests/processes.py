"""What tests of several kinds ask of running processes."""

import os
import time


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
