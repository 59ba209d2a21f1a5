"""One CPU control group for all hosts of a lab.

Linux gives each session a group of its own (sched_autogroup), and every host of a lab is a session. Where threads that spin
share a processor with threads that sleep, Linux 6.18 then leaves a whole session without one: for a second in a small program,
for a minute in a job whose ranks stopped (docs/design/decisions/0147-…).
"""

import os
import subprocess
import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")


def parent():
    """The top of the tree that shares out processors; None if there is none or this process is below it already."""
    for line in OWN.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(",") and path == "/":
            return ROOT / controllers
    enabled = ROOT / "cgroup.subtree_control"
    unified = enabled.exists() and "cpu" in enabled.read_text().split() and "0::/\n" in OWN.read_text()
    return ROOT if unified else None


def place(name):
    """Where a group of that name would be; None where none can be made."""
    top = parent()
    return top / name if top and os.access(top / "cgroup.procs", os.W_OK) else None


def make(group, shares):
    """A group with as many shares of the processors as so many sessions have; None if processes cannot run in one."""
    try:
        group.mkdir()
    except OSError:
        return None
    try:
        for file, one, most in (("cpu.shares", 1024, 262144), ("cpu.weight", 100, 10000)):
            if (group / file).exists():
                (group / file).write_text(str(min(one * shares, most)))
        subprocess.run(joined(group, ["true"]), check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        remove(group)
        return None
    return group


def joined(group, argv):
    """argv as it runs in the group."""
    return argv if group is None else ["sh", "-c", 'echo $$ >"$0" || exit; exec "$@"', str(group / "cgroup.procs"), *argv]


def remove(group):
    """Whether it is gone. What ran in it has ended, but may not have been taken off yet. What was never made is gone."""
    for _ in range(40):
        try:
            Path(group).rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            time.sleep(0.05)
        else:
            return True
    return False
