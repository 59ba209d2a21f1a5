#!/usr/bin/env bash
# Compares `mpi` with a plain MPI loop (tests/tools/mpi_loop.c): the same call, ranks, sizes and
# iterations, in alternating pairs; prints the ratio of the median times and its spread per point.
# Usage: ci/compare-mpi.sh [BINARY] [PAIRS] [RANKS] [SIZE…]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
binary=${1:-$root/build/release/bin/clusterbench}
pairs=${2:-5}
ranks=${3:-2}
shift $(($# < 3 ? $# : 3))
sizes=("$@")
[ ${#sizes[@]} -gt 0 ] || sizes=(1024 16384 262144 4194304 67108864)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mpicc -O3 "$root/tests/tools/mpi_loop.c" -o "$work/loop"
launch=(mpirun --oversubscribe --bind-to none -np "$ranks")

for op in all_reduce all_gather alltoall; do
  for size in "${sizes[@]}"; do
    iterations=$((size > 1000000 ? 40 : 2000))
    for i in $(seq "$pairs"); do
      "${launch[@]}" "$work/loop" "$op" "$size" "$iterations" >"$work/loop-$op-$size-$i.txt"
      "${launch[@]}" "$binary" mpi --op "$op" --size "$size" --iterations "$iterations" --quiet \
        --json "$work/ours-$op-$size-$i.json"
    done
  done
done

/usr/bin/python3 - "$work" "$pairs" "${sizes[@]}" <<'EOF'
import json, statistics, sys
work, pairs, sizes = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
print(f"{'':12}{'bytes':>10}{'plain loop':>14}{'mpi':>14}{'ratio':>8}{'spread of ratio':>18}")
medians = []
for op in ("all_reduce", "all_gather", "alltoall"):
    for size in sizes:
        loop, ours = [], []
        for i in range(1, pairs + 1):
            loop.append(float(open(f"{work}/loop-{op}-{size}-{i}.txt").read()))
            record, = json.load(open(f"{work}/ours-{op}-{size}-{i}.json"))["records"]
            rate, = [m for m in record["metrics"] if m["name"] == "algorithm_bytes_per_second"]
            ours.append(int(record["facts"]["actual_bytes"]) / rate["summary"]["median"])
        ratios = [a / b for a, b in zip(ours, loop)]
        medians.append(statistics.median(ratios))
        print(f"{op:12}{size:>10}{statistics.median(loop) * 1e6:11.1f} µs"
              f"{statistics.median(ours) * 1e6:11.1f} µs{medians[-1]:8.3f}"
              f"{min(ratios):10.3f}..{max(ratios):.3f}")
outside = [m for m in medians if abs(m - 1) > 0.03]
print(f"{len(medians) - len(outside)} of {len(medians)} medians within 3 %, "
      f"median of all {statistics.median(medians):.3f}")
EOF
