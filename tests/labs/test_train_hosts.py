"""A training step over four hosts: predicted beside measured with a free and a shaped link, the host with a slow link, and each
planted fault, named with its host."""

import json
import os
import re
import signal
import statistics

import netns_lab
import pytest

# So small that exchanges count: 2 million parameters, 12 MB from each rank in a step, 0.2 s of computing.
SHAPE = ["--hidden", "256", "--layers", "2", "--heads", "4", "--kv-heads", "2", "--head-dim", "64", "--feed-forward", "704",
         "--vocabulary", "1024", "--sequence", "256", "--micro-batch", "4", "--micro-batches", "1"]
RATE, FIFTH = "400mbit", "80mbit"
RUNS = 3  # at most: four ranks share two cores, maybe with other programs, and one run alone lies up to 30 % off
NEAR = 0.15


@pytest.fixture(scope="module")
def lab():
    if reason := netns_lab.why_not():
        pytest.skip(reason)
    with netns_lab.NetnsLab(4) as lab:
        yield lab


@pytest.fixture
def shaped(lab):
    """shape(host, rate) for the time of a test; packets wait and are not dropped."""
    def shape(host, rate):
        lab.slow_link(host, rate, latency="500ms")
    yield shape
    for host in lab.hosts:
        lab.run(["tc", "qdisc", "del", "dev", "eth0", "root"], host)


def command(lab, clusterbench, out, *words, hosts=None):
    """`hosts`: as mpirun takes them, with slots; all, with one, unless given."""
    hosts = hosts or lab.host_list(1)
    ranks = sum(int(host.rpartition(":")[2]) for host in hosts.split(","))
    return list(map(str, ["mpirun", "-np", ranks, "--host", hosts, clusterbench, "train", "--threads", 1, *words, "--json", out]))


def train(lab, clusterbench, out, *words):
    """(record, exit code, stderr) of a job of one rank a host."""
    done = lab.run(command(lab, clusterbench, out, *words), timeout=250)
    (record,) = json.loads(out.read_text())["records"]
    return record, done.returncode, done.stderr


def mean(record, name):
    """Over the steps, of the rank with the most."""
    return max(statistics.fmean(m["samples"]) for m in record["metrics"] if m["name"] == name)


def failed(record):
    """{(check, host)} of what failed."""
    return {(c["name"], record["entities"][c["entity"]]["host"]) for c in record["checks"] if not c["passed"]}


def runs_of(lab, clusterbench, tmp_path):
    """Records of RUNS jobs, and the median of predicted over measured. If two of them are near, so is the median of three."""
    records, ratios = [], []
    while len(ratios) < RUNS and sum(abs(r - 1) <= NEAR for r in ratios) < 2:
        records.append(train(lab, clusterbench, tmp_path / f"{len(records)}.json", *SHAPE, "--steps", 8, "--twin-every", 0)[0])
        ratios.append(mean(records[-1], "predicted_step_seconds") / mean(records[-1], "step_seconds"))
    print("predicted over measured:", " ".join(f"{r:.2f}" for r in ratios))
    return records, statistics.median(ratios)


def test_a_free_link_is_predicted_and_accuses_nobody(lab, clusterbench, tmp_path):
    records, ratio = runs_of(lab, clusterbench, tmp_path)
    assert ratio == pytest.approx(1, abs=NEAR)
    assert sum(1 for r in records for name, _ in failed(r) if name == "slow_link") <= 1  # of eight to twelve verdicts, on shared cores


def test_a_shaped_link_is_predicted_and_one_at_a_fifth_is_exposed_and_named(lab, clusterbench, shaped, tmp_path):
    for host in lab.hosts:
        shaped(host, RATE)
    even, ratio = runs_of(lab, clusterbench, tmp_path)
    assert ratio == pytest.approx(1, abs=NEAR)
    assert {name for r in even for name, _ in failed(r)} <= {"straggler"}

    slow = lab.hosts[2]
    shaped(slow, FIFTH)
    uneven, ratio = runs_of(lab, clusterbench, tmp_path)
    assert ratio == pytest.approx(1, abs=NEAR)
    for record in uneven:
        links = [c for c in record["checks"] if c["name"] == "slow_link" and not c["passed"]]
        assert [record["entities"][c["entity"]]["host"] for c in links] == [slow]
        assert links[0]["finding"] and 0.1 < links[0]["value"] < 0.35
        assert f"{slow} sends to its neighbours at" in links[0]["detail"]

    def exposed(records):
        return statistics.median(mean(r, "exposed_communication_seconds") for r in records)
    assert exposed(uneven) > 1.4 * exposed(even)
    # All ranks wait for equally long, so their waiting names nobody.
    waits = [statistics.fmean(m["samples"]) for m in uneven[0]["metrics"] if m["name"] == "exposed_communication_seconds"]
    assert min(waits) > 0.5 * max(waits)


