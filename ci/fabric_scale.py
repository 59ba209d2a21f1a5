#!/usr/bin/python3
"""How long `clusterbench fabric` takes for a large subnet: ci/fabric_scale.py PROGRAM [HOSTS]

Writes what ibnetdiscover would print for HOSTS hosts of 8 adapters (1,280 without a number) in units of 32 hosts, one leaf a rail and
unit, 32 spines a rail, and the cabling plan with it. Swaps two cables, which must be the one finding. Prints seconds and memory.
"""
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RAILS, UNIT, SPINES = 8, 32, 32


def wires(hosts):
    for rail in range(RAILS):
        for unit in range(hosts // UNIT):
            leaf = f"leaf-{unit}-{rail}"
            for port in range(UNIT):
                yield leaf, port + 1, f"host{unit * UNIT + port:05} mlx5_{rail}", 1
            for spine in range(SPINES):
                yield leaf, UNIT + 1 + spine, f"spine-{rail}-{spine}", unit + 1


def dump(links):
    ports, number = {}, {}
    for a, p, b, q in links:
        ports.setdefault(a, []).append((p, b, q))
        ports.setdefault(b, []).append((q, a, p))
    for lid, name in enumerate(ports, 1):
        number[name] = ("H" if name.startswith("host") else "S", lid)
    identity = {name: f"{kind}-{lid:016x}" for name, (kind, lid) in number.items()}
    out = []
    for name, ends in ports.items():
        kind, lid = number[name]
        out.append(f'\n{"Switch 64" if kind == "S" else "Ca 1"} "{identity[name]}" # "{name}"' + (f" base port 0 lid {lid} lmc 0" if kind == "S" else ""))
        for port, peer, peer_port in ends:
            own = "" if kind == "S" else f"lid {lid} lmc 0 "
            out.append(f'[{port}] "{identity[peer]}"[{peer_port}] # {own}"{peer}" lid {number[peer][1]} 4xNDR')
    return "\n".join(out) + "\n"


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__.strip())
        return
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    links = list(wires(int(sys.argv[2]) if len(sys.argv) > 2 else 1280))
    plan = "a_device,a_port,b_device,b_port\n" + "".join(f"{a},{p},{b},{q}\n" for a, p, b, q in links)
    (a, p, b, q), (c, r, d, s) = links[0], links[70]
    links[0], links[70] = (a, p, d, s), (c, r, b, q)
    with tempfile.TemporaryDirectory() as directory:
        net, csv = Path(directory) / "net.txt", Path(directory) / "plan.csv"
        net.write_text(dump(links))
        csv.write_text(plan)
        begin = time.monotonic()
        done = subprocess.run([sys.argv[1], "fabric", "--from", net, "--plan", csv], capture_output=True, text=True, check=False)
        seconds = time.monotonic() - begin
    found = [line for line in done.stdout.splitlines() if line.startswith("suspect")]
    print(f"{len(links)} links, {net.name} and {csv.name}: {seconds:.2f} s, "
          f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB, exit {done.returncode}")
    print("\n".join(found[:5]))
    if done.returncode != 1 or len(found) != 1 or "two cables are exchanged" not in found[0]:
        sys.exit("the exchanged cables are not the one finding:\n" + done.stdout + done.stderr)


main()
