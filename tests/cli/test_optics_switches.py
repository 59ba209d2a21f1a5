"""`clusterbench optics` of switches: what SONiC prints (`--from`), and registers read in band (`--subnet`) from a libibumad of this test."""

import csv
import json
import os
import pathlib
import shutil
import struct
import subprocess

import pytest

BINARY = os.environ["CLUSTERBENCH_BIN"]
HERE = pathlib.Path(__file__).parent


def optics(tmp_path, *args, environment=None):
    out = tmp_path / "o.json"
    out.unlink(missing_ok=True)
    done = subprocess.run([BINARY, "optics", "--quiet", "--json", out, *map(str, args)], capture_output=True, text=True, timeout=60,
                          check=False, env={**os.environ, **(environment or {})})
    return done, json.loads(out.read_text())["records"][0] if out.exists() else None


def name_of(record, entity):
    return "{host} {id}".format(**record["entities"][entity])


def figures(record):
    return {(name_of(record, m["entity"]), m["name"]): m["samples"][0] for m in record["metrics"]}


def failed(record):
    return {(name_of(record, c["entity"]), c["name"]) for c in record["checks"] if not c["passed"]}


def passed(record):
    return {c["name"] for c in record["checks"] if c["passed"]}


def register_of(record):
    return json.loads(record["facts"]["module_register"])


def sonic(port, serial, level="0.3802dBm", heat="30.9258C"):
    return f"""{port}: SFP EEPROM detected
        Identifier: QSFP28 or later
        Specification compliance:
                10/40G Ethernet Compliance Code: 100GBASE-SR4
        Vendor Date Code(YYYY-MM-DD Lot): 2026-11-02
        Vendor Name: Example
        Vendor PN: EX-100G-SR4
        Vendor Rev: AC
        Vendor SN: {serial}
        ChannelMonitorValues:
                RX1Power: {level}
                RX2Power: -0.4871dBm
                TX1Bias: 6.7500mA
                TX2Bias: 6.8500mA
        ChannelThresholdValues:
                RxPowerHighAlarm  : 3.4001dBm
                RxPowerHighWarning: 2.4000dBm
                RxPowerLowAlarm   : -13.5067dBm
                RxPowerLowWarning : -9.5001dBm
                TxBiasHighAlarm   : 10.0000mA
                TxBiasHighWarning : 9.5000mA
                TxBiasLowAlarm    : 0.5000mA
                TxBiasLowWarning  : 1.0000mA
        ModuleMonitorValues:
                Temperature: {heat}
                Vcc: 3.2824Volts
        ModuleThresholdValues:
                TempHighAlarm  : 75.0000C
                TempHighWarning: 70.0000C
                TempLowAlarm   : -5.0000C
                TempLowWarning : 0.0000C
                VccHighAlarm   : 3.6300Volts
                VccHighWarning : 3.4650Volts
                VccLowAlarm    : 2.9700Volts
                VccLowWarning  : 3.1349Volts

"""


def test_a_whole_sonic_switch_in_its_figures(tmp_path):
    file = tmp_path / "leaf-1.txt"
    file.write_text(sonic("Ethernet0", "S0") + "Ethernet4: SFP EEPROM Not detected\n\n" + sonic("Ethernet8", "S8", "-13.6dBm", "71C"))
    done, record = optics(tmp_path, "--from", file)
    assert done.returncode == 1, done.stderr
    seen = figures(record)
    assert seen[("leaf-1 Ethernet0", "module_celsius")] == 30.9258
    assert seen[("leaf-1 Ethernet0", "bias_amperes")] == pytest.approx(6.85e-3)
    assert seen[("leaf-1 Ethernet0", "receive_margin_decibels")] == pytest.approx(9.013, abs=1e-3)
    assert seen[("leaf-1 Ethernet8", "receive_margin_decibels")] == pytest.approx(-4.0999, abs=1e-3)
    assert failed(record) == {("leaf-1 Ethernet8", kind) for kind in ("module_alarm", "module_warning", "lane_spread")}
    assert register_of(record) == [["leaf-1", "Ethernet0", "Example", "EX-100G-SR4", "S0", ""],
                                   ["leaf-1", "Ethernet8", "Example", "EX-100G-SR4", "S8", ""]]
    register = tmp_path / "register.csv"
    subprocess.run([BINARY, "expect", tmp_path / "o.json", "--register", register], check=True, timeout=60, capture_output=True)
    assert [(r["host"], r["slot"], r["serial"]) for r in csv.DictReader(register.open()) if r["part"] == "module"] == [
        ("leaf-1", "Ethernet0", "S0"), ("leaf-1", "Ethernet8", "S8")]


