"""`doctor --hosts` on three hosts: each is checked, and a firewall between two of them is found by what it does."""

import json


def doctor(netns, clusterbench, tmp_path):
    # From the first host, as a user would; its launcher reaches the others by the lab's launch agent.
    file = tmp_path / "doctor.json"
    done = netns.run([clusterbench, "doctor", "--hosts", netns.host_list(1), "--launcher", "mpirun", "--json", file], timeout=280)
    hosts = json.loads(file.read_text())["hosts"]
    return done, hosts


def test_three_hosts_and_the_ports_between_them(netns, clusterbench, tmp_path):
    done, (*hosts, between) = doctor(netns, clusterbench, tmp_path)
    assert [h["host"] for h in hosts] == netns.hosts, done.stdout
    for host in hosts:
        assert "shared-memory" in [c["id"] for c in host["checks"]]
    assert between["checks"][0]["state"] == "ok", done.stdout
    assert between["checks"][0]["seen"] == "every pair of 3 hosts exchanged data over ports that the kernel chose"


def test_a_lost_host_is_named(netns, clusterbench, tmp_path):
    lost = netns.hosts[1]
    netns.cut_link(lost)
    try:
        done, (*hosts, between) = doctor(netns, clusterbench, tmp_path)
    finally:
        netns.mend_link(lost)
    assert done.returncode == 1
    assert [h["checks"][0]["id"] for h in hosts] == ["shared-memory", "reached", "shared-memory"], done.stdout
    assert between["checks"][0]["state"] == "fail"
