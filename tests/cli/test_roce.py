"""`clusterbench roce` on composed machines: mlx5 with the vendor's files, upstream bnxt and irdma; each wrong setting."""

import json
import os
import struct
import subprocess

import pytest

BINARY = os.environ["CLUSTERBENCH_BIN"]


def attribute(kind, value):
    raw = struct.pack("=HH", len(value) + 4, kind) + value
    return raw + b"\0" * (-len(raw) % 4)


def message(kind, body):
    return struct.pack("=IHHII", len(body) + 16, kind, 0, 1, 0) + body


def dcb(pfc=0x08, shares=(5, 5, 5, 70, 5, 5, 5, 0), classes=range(8), rules=((26, 3), (48, 6))):
    """The kernel's answer to DCB_CMD_IEEE_GET."""
    ets = bytes([0, 8, 0, *shares]) + bytes(8) + bytes([2] * 8) + bytes(classes) + bytes(24)
    table = b"".join(attribute(1, struct.pack("=BBH", 5, priority, dscp)) for dscp, priority in rules)
    ieee = attribute(1, ets) + attribute(2, bytes([8, pfc]) + bytes(134)) + attribute(3, table)
    return message(78, bytes(4) + attribute(1, b"eth0\0") + attribute(13, ieee))


def frame(system, port, mtu=9216, pfc=8):
    """A frame of LLDP behind its Ethernet header."""
    def part(kind, value):
        return struct.pack(">H", kind << 9 | len(value)) + value
    return (part(1, b"\x04\x00\x11\x22\x33\x44\x55") + part(2, b"\x05" + port) + part(3, b"\0\x78") + part(5, system) +
            part(127, b"\x00\x12\x0f\x04" + struct.pack(">H", mtu)) + part(127, b"\x00\x80\xc2\x0b\x08" + bytes([pfc])) +
            b"\0\0")


def rule(address, table):
    head = struct.pack("=BBBBBBBBI", 2, 0, 32 if address else 0, 0, 0, 0, 0, 1, 0)
    source = attribute(2, bytes(map(int, address.split(".")))) if address else b""
    return message(32, head + attribute(15, struct.pack("=I", table)) + source)


class Machine:
    """Two ports of one driver; `files` are below the root and may be changed before run()."""

    def __init__(self, root, device="mlx5_{}", driver="mlx5_core"):
        self.root, self.files, self.env = root, {}, {"NCCL_IB_TC": "106"}
        self.names = [device.format(i) for i in (0, 1)]
        for i, name in enumerate(self.names):
            self.port(i, name, driver)
        self.files["netlink/addresses"] = b"eth0 10.0.1.5/24\neth1 10.0.2.5/24\n"
        self.files["netlink/rules"] = rule("", 255) + rule("", 254)

    def port(self, i, name, driver):
        f, eth = self.files, f"sys/class/net/eth{i}/"
        pci = f"0000:{i + 1}b:00.0"
        ib = f"sys/class/infiniband/{name}/"
        f[f"sys/bus/pci/devices/{pci}/driver"] = f"-> ../../drivers/{driver}"
        f[ib + "device"] = f"-> ../../../bus/pci/devices/{pci}"
        for file, text in (("state", "4: ACTIVE"), ("phys_state", "5: LinkUp"), ("link_layer", "Ethernet"),
                           ("rate", "400 Gb/sec (4X NDR)"), ("gids/0", "fe80:0000:0000:0000:0000:0000:0000:0001"),
                           ("gids/1", f"0000:0000:0000:0000:0000:ffff:0a00:0{i + 1}05"),
                           ("gid_attrs/types/0", "RoCE v2"), ("gid_attrs/types/1", "RoCE v2"),
                           ("gid_attrs/ndevs/0", f"eth{i}"), ("gid_attrs/ndevs/1", f"eth{i}")):
            f[ib + "ports/1/" + file] = text.encode() + b"\n"
        f[eth + "mtu"] = b"9000\n"
        f[f"netlink/eth{i}.dcb"] = dcb()
        f[f"netlink/eth{i}.pause"] = b"rx 0 tx 0\n"
        for name_of, value in (("arp_ignore", "0"), ("arp_announce", "0"), ("rp_filter", "2")):
            f[f"proc/sys/net/ipv4/conf/eth{i}/{name_of}"] = value.encode() + b"\n"
        if driver == "mlx5_core":
            f[eth + "qos/trust"] = b"dscp\n"
            for p in range(8):
                for point in ("np", "rp"):
                    f[f"{eth}ecn/roce_{point}/enable/{p}"] = b"1\n"
            f[eth + "ecn/roce_np/cnp_dscp"] = b"48\n"

    def run(self, tmp_path, *options):
        for path, content in self.files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                target.symlink_to(content[3:])
            else:
                target.write_bytes(content)
        out = tmp_path / "r.json"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("NCCL_")} | self.env
        done = subprocess.run([BINARY, "roce", "--sysroot", self.root, "--json", out, "--quiet", *options],
                              capture_output=True, text=True, timeout=60, env=environment, check=False)
        return done, json.loads(out.read_text())["records"][0] if out.exists() else None


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path / "root")


