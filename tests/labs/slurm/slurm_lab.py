"""A Slurm of several nodes on one machine: slurmctld and one slurmd a host, on the hosts of the namespace lab.

Every daemon lives in a namespace of that lab and is ended with it; configuration, state and logs lie below the directory that
the test gives. Users are not checked (auth/none): nothing outside of the lab reaches the daemons.
"""

import os
import shutil
import subprocess
import time
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "srun", "scontrol", "sinfo")


def why_not():
    """Why no Slurm can stand here, or None."""
    missing = [p for p in PROGRAMS if shutil.which(p) is None]
    return f"the Slurm lab needs {' '.join(missing)}: apt-get install slurm-wlm" if missing else None


def version():
    """(22, 5) of "slurm-wlm 22.05.8"."""
    words = subprocess.run(["slurmd", "-V"], capture_output=True, text=True, check=True).stdout.split()
    return tuple(int(number) for number in words[1].split(".")[:2])


CONFIGURATION = """
ClusterName=lab
SlurmctldHost={head}({head_address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool-%n
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd-%n.pid
TmpFS={root}/tmp-%n
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd-%n.log
ProctrackType=proctrack/pgid
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
SlurmdTimeout=30
KillWait=5
MessageTimeout=10
{nodes}
PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class SlurmLab:
    """with SlurmLab(netns, directory) as slurm: slurm.run(["sbatch", script]). `hide`: a directory that no node sees."""

    def __init__(self, netns, directory, slots=2, hide=None):
        self.netns, self.root, self.slots = netns, Path(directory), slots
        self._hidden = {"CLUSTERBENCH_LAB_HIDE": str(hide)} if hide else {}
        self._daemons = {}

    def __enter__(self):
        for place in ("state", *(f"{kind}-{host}" for kind in ("spool", "tmp") for host in self.netns.hosts)):
            (self.root / place).mkdir(parents=True)
        # A namespace has a /sys of its own, without the machine's cgroups. Version 1 looks for them only when it uses them.
        (self.root / "cgroup.conf").write_text(f"CgroupPlugin={'disabled' if version() >= (24, 5) else 'cgroup/v1'}\n")
        self._write("")
        try:
            self._begin("", ["unshare", "--uts", "sh", "-c", f"hostname {self.netns.head} && exec slurmctld -D"])
            for host in self.netns.hosts:
                self.start(host)
            self.wait(lambda: self.states() == {h: "idle" for h in self.netns.hosts}, "nodes are not idle")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.netns.kill_all()
        for daemon in self._daemons.values():
            daemon.kill()
            daemon.wait(timeout=30)

    def _write(self, more):
        nodes = "\n".join(f"NodeName={h} NodeHostname={h} NodeAddr={self.netns.address(h)} CPUs={self.slots} State=UNKNOWN"
                          for h in self.netns.hosts)
        (self.root / "slurm.conf").write_text(CONFIGURATION.format(
            head=self.netns.head, head_address=self.netns.address(), root=self.root, nodes=nodes) + more + "\n")

    def configure(self, more):
        """With these lines beside the lab's own."""
        self._write(more)
        assert self.run(["scontrol", "reconfigure"]).returncode == 0

    def environment(self):
        return {"SLURM_CONF": str(self.root / "slurm.conf")}

    def _begin(self, name, argv, host=None):
        self._daemons[name] = subprocess.Popen(
            self.netns.command(argv, host), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, **self.netns.environment(), **self.environment(), **self._hidden})

    def start(self, host):
        self._begin(host, ["slurmd", "-D", "-N", host], host)

    def stop(self, host):
        """As a power cut: everything on the host is gone at once, and Slurm is told."""
        self.netns.kill_host(host)
        self._daemons.pop(host).wait(timeout=30)
        assert self.run(["scontrol", "update", f"nodename={host}", "state=down", "reason=lab"]).returncode == 0

    def run(self, argv, **more):
        """On the head."""
        return self.netns.run(argv, env=self.environment(), **more)

    def states(self):
        """Node → state, without the marks that sinfo adds to it."""
        done = self.run(["sinfo", "--noheader", "--Node", "--format=%N %T"], timeout=30)
        return {node: state.rstrip("*~#!%$@^-") for node, state in (line.split() for line in done.stdout.splitlines())}

    def job(self, identity):
        """The fields of a job, as scontrol shows them."""
        done = self.run(["scontrol", "--oneliner", "show", "job", identity], timeout=30)
        return dict(word.split("=", 1) for word in done.stdout.split() if "=" in word)

    def wait(self, condition, what, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                logs = "".join(f"== {p.name}\n{p.read_text()[-3000:]}" for p in sorted(self.root.glob("*.log")))
                raise AssertionError(f"{what} after {seconds} s\n{logs}")
            time.sleep(0.2)
