"""A real NVMe device, raw: written only with its serial number and while nothing is on it; its SMART log and counters."""

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "vm"))
from vm_lab import STORAGE_MODULES, VmLab  # noqa: E402

BINARY = os.environ["CLUSTERBENCH_BIN"]

# case NAME EXPECTED WORDS OPTIONS…: runs io and prints one line, ok or not, with what it said.
SCRIPT = f"""
case_() {{
  local name=$1 expected=$2 words=$3; shift 3
  timeout 100 {BINARY} io --quiet --json /lab/$name.json --block-size 4K --queue-depth 8 "$@" >$name.out 2>&1
  local rc=$?
  if [ $rc = $expected ] && {{ [ -z "$words" ] || grep -q -- "$words" $name.out; }}; then echo "ok $name"; else echo "NOT ok $name rc=$rc"; cat $name.out; fi
}}
raw="--file /dev/nvme0n1 --rw randwrite --duration 1s --warm-up 100ms"
sum() {{ sha256sum /dev/nvme0n1 | cut -d' ' -f1; }}
blank=$(sum)

# Two at a time: none of them may touch the device.
case_ no-permission 2 allow-raw-write $raw &
case_ no-serial 2 'give it with' $raw --allow-overwrite
wait
case_ wrong-serial 2 'has the serial number cblab0, not cblab1' $raw --allow-raw-write cblab1 &
case_ null-blk 2 'no serial number' --file /dev/nullb0 --rw write --allow-raw-write x
wait
case_ dry-run 0 '' $raw --allow-raw-write cblab0 --dry-run
case_ char-device 2 'neither a regular file nor a block device' --file /dev/ng0n1 --rw write --allow-raw-write cblab0
[ "$(sum)" = "$blank" ] && echo "ok untouched until here"

case_ written 0 '' $raw --allow-raw-write cblab0 --verify
[ "$(sum)" != "$blank" ] && echo "ok written indeed"
ln -s /dev/nvme0n1 /tmp/by-id
case_ by-id-link 0 '' --file /tmp/by-id --rw write --size 1M --duration 300ms --allow-raw-write cblab0
case_ read 0 '' --file /dev/nvme0n1 --rw randread --duration 2s --warm-up 0s

dmsetup create lv --table "0 2048 linear /dev/nvme0n1 2048"
case_ dm-member 2 'is held by dm-0' $raw --allow-raw-write cblab0
case_ on-dm 2 'is built on nvme0n1' --file /dev/dm-0 --rw write --allow-raw-write cblab0
dmsetup remove lv

mkswap /dev/nvme0n1 >/dev/null 2>&1
case_ swap-signature 2 'swap signature' $raw --allow-raw-write cblab0
swapon /dev/nvme0n1
case_ swap-in-use 2 'swap space in use' $raw --allow-raw-write cblab0
swapoff /dev/nvme0n1

mkfs.ext4 -q -F /dev/nvme0n1
before=$(sum)
case_ filesystem 2 'ext4 signature' $raw --allow-raw-write cblab0
[ "$(sum)" = "$before" ] && echo "ok filesystem untouched"
mkdir -p /mnt/a
mount /dev/nvme0n1 /mnt/a
case_ mounted 2 'mounted on /mnt/a' $raw --allow-raw-write cblab0
dd if=/dev/zero of=/mnt/a/swap bs=1M count=4 2>/dev/null; chmod 600 /mnt/a/swap; mkswap /mnt/a/swap >/dev/null 2>&1; swapon /mnt/a/swap
case_ swap-file 2 'swap space in use' --file /mnt/a/swap --rw write --allow-overwrite
swapoff /mnt/a/swap
umount /mnt/a

# Mounted where this process does not see it, and the signature hidden: only the kernel knows.
unshare --mount sh -c 'mount /dev/nvme0n1 /mnt/a; dd if=/dev/zero of=/dev/nvme0n1 bs=4k count=1 conv=notrunc,fsync 2>/dev/null;
  touch /tmp/hidden; while [ -e /tmp/hidden ]; do sleep 0.1; done; umount /mnt/a' &
until [ -e /tmp/hidden ]; do sleep 0.1; done
case_ hidden-mount 4 'in use by the kernel' $raw --allow-raw-write cblab0
rm /tmp/hidden; wait
blockdev --setro /dev/nvme0n1
case_ read-only 2 'read-only' $raw --allow-raw-write cblab0
blockdev --setrw /dev/nvme0n1
# A partition table, written by hand: type Linux, from sector 2048, 12288 sectors.
dd if=/dev/zero of=/dev/nvme0n1 bs=1M conv=fsync 2>/dev/null
printf '\\200\\0\\2\\0\\203\\0\\0\\0\\0\\010\\0\\0\\0\\060\\0\\0' | dd of=/dev/nvme0n1 bs=1 seek=446 conv=notrunc 2>/dev/null
printf '\\125\\252' | dd of=/dev/nvme0n1 bs=1 seek=510 conv=notrunc,fsync 2>/dev/null
case_ mbr 2 'dos signature (partition table)' $raw --allow-raw-write cblab0
blockdev --rereadpt /dev/nvme0n1; sleep 0.5
case_ partitions 2 'has the partitions nvme0n1p1' $raw --allow-raw-write cblab0
mkfs.ext4 -q -F /dev/nvme0n1p1 && mount /dev/nvme0n1p1 /mnt/a
case_ parent-of-mounted 2 'nvme0n1p1, a partition of nvme0n1, is mounted on /mnt/a' $raw --allow-raw-write cblab0
umount /mnt/a
nvme smart-log -o json /dev/nvme0 >smart.json
"""