def test_a_trend_over_prints_of_a_switch(tmp_path):
    documents = []
    for day in range(5):
        file = tmp_path / "leaf-1.txt"
        file.write_text(sonic("Ethernet0", "S0", f"{-1 - day}dBm") + sonic("Ethernet4", "S4"))
        _, record = optics(tmp_path, "--from", file)
        assert record
        document = json.loads((tmp_path / "o.json").read_text())
        document["run"]["started"] = f"2026-11-{10 + day:02}T00:00:00Z"
        documents.append(tmp_path / f"{day}.json")
        documents[-1].write_text(json.dumps(document))
    done = subprocess.run([BINARY, "optics-trend", *documents], capture_output=True, text=True, timeout=60, check=False)
    fading = [line.split()[0] for line in done.stdout.splitlines() if "it pays" in line or "replace it" in line]
    assert done.returncode == 1 and fading == ["leaf-1:Ethernet0"] and "leaf-1:Ethernet4" in done.stdout, done.stdout


@pytest.mark.parametrize("text, words", [
    (sonic("Ethernet0", "S").replace("0.3802dBm", "0.3802"), ["leaf-1.txt, line 11", "no unit that is known", "0.3802"]),
    (sonic("Ethernet0", "S") * 2, ["leaf-1.txt, line 37", "Ethernet0 stands in this file twice"]),
    (sonic("Ethernet0", "S").split("        ModuleThresholdValues")[0], ["leaf-1.txt", "cut off"]),
    ("rack7: " + sonic("Ethernet0", "S").replace("\n", "\nrack7: "), ["no line begins with PORT"]),
    (sonic("Ethernet0", "S").replace("RX2Power", "Rx2Power"), ["leaf-1.txt, line 12", "Rx2Power is no reading of a lane"]),
    (sonic("Ethernet0", "S").split("                TempHighAlarm")[0], ["leaf-1.txt", "cut off"]),
    ("Ethernet0:\n    Current module state: ModuleFault\n", ["eeprom -d >SWITCH.txt"]),
], ids=["unit", "twice", "cut", "prefix", "label", "cut behind a head", "status"])
def test_bad_prints_name_the_place_and_the_next_step(tmp_path, text, words):
    file = tmp_path / "leaf-1.txt"
    file.write_text(text)
    done, _ = optics(tmp_path, "--from", file)
    assert done.returncode == 2
    for word in words:
        assert word in done.stderr, done.stderr


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("needs a C compiler")
    out = tmp_path_factory.mktemp("umad") / "libibumad.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", out, HERE / "umad_stand_in.c"], check=True, timeout=60)
    return out


