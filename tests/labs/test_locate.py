"""locate across four hosts of the namespace lab: a slow host and a slow path are named, and nobody
is where nothing was planted. All hosts are shaped to one rate far below what the machine's CPUs
carry, so that its other work is little noise."""

import json

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


def test_too_few_hosts_are_skipped(shaped, clusterbench):
    done = shaped.run(["mpirun", "--host", shaped.host_list(1, shaped.hosts[:2]), "-np", 2,
                       clusterbench, "locate"])
    assert done.returncode == 3
    assert "needs 3 hosts" in done.stderr
    assert "suspect" not in done.stdout
