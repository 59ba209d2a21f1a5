#!/usr/bin/env python3
"""What strangers at a job's ports cost it: the same job alone and under attack, in turns.

    tests/tools/strangers.py build/ci/bin/clusterbench --pairs 10 --idle 5000
    sudo tests/tools/strangers.py build/ci/bin/clusterbench --only tcp --link 200mbit --pairs 20 --control

The attack begins with the job: it connects to every port at which a rank listens (but for Open MPI's own) and says nothing,
--idle connections in all, half of them with one byte; and it goes through all ports of loopback, 2,000 a second (docs/evidence/robustness.md).
CPU share is that of rank 0's process without its main thread: of the threads that deal with the ports. For `tcp` two
figures more, each of a pair of runs: the CPU time of the sending and receiving threads for a byte that was carried, attacked
over alone; and the CPU time that the attack added to rank 0's other threads, as a share of all CPU time of the ranks.

On loopback the processor is what limits tcp, and the attack needs the same processor: the figure then tells of the machine.
With --link the ranks share a link of that rate, as hosts do, in a network namespace of its own, and the strangers come
by a way that is not limited: what they change then is what the job lets them change. Needs root.

An idle machine is slower than one that has a little to do: its processors sleep between two packets. With --control the job
that is compared is not alone: the same strangers call as often, at a port where no rank listens. What differs between the
two is then what strangers at the job's own ports do.
"""

import argparse
import json
import os
import pathlib
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

JOBS = {
    "rest": ["fake", "--samples", "150", "--pause", "20ms"],
    "tcp": ["tcp", "--duration", "2s", "--streams", "2"],
}
STRANGER = "127.0.0.66"  # where they call from
NOBODYS = 1  # a port at which nothing listens


def ranks_of(launcher):
    found = []
    for task in pathlib.Path(f"/proc/{launcher}/task").glob("*/children"):
        try:
            for child in task.read_text().split():
                if os.path.basename(os.readlink(f"/proc/{child}/exe")) == "clusterbench":
                    found.append(int(child))
        except OSError:
            pass
    return found


def listening_ports(pids):
    inodes = set()
    for pid in pids:
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                target = os.readlink(f"/proc/{pid}/fd/{fd}")
                if target.startswith("socket:["):
                    inodes.add(target[8:-1])
        except OSError:
            pass
    ports = []
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            address, port = fields[1].split(":")
            # Open MPI listens at any address, and who talks to it there can hold up MPI_Init: that is not ours to mend.
            if fields[3] == "0A" and fields[9] in inodes and address.strip("0"):
                ports.append(int(port, 16))
    return ports


def side_cpu_seconds(pid):
    """Of all threads but the first, at this moment."""
    total = 0.0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if task.name != str(pid):
            total += int((task / "schedstat").read_text().split()[0]) * 1e-9
    return total


def cpu_seconds(pid):
    """Of all threads, at this moment."""
    total = 0.0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0]) * 1e-9
    return total


class Attack(threading.Thread):
    def __init__(self, launcher, idle, elsewhere=False):
        super().__init__(daemon=True)
        self.launcher, self.idle, self.elsewhere = launcher, idle, elsewhere
        self.sockets, self.over, self.tried = [], threading.Event(), 0

    def knock(self, port, keep):
        s = socket.socket()
        s.setblocking(False)
        s.bind((STRANGER, 0))
        s.connect_ex(("127.0.0.1", port))
        self.tried += keep
        if keep:
            self.sockets.append(s)
            if len(self.sockets) % 2:
                try:
                    s.send(b"x")
                except OSError:
                    pass
        else:
            s.close()

    def run(self):
        scanned = 0
        begun = time.monotonic()
        while not self.over.is_set():
            ports = listening_ports(ranks_of(self.launcher))
            for port in [] if self.elsewhere else ports:
                for _ in range(100):
                    if self.tried < self.idle:
                        self.knock(port, True)
            while scanned < (time.monotonic() - begun) * 2000 and not self.over.is_set():
                scanned += 1
                self.knock(NOBODYS if self.elsewhere else 1024 + scanned % 31000, False)
            time.sleep(0.001)