def found(record):
    return sorted((c["name"], record["entities"][c["entity"]]["id"]) for c in record["checks"] if not c["passed"])


def passed(record):
    return {c["name"] for c in record["checks"] if c["passed"]}


SETTINGS = {"pfc", "trust", "traffic", "ets", "ecn", "cnp", "pause", "mtu", "gid", "arp", "rp_filter", "source_rule"}


def test_a_host_as_it_shall_be_has_every_check_passed(machine, tmp_path):
    done, record = machine.run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert passed(record) == SETTINGS
    assert record["facts"]["lossless_priority"] == "3"


PLANTED = [
    ("pfc", {"netlink/eth1.dcb": dcb(pfc=0)}, "dcb pfc set dev eth1 prio-pfc all:off 3:on"),
    ("pfc", {"netlink/eth1.dcb": dcb(pfc=0x18)}, "several lossless priorities (3, 4)"),
    ("ets", {"netlink/eth1.dcb": dcb(classes=(3, 1, 2, 3, 4, 5, 6, 7))}, "shares traffic class 3 with priority 0"),
    ("ets", {"netlink/eth1.dcb": dcb(shares=(10, 10, 10, 40, 10, 10, 10, 0))}, "gets 40 %"),
    ("traffic", {"netlink/eth1.dcb": dcb(rules=((26, 4), (24, 3)))}, "export NCCL_IB_TC=98"),
    ("traffic", {"sys/class/infiniband/mlx5_1/tc/1/traffic_class": b"Global tclass=64\n"}, "echo 106"),
    ("ecn", {"sys/class/net/eth1/ecn/roce_rp/enable/3": b"0\n"}, "ecn/roce_rp/enable/3"),
    ("cnp", {"sys/class/net/eth1/ecn/roce_np/cnp_dscp": b"26\n"}, "lossless priority 3"),
    ("pause", {"netlink/eth1.pause": b"rx 1 tx 0\n"}, "ethtool -A eth1 rx off tx off"),
    ("mtu", {"sys/class/net/eth1/mtu": b"1500\n"}, "an RDMA MTU of 4096 needs 4200"),
    ("gid", {"sys/class/infiniband/mlx5_1/ports/1/gid_attrs/types/0": b"IB/RoCE v1\n",
             "sys/class/infiniband/mlx5_1/ports/1/gid_attrs/types/1": b"IB/RoCE v1\n"}, "no RoCE v2 address"),
    ("rp_filter", {"proc/sys/net/ipv4/conf/eth1/rp_filter": b"1\n"}, "rp_filter=2")]


