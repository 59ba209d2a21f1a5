"""`clusterbench nics`: what a host's RDMA ports are and count, read from composed machines."""

import json
import os
import subprocess

from test_info import unpack

BINARY = os.environ["CLUSTERBENCH_BIN"]


def nics(root, tmp_path, *more):
    out = tmp_path / "n.json"
    done = subprocess.run([BINARY, "nics", "--sysroot", root, "--quiet", "--json", out, *more],
                          capture_output=True, text=True, timeout=60)
    document = json.loads(out.read_text()) if out.exists() else None
    return done, document


def figures(document):
    record = document["records"][0]
    entities = record["entities"]
    return {(entities[m["entity"]]["id"], m["name"]): m["samples"][0] for m in record["metrics"]}


def test_rate_slot_and_counters_of_every_active_port(tmp_path):
    root = unpack("rdma_ib", tmp_path / "root")
    slot = root / "sys/bus/pci/devices/0000:9b:00.0"
    (slot / "max_link_speed").write_text("32.0 GT/s PCIe\n")
    (slot / "max_link_width").write_text("16\n")
    (slot / "current_link_width").write_text("8\n")
    done, document = nics(root, tmp_path)
    assert done.returncode == 0, done.stderr
    seen = figures(document)
    assert seen["mlx5_0", "rate_bits_per_second"] == 400e9
    assert seen["mlx4_0", "rate_bits_per_second"] == 56e9
    assert ("mlx5_2", "rate_bits_per_second") not in seen  # its link is down
    assert seen["mlx5_0", "pcie_lanes_share"] == 0.5
    assert seen["mlx5_0", "pcie_generation_share"] == 1
    assert seen["mlx5_0", "link_downed"] == 2
    assert seen["mlx5_0", "symbol_errors"] == 0
    # What the machine does not tell is absent: a slot without its largest width, an MTU without a device.
    assert ("mlx4_0", "pcie_lanes_share") not in seen
    assert ("mlx5_0", "mtu_bytes") not in seen
    assert any("mlx5_0: no MTU" in note for note in document["records"][0]["notes"])
    active = [value for (_, name), value in seen.items() if name == "ports_active"]
    assert active == [len({port for port, name in seen if name == "rate_bits_per_second"})]


def test_named_ports_alone(tmp_path):
    root = unpack("rdma_ib", tmp_path / "root")
    done, document = nics(root, tmp_path, "--rails", "mlx5_2")
    assert done.returncode == 0, done.stderr
    assert {port for port, _ in figures(document)} - {""} == {"mlx5_2"}
    done, _ = nics(root, tmp_path, "--rails", "mlx5_9")
    assert done.returncode == 2
    assert "mlx5_9" in done.stderr


def test_an_ethernet_driver_that_counts_little_has_the_interface_s_counters(tmp_path):
    root = unpack("rdma_irdma", tmp_path / "root")
    done, document = nics(root, tmp_path)
    assert done.returncode == 0, done.stderr
    port = next(p for p, name in figures(document) if name == "rate_bits_per_second")
    assert (port, "link_downed") not in figures(document)
    netdev = next((root / "sys/class/infiniband" / port / "ports/1/gid_attrs/ndevs").iterdir())
    interface = root / "sys/class/net" / netdev.read_text().strip()
    interface.mkdir(parents=True, exist_ok=True)
    (interface / "carrier_down_count").write_text("5\n")
    _, document = nics(root, tmp_path)
    assert figures(document)[port, "link_downed"] == 5


def test_a_host_without_ports_is_skipped_and_says_what_to_look_at(tmp_path):
    done, document = nics(tmp_path / "nothing", tmp_path)
    assert done.returncode == 3
    assert "no active RDMA port" in document["records"][0]["reason"]
