"""tcp between hosts of the namespace lab: the interface that the routes lead through, a cut link
named within its deadline, loss on purpose, and a slow host found by locate over TCP."""

import json
import time

import netns_lab
import pytest

# Every rank does, with the code that a suspect leads to: mpirun need not give the others time to end.
ENDS_BY_ITSELF = {"OMPI_MCA_odls_base_sigkill_timeout": "0"}
RATE = "200mbit"
SLOW = "80mbit"


def tcp(netns, clusterbench, out, *args, hosts=None):
    hosts = hosts or netns.hosts[:2]
    return netns.popen(["mpirun", "--host", netns.host_list(1, hosts), "-np", len(hosts),
                        clusterbench, "tcp", "--quiet", "--json", out, *args])


def wait_until_received(host, size):
    """Until the host's link has brought so many bytes, however long the job takes to start."""
    def total():
        link, = json.loads(netns_lab.ip("-n", host, "-j", "-s", "link", "show", "eth0"))
        return link["stats64"]["rx"]["bytes"]
    end = total() + size
    deadline = time.monotonic() + 60
    while total() < end:
        assert time.monotonic() < deadline, f"{end - total():.0f} bytes are missing"
        time.sleep(0.05)


def test_hosts_are_paired_over_the_interface_between_them(netns, clusterbench, tmp_path):
    for host in netns.hosts:
        netns.slow_link(host, rate=RATE)
    try:
        out, err = tcp(netns, clusterbench, tmp_path / "t.json", "--test", "bandwidth",
                       "--duration", "1s", "--schedule", "shift",
                       hosts=netns.hosts).communicate(timeout=120)
    finally:
        for host in netns.hosts:
            netns.mend_link(host)
    record, = json.loads((tmp_path / "t.json").read_text())["records"]
    figures = [m for m in record["metrics"] if m["name"] == "bytes_per_second"]
    pairs = {(record["entities"][m["entity"]]["host"], record["entities"][m["entity"]]["peer"])
             for m in figures}
    assert pairs == {(a, f"{b}:eth0") for a in netns.hosts for b in netns.hosts if a != b}
    # The shaper counts headers too: at most 200 Mb/s of payload, however fast the machine is. What
    # it let through while a window was held up may come in the next one, hence the median.
    for m in figures:
        assert m["summary"]["mean"] > 0 and m["summary"]["median"] < 1.05 * 25e6
    received = [d for d in record["telemetry"]["deltas"] if d["name"] == "rx_bytes"]
    assert {record["entities"][d["entity"]]["host"] for d in received} == set(netns.hosts)


def test_a_loss_sweep_shows_what_is_kept(netns, clusterbench, tmp_path):
    """The share that is thrown away is the share that is sent again; the rate falls, and no other connection notices."""
    hosts = netns.hosts[:2]
    for host in hosts:
        netns.slow_link(host, rate=RATE)
        netns_lab.ip("-n", host, "link", "set", "eth0", "gso_max_segs", "1")  # segments one by one, as on a wire
    try:
        _, err = tcp(netns, clusterbench, tmp_path / "t.json", "--test", "bandwidth,latency", "--streams", "2", "--duration",
                     "800ms", "--zero-copy", "off", "--loss", "0,0.05,0.4").communicate(timeout=120)
    finally:
        for host in hosts:
            netns.mend_link(host)
            netns_lab.ip("-n", host, "link", "set", "eth0", "gso_max_segs", "65535")
    *lossy, latency = json.loads((tmp_path / "t.json").read_text())["records"]
    assert "loss" not in latency["params"], err
    figures = {r["params"]["loss"]: {m["name"]: m["summary"]["median"] for m in r["metrics"]} for r in lossy}
    assert list(figures) == [0, 0.05, 0.4]
    assert figures[0]["retransmitted_share"] < 0.02 and "kept_share" not in figures[0]
    assert 0.03 < figures[0.05]["retransmitted_share"] < 0.09
    assert 0.2 < figures[0.4]["retransmitted_share"] < 0.7
    for loss in (0.05, 0.4):
        assert figures[loss]["kept_share"] == pytest.approx(
            figures[loss]["bytes_per_second"] / figures[0]["bytes_per_second"], rel=1e-3)
    assert figures[0.4]["kept_share"] < 0.8


