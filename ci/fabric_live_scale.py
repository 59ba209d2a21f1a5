#!/usr/bin/python3
"""A large simulated subnet asked directly: ci/fabric_live_scale.py PROGRAM [HOSTS [--manager]]

HOSTS hosts of 8 adapters (1,250 without a number), leaves of 32 ports downwards and 32 upwards, one rail a leaf; from more than 32 hosts on
there are spines, from more than 1,024 on also cores. ibsim plays it; `clusterbench fabric` and ibnetdiscover look at it, and must see the
same links. With --manager OpenSM routes it first, and tables and counters are read too. Prints seconds and memory.
"""
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

PRELOAD = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"
RAILS, DOWN = 8, 32


def wires(hosts):
    """(device, port, device, port) of every link."""
    units = (hosts + DOWN - 1) // DOWN
    for rail in range(RAILS):
        for host in range(hosts):
            yield f"leaf-{rail}-{host // DOWN}", host % DOWN + 1, f"host{host:05} mlx5_{rail}", 1
    if units == 1:
        return
    # All leaves of a pod on all of its spines; cores over the pods.
    leaves = [f"leaf-{rail}-{unit}" for rail in range(RAILS) for unit in range(units)]
    pods = [leaves[i:i + DOWN] for i in range(0, len(leaves), DOWN)]
    cores = (DOWN // 2) * len(pods) // 2  # 64 ports each
    for p, pod in enumerate(pods):
        for s in range(DOWN):
            for i, leaf in enumerate(pod):
                yield leaf, DOWN + 1 + s, f"spine-{p}-{s}", i + 1
            if len(pods) > 1:
                for c in range(DOWN // 2):
                    cable = (p * DOWN + s) * (DOWN // 2) + c
                    yield f"spine-{p}-{s}", DOWN + 1 + c, f"core-{cable % cores}", cable // cores + 1


def write_net(path, links):
    ports = {}
    for a, p, b, q in links:
        ports.setdefault(a, []).append((p, b, q))
        ports.setdefault(b, []).append((q, a, p))
    number = {name: f"{'H' if name.startswith('host') else 'S'}-{0x100000 + 16 * i:016x}" for i, name in enumerate(ports)}
    with open(path, "w", encoding="utf-8") as out:
        for name, ends in ports.items():
            is_switch = number[name].startswith("S")
            out.write(f"{'switchguid' if is_switch else 'caguid'}=0x{number[name][2:]}\n")
            out.write(f'{"Switch 64" if is_switch else "Ca 1"} "{number[name]}" # "{name}"{" base port 0 lid 0 lmc 0" if is_switch else ""}\n')
            out.writelines(f'[{p}] "{number[b]}"[{q}] # "{b}" lid 0 4xHDR\n' for p, b, q in ends)
            out.write("\n")
    return number, ports


def links_of(text):
    out, device = set(), None
    for line in text.splitlines():
        head = re.match(r'(?:Switch|Ca)\t\d+ "([^"]+)"', line)
        port = re.match(r'\[(\d+)\](?:\(\w+\))?\s+"([^"]+)"\[(\d+)\]', line)
        if head:
            device = head[1]
        elif port:
            out.add(tuple(sorted([(device, int(port[1])), (port[2], int(port[3]))])))
    return out


def main():
    if len(sys.argv) < 2 or {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__.strip())
        sys.exit(0 if len(sys.argv) > 1 else 2)
    hosts = int(sys.argv[2]) if len(sys.argv) > 2 else 1250
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        number, ports = write_net(place / "net", list(wires(hosts)))
        switches = sum(1 for n in number.values() if n.startswith("S"))
        environment = {**os.environ, "IBSIM_SOCKNAME": f"clusterbench-scale-{os.getpid()}", "SIM_HOST": number["host00000 mlx5_0"]}
        total = sum(65 if n.startswith("S") else 2 for n in number.values())
        simulator = subprocess.Popen(["ibsim", "-s", "-N", str(len(number) + 16), "-S", str(switches + 16), "-P", str(total + 64), "net"],
                                     cwd=place, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        manager = None
        try:
            while "ready" not in (said := simulator.stdout.readline()):
                if not said:
                    sys.exit("ibsim ended")
            threading.Thread(target=simulator.stdout.read, daemon=True).start()
            preloaded = {**environment, "LD_PRELOAD": PRELOAD}
            if "--manager" in sys.argv:
                (place / "opensm.conf").write_text("force_log_flush TRUE\n")
                own = {**preloaded, "OSM_CACHE_DIR": str(place), "OSM_TMP_DIR": str(place)}
                begin = time.monotonic()
                manager = subprocess.Popen(["/usr/sbin/opensm", "-F", "opensm.conf", "-R", "ftree", "-f", str(place / "log")], cwd=place, env=own,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                while "SUBNET UP" not in ((place / "log").read_text() if (place / "log").exists() else ""):
                    if time.monotonic() - begin > 900:
                        sys.exit("OpenSM did not get ready")
                    time.sleep(1)
                print(f"OpenSM: {time.monotonic() - begin:.0f} s")
            options = [] if manager else ["--no-tables", "--no-counters"]
            asking = {**preloaded, "SIM_HOST": number[f"host{hosts - 1:05} mlx5_1"]}
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            begin = time.monotonic()
            done = subprocess.run([sys.argv[1], "fabric", *options, "--save", place / "own.txt"], capture_output=True, text=True, env=asking,
                                  check=False, timeout=900)
            seconds = time.monotonic() - begin
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            memory, processor = after.ru_maxrss / 1024, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            begin = time.monotonic()
            theirs = subprocess.run(["/usr/sbin/ibnetdiscover"], capture_output=True, text=True, env=asking, check=True, timeout=900, cwd=place).stdout
            their_seconds = time.monotonic() - begin
        finally:
            for process in (manager, simulator):
                if process:
                    process.kill()
                    process.wait()
        own = (place / "own.txt").read_text()
    same = links_of(own) == links_of(theirs)
    print(f"{hosts} hosts, {hosts * RAILS} adapters, {switches} switches, {len(links_of(theirs))} links")
    print("\n".join(line for line in done.stdout.splitlines() if not line.startswith("  oversubscription")))
    print(f"clusterbench fabric {' '.join(options)}: {seconds:.2f} s, of which {processor:.2f} s of processor, {memory:.0f} MiB; ibnetdiscover: {their_seconds:.2f} s; "
          f"the links are {'the same' if same else 'NOT the same'}")
    if not same or not links_of(own):
        sys.exit(done.stdout[-2000:] + done.stderr)


main()
