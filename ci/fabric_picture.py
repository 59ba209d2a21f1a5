#!/usr/bin/python3
"""Pictures of subnets to look at: ci/fabric_picture.py PROGRAM DIRECTORY

Writes DIRECTORY/N.{en,zh}.svg of healthy-but-for-some subnets of 16, 128 and 1,250 hosts of 8 adapters, with two cables exchanged, a link that
is missing, a narrow one and a slow one, and where chromium is, a screenshot and a printed page of each. Prints sizes and seconds.
"""
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RAILS, DOWN = 8, 32
SIZE_LIMIT = 300_000


def wires(hosts):
    """(device, port, device, port, rate) of every link: one leaf a rail and unit of 32 hosts; beyond 32 hosts pods of 32 leaves, and cores."""
    units = (hosts + DOWN - 1) // DOWN
    leaves = [f"leaf-r{rail}-{unit:02}" for rail in range(RAILS) for unit in range(units)]
    for rail in range(RAILS):
        for host in range(hosts):
            yield [f"leaf-r{rail}-{host // DOWN:02}", host % DOWN + 1, f"host{host:04} mlx5_{rail}", 1, "4xNDR"]
    if hosts <= DOWN:
        for i, leaf in enumerate(leaves):
            for s in range(4):
                for k in range(4):
                    yield [leaf, DOWN + 1 + 4 * s + k, f"spine-{s}", 4 * i + k + 1, "4xNDR"]
        return
    pods = [leaves[i:i + DOWN] for i in range(0, len(leaves), DOWN)]
    cores = DOWN // 2 * len(pods) // 2
    for p, pod in enumerate(pods):
        for s in range(DOWN):
            for i, leaf in enumerate(pod):
                yield [leaf, DOWN + 1 + s, f"spine-{p:02}-{s:02}", i + 1, "4xNDR"]
            for c in range(DOWN // 2 if len(pods) > 1 else 0):
                cable = (p * DOWN + s) * (DOWN // 2) + c
                yield [f"spine-{p:02}-{s:02}", DOWN + 1 + c, f"core-{cable % cores:02}", cable // cores + 1, "4xNDR"]


def plant(links):
    """Two exchanged cables, a missing link, a narrow one and a slow one."""
    hosts = [link for link in links if link[2].startswith("host")]
    ups = [link for link in links if not link[2].startswith("host")]
    one, other = hosts[len(hosts) // 4], hosts[-3]
    one[2], other[2] = other[2], one[2]
    ups[len(ups) // 3][4] = "2xNDR"
    ups[2 * len(ups) // 3][4] = "4xHDR"
    links.remove(ups[len(ups) // 2])


def dump(links):
    ports, number = {}, {}
    for a, p, b, q, rate in links:
        ports.setdefault(a, []).append((p, b, q, rate))
        ports.setdefault(b, []).append((q, a, p, rate))
    for lid, name in enumerate(ports, 1):
        number[name] = lid
    identity = {name: f'{"H" if name.startswith("host") else "S"}-{lid:016x}' for name, lid in number.items()}
    out = []
    for name, ends in ports.items():
        switch = not name.startswith("host")
        out.append(f'\n{"Switch 64" if switch else "Ca 1"} "{identity[name]}" # "{name}"' + (f" base port 0 lid {number[name]} lmc 0" if switch else ""))
        for port, peer, peer_port, rate in ends:
            own = "" if switch else f"lid {number[name]} lmc 0 "
            out.append(f'[{port}] "{identity[peer]}"[{peer_port}] # {own}"{peer}" lid {number[peer]} {rate}')
    return "\n".join(out) + "\n"


def look(svg):
    if not shutil.which("chromium"):
        return
    with tempfile.TemporaryDirectory() as profile:
        common = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run",
                  f"--user-data-dir={profile}"]
        page = svg.with_suffix(".html")
        page.write_text(f'<!doctype html><meta charset="utf-8"><body style="margin:20px;max-width:1064px">{svg.read_text()}')
        for option in (f"--screenshot={svg.with_suffix('.png')}", f"--print-to-pdf={svg.with_suffix('.pdf')}"):
            subprocess.run([*common, "--window-size=1120,1000", option, page.as_uri()], capture_output=True, timeout=120, check=True)


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip())
        sys.exit(0 if {"-h", "--help"} & set(sys.argv[1:]) else 2)
    program, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    for hosts in (16, 128, 1250):
        links = list(wires(hosts))
        plan, net = out / f"{hosts}.csv", out / f"{hosts}.txt"
        plan.write_text("a_device,a_port,b_device,b_port\n" + "".join(f"{a},{p},{b},{q}\n" for a, p, b, q, _ in links))
        plant(links)
        net.write_text(dump(links))
        for language in ("en", "zh"):
            svg = out / f"{hosts}.{language}.svg"
            begin = time.monotonic()
            done = subprocess.run([program, "fabric", "--from", net, "--plan", plan, "--picture", svg, "--picture-language", language, "--quiet",
                                   "--json", out / f"{hosts}.json"], capture_output=True, text=True, timeout=120, check=False)
            seconds = time.monotonic() - begin
            found = sorted({line.split()[1] for line in done.stdout.splitlines() if line.startswith("suspect: ")})
            print(f"{hosts} hosts, {language}: {svg.stat().st_size / 1000:.0f} kB, record {(out / f'{hosts}.json').stat().st_size / 1000:.0f} kB, "
                  f"{seconds:.2f} s, exit {done.returncode}, {len(found)} kinds of suspects")
            if done.returncode != 1 or svg.stat().st_size > SIZE_LIMIT:
                sys.exit(f"{svg.name}: a finding or the limit of {SIZE_LIMIT} bytes is missed\n{done.stdout}{done.stderr}")
            look(svg)


main()
