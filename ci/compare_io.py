#!/usr/bin/env python3
"""clusterbench io beside fio on one file that is already written, on one core, in alternating order.

    ci/compare_io.py BINARY FILE [PAIRS] [SECONDS] [ROWS] [ARGUMENTS]
        ROWS: null,direct,cached or some of them, or points such as randread-32 and write-8
        ARGUMENTS: more of them for clusterbench io, as one word: "--reap 4"

A round runs clusterbench, fio as it is (io_uring, its default batches of one) and fio matched (registered file and
buffers, batches as large as the queue). Each line is a point: medians of the rounds, and the ratio of each round with
its smallest and largest. Switches are context switches of the whole process, per request. FILE is overwritten by the write
points. No line asserts anything.
"""
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

CORE = str(min(os.sched_getaffinity(0)))
WARM_UP = 0.5  # seconds
EXTRA = sys.argv[6].split() if len(sys.argv) > 6 else []
FIO = ["fio", "--name=x", "--ioengine=io_uring", "--norandommap", "--randrepeat=1", "--thread", "--invalidate=0",
       "--time_based", "--lat_percentiles=1", "--percentile_list=50:99", "--output-format=json", "--refill_buffers=0"]


def switches():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_nvcsw + usage.ru_nivcsw


def run(command):
    """What it prints, and how often it was taken off its core."""
    before = switches()
    done = subprocess.run(["taskset", "-c", CORE, *command], capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout, switches() - before


def share_counted(seconds):
    """Of the run: the warm-up is as long for both tools."""
    return seconds / (seconds + WARM_UP)


def fio(path, seconds, point, extra):
    rw, block, depth, direct = point
    out, switched = run([*FIO, f"--filename={path}", f"--size={os.path.getsize(path)}", f"--rw={rw}", f"--bs={block}",
                         f"--iodepth={depth}", f"--direct={direct}", f"--ramp_time={WARM_UP * 1e3:.0f}ms", f"--runtime={seconds * 1e3:.0f}ms", *extra])
    job = json.loads(out)["jobs"][0]
    side = job["write" if "write" in rw else "read"]
    latency = side["lat_ns"]["percentile"]
    cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1e3
    return {"iops": side["iops"], "p50": latency["50.000000"] / 1e9, "p99": latency["99.000000"] / 1e9,
            "cpu": cpu / side["total_ios"],
            "switches": switched / side["total_ios"] * share_counted(seconds)}


def fio_matched(path, seconds, point):
    depth = point[2]
    return fio(path, seconds, point, ["--registerfiles", "--fixedbufs", f"--iodepth_batch_submit={depth}",
                                      "--iodepth_batch_complete_min=1", f"--iodepth_batch_complete_max={depth}"])


def ours(binary, path, seconds, point, engine="io_uring"):
    rw, block, depth, direct = point
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        _, switched = run([binary, "io", "--file", path, "--rw", rw, "--block-size", block, "--queue-depth", str(depth),
                           "--direct" if direct else "--no-direct", "--warm-up", f"{WARM_UP}s", "--duration", f"{seconds}s",
                           "--engine", engine, "--quiet", "--json", out.name,
                           *(["--allow-overwrite"] if "write" in rw else []), *EXTRA])
        record = json.load(open(out.name))["records"][0]
    metrics = {m["name"]: m["summary"] for m in record["metrics"]}
    return {"iops": metrics["io_per_second"]["mean"], "p50": metrics["latency_seconds"]["median"],
            "p99": metrics["latency_seconds"]["p99"], "cpu": metrics["cpu_seconds_per_io"]["mean"],
            "batch": metrics.get("requests_per_system_call", {"mean": 0})["mean"],
            "switches": switched / (metrics["io_per_second"]["mean"] * seconds) * share_counted(seconds)}


def ratio(a, b, key):
    pairs = sorted(x[key] / y[key] for x, y in zip(a, b))
    return f"{statistics.median(pairs):6.3f} [{pairs[0]:.3f} … {pairs[-1]:.3f}]"


def median(rows, key):
    return statistics.median(row[key] for row in rows)


def compare(name, tools, pairs):
    """tools: our function first, then (label, function) of the references."""
    labels = ["ours"] + [label for label, _ in tools[1:]]
    runs = {label: [] for label in labels}
    functions = [tools[0]] + [function for _, function in tools[1:]]
    for i in range(pairs):
        order = list(zip(labels, functions))
        for label, function in order if i % 2 == 0 else reversed(order):
            runs[label].append(function())
    mine = runs["ours"]
    print(f"{name}: clusterbench {median(mine, 'iops'):.0f} IOPS, p50 {median(mine, 'p50') * 1e6:.1f} us, "
          f"p99 {median(mine, 'p99') * 1e6:.1f} us, CPU {median(mine, 'cpu') * 1e6:.2f} us/IO, "
          f"{median(mine, 'batch'):.2f} requests per call, {median(mine, 'switches'):.2f} switches per request")
    for label in labels[1:]:
        theirs = runs[label]
        print(f"    {label:12} {median(theirs, 'iops'):10.0f} IOPS, {median(theirs, 'cpu') * 1e6:6.2f} us/IO, {median(theirs, 'switches'):.2f} switches   ratio IOPS "
              f"{ratio(mine, theirs, 'iops')}  p50 {ratio(mine, theirs, 'p50')}  p99 {ratio(mine, theirs, 'p99')}  "
              f"CPU/IO {ratio(mine, theirs, 'cpu')}", flush=True)


def compare_null(binary, path, pairs, seconds, depth):
    rows = []
    for i in range(pairs):
        point = ("randread", "4K", depth, 0)
        a = ours(binary, path, seconds, point, "null")
        b = fio(path, seconds, point, ["--ioengine=null"])
        rows.append((a["cpu"] * 1e9, 1e9 / a["iops"], 1e9 / b["iops"], b["cpu"] * 1e9))
    cpu, wall, theirs, theirs_cpu = (statistics.median(column) for column in zip(*rows))
    ratios = sorted(row[0] / row[3] for row in rows)
    print(f"null QD {depth}: clusterbench {cpu:.0f} ns CPU per IO ({wall:.0f} ns wall), fio {theirs_cpu:.0f} ns ({theirs:.0f} ns "
          f"wall), ratio CPU {statistics.median(ratios):.3f} [{ratios[0]:.3f} … {ratios[-1]:.3f}]", flush=True)


def main():
    binary, path = sys.argv[1:3]
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 3
    rows = sys.argv[5].split(",") if len(sys.argv) > 5 else ["null", "direct", "cached"]
    if "null" in rows:
        for depth in (1, 32, 128):
            compare_null(binary, path, pairs, min(seconds, 1), depth)
    random = [("randread", "4K", depth) for depth in (1, 32, 128)]
    direct = [(*point, 1) for point in [*random, ("read", "128K", 8), ("write", "128K", 8)]]
    cached = [(*point, 0) for point in random]
    points = [p for p in direct if "direct" in rows or f"{p[0]}-{p[2]}" in rows] + (cached if "cached" in rows else [])
    for point in points:
        if not point[3]:
            open(path, "rb").read()  # the cached points read memory
        compare(f"{point[0]} {point[1]} QD {point[2]} {'direct' if point[3] else 'cached'}",
                [lambda: ours(binary, path, seconds, point), ("fio default", lambda: fio(path, seconds, point, [])),
                 ("fio matched", lambda: fio_matched(path, seconds, point))], pairs)


main()
