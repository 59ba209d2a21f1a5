#!/usr/bin/env bash
# clusterbench io beside fio on the same written file and core: alternating rounds, ratios and spread.
#   ci/compare-io.sh [DIRECTORY|zram] [OPTIONS of ci/compare_io.py, see its --help]   default: . with all points
# The file is written by fio first and removed at the end. "zram" makes ext4 on a RAM disk for it (root), of pages
# that are all alike: nothing drifts there, no interrupt comes, and next to no time is the device's.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"

command -v fio >/dev/null || die "needs fio: apt-get install fio"
where=${1:-.}
[ $# -eq 0 ] || shift
binary=${CLUSTERBENCH_BIN:-build/release/bin/clusterbench}
[ -x "$binary" ] || build_preset release clusterbench
fill=()
disk=

make_ram_disk() {
  disk=zram$(cat /sys/class/zram-control/hot_add)
  echo 1G >"/sys/block/$disk/disksize"
  mkfs.ext4 -q "/dev/$disk"
  mount "/dev/$disk" "$work"
  fill=(--zero_buffers)
}

# A ring that is gone lets go of its file a moment later.
unmount() {
  for _ in {1..20}; do
    umount "$work" 2>/dev/null && return
    sleep 0.5
  done
  die "$work cannot be unmounted: umount it, then write ${disk#zram} to /sys/class/zram-control/hot_remove"
}

remove() {
  rm -f "$work/file"
  if [ -n "$disk" ]; then
    ! mountpoint -q "$work" || unmount
    echo 1 >"/sys/block/$disk/reset"
    echo "${disk#zram}" >/sys/class/zram-control/hot_remove
  fi
  rmdir "$work"
}

if [ "$where" = zram ]; then
  [ -w /sys/class/zram-control/hot_remove ] || die "zram needs root and a kernel that has it"
  work=$(mktemp -d)
  trap remove EXIT
  make_ram_disk
else
  work=$(mktemp -d "$(realpath "$where")/compare-io-XXXXXX")
  trap remove EXIT
fi

stage "writing 512 MiB with fio"
fio --name=layout --filename="$work/file" --size=512M --rw=write --bs=1M --direct=1 --end_fsync=1 \
  --ioengine=io_uring --iodepth=8 "${fill[@]}" --output=/dev/null
stage "alternating rounds; $(fio --version), $(uname -r), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"
ci/compare_io.py "$binary" "$work/file" "$@"
