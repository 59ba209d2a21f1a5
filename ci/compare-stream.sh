#!/usr/bin/env bash
# Compares `bandwidth --op triad` with a plain OpenMP triad under STREAM's rules (tests/tools/
# stream_triad.c) on the same arrays and threads, alternating, and prints ratio and spread.
# Usage: ci/compare-stream.sh [BINARY] [BYTES-PER-ARRAY] [PAIRS] [THREADS] [PASSES]
set -euo pipefail
case ${1:-} in
  -h | --help)
    sed -n '2,4s/^# //p' "$0"
    exit 0
    ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
binary=${1:-$root/build/release/bin/clusterbench}
bytes=${2:-$((128 << 20))}
pairs=${3:-5}
threads=${4:-$(nproc)}
passes=${5:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Which instructions are fastest differs between CPUs: the reference is the faster of two builds.
gcc -O3 -fopenmp "$root/tests/tools/stream_triad.c" -o "$work/stream-plain" -lm
gcc -O3 -march=native -fopenmp "$root/tests/tools/stream_triad.c" -o "$work/stream-native" -lm
export OMP_NUM_THREADS=$threads OMP_PROC_BIND=true

ours() { # STORES NUMBER
  "$binary" bandwidth --device cpu --op triad --size "$bytes" --threads "$threads" \
    --iterations "$passes" --stores "$1" --quiet --json "$work/$1-$2.json"
}

for i in $(seq "$pairs"); do
  for build in plain native; do
    "$work/stream-$build" $((bytes / 8)) $((passes + 1))
  done >"$work/stream-$i.txt"
  ours regular "$i"
  ours auto "$i"
done

/usr/bin/python3 - "$work" "$pairs" <<'EOF'
import json, statistics, sys
work, pairs = sys.argv[1], int(sys.argv[2])

def ours(stores, i):
    record = json.load(open(f"{work}/{stores}-{i}.json"))["records"][0]
    assert all(c["passed"] for c in record["checks"]), record["checks"]
    return record["metrics"][0]["summary"], record["facts"]["stores"]

reference = [max([float(x) for x in line.split()] for line in open(f"{work}/stream-{i}.txt"))
             for i in range(1, pairs + 1)]
print(f"{'':28}{'best GB/s':>12}{'median GB/s':>13}{'ratio of best':>15}{'spread of ratio':>18}")
best = [r[0] for r in reference]
print(f"{'STREAM triad, gcc OpenMP':28}{max(best) / 1e9:12.2f}"
      f"{statistics.median(r[1] for r in reference) / 1e9:13.2f}")
good = True
for stores in ("regular", "auto"):
    found = [ours(stores, i) for i in range(1, pairs + 1)]
    ratios = [f[0]["max"] / b for f, b in zip(found, best)]
    name = f"ours, {stores} ({found[-1][1]})"
    ratio = statistics.median(ratios)
    print(f"{name[:44]:44}\n{'':28}{max(f[0]['max'] for f in found) / 1e9:12.2f}"
          f"{statistics.median(f[0]['median'] for f in found) / 1e9:13.2f}{ratio:15.3f}"
          f"{min(ratios):10.3f}..{max(ratios):.3f}")
    good &= ratio >= 0.97 and (stores == "auto" or ratio <= 1.03)
print("within 3 %" if good else "NOT within 3 %")
sys.exit(0 if good else 1)
EOF