def run(binary, arguments, idle, kind="attacked"):
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "r.json")
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        begun = time.monotonic()
        job = subprocess.Popen(["mpirun", *root, "--oversubscribe", "-np", "2", binary, *arguments, "--quiet", "--json", out],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        attack = Attack(job.pid, idle, kind == "elsewhere")
        if kind != "alone":
            attack.start()
        cpu, all_cpu = 0.0, {}
        while job.poll() is None:
            try:
                for rank in ranks_of(job.pid):
                    all_cpu[rank] = max(all_cpu.get(rank, 0), cpu_seconds(rank))
                cpu = max(cpu, side_cpu_seconds(min(ranks_of(job.pid), default=0)))
            except (OSError, ValueError):
                pass
            time.sleep(0.02)
        wall = time.monotonic() - begun
        attack.over.set()
        if kind != "alone":
            attack.join()
        for s in attack.sockets:
            s.close()
        if job.returncode != 0:
            raise SystemExit(f"exit code {job.returncode}: {job.stderr.read()}")
        records = json.load(open(out))["records"]
        values = [m["summary"]["median"] for r in records for m in r["metrics"] if m["name"] == "bytes_per_second"]
        return {"value": statistics.median(values), "cpu_share": cpu / wall, "knocks": attack.tried,
                "side_seconds": cpu, "all_seconds": sum(all_cpu.values()), "carrying_per_byte": carrying(records)}


def carrying(records):
    """CPU seconds a byte of the threads that send and receive; nothing where none do."""
    found = [m["summary"]["median"] / 125e6 for r in records for m in r["metrics"]
             if m["name"] in ("send_cpu_per_gigabit_seconds", "receive_cpu_per_gigabit_seconds")]
    return sum(found) if found else None


def limit_link(rate):
    """Loopback of this namespace: `rate` for all but what comes from strangers and goes to them."""
    def tc(*words):
        subprocess.run(["tc", *words], check=True, stderr=subprocess.DEVNULL)

    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    tc("qdisc", "add", "dev", "lo", "root", "handle", "1:", "htb", "default", "10")
    tc("class", "add", "dev", "lo", "parent", "1:", "classid", "1:10", "htb", "rate", rate, "burst", "64k")
    tc("class", "add", "dev", "lo", "parent", "1:", "classid", "1:20", "htb", "rate", "40gbit")
    for way in ("src", "dst"):
        tc("filter", "add", "dev", "lo", "parent", "1:", "protocol", "ip", "u32", "match", "ip", way, f"{STRANGER}/32",
           "flowid", "1:20")


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"median {middle:.4f}, half of the pairs {low:.4f} to {high:.4f}, all {min(values):.4f} to {max(values):.4f}"


def print_pairs(kind, base, attacked):
    """Each attacked run beside the one before or after it that was not: the machine's own ups and downs are the same."""
    if base[0]["carrying_per_byte"] is None or len(base) < 3:
        return
    ratios = [b["carrying_per_byte"] / a["carrying_per_byte"] for a, b in zip(base, attacked)]
    added = [(b["side_seconds"] - a["side_seconds"]) / b["all_seconds"] for a, b in zip(base, attacked)]
    values = [b["value"] / a["value"] for a, b in zip(base, attacked)]
    print(f"  result, attacked over {kind}, of {len(values)} pairs: {quartiles(values)}")
    print(f"  CPU time a byte, attacked over {kind}, of {len(ratios)} pairs: {quartiles(ratios)}")
    print(f"  CPU time that the attack added beside the carrying, share of all: {quartiles(added)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--idle", type=int, default=5000)
    parser.add_argument("--only", choices=JOBS, help="this job alone")
    parser.add_argument("--control", action="store_true", help="compare with strangers who call elsewhere, not with none")
    parser.add_argument("--link", metavar="RATE", help="of the link that the ranks share, such as 200mbit")
    options = parser.parse_args()
    if options.link and not os.environ.get("STRANGERS_NAMESPACE"):
        os.environ["STRANGERS_NAMESPACE"] = "own"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    if options.link:
        limit_link(options.link)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, options.idle + 200), hard))
    for name, arguments in JOBS.items():
        if options.only not in (None, name):
            continue
        base = "elsewhere" if options.control else "alone"
        kinds = {base: [], "attacked": []}
        for i in range(options.pairs):
            for kind in list(kinds) if i % 2 == 0 else reversed(kinds):
                kinds[kind].append(run(options.binary, arguments, options.idle, kind))
        print(f"{name}: {' '.join(arguments)}")
        for kind, runs in kinds.items():
            values, shares = [r["value"] for r in runs], [r["cpu_share"] for r in runs]
            print(f"  {kind:9} result median {statistics.median(values):.4g} ({min(values):.4g} to {max(values):.4g}), "
                  f"CPU share median {100 * statistics.median(shares):.3f} % (to {100 * max(shares):.3f} %), "
                  f"knocks median {statistics.median([r['knocks'] for r in runs]):.0f}")
        print_pairs(base, kinds[base], kinds["attacked"])


if __name__ == "__main__":
    main()
