#!/usr/bin/python3
"""clusterbench tcp beside iperf3 between two hosts of the namespace lab: alternating pairs, the
ratio of each pair and its spread. Needs root and iperf3.

--points chooses what is compared: one-way or two-way with every number of --streams, or a single
point such as two-way-4 (its four streams). --rate shapes both hosts' links (tbf, e.g. 500mbit): then
the link decides, and both tools must agree.
"""
import argparse
import json
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "labs" / "netns"))
import netns_lab  # noqa: E402

OMITTED_SECONDS = 1  # of iperf3: its slow start; ours leaves its warm-up out


def run_iperf3(lab, streams, seconds, two_way):
    """Received bytes per second: of both directions together if two_way."""
    first, second = lab.hosts[:2]
    server = lab.popen(["iperf3", "--server", "--one-off"], host=second)
    try:
        time.sleep(0.3)
        done = lab.run(["iperf3", "--client", lab.address(second), "--json", "--parallel", streams,
                        "--time", seconds, "--omit", OMITTED_SECONDS, "--length", "128K",
                        *(["--bidir"] if two_way else [])], host=first, timeout=seconds + 30)
    finally:
        server.communicate(timeout=30)
    end = json.loads(done.stdout)["end"]
    bits = end["sum_received"]["bits_per_second"]
    if two_way:
        bits += end["sum_received_bidir_reverse"]["bits_per_second"]
    return bits / 8


def run_ours(lab, binary, streams, seconds, two_way):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tcp.json"
        done = lab.run(["mpirun", "--host", lab.host_list(1, lab.hosts[:2]), "-np", "2", binary,
                        "tcp", "--test", "bandwidth", "--streams", streams, "--size", "128K",
                        "--duration", f"{seconds}s", "--direction",
                        "two-way" if two_way else "one-way", "--quiet", "--json", path],
                       timeout=seconds + 60)
        if done.returncode:
            sys.exit(done.stderr)
        metrics = json.loads(path.read_text())["records"][0]["metrics"]
    return next(m for m in metrics if m["name"] == "bytes_per_second")["summary"]["mean"]


def points_of(text):
    """"one-way,two-way-4" as (way, its number of streams or None for those of --streams)."""
    found = []
    for point in text.split(","):
        named = re.fullmatch(r"(one-way|two-way)(?:-([1-9]\d*))?", point)
        if not named:
            raise argparse.ArgumentTypeError(f"'{point}' is none of one-way, two-way, one-way-N, two-way-N")
        found.append((named[1], named[2] and int(named[2])))
    return found


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=points_of, default="one-way,two-way")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--streams", type=lambda text: [int(n) for n in text.split(",")], default="1,4",
                        help="of points that name no number")
    parser.add_argument("--rate")
    parser.add_argument("--bin", default=str(ROOT / "build/release/bin/clusterbench"))
    return parser.parse_args()


def main():
    options = arguments()
    if reason := netns_lab.why_not():
        sys.exit(reason)
    print("                    clusterbench      iperf3   ratio: median, all pairs")
    with netns_lab.NetnsLab(2) as lab:
        for host in lab.hosts if options.rate else ():
            lab.slow_link(host, rate=options.rate)
        for way, streams in options.points:
            for n in [streams] if streams else options.streams:
                compare(lab, options, n, way == "two-way")


def compare(lab, options, streams, two_way):
    ours, theirs = [], []
    for i in range(options.pairs):
        for mine in ((True, False) if i % 2 == 0 else (False, True)):
            if mine:
                ours.append(run_ours(lab, options.bin, streams, options.seconds, two_way))
            else:
                theirs.append(run_iperf3(lab, streams, options.seconds, two_way))
    ratios = sorted(a / b for a, b in zip(ours, theirs))
    print(f"{'two-way' if two_way else 'one-way'} {streams:3} streams "
          f"{statistics.median(ours) / 1e9:8.2f} GB/s {statistics.median(theirs) / 1e9:6.2f} GB/s"
          f"   {statistics.median(ratios):.3f}   " + " ".join(f"{r:.3f}" for r in ratios),
          flush=True)


if __name__ == "__main__":
    main()
