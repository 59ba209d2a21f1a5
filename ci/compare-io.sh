#!/usr/bin/env bash
# clusterbench io beside fio on the same written file and core: alternating rounds, ratios and spread.
#   ci/compare-io.sh [DIRECTORY] [PAIRS] [SECONDS] [ROWS] [ARGUMENTS]     default: . 5 3 null,direct,cached
# The file is written by fio first and removed at the end. Cached points need no quiet disk: there
# both tools read the same pages from memory, and what differs is the tools themselves.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

directory=$(realpath "${1:-.}")
command -v fio >/dev/null || die "needs fio: apt-get install fio"
binary=${CLUSTERBENCH_BIN:-build/release/bin/clusterbench}
[ -x "$binary" ] || build_preset release clusterbench
work=$(mktemp -d "$directory/compare-io-XXXXXX")
trap 'rm -f "$work/file"; rmdir "$work"' EXIT

stage "writing 512 MiB with fio"
fio --name=layout --filename="$work/file" --size=512M --rw=write --bs=1M --direct=1 --end_fsync=1 \
  --ioengine=io_uring --iodepth=8 --output=/dev/null
stage "alternating rounds; $(fio --version), $(uname -r), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"
ci/compare_io.py "$binary" "$work/file" "${2:-5}" "${3:-3}" "${4:-null,direct,cached}" "${5:-}"