@pytest.mark.parametrize("kind,files,says", PLANTED, ids=[f"{k}-{i}" for i, (k, _, _) in enumerate(PLANTED)])
def test_each_wrong_setting_is_found_and_no_other(machine, tmp_path, kind, files, says):
    machine.files.update(files)
    done, record = machine.run(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert found(record) == [(kind, "mlx5_1")]
    assert any(says in c["detail"] for c in record["checks"] if not c["passed"]), record["checks"]


def test_ports_that_share_a_network(machine, tmp_path):
    machine.files["netlink/addresses"] = b"eth0 10.0.1.5/24\neth1 10.0.1.6/24\n"
    machine.files["netlink/rules"] += rule("10.0.1.5", 101)
    done, record = machine.run(tmp_path)
    assert done.returncode == 1
    assert found(record) == [("arp", "mlx5_0"), ("arp", "mlx5_1"), ("source_rule", "mlx5_1")]


def test_nccl_that_sends_nothing_special_is_told_what_to_send(machine, tmp_path):
    del machine.env["NCCL_IB_TC"]
    done, record = machine.run(tmp_path)
    assert found(record) == [("traffic", "mlx5_0"), ("traffic", "mlx5_1")]
    assert done.returncode == 1
    done, record = machine_again(machine, tmp_path, "--traffic-class", "106")
    assert done.returncode == 0, done.stdout


def machine_again(machine, tmp_path, *options):
    machine.files = {k: v for k, v in machine.files.items() if not isinstance(v, str)}
    return machine.run(tmp_path, *options)


@pytest.mark.parametrize("device,driver", [("bnxt_re{}", "bnxt_en"), ("irdma{}", "ice")])
def test_drivers_that_tell_less_pass_less(tmp_path, device, driver):
    done, record = Machine(tmp_path / "root", device, driver).run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert passed(record) == SETTINGS - {"trust", "traffic", "ecn", "cnp"}
    assert sum(driver in note for note in record["notes"]) == 4


def neighbours(machine, ports):
    for i, port in enumerate(ports):
        machine.files[f"netlink/eth{i}.lldp"] = frame(b"leaf-0.site", port)


def test_cables_against_the_plan(machine, tmp_path):
    plan = tmp_path / "ports.csv"
    host = os.uname().nodename
    plan.write_text(f"switch,switch_port,host,nic\nLeaf-0,Ethernet0,{host},mlx5_0\n\nleaf-0,Ethernet4,{host},eth1\n")
    neighbours(machine, [b"Ethernet0", b"Ethernet4"])
    done, record = machine.run(tmp_path, "--listen", "1s", "--plan", plan)
    assert done.returncode == 0, done.stdout + done.stderr
    cables = {"missing", "surplus", "moved", "swapped", "rotated"}
    assert passed(record) == SETTINGS | cables | {"switch_mtu", "switch_pfc"}
    neighbours(machine, [b"Ethernet4", b"Ethernet0"])
    done, record = machine_again(machine, tmp_path, "--listen", "1s", "--plan", plan)
    assert found(record) == [("swapped", "mlx5_0")]
    (machine.root / "netlink/eth0.lldp").unlink()
    del machine.files["netlink/eth0.lldp"]
    done, record = machine_again(machine, tmp_path, "--listen", "1s", "--plan", plan)
    assert not cables & passed(record)
    assert any("heard no neighbour" in note for note in record["notes"])
    done, _ = machine_again(machine, tmp_path, "--plan", plan)
    assert done.returncode == 2 and "--listen" in done.stderr


def test_a_host_without_roce_is_skipped(tmp_path):
    (tmp_path / "root").mkdir()
    done = subprocess.run([BINARY, "roce", "--sysroot", tmp_path / "root"], capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 3
    assert "no host has an active RoCE port" in done.stdout + done.stderr


def test_the_gate_of_the_profile(machine, tmp_path):
    done, _ = machine.run(tmp_path)
    assert done.returncode == 0
    done = subprocess.run([BINARY, "profile", "validate", "roce-settings"], capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 0, done.stderr
