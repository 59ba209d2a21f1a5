#!/usr/bin/env bash
# Compares `gemm --library auto` with every library and OpenBLAS core type on its own, alternating in
# one run, and prints each one's rate with ratio and spread. Passes if auto reaches 0.95 of the best.
# Usage: ci/compare-gemm.sh [BINARY] [SIZE] [PAIRS] [THREADS]
set -euo pipefail
case ${1:-} in
  -h | --help)
    sed -n '2,4s/^# //p' "$0"
    exit 0
    ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
binary=${1:-$root/build/release/bin/clusterbench}
size=${2:-2048}
pairs=${3:-5}
threads=${4:-$(nproc)}

/usr/bin/python3 - "$binary" "$size" "$pairs" "$threads" <<'EOF'
import json, os, re, statistics, subprocess, sys, tempfile
binary, size, pairs, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))[:int(threads)]))
work = tempfile.TemporaryDirectory()

def auto(dtype):
    out = os.path.join(work.name, "g.json")
    command = [binary, "gemm", "--device", "cpu", "--dtype", dtype, "--size", size,
               "--threads", threads, "--duration", "1s", "--quiet", "--json", out]
    subprocess.run(command, check=True)
    record = json.load(open(out))["records"][0]
    return record["metrics"][0]["summary"]["max"], record["facts"]

def alone(dtype, candidate):
    library, _, core = candidate.partition(":")
    done = subprocess.run([binary, "blas-probe", "--library", library, "--core", core, "--dtype",
                           dtype, "--cpus", cpus, "--size", size, "--seconds", "1"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if done.returncode != 0:
        return None
    return json.loads(done.stdout)[dtype].get("operations_per_second")

good = True
for dtype in ("fp64", "fp32"):
    _, facts = auto(dtype)
    names = [re.split(r" (?=\d|failed|\()", c)[0] for c in facts["candidates"].split(", ")]
    rates = {n: [] for n in names}
    ours, chosen = [], []
    for _ in range(pairs):
        rate, facts = auto(dtype)
        ours.append(rate)
        chosen.append(facts["library"] + ":" + facts.get("core_type", ""))
        for n in names:
            rates[n].append(alone(dtype, n))
    print(f"{dtype} {size}×{size}×{size}, {threads} threads, {pairs} rounds, GFLOP/s, best of each round")
    medians = {}
    for n, r in rates.items():
        if None in r:
            print(f"  {n:28} failed or has no {dtype}")
            continue
        medians[n] = statistics.median(r)
        print(f"  {n:28}{medians[n] / 1e9:10.1f}   {min(r) / 1e9:.1f}..{max(r) / 1e9:.1f}")
    best = max((n for n in medians if n != "builtin"), key=medians.get)
    ratios = [o / b for o, b in zip(ours, rates[best])]
    ratio = statistics.median(ratios)
    print(f"  {'auto → ' + ', '.join(sorted(set(chosen))):28}{statistics.median(ours) / 1e9:10.1f}"
          f"   {min(ours) / 1e9:.1f}..{max(ours) / 1e9:.1f}")
    print(f"  ratio to the best ({best}): {ratio:.3f}, {min(ratios):.3f}..{max(ratios):.3f}")
    good &= ratio >= 0.95
sys.exit(0 if good else 1)
EOF
