"""Several hosts on one machine: a network namespace each, joined by a bridge.

Everything, the bridge too, lives in namespaces of the lab, so nothing of the machine's own network
is touched and several labs can stand side by side. Its processes share one control group. What a lab makes is written down first, in a
registry file of its own; only what stands there is ever removed. A lab whose process was killed is
torn down by the next one that starts.
"""

import json
import os
import secrets
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import cpu_group

REGISTRY = Path("/run/clusterbench-lab")
AGENT = Path(__file__).with_name("launch-agent")
SUBNET = "10.77.0"
HEAD_ADDRESS = f"{SUBNET}.254"


class LabError(RuntimeError):
    pass


def why_not():
    """Why a lab cannot stand here, or None."""
    if os.geteuid() != 0:
        return "the namespace lab needs root"
    for tool in ("ip", "unshare", "hostname", "mpirun"):
        if shutil.which(tool) is None:
            return f"the namespace lab needs {tool}"
    probe = subprocess.run(["unshare", "--net", "--uts", "true"], capture_output=True, text=True)
    return f"no namespaces here: {probe.stderr.strip()}" if probe.returncode else None


def ip(*args):
    done = subprocess.run(["ip", *args], capture_output=True, text=True, timeout=30)
    if done.returncode:
        raise LabError(f"ip {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout


def start_time(pid):
    """When the process started, in clock ticks since boot; None if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(stat.rpartition(")")[2].split()[19])


class NetnsLab:
    """with NetnsLab(3) as lab: lab.run(["mpirun", "-np", "6", "--host", lab.host_list(2), …])"""

    def __init__(self, count):
        if not 1 <= count <= 200:
            raise LabError("a lab has 1 to 200 hosts")
        prefix = f"cb{os.getpid()}{secrets.token_hex(2)}"
        self.head = f"{prefix}-head"
        self.hosts = [f"{prefix}-n{i + 1}" for i in range(count)]
        self._registry = REGISTRY / f"{prefix}.json"
        self._names = REGISTRY / f"{prefix}.hosts"  # one a line, read by launch-agent
        self._group = cpu_group.place(prefix)
        self.cpu_group = None  # of all processes, once it is made

    def __enter__(self):
        remove_leftovers()
        self._register()
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def _register(self):
        REGISTRY.mkdir(mode=0o700, exist_ok=True)
        mine = {"pid": os.getpid(), "start": start_time(os.getpid()),
                "namespaces": [self.head, *self.hosts], "cpu_group": str(self._group or "")}
        self._registry.write_text(json.dumps(mine))
        self._names.write_text("".join(f"{h}\n" for h in self.hosts))

    def _build(self):
        if self._group:
            self.cpu_group = cpu_group.make(self._group, len(self.hosts))
        ip("netns", "add", self.head)
        ip("-n", self.head, "link", "set", "lo", "up")
        ip("-n", self.head, "link", "add", "br0", "type", "bridge")
        ip("-n", self.head, "addr", "add", f"{HEAD_ADDRESS}/24", "dev", "br0")
        ip("-n", self.head, "link", "set", "br0", "up")
        for i, host in enumerate(self.hosts, start=1):
            ip("netns", "add", host)
            ip("-n", host, "link", "set", "lo", "up")
            ip("link", "add", "eth0", "netns", host, "type", "veth",
               "peer", "name", f"n{i}", "netns", self.head)
            ip("-n", self.head, "link", "set", f"n{i}", "master", "br0", "up")
            ip("-n", host, "addr", "add", f"{SUBNET}.{i}/24", "dev", "eth0")
            ip("-n", host, "link", "set", "eth0", "up")

    def close(self):
        remove_registered(self._registry)

    def address(self, host=None):
        """Of a host, or of the head."""
        return HEAD_ADDRESS if host is None else f"{SUBNET}.{self.hosts.index(host) + 1}"

    def host_list(self, slots, hosts=None):
        """For mpirun --host and clusterbench run --hosts: "n1:2,n2:2"."""
        return ",".join(f"{h}:{slots}" for h in hosts or self.hosts)

    def write_hostfile(self, path, slots):
        Path(path).write_text("".join(f"{h} slots={slots}\n" for h in self.hosts))
        return path

    def environment(self):
        """The caller's environment and what Open MPI 4 and 5 (PRTE_) need to reach the hosts by the lab's way."""
        return {**os.environ,
                "CLUSTERBENCH_LAB": str(self._names),
                "OMPI_MCA_plm_rsh_agent": str(AGENT), "PRTE_MCA_plm_ssh_agent": str(AGENT),
                "OMPI_MCA_oob_tcp_if_include": f"{SUBNET}.0/24", "PRTE_MCA_oob_tcp_if_include": f"{SUBNET}.0/24",
                "OMPI_MCA_btl_tcp_if_include": f"{SUBNET}.0/24",
                "OMPI_MCA_btl": "tcp,self,vader",
                # All hosts share the processors of one machine, which no launcher can know.
                "OMPI_MCA_mpi_yield_when_idle": "1",
                "OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_hwloc_default_binding_policy": "none",
                "OMPI_MCA_rmaps_base_oversubscribe": "1",
                "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def command(self, argv, host=None):
        """argv as it runs on the head (which is where mpirun belongs) or on a host."""
        if host is None:
            return cpu_group.joined(self.cpu_group, ["ip", "netns", "exec", self.head, *map(str, argv)])
        self._own(host)
        return cpu_group.joined(self.cpu_group, [str(AGENT), host, shlex.join(map(str, argv))])

    def run(self, argv, host=None, timeout=120, **options):
        """Runs to its end; CompletedProcess with text. Past the deadline everything is killed."""
        with self.popen(argv, host, **options) as process:
            try:
                out, err = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                self.kill_all()
                process.kill()
                out, err = process.communicate(timeout=10)
                raise LabError(f"{argv} did not end in {timeout} s\n{out}\n{err}") from None
        return subprocess.CompletedProcess(argv, process.returncode, out, err)

    def popen(self, argv, host=None, env=None, **options):
        return subprocess.Popen(self.command(argv, host), env={**self.environment(), **(env or {})},
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                **options)

    # ---- faults ----
    def slow_link(self, host, rate="100mbit", latency="50ms"):
        self._own(host)
        subprocess.run(["ip", "netns", "exec", host, "tc", "qdisc", "replace", "dev", "eth0",
                        "root", "tbf", "rate", rate, "burst", "32k", "latency", latency],
                       check=True, timeout=10)

    def slow_path(self, host, peers, rate, others):
        """What host sends to a peer, or to some together, is limited to rate, what it sends to the
        others to `others`."""
        peers = [peers] if isinstance(peers, str) else peers
        self._own(host)
        for rule in (["qdisc", "replace", "dev", "eth0", "root", "handle", "1:", "htb",
                      "default", "10"],
                     ["class", "add", "dev", "eth0", "parent", "1:", "classid", "1:10", "htb",
                      "rate", others, "quantum", "60000"],
                     ["class", "add", "dev", "eth0", "parent", "1:", "classid", "1:20", "htb",
                      "rate", rate, "quantum", "60000"],
                     *(["filter", "add", "dev", "eth0", "parent", "1:", "protocol", "ip", "u32",
                        "match", "ip", "dst", f"{self.address(peer)}/32", "flowid", "1:20"]
                       for peer in peers)):
            subprocess.run(["ip", "netns", "exec", host, "tc", *rule], check=True, timeout=10)

    def divide(self, hosts, rate):
        """Moves the hosts to a second switch. What goes there from the first one shares a trunk of that rate."""
        for words in (["add", "br1", "type", "bridge"], ["set", "br1", "up"],
                      ["add", "trunk0", "type", "veth", "peer", "name", "trunk1"],
                      ["set", "trunk0", "master", "br0", "up"], ["set", "trunk1", "master", "br1", "up"],
                      *(["set", f"n{self.hosts.index(h) + 1}", "master", "br1"] for h in hosts)):
            ip("-n", self.head, "link", *words)
        subprocess.run(["ip", "netns", "exec", self.head, "tc", "qdisc", "replace", "dev", "trunk0", "root", "tbf",
                        "rate", rate, "burst", "32k", "latency", "50ms"], check=True, timeout=10)

    def cut_link(self, host):
        self._own(host)
        ip("-n", host, "link", "set", "eth0", "down")

    def mend_link(self, host):
        self._own(host)
        ip("-n", host, "link", "set", "eth0", "up")
        subprocess.run(["ip", "netns", "exec", host, "tc", "qdisc", "del", "dev", "eth0", "root"],
                       capture_output=True, timeout=10)

    def close_ports(self, host, peer):
        """As a firewall between the two, in both directions: ports that the kernel chooses (its default range) do not answer.
        Lower ones do, where MPI listens, and the head still reaches every port."""
        self._own(host)
        ip("-n", host, "rule", "add", *self._chosen_ports(peer))

    def open_ports(self, host, peer):
        self._own(host)
        ip("-n", host, "rule", "del", *self._chosen_ports(peer))

    def _chosen_ports(self, peer):
        chosen = "32768-60999"
        return ["to", self.address(peer), "ipproto", "tcp", "sport", chosen, "dport", chosen, "blackhole"]

    def pids(self, host, name=None):
        """Processes on the host, of that command name if one is given."""
        self._own(host)
        found = [int(p) for p in ip("netns", "pids", host).split()]
        return [p for p in found if name is None or command_name(p) == name]

    def kill_host(self, host):
        """As a power cut: every process on the host is gone at once."""
        kill_processes(self._own(host))

    def kill_all(self):
        for host in self.hosts:
            kill_processes(host)

    def _own(self, host):
        if host not in self.hosts:
            raise LabError(f"{host} is no host of this lab")
        return host


def command_name(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None


def kill_processes(namespace):
    """Ends what runs in the namespace; returns when it has gone."""
    end = time.monotonic() + 10
    while pids := ip("netns", "pids", namespace).split():
        for pid in pids:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        if time.monotonic() > end:
            raise LabError(f"processes in {namespace} do not end: {pids}")
        time.sleep(0.05)


def remove_registered(registry):
    try:
        lab = json.loads(registry.read_text())
    except FileNotFoundError:
        return
    existing = {line.split()[0] for line in ip("netns", "list").splitlines() if line}
    for namespace in reversed(lab["namespaces"]):
        if namespace in existing:
            kill_processes(namespace)
            ip("netns", "del", namespace)
    if lab.get("cpu_group") and not cpu_group.remove(lab["cpu_group"]):
        return  # the next lab tries again
    registry.with_suffix(".hosts").unlink(missing_ok=True)
    registry.unlink()


def remove_leftovers():
    """Tears down the labs whose process is gone."""
    for registry in REGISTRY.glob("cb*.json"):
        try:
            lab = json.loads(registry.read_text())
        except (FileNotFoundError, ValueError):
            continue  # just removed by its owner, or just being written
        if start_time(lab["pid"]) != lab["start"]:
            remove_registered(registry)