@pytest.mark.parametrize("fault, check, place", [
    ("bitflip@2:1", "twin", "feed-forward of layer 1, forward"), ("nan@1:0", "finite", "feed-forward of layer 0, forward"),
    ("weight@3", "weights", "the weights")])
def test_a_wrong_number_is_named_with_its_host(lab, clusterbench, tmp_path, fault, check, place):
    twins = "1" if check == "twin" else "0"
    record, code, err = train(lab, clusterbench, tmp_path / "t.json", "--steps", 4, "--warm-up-steps", 0, "--twin-every", twins,
                              "--hash-every", 1, "--library", "builtin", "--inject-fault", fault)
    host = lab.hosts[int(fault.partition("@")[2].partition(":")[0])]
    assert code != 0 and failed(record) == {(check, host)}, err
    assert record["metrics"] == []
    (bad,) = [c for c in record["checks"] if not c["passed"]]
    assert host in bad["detail"] and place in bad["detail"]


def test_a_slow_rank_is_named_with_its_host(lab, clusterbench, tmp_path):
    record, _, err = train(lab, clusterbench, tmp_path / "t.json", *SHAPE, "--steps", 12, "--twin-every", 0, "--inject-fault", "slow@1")
    named = {host for check, host in failed(record) if check == "straggler"}
    assert named == {lab.hosts[1]}, err
    assert "tokens_per_second" in {m["name"] for m in record["metrics"]}


def test_a_dead_rank_is_named_with_its_host_and_step(lab, clusterbench, tmp_path):
    bad = lab.hosts[3]
    process = lab.popen(command(lab, clusterbench, tmp_path / "t.json", "--steps", 10_000_000, "--library", "builtin"))
    assert any("step " in line for line in iter(process.stderr.readline, ""))  # it trains
    (pid,) = lab.pids(bad, "clusterbench")
    os.kill(pid, signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode != 0
    if re.search(rf"prterun noticed that process rank 3 with PID \d+ on node {bad} exited on\s+signal 9", err):
        return  # Open MPI 5 ends the other ranks at once, mostly before they can tell what they saw
    assert "a rank was lost" in err, err
    lines = [line for line in err.splitlines() if "not there" in line]
    if "prterun" in err and bad not in lines[0]:  # the rank that waited for it is gone too, and rank 0 saw both at one look
        assert all("the process or its host is gone" in line for line in lines), err
        lines = [line for line in lines if bad in line]
    assert lines and bad in lines[0] and "rank 3" in lines[0] and "step " in lines[0], err


def efficiency(record, name="scaling_efficiency"):
    """The least of any group, by its median."""
    return min(statistics.median(m["samples"]) for m in record["metrics"] if m["name"] == name)


def test_a_slow_link_lowers_the_efficiency_of_all_and_not_that_of_a_host(lab, clusterbench, shaped, tmp_path):
    """Two hosts of two ranks. What ranks of a host exchange passes no link."""
    pair = lab.hosts[:2]
    found = {}
    for rate in (RATE, FIFTH):
        for host in pair:
            shaped(host, rate)
        out = tmp_path / f"{rate}.json"
        words = [*SHAPE, "--steps", 5, "--warm-up-steps", 1, "--twin-every", 0, "--scaling", "weak", "--stall", "10m"]
        done = lab.run(command(lab, clusterbench, out, *words, hosts=lab.host_list(2, pair)), timeout=900)
        records = json.loads(out.read_text())["records"]
        assert [r["params"]["level"] for r in records] == ["replica", "host", "all"], done.stderr
        _, host, whole = records
        found[rate] = efficiency(host), efficiency(whole), efficiency(whole, "host_scaling_efficiency")
        print(rate, "efficiency of a host, of all, of all over the hosts:", " ".join(f"{e:.2f}" for e in found[rate]))
        links = {record["entities"][m["entity"]]["host"] for record in records for m in record["metrics"]
                 if m["name"] == "link_send_bytes_per_second"}
        assert links == set(pair)
    even, slow = found[RATE], found[FIFTH]
    # Four ranks share two cores, maybe with other programs: a host's efficiency was between 0.53 and 1.00.
    assert slow[1] < 0.75 * even[1] and slow[2] < 0.75 * even[2]
    assert slow[0] > 1.5 * slow[1]