CASES = ["no-permission", "no-serial", "wrong-serial", "dry-run", "null-blk", "char-device", "untouched until here", "written",
         "written indeed", "by-id-link", "read", "dm-member", "on-dm", "swap-signature", "swap-in-use", "filesystem",
         "filesystem untouched", "mounted", "swap-file", "hidden-mount", "read-only", "mbr", "partitions", "parent-of-mounted"]


@pytest.fixture(scope="module")
def result():
    lab = VmLab(Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "vm-lab", modules=[*STORAGE_MODULES, "crc32c_generic"])
    reason = lab.missing()
    if reason:
        pytest.skip(reason)
    return lab.run(SCRIPT, nvme_mib=[24], name="io-safety", timeout=300).check()


@pytest.mark.parametrize("name", CASES)
def test_refused_or_allowed(result, name):
    assert f"ok {name}\n" in result.stdout.replace("NOT ok", "NOT_OK"), result.stdout + result.stderr


def record(result, name):
    return json.loads((result.directory / f"{name}.json").read_text())["records"][0]


def test_what_the_device_says_of_itself(result):
    """SMART deltas agree with what was written; the reference tool reads the same log."""
    r = record(result, "written")
    (data,) = [c for c in r["checks"] if c["name"] == "data"]
    assert data["passed"]
    deltas = {d["name"]: d for d in r["telemetry"]["deltas"]}
    written = deltas["device_written"]["after"] - deltas["device_written"]["before"]
    assert written > 4096
    # SMART counts in units of 512,000 bytes, rounded up.
    smart = deltas["nvme_data_written"]["after"] - deltas["nvme_data_written"]["before"]
    assert abs(smart - written) <= 2 * 512000
    metrics = {m["name"]: m for m in r["metrics"]}
    assert metrics["media_errors"]["summary"]["median"] == 0
    assert metrics["critical_warnings"]["summary"]["median"] == 0
    disk = r["entities"][metrics["media_errors"]["entity"]]
    assert (disk["kind"], disk["id"]) == ("disk", "nvme0n1")
    ours = {d["name"]: d["after"] for d in record(result, "read")["telemetry"]["deltas"]}
    theirs = {k: v for k, v in json.loads((result.directory / "smart.json").read_text()).items() if k != "critical_warning"}
    assert ours["nvme_media_errors"] == int(theirs["media_errors"])
    assert ours["nvme_unsafe_shutdowns"] == int(theirs["unsafe_shutdowns"])
    assert abs(ours["nvme_temperature"] - (int(theirs["temperature"]) - 273)) <= 1
    assert 0 < ours["nvme_data_read"] <= int(theirs["data_units_read"]) * 512000


def test_utilisation_and_queue_while_it_reads(result):
    series = {s["name"]: s["values"] for s in record(result, "read")["telemetry"]["series"]}
    assert 0 < max(series["device_utilisation"]) <= 1
    assert max(series["device_queue"]) > 0
