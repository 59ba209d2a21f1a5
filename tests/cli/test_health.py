"""`health` and the GPU part of `info` against a driver library that behaves as a script says.

Every rule in both directions: a healthy node passes it, a sick one fails, and what cannot be read is incomplete.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
BIN = os.environ["CLUSTERBENCH_BIN"]
FAKE = BUILD / "fake" / "fake_nvml.so"
OLD = BUILD / "fake" / "fake_nvml_old.so"


def run(*args, script="", library=FAKE, timeout=120):
    env = dict(os.environ, CLUSTERBENCH_NVML_LIBRARY=str(library), CLUSTERBENCH_FAKE_NVML=script)
    return subprocess.run([BIN, *args], env=env, capture_output=True, text=True, timeout=timeout, check=False)


def health(tmp_path, script="", library=FAKE):
    file = tmp_path / "h.json"
    done = run("health", "--json", str(file), script=script, library=library)
    return done, json.loads(file.read_text())


def metrics(document, name):
    """Entity id -> value."""
    record = document["records"][0]
    return {record["entities"][m["entity"]]["id"]: m["samples"][0] for m in record["metrics"] if m["name"] == name}


def test_a_healthy_node(tmp_path):
    done, document = health(tmp_path)
    assert done.returncode == 0, done.stderr
    assert metrics(document, "gpus") == {"": 8}
    eight = [str(i) for i in range(8)]
    for name, value in {
        "reachable": 1, "ecc_enabled": 1, "ecc_uncorrected_volatile": 0, "row_remap_pending": 0, "row_remap_failed": 0,
        "recovery_action": 0, "hw_slowdown": 0, "power_limit_share": 1, "persistence_mode": 1, "mig_mode": 0,
        "pcie_lanes_share": 1, "nvlinks_active": 18, "nvlink_errors": 0, "fabric_ready": 1, "fabric_faults": 0,
        "inforom_valid": 1, "processes": 0, "temperature_celsius": 41, "memory_temperature_celsius": 52,
    }.items():
        assert metrics(document, name) == dict.fromkeys(eight, value), name


# What the driver says -> the metric and its value on GPU 3; GPU 2 stays healthy.
SICK = [
    ("ecc_enabled@3=0", "ecc_enabled", 0),
    ("ecc_uncorrected_volatile@3=2", "ecc_uncorrected_volatile", 2),
    ("ecc_uncorrected_aggregate@3=5", "ecc_uncorrected_aggregate", 5),
    ("sram_uncorrected_aggregate@3=5", "sram_uncorrected_aggregate", 5),
    ("sram_threshold_exceeded@3=1", "sram_threshold_exceeded", 1),
    ("rows_remapped_uncorrectable@3=4", "rows_remapped_uncorrectable", 4),
    ("row_remap_pending@3=1", "row_remap_pending", 1),
    ("row_remap_failed@3=1", "row_remap_failed", 1),
    ("recovery_action@3=2", "recovery_action", 2),
    ("fabric_mask=256 fabric_mask@3=1280", "fabric_faults", 1),  # too few NVLinks; 256: rightly configured
    ("event_reasons@3=8", "hw_slowdown", 1),
    ("event_reasons@3=64", "hw_thermal_slowdown", 1),
    ("event_reasons@3=32", "sw_thermal_slowdown", 1),
    ("event_reasons@3=136", "power_brake", 1),
    ("power_limit@3=350", "power_limit_share", 0.7),
    ("persistence_mode@3=0", "persistence_mode", 0),
    ("mig_mode@3=1", "mig_mode", 1),
    ("compute_mode@3=3", "compute_mode", 3),
    ("pcie_lanes@3=8", "pcie_lanes_share", 0.5),
    ("pcie_slot_generation@3=4", "pcie_generation_share", 0.8),
    ("nvlinks_active@3=17", "nvlinks_active", 17),
    ("nvlink_errors@3=12", "nvlink_errors", 12),
    # Blackwell, where NVML tells errors and the far ends of links otherwise (nvml.h 13).
    ("nvlink5=1 refuse=nvmlDeviceGetNvLinkErrorCounter nvlink_errors@3=7", "nvlink_errors", 7),
    ("fabric_state@3=2", "fabric_ready", 0),
    ("fabric_mask@3=16", "fabric_faults", 1),
    ("inforom_valid@3=0", "inforom_valid", 0),
    ("processes@3=1", "processes", 1),
    ("temperature_celsius@3=93", "temperature_celsius", 93),
]


def test_sick_gpus_are_told_from_healthy_ones(tmp_path):
    """Each reading reaches the record, of the GPU that has it and of no other."""
    _, well = health(tmp_path)
    for script, name, value in SICK:
        done, document = health(tmp_path, script)
        assert done.returncode == 0, (script, done.stderr)
        found, healthy = metrics(document, name), metrics(well, name)
        assert found["3"] == pytest.approx(value), script
        assert healthy["3"] != pytest.approx(value), script
        assert found["2"] == healthy["2"], script


def test_what_cannot_be_read_is_absent_and_said(tmp_path):
    done, document = health(tmp_path, "refuse@2=nvmlDeviceGetRemappedRows fail@5=nvmlDeviceGetTemperature")
    assert done.returncode == 0
    assert set(metrics(document, "row_remap_pending")) == set("0134567")
    assert set(metrics(document, "temperature_celsius")) == set("0123467")
    notes = "\n".join(document["records"][0]["notes"])
    assert "GPU 2: row_remap_pending could not be read: nvmlDeviceGetRemappedRows: Not Supported" in notes
    assert "GPU 5: temperature_celsius could not be read: nvmlDeviceGetTemperature: Unknown Error" in notes


def test_a_lost_gpu_is_named(tmp_path):
    done, document = health(tmp_path, "lost@6=1")
    assert done.returncode == 0
    assert metrics(document, "reachable") == {str(i): 0 if i == 6 else 1 for i in range(8)}
    assert metrics(document, "gpus") == {"": 8}
    assert "6" not in metrics(document, "ecc_enabled")
    assert any("GPU 6: unreachable: nvmlDeviceGetHandleByIndex_v2: GPU is lost" in n for n in document["records"][0]["notes"])


def test_a_missing_gpu_is_not_counted(tmp_path):
    _, document = health(tmp_path, "gpus=7")
    assert metrics(document, "gpus") == {"": 7}


def test_a_driver_without_newer_calls(tmp_path):
    """Symbols that an older driver lacks cost their readings only."""
    done, document = health(tmp_path, "event_reasons@1=8", library=OLD)
    assert done.returncode == 0, done.stderr
    assert metrics(document, "hw_slowdown") == {str(i): 1 if i == 1 else 0 for i in range(8)}
    assert metrics(document, "fabric_ready") == {}
    assert metrics(document, "sram_threshold_exceeded") == {}
    notes = "\n".join(document["records"][0]["notes"])
    assert "this driver's NVML has no nvmlDeviceGetGpuFabricInfoV" in notes


def test_drivers_of_525_to_545_tell_the_state_of_the_fabric_and_no_faults_of_it(tmp_path):
    """nvmlDeviceGetGpuFabricInfoV came with 550 (NVML's change log); without the older call no node with 535 could be accepted."""
    done, document = health(tmp_path, "fabric_v1=1 fabric_state@3=2", library=OLD)
    assert done.returncode == 0, done.stderr
    assert metrics(document, "fabric_ready") == {str(i): 0 if i == 3 else 1 for i in range(8)}
    assert metrics(document, "fabric_faults") == {}
    notes = "\n".join(document["records"][0]["notes"])
    assert "has no nvmlDeviceGetGpuFabricInfoV; drivers of 550 and newer tell it" in notes


@pytest.mark.parametrize("library,why", [("/nonexistent/libnvidia-ml.so", "NVML does not open"), ("libz.so.1", "is no NVML")])
def test_no_driver_library(library, why):
    """No GPU on PCI here either: skipped, and the inventory says nothing that it does not know."""
    done = run("health", library=library)
    assert done.returncode == 3
    assert "skipped: no GPU on" in done.stderr
    assert why  # told for GPUs that PCI lists, see test_info


def test_a_driver_that_fails_to_start(tmp_path):
    done = run("health", script="init=fail")
    assert done.returncode == 3
    assert "skipped" in done.stderr


def test_a_driver_that_hangs_is_named_in_time():
    """GPU 4 hangs in the health check, not before: the inventory does not ask for the temperature."""
    done = run("health", "--patience", "5s", script="hang@4=nvmlDeviceGetTemperature")
    assert done.returncode == 4
    assert "NVML has not come back from nvmlDeviceGetTemperature of GPU 4 in 5 s" in done.stderr


def test_inventory(tmp_path):
    file = tmp_path / "i.json"
    done = run("info", "--json", str(file), script="vbios@2=96.00.A6.00.FF mig_mode@3=1")
    assert done.returncode == 0, done.stderr
    gpus = [p for p in json.loads(file.read_text())["hosts"][0]["parts"] if p["kind"] == "gpu"]
    assert [g["id"] for g in gpus] == [f"0000:{0x1b + 0x10 * i:02x}:00.0" for i in range(8)]
    a = gpus[0]["attributes"]
    assert a["model"] == "NVIDIA H20" and a["driver_version"] == "580.95.05" and a["vbios"] == "96.00.A6.00.01"
    assert a["ecc"] is True and a["mig"] is False and a["persistence"] is True and a["power_limit_watts"] == 500
    assert a["nvlinks_active"] == 18 and a["compute_capability"] == "9.0" and a["compute_mode"] == "default"
    assert a["sms"] == 78 and a["memory_bus_bits"] == 6144
    assert a["pcie_generation"] == 5 and a["pcie_lanes"] == 16 and a["index"] == 0
    assert a["topology"] == "X NV18 NV18 NV18 NV18 NV18 NV18 NV18"
    assert gpus[2]["attributes"]["vbios"] == "96.00.A6.00.FF"
    assert gpus[3]["attributes"]["mig"] is True
    assert "board_part_number" in gpus[0]["unavailable"]


def test_topology_without_nvlink(tmp_path):
    file = tmp_path / "i.json"
    assert run("info", "--json", str(file), script="nvlinks_active=0").returncode == 0
    gpus = [p for p in json.loads(file.read_text())["hosts"][0]["parts"] if p["kind"] == "gpu"]
    assert gpus[0]["attributes"]["topology"] == "X NODE NODE NODE SYS SYS SYS SYS"


def test_memory_that_the_driver_reserves_is_not_in_use(tmp_path):
    """A gigabyte and more of a large part; a B300 was over the limit while nothing ran."""
    _, document = health(tmp_path, "memory_used_bytes=2.6e9 memory_reserved_bytes=2.1e9")
    assert list(metrics(document, "memory_used_bytes").values()) == [pytest.approx(5e8)] * 8
