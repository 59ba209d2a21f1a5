#!/usr/bin/env bash
# clusterbench io beside fio on the same file: alternating pairs, the ratio of each pair and its spread.
#   ci/compare-io.sh [DIRECTORY] [PAIRS] [SECONDS]     default: . 5 3
# The file is written by fio first and removed at the end. Cached points need no quiet disk: there
# both tools read the same pages from memory, and what differs is the tools themselves.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

directory=$(realpath "${1:-.}")
pairs=${2:-5}
seconds=${3:-3}
command -v fio >/dev/null || die "needs fio: apt-get install fio"
[ -x build/release/bin/clusterbench ] || build_preset release clusterbench
work=$(mktemp -d "$directory/compare-io-XXXXXX")
trap 'rm -f "$work"/file "$work"/*.json; rmdir "$work"' EXIT

stage "writing 1 GiB with fio"
fio --name=layout --filename="$work/file" --size=1G --rw=write --bs=1M --direct=1 --end_fsync=1 \
  --ioengine=io_uring --iodepth=8 --output=/dev/null

run_fio() { # RW BLOCK DEPTH DIRECT
  fio --name=x --filename="$work/file" --rw="$1" --bs="$2" --iodepth="$3" --direct="$4" \
    --ioengine=io_uring --registerfiles --fixedbufs --norandommap --randrepeat=1 --thread \
    --invalidate=0 --time_based --ramp_time=1 --runtime="$seconds" --readonly \
    --output-format=json --output="$work/fio.json"
  python3 -c 'import json,sys; r=json.load(open(sys.argv[1]))["jobs"][0]["read"]; print(r["iops"])' \
    "$work/fio.json"
}

run_ours() { # RW BLOCK DEPTH DIRECT
  local direct=--direct
  [ "$4" = 1 ] || direct=--no-direct
  build/release/bin/clusterbench io --file "$work/file" --rw "$1" --block-size "$2" \
    --queue-depth "$3" $direct --warm-up 1s --duration "${seconds}s" --engine io_uring --quiet \
    --json "$work/ours.json"
  python3 -c 'import json,sys
r=json.load(open(sys.argv[1]))["records"][0]
print(next(m["summary"]["mean"] for m in r["metrics"] if m["name"]=="io_per_second"))' \
    "$work/ours.json"
}

warm_cache() { cat "$work/file" >/dev/null; }

point() { # RW BLOCK DEPTH DIRECT
  local ratios=() label
  label="$1 $2 QD $3 $([ "$4" = 1 ] && echo direct || echo cached)"
  for ((i = 0; i < pairs; i++)); do
    local ours theirs
    [ "$4" = 1 ] || warm_cache
    if ((i % 2)); then
      theirs=$(run_fio "$@") && ours=$(run_ours "$@")
    else
      ours=$(run_ours "$@") && theirs=$(run_fio "$@")
    fi
    ratios+=("$ours/$theirs")
  done
  python3 - "$label" "${ratios[@]}" <<'PY'
import statistics
import sys

pairs = [tuple(map(float, text.split("/"))) for text in sys.argv[2:]]
ratios = sorted(a / b for a, b in pairs)
ours, theirs = (statistics.median(x) for x in zip(*pairs))
print(f"{sys.argv[1]:28} clusterbench {ours:11.0f} IOPS   fio {theirs:11.0f} IOPS   "
      f"ratio {statistics.median(ratios):.3f}  [{ratios[0]:.3f} … {ratios[-1]:.3f}]  n={len(ratios)}")
PY
}

stage "$pairs alternating pairs of ${seconds} s a point; $(fio --version), $(uname -r), $(nproc) cores"
point randread 4K 1 1
point randread 4K 32 1
point read 128K 8 1
point randread 4K 1 0
point randread 4K 32 0
point read 128K 8 0
