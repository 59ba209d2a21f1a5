#!/usr/bin/python3
"""The stall of `train --checkpoint-dir` beside `io --workload checkpoint-write` of the same size, in turn.

  compare_checkpoint.py --binary build/release/bin/clusterbench --dir /data,/dev/shm --sizes 64,256 --ranks 1,2 --rounds 3
  compare_checkpoint.py --binary NEW --other OLD --dir /data      another build's stall between them

Each round runs every side once; the order turns. A run of train saves six times. Of each side: the median, the least and the
greatest stall in seconds, and the bytes of all ranks over the median; of a build that tells them, the medians of rank 0's parts.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

# MB a rank: shape of a decoder whose weights and moments take about as much, and whose step is short.
SHAPES = {
    64: ("--hidden", 256, "--layers", 1, "--heads", 4, "--kv-heads", 4, "--head-dim", 64, "--feed-forward", 704, "--vocabulary", 8704),
    256: ("--hidden", 512, "--layers", 1, "--heads", 8, "--kv-heads", 8, "--head-dim", 64, "--feed-forward", 1408, "--vocabulary", 17408),
}
PARTS = ("host", "storage", "wait")


def measured(binary, ranks, folder, *words):
    """{metric: samples of the first entity that has it} and all of them, of one job."""
    out = os.path.join(folder, "r.json")
    command = ["mpirun", "-np", ranks, "--bind-to", "none", "--oversubscribe"] if ranks > 1 else []
    command = list(map(str, [*command, binary, *words, "--json", out]))
    os.sync()  # what an earlier run left in memory is not this one's to write
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    # 1: a rank was slower than the others, on a machine with other work. The figures stand.
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    with open(out, encoding="utf-8") as file:
        record, = json.load(file)["records"]
    found = {}
    for metric in record["metrics"]:
        found.setdefault(metric["name"], metric.get("samples", []))  # latencies are histograms
    return found, record["facts"]


def train(binary, ranks, directory, shape):
    """Stalls, bytes of a rank's file, parts by name, the way of the file."""
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        found, facts = measured(binary, ranks, folder, "train", *shape, "--sequence", 8, "--threads", 1, "--steps", 13, "--warm-up-steps", 1,
                                "--twin-every", 0, "--checkpoint-every", 2, "--checkpoint-dir", folder)
    stalls = found["checkpoint_seconds"]
    parts = {part: found.get(f"checkpoint_{part}_seconds", []) for part in PARTS}
    return stalls, round(found["checkpoint_bytes_per_second"][0] * stalls[0]), parts, facts.get("checkpoint_path", "")


def io(binary, ranks, directory, size):
    """Seconds until the last rank's file is on its device."""
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        found, _ = measured(binary, ranks, folder, "io", "--workload", "checkpoint-write", "--dir", folder, "--size", size)
    rate = found["aggregate_durable_bytes_per_second" if ranks > 1 else "durable_bytes_per_second"][0]
    return size * ranks / rate


def line(side, stalls, size, parts):
    median = statistics.median(stalls)
    text = f"  {side:6} {median:7.3f} s  [{min(stalls):.3f}, {max(stalls):.3f}]  {size / median / 1e6:7.0f} MB/s"
    if any(parts.values()):
        text += "   " + ", ".join(f"{part} {statistics.median(parts[part]):.3f}" for part in PARTS)
    return text


def compare(options, directory, megabytes, ranks):
    sides = {"train": options.binary, **({"other": options.other} if options.other else {}), "io": options.binary}
    stalls = {side: [] for side in sides}
    parts = {side: {part: [] for part in PARTS} for side in sides}
    way, size = "", megabytes << 20
    for number in range(options.rounds):
        order = list(sides)
        for side in order[number % len(order):] + order[:number % len(order)]:
            if side == "io":
                # Whole blocks of 4 MiB.
                stalls[side].append(io(sides[side], ranks, directory, (size >> 22) << 22))
                continue
            new, size, new_parts, new_way = train(sides[side], ranks, directory, SHAPES[megabytes])
            way = new_way or way
            stalls[side] += new
            for part in PARTS:
                parts[side][part] += new_parts[part]
    print(f"{directory}, {ranks} rank(s) of {size / 1e6:.0f} MB; {way}")
    for side, values in stalls.items():
        print(line(side, values, ((size >> 22) << 22 if side == "io" else size) * ranks, parts[side]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--other", help="another build of clusterbench")
    parser.add_argument("--dir", required=True, help="existing directories, with commas")
    parser.add_argument("--sizes", default="64,256", help="MB a rank: " + ", ".join(map(str, SHAPES)))
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Linux {os.uname().release}")
    for directory in options.dir.split(","):
        for megabytes in map(int, options.sizes.split(",")):
            for ranks in map(int, options.ranks.split(",")):
                compare(options, directory, megabytes, ranks)


if __name__ == "__main__":
    main()
