#!/usr/bin/env python3
"""clusterbench io beside fio on one file that is already written, on one core, in short alternating runs.

    ci/compare_io.py BINARY FILE [--rounds N] [--seconds S] [--warm-up S] [--core N] [--points …] [--arguments "--reap 4"]
        --points: null, direct, cached, or some of them such as randread-32,write-8,null-1,cached-32

A round runs each tool once, in an order drawn by lot, so that none always follows the same other: clusterbench, fio as it is (io_uring, its
default batches of one), the same fio once more as control, fio matched (registered file and buffers, batches as large
as the queue), and where clusterbench has its buffers in huge pages also fio at its defaults with such buffers; matched
has them there too. They need root, for vm.nr_hugepages, which is set back.

A ratio is the median over the rounds of one tool's figure over another's in the same round, with the 95 % interval of
this median. The ratio of the control says what the same tool differs from itself by. Random reads go elsewhere in every
run: a disk may still hold in its memory what another run read. Switches are context switches of the whole process, per
request. FILE is overwritten by the write points. No line asserts anything.
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "tools"))
from medians import interval  # noqa: E402

FIO = ["fio", "--name=x", "--ioengine=io_uring", "--norandommap", "--randrepeat=0", "--thread", "--invalidate=0",
       "--time_based", "--lat_percentiles=1", "--percentile_list=50:99", "--output-format=json", "--refill_buffers=0"]
HUGE = ["--iomem=mmaphuge", "--hugepage-size=2m"]
RANDOM = {f"randread-{depth}": ("randread", "4K", depth, 1) for depth in (1, 32, 128)}
DIRECT = {**RANDOM, "read-8": ("read", "128K", 8, 1), "write-8": ("write", "128K", 8, 1)}
CACHED = {f"cached-{depth}": ("randread", "4K", depth, 0) for depth in (1, 32, 128)}
NULL = {f"null-{depth}": depth for depth in (1, 32, 128)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("file")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--warm-up", type=float, default=0.2, help="seconds, of every tool")
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)))
    parser.add_argument("--points", type=lambda text: text.split(","), default=["null", "direct", "cached"])
    parser.add_argument("--arguments", type=str.split, default=[], help="more of them for clusterbench io")
    return parser.parse_args()


ASKED = arguments()


def switches():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_nvcsw + usage.ru_nivcsw


def run(command):
    """What it prints, and how often it was taken off its core."""
    before = switches()
    done = subprocess.run(["taskset", "-c", str(ASKED.core), *command], capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout, switches() - before


def per_counted(switched, ios):
    """Per request of the counted time: the warm-up is as long for all tools."""
    return switched / ios * ASKED.seconds / (ASKED.seconds + ASKED.warm_up)


def fio(point, *extra):
    rw, block, depth, direct = point
    out, switched = run([*FIO, f"--filename={ASKED.file}", f"--size={os.path.getsize(ASKED.file)}", f"--rw={rw}",
                         f"--bs={block}", f"--iodepth={depth}", f"--direct={direct}",
                         f"--ramp_time={ASKED.warm_up * 1e3:.0f}ms", f"--runtime={ASKED.seconds * 1e3:.0f}ms", *extra])
    job = json.loads(out)["jobs"][0]
    side = job["write" if "write" in rw else "read"]
    latency = side["lat_ns"]["percentile"]
    cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1e3
    return {"iops": side["iops"], "mean": side["lat_ns"]["mean"] / 1e9, "p50": latency["50.000000"] / 1e9,
            "p99": latency["99.000000"] / 1e9, "cpu": cpu / side["total_ios"], "switches": per_counted(switched, side["total_ios"])}


def fio_matched(point, *extra):
    depth = point[2]
    return fio(point, "--registerfiles", "--fixedbufs", f"--iodepth_batch_submit={depth}",
               "--iodepth_batch_complete_min=1", f"--iodepth_batch_complete_max={depth}", *extra)


def ours(point, engine="io_uring"):
    rw, block, depth, direct = point
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        _, switched = run([ASKED.binary, "io", "--file", ASKED.file, "--rw", rw, "--block-size", block, "--queue-depth",
                           str(depth), "--direct" if direct else "--no-direct", "--warm-up", f"{ASKED.warm_up}s",
                           "--duration", f"{ASKED.seconds}s", "--engine", engine, "--seed", str(random.getrandbits(31)),
                           "--quiet", "--json", out.name,
                           *(["--allow-overwrite"] if "write" in rw else []), *ASKED.arguments])
        record = json.load(open(out.name))["records"][0]
    metrics = {m["name"]: m["summary"] for m in record["metrics"]}
    ios = metrics["io_per_second"]["mean"] * ASKED.seconds
    latency = metrics["latency_seconds"]
    return {"iops": metrics["io_per_second"]["mean"], "mean": latency["mean"], "p50": latency["median"],
            "p99": latency["p99"], "cpu": metrics["cpu_seconds_per_io"]["mean"],
            "batch": metrics.get("requests_per_system_call", {"mean": 0})["mean"], "switches": per_counted(switched, ios)}


def ratio(a, b, key):
    values = [x[key] / y[key] for x, y in zip(a, b)]
    low, high = interval(values)
    return f"{statistics.median(values):.3f} [{low:.3f} … {high:.3f}]"


def ratios(a, b):
    return "   ".join(f"{title} {ratio(a, b, key)}" for title, key in
                      (("IOPS", "iops"), ("mean", "mean"), ("p50", "p50"), ("p99", "p99"), ("CPU", "cpu")))


def figures(rows):
    def middle(key):
        return statistics.median(row[key] for row in rows)
    return (f"{middle('iops'):.0f} IOPS, latency {middle('mean') * 1e6:.1f} us, p50 {middle('p50') * 1e6:.1f} us, p99 {middle('p99') * 1e6:.1f} us, "
            f"CPU {middle('cpu') * 1e6:.2f} us/IO, {middle('switches'):.2f} switches per request")


def in_huge_pages(point):
    """Buffers of ours, from 1 MiB on."""
    return int(point[1].rstrip("K")) * 1024 * point[2] >= 1 << 20


@contextlib.contextmanager
def huge_pages(wanted):
    """Four more of them; yields whether they can be had."""
    setting = "/proc/sys/vm/nr_hugepages"
    before = open(setting).read().strip()
    if not wanted or not os.access(setting, os.W_OK):
        yield False
        return
    with open(setting, "w") as out:
        out.write(str(int(before) + 4))
    try:
        yield True
    finally:
        with open(setting, "w") as out:
            out.write(before)


def tools_of(point, huge):
    same = HUGE if huge else []
    tools = {"clusterbench": lambda: ours(point), "fio": lambda: fio(point), "control": lambda: fio(point),
             "matched": lambda: fio_matched(point, *same)}
    if huge:
        tools["fio huge"] = lambda: fio(point, *same)
    return tools


def alternate(tools):
    """The figures of each tool, one per round."""
    runs = {name: [] for name in tools}
    for _ in range(ASKED.rounds):
        for name in random.sample(list(tools), len(tools)):
            runs[name].append(tools[name]())
    return runs


def compare(name, point):
    with huge_pages(in_huge_pages(point)) as huge:
        runs = alternate(tools_of(point, huge))
    if not huge and in_huge_pages(point):
        print("    fio without huge pages, which clusterbench has: they need root")
    mine = runs.pop("clusterbench")
    print(f"{name}: clusterbench {figures(mine)}, {statistics.median(r['batch'] for r in mine):.2f} requests per call")
    for label, rows in runs.items():
        print(f"    {label:9} {figures(rows)}")
    for label, rows in runs.items():
        if label != "control":
            print(f"    clusterbench / {label:8} {ratios(mine, rows)}")
    print(f"    control / fio           {ratios(runs['control'], runs['fio'])}", flush=True)


def compare_null(depth):
    point = ("randread", "4K", depth, 0)
    runs = alternate({"clusterbench": lambda: ours(point, "null"), "fio": lambda: fio(point, "--ioengine=null")})
    cpu = {name: statistics.median(row["cpu"] for row in rows) * 1e9 for name, rows in runs.items()}
    print(f"null QD {depth}: clusterbench {cpu['clusterbench']:.0f} ns CPU per IO, fio {cpu['fio']:.0f} ns, ratio "
          f"{ratio(runs['clusterbench'], runs['fio'], 'cpu')}", flush=True)


def asked_for(points, group):
    return {name: point for name, point in points.items() if name in ASKED.points or group in ASKED.points}


def main():
    print(f"core {ASKED.core}, {ASKED.rounds} rounds of {ASKED.seconds} s after {ASKED.warm_up} s", flush=True)
    for depth in asked_for(NULL, "null").values():
        compare_null(depth)
    for point in asked_for(DIRECT, "direct").values():
        compare(f"{point[0]} {point[1]} QD {point[2]} direct", point)
    for point in asked_for(CACHED, "cached").values():
        open(ASKED.file, "rb").read()
        compare(f"{point[0]} {point[1]} QD {point[2]} cached", point)


if __name__ == "__main__":
    main()
