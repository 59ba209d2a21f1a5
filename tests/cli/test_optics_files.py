"""`clusterbench optics --from`: what ethtool, mlxlink and ibdiagnet have written, ethtool's own print of the same bytes,
and modules in the asset register."""

import csv
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess

import pytest

BINARY = os.environ["CLUSTERBENCH_BIN"]
HERE = pathlib.Path(__file__).parent
ETHTOOL = os.environ.get("ETHTOOL") or shutil.which("ethtool", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def memory(seed):
    """Lower memory, page 00 and page 03 of SFF-8636, of random readings, limits and flags."""
    draw = random.Random(seed)
    lower, page0, page3 = bytearray(128), bytearray(128), bytearray(128)
    lower[0] = page0[0] = 0x11
    lower[1] = 7
    for flags in range(6, 15):  # ethtool 6.1 prints nothing of bytes 3 to 5: loss and faults
        lower[flags] = draw.choice([0, 0, 1 << draw.randrange(8)])
    lower[6] &= 0xf0
    lower[7] &= 0xf0
    struct.pack_into(">h", lower, 22, draw.randrange(-5 * 256, 70 * 256))
    struct.pack_into(">H", lower, 26, draw.randrange(31000, 35000))
    for at, most in ((34, 20000), (42, 5000), (50, 20000)):
        struct.pack_into(">4H", lower, at, *[draw.randrange(500, most) for _ in range(4)])
    page0[20:36] = b"Example Optics".ljust(16)
    page0[40:56] = b"EX-100G-SR4".ljust(16)
    page0[56:58] = b"A1"
    page0[68:84] = f"SN{seed:04}".encode().ljust(16)
    page0[84:92] = b"261101  "
    page0[92] = 0x0c
    struct.pack_into(">4h", page3, 0, 75 * 256, -5 * 256, 70 * 256, 0)
    struct.pack_into(">4H", page3, 16, 36300, 29700, 34600, 31300)
    for at in (48, 64):
        struct.pack_into(">4H", page3, at, 18000, 700, 15000, 1000)
    struct.pack_into(">4H", page3, 56, 4800, 600, 4500, 1000)
    return bytes(lower), bytes(page0), bytes(page3)


def optics(tmp_path, *args):
    out = tmp_path / "o.json"
    out.unlink(missing_ok=True)
    done = subprocess.run([BINARY, "optics", "--quiet", "--json", out, *map(str, args)], capture_output=True, text=True, timeout=60,
                          check=False)
    return done, json.loads(out.read_text())["records"][0] if out.exists() else None


def said(record):
    """Figures, to the last digit that ethtool prints of each, and findings."""
    printed_digits = {"module_celsius": 6e-3, "lane_spread_decibels": 2e-3, "receive_margin_decibels": 2e-3}
    figures = {m["name"]: pytest.approx(m["samples"][0], rel=1e-3, abs=printed_digits.get(m["name"], 0)) for m in record["metrics"]}
    return figures, {c["name"] for c in record["checks"] if not c["passed"]}


@pytest.fixture(scope="module")
def shims(tmp_path_factory):
    """ethtool reads a module from a file: by the old ioctl (`bytes`), by netlink (`netlink`)."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not ETHTOOL or not compiler:
        pytest.skip("needs ethtool and a C compiler")
    directory, out = tmp_path_factory.mktemp("shim"), {}
    for name in ("bytes", "netlink"):
        out[name] = directory / f"{name}.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-o", out[name], HERE / f"module_{name}_shim.c", "-ldl"], check=True,
                       timeout=60)
    return out


def printed(shim, **settings):
    done = subprocess.run([ETHTOOL, "-m", "eth0"], capture_output=True, text=True, timeout=20, check=True,
                          env={**os.environ, "LD_PRELOAD": str(shim), **settings})
    return done.stdout


def agree(tmp_path, seed, captured, text):
    """Our decoder of the bytes, and what our reader makes of ethtool's print of them. Returns the figures."""
    root = tmp_path / f"root{seed}"
    (root / "sys/class/net/eth0/device").mkdir(parents=True)
    (root / "sys/class/net/eth0/type").write_text("1\n")
    (root / "netlink").mkdir()
    (root / "netlink/eth0.module").write_text(captured)
    file = tmp_path / "n1@eth0.txt"
    file.write_text(text)
    _, ours = optics(tmp_path, "--sysroot", root)
    _, theirs = optics(tmp_path, "--from", file)
    (figures, failed), theirs_failed = said(ours), said(theirs)[1]
    read = {m["name"]: m["samples"][0] for m in theirs["metrics"]}
    assert read == figures and failed == theirs_failed, seed
    *register, firmware = json.loads(ours["facts"]["module_register"])[0][2:]
    *printed_register, printed_firmware = json.loads(theirs["facts"]["module_register"])[0][2:]
    assert register == printed_register and printed_firmware in ("", firmware), seed  # 6.1 prints no firmware
    return read, [*register, firmware]


def test_our_decoder_and_ethtool_say_the_same_of_the_same_bytes(shims, tmp_path):
    for seed in range(12):
        lower, page0, page3 = memory(seed)
        image = tmp_path / "module.bin"
        image.write_bytes(lower + page0 + bytes(256) + page3)
        _, register = agree(tmp_path, seed, f"lower {lower.hex()}\n0 0 {page0.hex()}\n0 3 {page3.hex()}\n",
                            printed(shims["bytes"], MODULE_BYTES=str(image), MODULE_TYPE="3"))
        assert register == ["Example Optics", "EX-100G-SR4", f"SN{seed:04}", ""]


def cmis(seed):
    """Lower memory (page 255) and pages 00, 01, 02, 10 and 11 of CMIS 5.0, of random readings, limits and flags of the module.

    No flags of lanes and 2 µA as the unit of bias: ethtool 6.1 tests a lane's number where its bit is meant, and divides by the
    factor of the unit (page 01, byte 160) where CMIS multiplies."""
    draw = random.Random(seed)
    lower, page0, page1, page2, page10, page11 = (bytearray(128) for _ in range(6))
    lower[0] = page0[0] = 0x18
    lower[1] = 0x50
    lower[3] = 3 << 1  # ready
    lower[9] = draw.choice([0, 0, 1 << draw.randrange(8)])
    struct.pack_into(">h", lower, 14, draw.randrange(-5 * 256, 70 * 256))
    struct.pack_into(">H", lower, 16, draw.randrange(31000, 35000))
    lower[39:41] = bytes([2, seed])  # firmware
    page0[1:17] = b"Example Optics".ljust(16)
    page0[20:36] = b"EX-400G-DR4".ljust(16)
    page0[36:38] = b"A1"
    page0[38:54] = f"SN{seed:04}".encode().ljust(16)
    page0[54:62] = b"261101  "
    page0[84] = 0x04  # a laser of 1310 nm
    page1[29:32] = b"\xff\xff\xff"  # flags that there are
    page1[32] = 7  # readings that there are
    struct.pack_into(">4h", page2, 0, 75 * 256, -5 * 256, 70 * 256, 0)
    struct.pack_into(">4H", page2, 8, 36300, 29700, 34600, 31300)
    for at in (48, 64):
        struct.pack_into(">4H", page2, at, 18000, 700, 15000, 1000)
    struct.pack_into(">4H", page2, 56, 4800, 600, 4500, 1000)
    page11[:4] = b"\x44" * 4  # all lanes carry data
    for at, most in ((154, 20000), (170, 5000), (186, 20000)):
        struct.pack_into(">8H", page11, at - 128, *[draw.randrange(500, most) for _ in range(8)])
    return {255: lower, 0: page0, 1: page1, 2: page2, 0x10: page10, 0x11: page11}


def test_our_decoder_and_ethtool_say_the_same_of_cmis_over_netlink(shims, tmp_path):
    seen = set()
    for seed in range(12):
        pages = cmis(seed)
        file = tmp_path / "pages"
        file.write_bytes(b"".join(bytes([0, page, 0, 0]) + memory for page, memory in pages.items()))
        captured = "".join(f"{'lower' if page == 255 else f'0 {page}'} {memory.hex()}\n" for page, memory in pages.items())
        figures, register = agree(tmp_path, seed, captured, printed(shims["netlink"], MODULE_PAGES=str(file)))
        assert register[:3] == ["Example Optics", "EX-400G-DR4", f"SN{seed:04}"]
        assert register[3] == f"2.{seed}"
        seen |= set(figures)
    assert {"module_celsius", "receive_watts", "bias_amperes", "receive_margin_decibels"} <= seen


MLXLINK = {"status": {"code": 0}, "result": {"output": {
    "Physical Counters and BER Info": {"Raw Physical BER": "3E-5"},
    "Module Info": {"Temperature [C]": "54 [-5..75]", "Voltage [mV]": "3261.2 [2970..3630]",
                    "Bias Current [mA]": "8.380,8.380,8.380,8.380 [2..15]",
                    "Rx Power Current [dBm]": "0.000,0.000,0.000,-3.5 [-10.41..6]",
                    "Tx Power Current [dBm]": "1.562,1.427,1.559,1.761 [-8.508..5]",
                    "Identifier": "OSFP", "Cable Type": "Optical Module (separated)", "Vendor Name": "Example",
                    "Vendor Part Number": "EX-400G-DR4", "Vendor Serial Number": "X1", "Rev": "A", "FW Version": "46.120.1"}}}}


def test_mlxlink_in_its_figures(tmp_path):
    file = tmp_path / "n2@mlx5_0.json"
    file.write_text(json.dumps(MLXLINK))
    done, record = optics(tmp_path, "--from", file)
    figures = {m["name"]: m["samples"][0] for m in record["metrics"]}
    assert done.returncode == 1
    assert figures["module_celsius"] == 54 and figures["bias_amperes"] == pytest.approx(8.38e-3)
    assert figures["lane_spread_decibels"] == pytest.approx(3.5)
    assert figures["errors_per_bit"] == pytest.approx(3e-5)
    # Its limits are those of alarms: no margin over a warning that nobody told, and no warning that passes.
    assert "receive_margin_decibels" not in figures
    assert {c["name"] for c in record["checks"] if c["passed"]} == {"module_alarm"}
    assert any("do not tell all warning limits" in note for note in record["notes"])
    assert any("their state is not told" in note for note in record["notes"])
    assert {c["name"] for c in record["checks"] if not c["passed"]} == {"lane_spread", "error_rate"}


ETHTOOL_JSON = """[ {
  "identifier": 25, "identifier_description": "0x19 (OSFP 8X Pluggable Transceiver)",
  "transmitter_technology": 0, "transmitter_technology_description": "850 nm VCSEL",
  "vendor_name": "Example", "vendor_oui": [ 0,144,101 ], "vendor_pn": "EX-400G-SR8", "vendor_rev": "A0", "vendor_sn": "X6",
  "rx_loss_of_signal": [ "No","Yes" ], "tx_fault": "None", "module_state": 5,
  "module_temperature": 36.5, "module_voltage": 3.3385,
  "laser_tx_bias_current": [ 8.0,8.2 ], "transmit_avg_optical_power": [ 1.0,1.1 ], "rcvr_signal_avg_optical_power": [ 0.8,0.5 ],
  "laser_rx_power_high_alarm": [ false,false ], "laser_rx_power_low_warning": [ false,true ],
  "module_temperature": { "high_alarm_threshold": 75.0, "low_alarm_threshold": -5.0,
                          "high_warning_threshold": 70.0, "low_warning_threshold": 0.0, "units": "degrees C" },
  "laser_rx_power": { "high_alarm_threshold": 3.1623, "low_alarm_threshold": 0.0398,
                      "high_warning_threshold": 2.5119, "low_warning_threshold": 0.0794, "units": "mW" },
  "active_firmware_version": { "major": 2, "minor": 7 } } ]
"""


def test_ethtool_s_json_in_its_figures(tmp_path):
    file = tmp_path / "n3@eth1.json"
    file.write_text(ETHTOOL_JSON)
    done, record = optics(tmp_path, "--from", file)
    figures = {m["name"]: m["samples"][0] for m in record["metrics"]}
    assert done.returncode == 1
    assert figures["module_celsius"] == 36.5 and figures["bias_amperes"] == pytest.approx(8.2e-3)
    assert figures["receive_watts"] == pytest.approx(5e-4)
    assert figures["receive_margin_decibels"] == pytest.approx(7.992, abs=0.01)
    failed = {c["name"]: c["detail"] for c in record["checks"] if not c["passed"]}
    assert set(failed) == {"module_alarm", "module_warning", "module_state"}
    assert "rx_loss (lane 2)" in str(failed["module_alarm"]) and "rx_power (lane 2)" in str(failed["module_warning"])
    assert json.loads(record["facts"]["module_register"]) == [["n3", "eth1", "Example", "EX-400G-SR8", "X6", "2.7"]]


CABLES = """START_NODES
NodeDesc,NumPorts,NodeType,ClassVersion,BaseVersion,SystemImageGUID,NodeGUID
"leaf-0",64,2,1,1,0x1,0x0001
"n1 mlx5_0",1,1,1,1,0x2,0x0002
END_NODES
START_CABLE_INFO
NodeGuid,PortGuid,PortNum,Vendor,PN,SN,Rev,Temperature,FWVersion,HighTemperatureAlarm,LowTemperatureAlarm,HighRX1PowerAlarm,LowRX1PowerAlarm
0x0001,0x0001,5,"Mellanox","MMA4Z00-NS","MT01","A2","45C","46.120","0","0","0","1"
0x0002,0x0002,1,"Mellanox","MMA4Z00-NS","MT02","A2","47C","46.120","0","0","0","0"
0x0001,0x0001,6,"NA","NA","NA","NA","NA","NA","NA","NA","NA","NA"
END_CABLE_INFO
"""


def test_cables_of_ibdiagnet_and_the_asset_register(tmp_path):
    file = tmp_path / "ibdiagnet2.db_csv"
    file.write_text(CABLES)
    done, record = optics(tmp_path, "--from", file)
    assert done.returncode == 1
    assert [c["name"] for c in record["checks"] if not c["passed"]] == ["module_alarm"]
    assert "leaf-0 port 5" in done.stdout
    register = tmp_path / "register.csv"
    kept = subprocess.run([BINARY, "expect", tmp_path / "o.json", "--register", register], capture_output=True, text=True, timeout=60,
                          check=False)
    assert kept.returncode == 0, kept.stderr
    rows = {(row["host"], row["slot"]): row for row in csv.DictReader(register.open()) if row["part"] == "module"}
    assert rows[("leaf-0", "port 5")]["serial"] == "MT01"
    assert rows[("n1", "mlx5_0/1")]["model"] == "MMA4Z00-NS" and rows[("n1", "mlx5_0/1")]["serial"] == "MT02"


def test_the_reader_of_files_is_no_piece_and_modules_of_others_are_compared(tmp_path):
    file, register = tmp_path / "h1@mlx5_0.json", tmp_path / "register.csv"
    file.write_text(json.dumps(MLXLINK).replace('"X1"', '"=1+1"'))  # which a spreadsheet would take for a formula
    optics(tmp_path, "--from", file)

    def expect(*options):
        return subprocess.run([BINARY, "expect", tmp_path / "o.json", *options], capture_output=True, text=True, timeout=60, check=False)

    assert expect("--register", register).returncode == 0
    (row,) = csv.DictReader(register.open())
    assert (row["host"], row["part"], row["slot"]) == ("h1", "module", "mlx5_0")
    done = expect("--assets", register)
    assert done.returncode == 0 and done.stdout == "as ordered: 1 host\n", done.stdout
    register.write_text(register.read_text().replace("=1+1", "OTHER"))
    done = expect("--assets", register)
    assert done.returncode == 1 and "OTHER" in done.stdout, done.stdout
    register.write_text("host,part,serial\nh1,gpu,G1\n")
    done = expect("--assets", register)
    assert done.returncode == 3 and "no inventory of it is here" in done.stdout, done.stdout


def test_one_module_is_one_file(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "n1@p.json").write_text(json.dumps(MLXLINK))
    for files in (f"{tmp_path}/a/n1@p.json,{tmp_path}/b/n1@p.json", f"{tmp_path}/a/n1@p.json,{tmp_path}/a/n1@p.json"):
        done, _ = optics(tmp_path, "--from", files)
        assert done.returncode == 2 and "is of n1 p, and so is" in done.stderr, done.stderr


def test_a_bad_reading_is_named_with_its_file_beside_good_ones(tmp_path):
    good, bad = tmp_path / "n1@p.json", tmp_path / "n3@p.txt"
    good.write_text(json.dumps(MLXLINK))
    bad.write_text("\tIdentifier : 0x11 (QSFP28)\n\tVendor PN : X\n\tRcvr signal avg optical power(Channel 1) : inf mW / inf dBm\n")
    done, record = optics(tmp_path, "--from", f"{good},{bad}")
    assert done.returncode == 2 and record is None and "n3@p.txt, line 3" in done.stderr, done.stderr


def test_an_sfp_without_light_is_an_alarm(tmp_path):
    file = tmp_path / "n9@sfp.txt"
    file.write_text("\tIdentifier : 0x03 (SFP)\n\tVendor PN : X\n\tReceiver signal average optical power : 0.0000 mW / -inf dBm\n"
                    "\tLaser rx power low alarm : On\n")
    done, record = optics(tmp_path, "--from", file)
    failed = {c["name"]: str(c["detail"]) for c in record["checks"] if not c["passed"]}
    assert done.returncode == 1 and "rx_power (lane 1)" in failed["module_alarm"]


def test_a_file_without_a_module(tmp_path):
    file = tmp_path / "ibdiagnet2.db_csv"
    file.write_text("START_CABLE_INFO\nNodeGuid,PortNum,PN,SN\nEND_CABLE_INFO\n")
    done, _ = optics(tmp_path, "--from", file)
    assert done.returncode == 3 and "the files name no module" in done.stderr, done.stderr


@pytest.mark.parametrize("name, text, words", [
    ("n1@eth0.txt", "netlink error: Operation not permitted\n", ["n1@eth0.txt, line 1", "Operation not permitted", "ethtool -m PORT"]),
    ("n1@eth0.txt", "\tIdentifier : 0x11 (QSFP28)\n\tVendor PN : X\n\tModule temperature : warm\n", ["line 3", "module_temperature", "warm"]),
    ("n1@eth0.txt", "\tIdentifier : 0x11 (QSFP28)\n\tVendor PN : X\n\tModule temperature : 9", ["cut off"]),
    ("n1@x.json", json.dumps({**MLXLINK, "status": {"code": 1, "message": "no device"}}), ["no device", "earlier reading"]),
    ("a.db_csv", CABLES.replace('"0","0","0","1"', '"0","0","0","On"'), ["line 8", "LowRX1PowerAlarm"]),
    ("n1@eth0.json", '[ { "identifier": 17 } ]', ["no JSON of ethtool"]),
    ("n1@eth0.json", '[ { "identifier": 17,', ["n1@eth0.json"]),
    ("n1@x.json", '{"result": {"Module Info": {}}}', ["has no Module Info"]),
    ("n1@x.json", json.dumps(MLXLINK).replace("54 [-5..75]", "hot [-5..75]"), ["Temperature [C]", '\"hot']),
    ("a.db_csv", CABLES.replace("PN,SN", "PN,Serial"), ["line 7", "no column SN"]),
    ("a.db_csv", CABLES.replace("END_CABLE_INFO\n", ""), ["cut off"]),
    ("a.db_csv", CABLES.replace(',"46.120","0","0","0","1"', ""), ["line 8", "cells"]),
])
def test_bad_files_name_the_place_and_the_next_step(tmp_path, name, text, words):
    file = tmp_path / name
    file.write_text(text)
    done, _ = optics(tmp_path, "--from", file)
    assert done.returncode == 2
    for word in words:
        assert word in done.stderr
