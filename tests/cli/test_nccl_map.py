"""The map of ranks that clusterbench nccl prints and records: which GPU, and which RDMA NICs are nearest to it.

GPUs and NCCL are stand-ins (tests/fake_cuda, tests/fake_nccl); the PCI tree is composed.
"""

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
BIN = BUILD / "bin" / "clusterbench_fake_gpu"
FAKE = BUILD / "fake"

# Below the root port of a host bridge each.
SWITCH = ["pci0000:17/0000:17:01.0/0000:18:00.0", "pci0000:27/0000:27:01.0/0000:28:00.0"]

pytestmark = pytest.mark.skipif(not BIN.exists(), reason="built without CUDA")


def add_function(root, bridges, address):
    """A PCI function below these bridges, on node 0, and its entry in /sys/bus."""
    path = root / "sys/devices" / bridges / address
    path.mkdir(parents=True)
    (path / "numa_node").write_text("0\n")
    bus = root / "sys/bus/pci/devices"
    bus.mkdir(parents=True, exist_ok=True)
    (bus / address).symlink_to(path)
    return path


def add_nic(root, name, bridges, address):
    place = root / "sys/class/infiniband" / name
    place.mkdir(parents=True)
    (place / "device").symlink_to(add_function(root, bridges, address))


@pytest.fixture
def sysroot(tmp_path):
    """The stand-in's two GPUs, each behind a PCIe switch of its own."""
    root = tmp_path / "sysroot"
    add_function(root, SWITCH[0] + "/0000:19:00.0", "0000:1b:00.0")
    add_function(root, SWITCH[1] + "/0000:29:00.0", "0000:2b:00.0")
    return root


def run(tmp_path, sysroot):
    """(facts of the record, the map as printed)."""
    out = tmp_path / "r.json"
    env = dict(os.environ, CLUSTERBENCH_FAKE_CUDA="memory=536870912 devices=2", CLUSTERBENCH_NCCL_LIBRARY=str(FAKE / "fake_nccl.so"),
               CLUSTERBENCH_NVML_LIBRARY=str(FAKE / "fake_nvml.so"), CLUSTERBENCH_FAKE_NVML="gpus=2")
    done = subprocess.run([BIN, "nccl", "--op", "all_reduce", "--size", "1K", "--iterations", "2", "--sysroot", sysroot, "--json", out],
                          env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = json.loads(out.read_text())["records"]
    (line,) = [text for text in done.stderr.splitlines() if "rank 0: " in text]
    return record["facts"], line


def test_the_nics_nearest_to_each_gpu_stand_in_the_map_and_the_record(tmp_path, sysroot):
    add_nic(sysroot, "mlx5_0", SWITCH[0] + "/0000:19:01.0", "0000:1c:00.0")
    add_nic(sysroot, "mlx5_1", SWITCH[0] + "/0000:19:02.0", "0000:1d:00.0")
    add_nic(sysroot, "mlx5_2", "pci0000:27/0000:27:02.0", "0000:30:00.0")
    facts, line = run(tmp_path, sysroot)
    assert facts["nearest_nics"] == "rank 0: mlx5_0 (PIX), mlx5_1 (PIX); rank 1: mlx5_2 (PHB)"
    first, second = line.split("; rank 1: ")
    assert "0000:1b:00.0" in first and first.endswith("nearest NICs mlx5_0 (PIX), mlx5_1 (PIX)")
    assert "0000:2b:00.0" in second and second.endswith("nearest NICs mlx5_2 (PHB)")
    assert facts["rank_map"] in line


def test_without_rdma_nics_nothing_is_said_of_them(tmp_path, sysroot):
    facts, line = run(tmp_path, sysroot)
    assert "nearest_nics" not in facts
    assert "NIC" not in line and "0000:2b:00.0" in line


def test_configuration_files_of_nccl_are_in_the_record(tmp_path, sysroot):
    """They set what the environment does not, and a record without them could not be repeated elsewhere."""
    assert "nccl_conf" not in run(tmp_path, sysroot)[0]
    (sysroot / "etc").mkdir()
    (sysroot / "etc/nccl.conf").write_text("# of the site\nNCCL_IB_HCA=mlx5\n")
    assert run(tmp_path, sysroot)[0]["nccl_conf"] == "/etc/nccl.conf: NCCL_IB_HCA=mlx5"


def test_a_gpu_whose_memory_is_taken_is_named_with_its_host(tmp_path):
    env = dict(os.environ, CLUSTERBENCH_FAKE_CUDA="memory=536870912 memory@1=1000 devices=2", CLUSTERBENCH_NVML_LIBRARY=str(FAKE / "fake_nvml.so"),
               CLUSTERBENCH_FAKE_NVML="gpus=2", CLUSTERBENCH_NCCL_LIBRARY=str(FAKE / "fake_nccl.so"))
    done = subprocess.run([BIN, "nccl", "--op", "all_reduce", "--size", "4K"], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"on {socket.gethostname()} GPU 1, " in done.stderr and "which has 1000 B free" in done.stderr
    assert "clusterbench nccl: note: " in done.stderr  # the map of ranks, which is no reason