def page(serial, microwatts, light=1000, cable=2, heat=45):
    """Register PDDR, page 3, of an OSFP with eight lanes; a word of 32 bits at a time, as its table has them."""
    words = [0] * 52
    words[0], words[1] = 0x02 << 24, cable << 28 | 8 << 8
    text = {0x14: "Example Optics", 0x24: "EX-800G-DR8", 0x3c: serial}
    words[0x34 // 4], words[0x38 // 4] = 0x4131, 0x2e780001
    words[0x4c // 4] = heat << 24 | 33000
    for pair in range(4):
        receive = [(light if lane == 5 else 1000 + lane) if microwatts else 0 for lane in (2 * pair, 2 * pair + 1)]
        words[0x50 // 4 + pair] = receive[0] << 16 | receive[1]
        words[0x60 // 4 + pair] = 0x05dc05dc if microwatts else 0x00020002
        words[0x70 // 4 + pair] = (3000 + 2 * pair) << 16 | 3001 + 2 * pair
    words[0x80 // 4] = 75 << 24 | 0xfb00
    words[0x84 // 4] = 36300 << 16 | 29700
    words[0x88 // 4] = 3981 << 16 | 91 if microwatts else 6 << 16 | 0xfff6
    words[0x8c // 4] = 3162 << 16 | 141 if microwatts else 5 << 16 | 0xfff7
    words[0x90 // 4] = 7500 << 16 | 1000
    words[0x94 // 4], words[0x98 // 4], words[0x9c // 4], words[0xa0 // 4] = 3 << 29, 1 << 10, 0x1f << 8, 0x44444444
    image = bytearray(struct.pack(">52I", *words))
    for at, value in text.items():
        image[at:at + 16] = value.encode().ljust(16)
    return bytes(image)


def both(serial, **more):
    return page(serial, True, **more) + page(serial, False, **more)


def in_band(library, tmp_path, ports, *args, **environment):
    """`ports`: images of InfiniBand's ports 1 to 4, whose local ports are 4 to 1."""
    images = tmp_path / "images"
    images.write_bytes(b"".join(reversed(ports)))
    return optics(tmp_path, "--subnet", "--mad-timeout", "20ms", *args, environment={
        "CLUSTERBENCH_UMAD_LIBRARY": str(library), "UMAD_IMAGES": str(images), "UMAD_LOG": str(tmp_path / "log"), **environment})


EMPTY = page("", True, cable=4) * 2
GOOD = [both("X1"), both("X2"), EMPTY, both("X4")]


def test_modules_of_a_switch_in_band(library, tmp_path):
    done, record = in_band(library, tmp_path, GOOD)
    assert done.returncode == 0, done.stderr
    seen = figures(record)
    assert seen[("leaf-0 port 2", "module_celsius")] == 45
    assert seen[("leaf-0 port 2", "bias_amperes")] == pytest.approx(3007 * 4e-6)
    assert seen[("leaf-0 port 2", "receive_watts")] == pytest.approx(1e-3)
    assert not any(name == "receive_margin_decibels" for _, name in seen)  # no warning limit is told
    assert {"module_alarm", "module_state", "lane_spread"} <= passed(record)
    assert register_of(record) == [["leaf-0", f"port {p}", "Example Optics", "EX-800G-DR8", f"X{p}", "46.120.1"] for p in (1, 2, 4)]
    assert "module_warning" not in passed(record)
    assert len(record["notes"]) == 1 and "3 of 3 modules do not tell all warning limits" in record["notes"][0]
    assert "modules_from" in record["facts"] and "datagrams" in record["facts"]
    log = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    assert {method for _, method, _, _ in log} == {"01"}  # nothing but Get
    assert {(attribute, number) for kind, _, attribute, number in log if kind == "0a"} == {
        ("0017", "0000"), ("0051", "500a"), ("0051", "5031")}


def test_a_module_beyond_its_limit_in_band_and_in_the_register(library, tmp_path):
    done, record = in_band(library, tmp_path, [both("X1", heat=76), both("X2", light=90), EMPTY, EMPTY])
    assert done.returncode == 1
    assert failed(record) == {("leaf-0 port 1", "module_alarm"), ("leaf-0 port 2", "module_alarm"),
                              ("leaf-0 port 2", "lane_spread")}
    register = tmp_path / "register.csv"
    subprocess.run([BINARY, "expect", tmp_path / "o.json", "--register", register], check=True, timeout=60, capture_output=True)
    assert [(r["host"], r["slot"], r["serial"]) for r in csv.DictReader(register.open()) if r["part"] == "module"] == [
        ("leaf-0", "port 1", "X1"), ("leaf-0", "port 2", "X2")]


@pytest.mark.parametrize("environment, words", [
    ({"UMAD_MOOD": "silent"}, ["leaf-0", "no answer in 8 tries of 20 ms", "--vs-key"]),
    ({"UMAD_MOOD": "old"}, ["leaf-0", "offers no registers", "ibdiagnet --get_cable_info"]),
    ({"UMAD_KEY": "0x5ec2e7"}, ["leaf-0", "--vs-key"]),
])
def test_a_switch_that_does_not_answer_is_named_with_the_next_step(library, tmp_path, environment, words):
    done, _ = in_band(library, tmp_path, GOOD, **environment)
    assert done.returncode == 3
    for word in words:
        assert word in done.stderr, done.stderr


def test_keys_open_a_protected_switch_and_stand_nowhere(library, tmp_path):
    done, record = in_band(library, tmp_path, GOOD, "--vs-key", "0x5ec2e7", "--mkey", "0x5ec2e8", UMAD_KEY="0x5ec2e7")
    assert done.returncode == 0 and len(register_of(record)) == 3
    kept = (tmp_path / "o.json").read_text() + done.stdout + done.stderr
    assert "5ec2e7" not in kept and "5ec2e8" not in kept and "[redacted]" in kept


@pytest.mark.parametrize("args, word", [
    (["--subnet", "--from", "x"], "--from"), (["--subnet", "--window", "5s"], "--window"), (["--subnet", "--ports", "eth0"], "--ports"),
    (["--vs-key", "0x1"], "--subnet"), (["--port", "mlx5_0"], "--subnet"), (["--subnet", "--vs-key", "key"], "hexadecimal"),
])
def test_options_that_do_not_go_together(tmp_path, args, word):
    done, record = optics(tmp_path, *args)
    assert done.returncode == 2 and record is None and word in done.stderr, done.stderr


def test_a_copied_serial_number_hides_no_fault(library, tmp_path):
    done, record = in_band(library, tmp_path, [both("X1"), both("X1", heat=90), EMPTY, both("X4")])
    assert done.returncode == 1 and failed(record) == {("leaf-0 port 2", "module_alarm")}
    assert any("port 1 and port 2 tell one serial number (X1)" in note for note in record["notes"])
    done, record = in_band(library, tmp_path, [both("X1"), both("X1"), EMPTY, both("X4")])
    assert done.returncode == 0 and ("leaf-0 port 1+2", "module_celsius") in figures(record)


def test_copper_alone_passes_nothing_and_fails_nothing(library, tmp_path):
    done, record = in_band(library, tmp_path, [both("X1", cable=3), both("X2", cable=3), EMPTY, EMPTY])
    assert done.returncode == 0 and not record["checks"], done.stderr
    assert any("all 2 modules that were read are copper" in note for note in record["notes"])
    assert len(register_of(record)) == 2


DENSE = ("QSFP28 or later", "QSFP-DD Double Density 8X Pluggable Transceiver")


@pytest.mark.parametrize("change, fails, opens", [
    ([("6.7500mA", "20.0mA"), ("TxBiasLowWarning  : 1.0000mA", "TxBiasLowWarning  : N/A")], {"module_alarm"}, {"module_warning"}),
    ([DENSE], set(), {"module_state"}),
    ([DENSE, ("        ChannelMonitorValues", "        Media Lane Count: 1\n        ChannelMonitorValues"), ("-0.4871dBm", "-infdBm")],
     {"module_alarm", "lane_spread"}, {"module_state"}),
    ([("3.1349Volts\n\n", "3.1349Volts\n\nEthernet0:\n    Module firmware fault: True\n")], {"module_alarm"}, set()),
    ([("3.1349Volts\n\n", "3.1349Volts\n\nEthernet8:\n    Tx fault flag on media lane 1: True\n")], {"module_alarm"},
     {"module_warning", "lane_spread"}),
], ids=["bias", "state", "breakout", "firmware", "status alone"])
def test_what_a_print_tells_in_part_never_passes(tmp_path, change, fails, opens):
    text = sonic("Ethernet0", "S0")
    for old, new in change:
        assert old in text
        text = text.replace(old, new, 1)
    file = tmp_path / "leaf-1.txt"
    file.write_text(text)
    done, record = optics(tmp_path, "--from", file)
    assert done.returncode == (1 if fails else 0), done.stderr
    assert {kind for _, kind in failed(record)} == fails
    assert not opens & passed(record) and bool(record["notes"]) == bool(opens)


def test_heat_says_look_at_the_air_flow(tmp_path):
    file = tmp_path / "leaf-1.txt"
    file.write_text(sonic("Ethernet0", "S0", heat="90C"))
    done, _ = optics(tmp_path, "--from", file)
    assert done.returncode == 1 and "air flow" in done.stderr + done.stdout and "clean" not in done.stderr + done.stdout


def test_without_an_adapter_the_next_step_is_one_that_optics_takes(tmp_path):
    if pathlib.Path("/sys/class/infiniband_mad").exists():
        pytest.skip("this machine has InfiniBand")
    done, _ = optics(tmp_path, "--subnet")
    assert done.returncode == 3 and "ibdiagnet --get_cable_info" in done.stderr, done.stderr
    assert "ibwarn" not in done.stderr and "net.txt" not in done.stderr, done.stderr


def test_without_a_device_the_next_step_is_said(library, tmp_path):
    done, _ = in_band(library, tmp_path, GOOD, "--port", "mlx5_9")
    assert done.returncode == 3 and "next:" in done.stderr, done.stderr
