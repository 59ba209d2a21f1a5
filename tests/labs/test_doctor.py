"""`doctor --hosts` on three hosts: each is checked, and a firewall between two of them is found by what it does."""

import json


def doctor(netns, clusterbench, tmp_path, hosts=None):
    # From the first host, as a user would; its launcher reaches the others by the lab's launch agent.
    file = tmp_path / "doctor.json"
    done = netns.run([clusterbench, "doctor", "--hosts", netns.host_list(1, hosts), "--launcher", "mpirun", "--json", file], timeout=280)
    return done, json.loads(file.read_text())["hosts"]


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
    assert between["checks"][0]["state"] == "not checked" and between["checks"][0]["seen"] == f"not tried: {lost} could not be reached"


def test_a_firewall_between_two_hosts_that_the_launcher_reaches(netns, clusterbench, tmp_path):
    """The check of three hosts fails. Checked two at a time, only those fail that the firewall separates."""
    first, second, third = netns.hosts
    netns.close_ports(third, second)
    try:
        done, (*hosts, between) = doctor(netns, clusterbench, tmp_path)
        healthy, (*_, open_between) = doctor(netns, clusterbench, tmp_path, [first, second])
        cut, (*reached, shut_between) = doctor(netns, clusterbench, tmp_path, [second, third])
    finally:
        netns.open_ports(third, second)
    assert [h["host"] for h in hosts] == netns.hosts and [h["host"] for h in reached] == [second, third], done.stdout
    assert all("reached" not in [c["id"] for c in h["checks"]] for h in hosts + reached), done.stdout
    assert open_between["checks"][0]["state"] == "ok", healthy.stdout
    for end, row, ends in ((done, between, (first, third)), (cut, shut_between, (second, third))):
        (check,) = row["checks"]
        assert end.returncode == 1 and row["host"] == f"{ends[0]} … {ends[1]}"
        assert (check["id"], check["state"]) == ("listeners", "fail"), end.stdout
        assert check["seen"].startswith("a rank could not reach a listener of another host")
        assert "open the TCP ports between these hosts (ip_local_port_range of each)" in check["next"]
