"""`clusterbench optics` on composed machines, and the trend over its documents."""

import copy
import json
import os
import struct
import subprocess

import pytest

BINARY = os.environ["CLUSTERBENCH_BIN"]


def qsfp28(receive=10000, serial=b"SN0001"):
    """Lower memory, page 00 and page 03 of SFF-8636 as a captured tree holds them."""
    lower, page0, page3 = bytearray(128), bytearray(128), bytearray(128)
    lower[0] = 0x11
    struct.pack_into(">h", lower, 22, 45 * 256)
    struct.pack_into(">H", lower, 26, 33000)
    struct.pack_into(">4H", lower, 34, *[receive] * 4)
    struct.pack_into(">4H", lower, 42, *[3000] * 4)
    struct.pack_into(">4H", lower, 50, *[11000] * 4)
    page0[20:36] = b"Example Optics".ljust(16)
    page0[40:56] = b"EX-100G-SR4".ljust(16)
    page0[68:84] = serial.ljust(16)
    struct.pack_into(">4h", page3, 0, 75 * 256, -5 * 256, 70 * 256, 0)
    struct.pack_into(">4H", page3, 16, 36300, 29700, 34600, 31300)
    for at in (48, 64):
        struct.pack_into(">4H", page3, at, 30000, 500, 25000, 1000)
    struct.pack_into(">4H", page3, 56, 5000, 500, 4500, 1000)
    return f"lower {lower.hex()}\n0 0 {page0.hex()}\n0 3 {page3.hex()}\n"


def tree(root, modules):
    for port, text in modules.items():
        net = root / f"sys/class/net/{port}"
        (net / "device").mkdir(parents=True)
        (net / "type").write_text("1\n")
        (net / "operstate").write_text("up\n")
        (net / "carrier_down_count").write_text("3\n")
        (root / "netlink").mkdir(exist_ok=True)
        if text:
            (root / f"netlink/{port}.module").write_text(text)
    return root


def optics(root, tmp_path, *more):
    out = tmp_path / "o.json"
    done = subprocess.run([BINARY, "optics", "--sysroot", root, "--quiet", "--json", out, *more], capture_output=True, text=True,
                          timeout=60, check=False)
    return done, json.loads(out.read_text()) if out.exists() else None


def test_a_healthy_module_in_its_figures(tmp_path):
    done, document = optics(tree(tmp_path / "root", {"eth0": qsfp28()}), tmp_path, "--window", "100ms")
    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = document["records"]
    figures = {m["name"]: m["samples"][0] for m in record["metrics"]}
    assert figures["module_celsius"] == 45
    assert figures["receive_watts"] == pytest.approx(1e-3)
    assert figures["receive_margin_decibels"] == pytest.approx(10)
    assert figures["bias_amperes"] == pytest.approx(6e-3)
    assert figures["link_downs"] == 0
    assert {c["name"] for c in record["checks"] if c["passed"]} == {"module_alarm", "module_warning", "module_state", "lane_spread",
                                                                    "flaps"}


def test_a_dim_module_is_named_with_what_to_do(tmp_path):
    done, document = optics(tree(tmp_path / "root", {"eth0": qsfp28(), "eth1": qsfp28(receive=999)}), tmp_path)
    assert done.returncode == 1
    (record,) = document["records"]
    failed = [(c["name"], record["entities"][c["entity"]]["id"], c["detail"]) for c in record["checks"] if not c["passed"]]
    assert [f[:2] for f in failed] == [("module_warning", "eth1")]
    assert "to clean or replace it pays" in failed[0][2]


def test_a_port_whose_module_tells_nothing_passes_nothing(tmp_path):
    done, document = optics(tree(tmp_path / "root", {"eth0": qsfp28(), "eth1": None, "eth2": "lower zz\n"}), tmp_path)
    assert done.returncode == 0
    (record,) = document["records"]
    assert not record["checks"]
    assert any("2 of 3 modules could not be read" in note for note in record["notes"])
    done, document = optics(tree(tmp_path / "none", {"eth0": None}), tmp_path)
    assert done.returncode == 3


def test_a_module_that_fades_over_documents(tmp_path):
    _, document = optics(tree(tmp_path / "root", {"eth0": qsfp28()}), tmp_path)
    files = []
    for day in range(1, 7):
        later = copy.deepcopy(document)
        later["run"]["started"] = f"2026-03-{day:02}T00:00:00Z"
        for metric in later["records"][0]["metrics"]:
            if metric["name"] == "receive_margin_decibels":
                value = 3 - 0.1 * day
                metric["samples"] = [value]
                metric["summary"].update({k: value for k in ("min", "p05", "median", "p95", "p99", "max", "mean")})
        files.append(tmp_path / f"day{day}.json")
        files[-1].write_text(json.dumps(later))
    done = subprocess.run([BINARY, "optics-trend", *files], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "24 (24 … 24)" in done.stdout and "to clean or replace it pays" in done.stdout
    done = subprocess.run([BINARY, "optics-trend", *files[:2]], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "three documents" in done.stderr
