"""The emulated machine itself: boots, has soft-RoCE and NVMe, runs our binary, and passes results and exit codes out."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "vm"))
from vm_lab import SOFT_ROCE, VmLab  # noqa: E402

BINARY = os.environ["CLUSTERBENCH_BIN"]


@pytest.fixture(scope="module")
def lab():
    lab = VmLab(Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "vm-lab")
    reason = lab.missing()
    if reason:
        pytest.skip(reason)
    return lab


def test_devices_binary_and_exit_code(lab):
    result = lab.run(SOFT_ROCE + f"""
ibv_devinfo | grep -E 'hca_id|state'
ib_write_lat -d rxe0 -F -n 100 >server.log 2>&1 &
for _ in $(seq 200); do grep -q ":4853 .* 0A " /proc/net/tcp /proc/net/tcp6 && break; sleep 0.1; done
ib_write_lat -d rxe0 -F -n 100 10.78.0.1 >/dev/null && echo perftest ran
nvme smart-log /dev/nvme0n1 | grep -q critical_warning && echo smart log read
{BINARY} --version
{BINARY} info --json info.json --quiet && echo info ran
exit 7
""", nvme_mib=[64])
    assert result.rc == 7, result.stderr + result.console
    assert result.stdout.count("PORT_ACTIVE") == 2
    for line in ("perftest ran", "smart log read", "info ran"):
        assert line in result.stdout, result.stdout + result.stderr
