"""io on devices that this machine lacks, in one boot of the emulated one: an NVMe drive read and written raw, NVMe
passthrough, null_blk, a drive that is removed in the middle, a failing and a corrupting disk, a full file system."""

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "vm"))
from vm_lab import STORAGE_MODULES, VmLab  # noqa: E402

BIN = os.environ["CLUSTERBENCH_BIN"]

# step NAME ARGUMENT…: runs io, leaves its exit code, stderr and document in /lab.
SCRIPT = f"""
step() {{ local name=$1; shift; {BIN} io --quiet --json $name.json "$@" >$name.out 2>$name.err; echo $? >$name.rc; }}
sectors=$(blockdev --getsz /dev/nvme2n1)
step nvme-read --file /dev/nvme0n1 --rw randread --queue-depth 16 --duration 1s --warm-up 0s
step passthrough --file /dev/ng0n1 --rw randread --queue-depth 16 --duration 1s --warm-up 0s
step raw-refused --file /dev/nvme0n1 --rw write --allow-raw-write another
step raw-write --file /dev/nvme0n1 --rw write --block-size 128K --size 8M --allow-raw-write cblab0 --verify
step null-blk --file /dev/nullb0 --rw randread --queue-depth 32 --duration 1s --warm-up 0s

( until [ "$(awk '{{print $1}}' /sys/block/nvme1n1/stat)" -gt 1000 ]; do sleep 0.2; done
  echo 1 >/sys/class/nvme/nvme1/device/remove ) &
step removed --file /dev/nvme1n1 --rw randread --queue-depth 8 --duration 120s --warm-up 0s
wait

export DM_DISABLE_UDEV=1  # nobody else makes the nodes
table() {{ dmsetup suspend --nolockfs flaky; echo "0 $sectors $1" | dmsetup load flaky; dmsetup resume flaky; }}
echo "0 $sectors linear /dev/nvme2n1 0" | dmsetup create flaky
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/flaky
mkdir -p /mnt/flaky; mount /dev/mapper/flaky /mnt/flaky; sync
step kept --dir /mnt/flaky --rw write --block-size 64K --size 4M --keep
kept=$(echo /mnt/flaky/clusterbench-kept-*/rank0.dat)
step healthy --file $kept --rw read --block-size 64K --verify-only
table "flakey /dev/nvme2n1 0 0 1000 5 corrupt_bio_byte 5000 r 90 0"
step corrupt-read --file $kept --rw read --block-size 64K --verify-only
table "linear /dev/nvme2n1 0"
step full --dir /mnt/flaky --rw write --size 1G
# Writes with a wrong byte, straight to a device: a file system would trip over its own blocks.
echo "0 8192 flakey /dev/nvme0n1 0 0 1000 5 corrupt_bio_byte 5000 w 90 0" | dmsetup create writes
dd if=$kept of=/dev/mapper/writes bs=64K oflag=direct status=none
step corrupt-write --file /dev/mapper/writes --rw read --block-size 64K --verify-only
table "flakey /dev/nvme2n1 0 0 1000"
step error-read --file $kept --rw read --block-size 64K
umount -l /mnt/flaky
dmesg | tail -40 >dmesg.txt
exit 0
"""


@pytest.fixture(scope="module")
def boot():
    lab = VmLab(Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "vm-lab", modules=[*STORAGE_MODULES, "crc32c_generic"])
    reason = lab.missing()
    if reason:
        pytest.skip(reason)
    return lab.run(SCRIPT, timeout=600, nvme_mib=[64, 64, 64], name="io").check().directory


class Step:
    def __init__(self, boot, name):
        self.rc = int((boot / f"{name}.rc").read_text())
        self.stderr = (boot / f"{name}.err").read_text()
        document = boot / f"{name}.json"
        self.records = json.loads(document.read_text())["records"] if document.exists() else []

    def record(self):
        (record,) = self.records
        return record

    def check(self, name):
        (check,) = [c for c in self.record()["checks"] if c["name"] == name]
        return check

    def metric(self, name):
        return next(m for m in self.record()["metrics"] if m["name"] == name)["summary"]


@pytest.mark.parametrize("name, disk", [("nvme-read", "nvme0n1"), ("null-blk", "nullb0"), ("passthrough", "ng0n1")])
def test_a_device_is_read_raw(boot, name, disk):
    step = Step(boot, name)
    assert step.rc == 0, step.stderr
    assert step.metric("io_per_second")["mean"] > 0
    entity = step.record()["entities"][0]
    assert (entity["kind"], entity["id"]) == ("disk", disk)
    assert ("NVMe passthrough" in step.record()["facts"]["engine"]) == (name == "passthrough")


def test_a_drive_is_written_raw_only_by_its_serial_number(boot):
    refused = Step(boot, "raw-refused")
    assert refused.rc != 0 and "cblab0" in refused.stderr
    step = Step(boot, "raw-write")
    assert step.rc == 0, step.stderr
    assert step.check("data")["passed"]
    assert step.record()["facts"]["data_check"] != "none"


def test_a_drive_removed_in_the_middle_is_an_error_with_its_place_and_what_was_done(boot):
    step = Step(boot, "removed")
    assert step.rc == 4, step.stderr
    record = step.record()
    assert record["outcome"] == "errored" and record.get("metrics", []) == []
    assert "/dev/nvme1n1" in record["reason"] and "at offset" in record["reason"]
    assert any(symbol in record["reason"] for symbol in ("(EIO)", "(ENODEV)", "(ENXIO)")), record["reason"]
    assert int(record["facts"]["until_the_error"].split(": ")[1].split()[0]) > 0


def test_damage_is_found_and_named(boot):
    assert Step(boot, "kept").rc == 0, Step(boot, "kept").stderr
    assert Step(boot, "healthy").rc == 0, Step(boot, "healthy").stderr
    for name, where in [("corrupt-read", "rank0.dat at offset"), ("corrupt-write", "/dev/mapper/writes at offset")]:
        step = Step(boot, name)
        assert step.rc == 1, (name, step.stderr)
        check = step.check("data")
        assert not check["passed"] and "(bit flip)" in check["detail"] and where in check["detail"]
        assert step.record().get("metrics", []) == []


def test_a_read_error_is_located(boot):
    step = Step(boot, "error-read")
    assert step.rc == 4, step.stderr
    assert "(EIO)" in step.stderr and "at offset" in step.stderr and "rank0.dat" in step.stderr


def test_a_full_file_system_is_found_before_anything_is_written(boot):
    step = Step(boot, "full")
    assert step.rc == 4 and "free" in step.stderr, step.stderr