def victim_of(lab, clusterbench, out):
    for host in lab.hosts:
        lab.slow_link(host, rate="40mbit")
    process = tcp(lab, clusterbench, out, "--test", "bandwidth", "--streams", "1", "--duration", "2s", "--schedule", "victim",
                  hosts=lab.hosts)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    record, = json.loads(out.read_text())["records"]
    values = {m["name"]: m["summary"]["median"] for m in record["metrics"]
              if m["name"] in ("alone_bytes_per_second", "victim_share")}
    entity, = {m["entity"] for m in record["metrics"] if m["name"] in values}
    entity = record["entities"][entity]
    assert (entity["host"], entity["peer"]) == (lab.hosts[1], f"{lab.hosts[2]}:eth0")
    assert 2e6 < values["alone_bytes_per_second"] < 1.05 * 5e6
    return values["victim_share"]


def test_a_flow_beside_an_incast_keeps_its_share_unless_both_take_one_trunk(clusterbench, tmp_path):
    """Hosts 3 and 4 send to host 1, host 2 sends to host 3. With 1 and 3 on a second switch, 4 → 1 and 2 → 3 share the trunk."""
    if reason := netns_lab.why_not():
        pytest.skip(reason)
    with netns_lab.NetnsLab(4) as lab:
        whole = victim_of(lab, clusterbench, tmp_path / "whole.json")
        lab.divide([lab.hosts[0], lab.hosts[2]], "40mbit")
        # 4 → 1 shares the link of host 1, too: of the trunk it takes half at most, and a quarter where 3 → 1 takes most of that link.
        divided = victim_of(lab, clusterbench, tmp_path / "divided.json")
        assert whole > 0.8 and divided < min(0.85, whole - 0.1), (whole, divided)


def test_a_link_cut_in_the_middle_is_named(netns, clusterbench, tmp_path):
    first, second = netns.hosts[:2]
    # MPI itself talks over the same link: it must not notice before the round's deadline.
    process = tcp(netns, clusterbench, tmp_path / "t.json", "--test", "bandwidth", "--duration",
                  "2s", "--round-deadline", "3s")
    wait_until_received(second, 50e6)  # MPI starts with far less, and the round has two seconds
    netns.cut_link(second)
    try:
        time.sleep(6)
    finally:
        netns.mend_link(second)
    out, err = process.communicate(timeout=120)
    assert process.returncode != 0
    record, = json.loads((tmp_path / "t.json").read_text())["records"]
    assert record["outcome"] == "errored"
    text = record["reason"]
    assert first in text and second in text and "deadline passed" in text, text


def test_locate_finds_a_slow_host_over_tcp(netns, clusterbench):
    with netns_lab.NetnsLab(4) as lab:
        slow = lab.hosts[1]
        for host in lab.hosts:
            lab.slow_link(host, rate=SLOW if host == slow else RATE)
        # Again only where it said itself that it was too noisy to decide.
        for _ in range(3):
            done = lab.run(["mpirun", "--host", lab.host_list(1), "-np", 4, clusterbench, "locate",
                            "--backend", "tcp", "--size", "64K", "--duration", "150ms",
                            "--tolerance", "0.25", "--quiet"], timeout=180, env=ENDS_BY_ITSELF)
            if done.returncode != 3:
                break
    assert done.returncode == 1, done.stderr
    found = [line for line in done.stdout.splitlines()
             if line.startswith(f"suspect: host {slow}: sends ")]
    assert len(found) == 1, done.stdout
