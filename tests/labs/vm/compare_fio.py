#!/usr/bin/python3
"""clusterbench io beside fio in one boot of the emulated machine: ci/compare_io.py on a file of an NVMe drive, or of a
null_blk device that answers every request after the same time, so that the device is the limit.

    tests/labs/vm/compare_fio.py BINARY [--device nvme|null_blk] [--answer-us 2000] [--work DIR] [--deadline 1200]
                                 [OPTIONS of ci/compare_io.py, such as --rounds 10 --seconds 1.5 --points randread-1]

Emulated, a processor is some twenty times slower and a device's registers are not: what the processor does per request
is most of the time, and nothing of it is an exit to a hypervisor. Ratios of processor time and, at a fixed answer, of
latency say something; rates of the emulated NVMe drive do not. Run it on a machine that does nothing else.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from vm_lab import STORAGE_MODULES, VmLab  # noqa: E402

COMPARE = Path(__file__).resolve().parents[3] / "ci/compare_io.py"
FILE_MIB = 40

DEVICES = {
    "nvme": "device=/dev/nvme0n1",
    "null_blk": """mount -t configfs none /sys/kernel/config
one=/sys/kernel/config/nullb/fixed
mkdir $one
for setting in size=64 memory_backed=1 irqmode=2 completion_nsec={nanoseconds} hw_queue_depth=256 power=1; do
  echo "${{setting#*=}}" >$one/"${{setting%=*}}"
done
device=/dev/fixed""",
}

SCRIPT = """set -e
{device}
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 $device
mkdir -p /mnt/compared
mount $device /mnt/compared
dd if=/dev/urandom of=/mnt/compared/file bs=1M count={mib} oflag=direct status=none
python3 {compare} {binary} /mnt/compared/file --core 1 --warm-up 0.5 {options}
umount /mnt/compared
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--device", choices=DEVICES, default="nvme")
    parser.add_argument("--answer-us", type=int, default=2000, help="of null_blk, in microseconds")
    parser.add_argument("--work", help="directory for kernel and results; a temporary one unless given")
    parser.add_argument("--deadline", type=int, default=1200, help="seconds")
    arguments, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as temporary:
        lab = VmLab(Path(arguments.work or temporary).resolve(), modules=[*STORAGE_MODULES, "crc32c_generic"])
        reason = lab.missing()
        if reason:
            raise SystemExit(reason)
        lab.directory.mkdir(parents=True, exist_ok=True)
        script = SCRIPT.format(device=DEVICES[arguments.device].format(nanoseconds=arguments.answer_us * 1000), mib=FILE_MIB,
                               compare=COMPARE, binary=Path(arguments.binary).resolve(), options=" ".join(options))
        print(lab.run(script, timeout=arguments.deadline, nvme_mib=[64], name="compare").check().stdout, end="")


if __name__ == "__main__":
    main()
