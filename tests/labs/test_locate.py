"""locate across four hosts of the namespace lab: a slow host and a slow path are named, and nobody
is where nothing was planted. All hosts are shaped to one rate far below what the machine's CPUs
carry, so that its other work is little noise."""

import json
import os
from pathlib import Path

import netns_lab
import pytest

RATE = "100mbit"
SLOW = "20mbit"


@pytest.fixture(scope="module")
def hosts():
    reason = netns_lab.why_not()
    if reason:
        pytest.skip(reason)
    with netns_lab.NetnsLab(4) as lab:
        yield lab


@pytest.fixture
def shaped(hosts):
    for host in hosts.hosts:
        hosts.mend_link(host)
        hosts.slow_link(host, rate=RATE)
    return hosts


def locate(lab, clusterbench, out, *more):
    argv = ["mpirun", "--host", lab.host_list(1), "-np", len(lab.hosts), clusterbench, "locate",
            "--backend", "mpi", "--size", "32K", "--duration", "150ms", "--tolerance", "0.25",
            "--quiet", "--json", out, *more]
    done = lab.run(argv, timeout=120)
    assert done.returncode in (0, 1, 3), done.stderr  # 3: too noisy to decide, and says so
    record, = json.loads(out.read_text())["records"]
    return done, record


def settled(once, chances=3):
    """What `once` finds; again only where it said itself that it was too noisy to decide."""
    for _ in range(chances):
        done, record = once()
        if done.returncode != 3:
            break
    assert record["outcome"] == "measured", done.stderr
    return done, record


def suspects(done):
    return [line for line in done.stdout.splitlines() if line.startswith("suspect")]


def failed(record):
    return [(record["entities"][c["entity"]], c) for c in record["checks"] if not c["passed"]]


def test_healthy_hosts_are_no_suspects_ten_times(shaped, clusterbench, tmp_path):
    for _ in range(10):
        done, record = settled(
            lambda: locate(shaped, clusterbench, tmp_path / "l.json", "--mode", "full"))
        assert suspects(done) == ["suspects: none"]
        assert done.returncode == 0 and record["outcome"] == "measured"
        assert [c["passed"] for c in record["checks"]] == [True]
        # Every directed pair, for the heat map.
        pairs = {(e["host"], e["peer"]) for e in record["entities"] if e["kind"] == "pair"}
        assert pairs == {(a, b) for a in shaped.hosts for b in shaped.hosts if a != b}
        assert len(record["metrics"]) == 12


@pytest.mark.parametrize("mode", ["quick", "full"])
def test_a_slow_host_is_named(shaped, clusterbench, tmp_path, mode):
    slow = shaped.hosts[2]
    shaped.slow_link(slow, rate=SLOW)
    done, record = settled(
        lambda: locate(shaped, clusterbench, tmp_path / "l.json", "--mode", mode))
    line, = suspects(done)
    assert line.startswith(f"suspect: host {slow}: sends ")
    assert done.returncode == 1
    (entity, check), = failed(record)
    assert entity == {"host": slow, "kind": "host", "id": ""}
    assert 0.05 < check["value"] < 0.75
    assert len(record["metrics"]) == 12  # a finding does not take the numbers


def test_a_slow_path_is_named_and_not_its_ends(shaped, clusterbench, tmp_path):
    a, b = shaped.hosts[1], shaped.hosts[3]
    shaped.slow_path(a, b, SLOW, RATE)
    done, record = settled(
        lambda: locate(shaped, clusterbench, tmp_path / "l.json", "--mode", "full"))
    line, = suspects(done)
    assert line.startswith(f"suspect: link {a} → {b}: carries ")
    (entity, _), = failed(record)
    assert (entity["host"], entity["kind"], entity["peer"]) == (a, "pair", b)


def test_the_slow_path_between_two_leaves_is_named_and_no_host(shaped, clusterbench, tmp_path):
    leaves = tmp_path / "leaves"
    one, other = shaped.hosts[:2], shaped.hosts[2:]
    leaves.write_text("".join(f"{h} {'rack1' if h in one else 'rack2'}\n" for h in shaped.hosts))
    for here, there in ((one, other), (other, one)):
        for host in here:
            shaped.slow_path(host, there, SLOW, RATE)
    done, record = settled(lambda: locate(shaped, clusterbench, tmp_path / "l.json", "--mode", "full",
                                          "--leaf-map", leaves))
    line, = suspects(done)
    assert line.startswith(("suspect: path leaf rack1 ↔ leaf rack2: carries ",
                            "suspect: path leaf rack2 ↔ leaf rack1: carries "))
    (entity, check), = failed(record)
    assert entity["kind"] == "group" and check["value"] < 0.75


def locate_over_nccl(lab, clusterbench, out, behaviour):
    """Two ranks on each host over the stand-in for NCCL, which moves host memory at a set rate."""
    library = Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "fake" / "fake_nccl.so"
    argv = ["mpirun", "--host", lab.host_list(2), "-np", 2 * len(lab.hosts), "-x",
            f"CLUSTERBENCH_NCCL_LIBRARY={library}", "-x", f"FAKE_NCCL={behaviour}", clusterbench, "locate",
            "--backend", "nccl", "--memory", "host", "--mode", "full", "--size", "128K", "--duration", "100ms",
            "--tolerance", "0.25", "--quiet", "--json", out]
    done = lab.run(argv, timeout=120)
    assert done.returncode in (0, 1, 3), done.stderr
    record, = json.loads(out.read_text())["records"]
    return done, record


def test_groups_name_the_host_whose_ranks_are_slow_among_themselves(hosts, clusterbench, tmp_path):
    """The second ranks of the hosts take part in no pair of hosts: only the groups see them."""
    slow = hosts.hosts[2]
    done, record = settled(lambda: locate_over_nccl(hosts, clusterbench, tmp_path / "l.json",
                                                    "rate=40,slow=4:10,slow=5:10"))
    assert f"suspect: host {slow}: its ranks among themselves reach" in done.stdout
    assert all(slow in line for line in suspects(done)), done.stdout
    assert record["facts"]["hosts_inside"].startswith("4 of 2 ranks; seen would be one from ")
    assert record["facts"]["rails_compared"] == (
        "not compared: needs 3 ranks on each host to tell which one is slow, has 2")
    groups = [m for m in record["metrics"] if m["name"] == "group_bytes_per_second"]
    assert len(groups) == 4
    done, _ = settled(lambda: locate_over_nccl(hosts, clusterbench, tmp_path / "l.json", "rate=40"))
    assert suspects(done) == ["suspects: none"]


def test_too_few_hosts_are_skipped(shaped, clusterbench):
    done = shaped.run(["mpirun", "--host", shaped.host_list(1, shaped.hosts[:2]), "-np", 2,
                       clusterbench, "locate"])
    assert done.returncode == 3
    assert "needs 3 hosts" in done.stderr
    assert "suspect" not in done.stdout
