"""What generating sends over four hosts. A cache of keys and values from host to host: the pairs, the pair with a slow link, a spoilt
page, a host that hangs. Tokens to the ranks of their experts and back: a slow link, a wrong element."""

import json
import os
import re
import signal
import time
from pathlib import Path

import netns_lab
import pytest
from processes import wait_until_busy

# 4 layers of 64 pages of 4 KiB: 1 MiB a pair.
CACHE = ["--model", "tiny", "--layers", 4, "--page-tokens", 32, "--prompt", 2048]


@pytest.fixture(scope="module")
def lab():
    if reason := netns_lab.why_not():
        pytest.skip(reason)
    with netns_lab.NetnsLab(4) as lab:
        yield lab


# 2048 tokens of a rank to 2 of 8 experts: 3 MB from each host, and 6 MB of results to it: long beside the turns of a busy machine.
TOKENS = ["--batch", 2048, "--hidden", 1024, "--experts", 8, "--top-k", 2, "--routing", "balanced,random", "--iterations", 6,
          "--idle", "0s"]


def command(lab, clusterbench, out, *words, case="kv-transfer", ranks=1):
    return list(map(str, ["mpirun", "-np", ranks * len(lab.hosts), "--host", lab.host_list(ranks), clusterbench, case, *words,
                          "--json", out]))


def measured(lab, argv):
    """(records, exit code, stderr)."""
    done = lab.run(argv, timeout=120)
    return json.loads(Path(argv[-1]).read_text())["records"], done.returncode, done.stderr


def transfer(lab, clusterbench, out, *words, ranks=1):
    return measured(lab, command(lab, clusterbench, out, *CACHE, *words, ranks=ranks))


def exchange(lab, clusterbench, out, *words):
    return measured(lab, command(lab, clusterbench, out, *TOKENS, *words, case="moe"))


def pairs_of(record):
    return {(e["host"], e["peer"].split(":")[0]) for e in record["entities"] if e["kind"] == "pair"}


def medians(record, name):
    """By the sending host."""
    return {record["entities"][m["entity"]]["host"]: m["summary"]["median"] for m in record["metrics"] if m["name"] == name}


def seconds_of(pid):
    """CPU time of a process; None if it has gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rank_that_works(lab, host):
    """The host's rank, when it has long begun to transfer. Ranks of an earlier job may still be ending."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for pid in lab.pids(host, "clusterbench"):
            if (seconds_of(pid) or 0) > 1.8:
                return pid
        time.sleep(0.1)
    raise AssertionError(f"no rank works on {host}")


def test_half_of_the_hosts_sends_to_the_other_half(lab, clusterbench, tmp_path):
    records, code, err = transfer(lab, clusterbench, tmp_path / "k.json", "--iterations", 3, ranks=2)
    assert code == 0, err
    record, = records
    a, b, c, d = lab.hosts
    assert pairs_of(record) == {(a, c), (b, d)}
    assert len(record["checks"]) == 8 and all(one["passed"] for one in record["checks"])


def test_figures_of_all_pairs_are_not_the_clusters_where_a_host_has_no_partner(clusterbench, tmp_path):
    if reason := netns_lab.why_not():
        pytest.skip(reason)
    with netns_lab.NetnsLab(5) as odd:
        records, code, err = transfer(odd, clusterbench, tmp_path / "k.json", "--iterations", 2)
    assert code == 0, err
    record, = records
    of_all = [record["entities"][m["entity"]] for m in record["metrics"] if m["name"] in ("transfer_spread", "total_bytes_per_second")]
    assert [(e["host"], e["kind"], e["id"]) for e in of_all] == [("", "pairs", "all pairs")] * 2
    assert pairs_of(record) == {(odd.hosts[0], odd.hosts[2]), (odd.hosts[1], odd.hosts[3])}
    assert any(f"{odd.hosts[4]} rank 4 has no partner" in note for note in record["notes"])


def test_the_pair_with_a_slow_link_stands_out_and_is_named(lab, clusterbench, tmp_path):
    slow, receiver = lab.hosts[1], lab.hosts[3]
    lab.slow_link(slow, "80mbit", latency="500ms")
    try:
        records, code, err = transfer(lab, clusterbench, tmp_path / "k.json", "--iterations", 5, "--schedule", "together,one-at-a-time")
    finally:
        lab.mend_link(slow)
    assert code == 0, err
    for record in records:
        assert record["facts"]["slowest_pair"].startswith(f"{slow} rank 1 → {receiver} rank 3: ")
        # 80 Mb/s are 10 MB/s of frames.
        rates = medians(record, "bytes_per_second")
        assert 5e6 < rates[slow] < 10e6 and rates[lab.hosts[0]] > 3 * rates[slow], rates
        spread, = [m for m in record["metrics"] if m["name"] == "transfer_spread"]
        print(record["params"]["schedule"], rates, spread["summary"]["median"])
        assert spread["summary"]["median"] > 3
        # The first layer is there long before the last.
        seconds = medians(record, "transfer_seconds")
        assert medians(record, "first_layer_seconds")[slow] < 0.7 * seconds[slow]
        # Of two pairs the other one stands beside the slowest.
        number, unit = re.search(r"the middle pair takes ([\d.]+) (s|ms)$", record["facts"]["slowest_pair"]).groups()
        assert float(number) * {"s": 1, "ms": 1e-3}[unit] == pytest.approx(seconds[lab.hosts[0]], rel=0.01)


def test_a_spoilt_page_is_named_with_both_hosts(lab, clusterbench, tmp_path):
    records, code, _ = transfer(lab, clusterbench, tmp_path / "k.json", "--iterations", 1, "--inject-fault", "drop@3:2")
    bad, = [c for c in records[0]["checks"] if not c["passed"]]
    _, b, _, d = lab.hosts
    assert code == 1 and records[0]["metrics"] == []
    assert bad["detail"].startswith(f"{b} rank 1 → {d} rank 3: transfer 1: layer 2, page 32: it did not come")


def test_a_rank_that_hangs_is_named_with_its_host(lab, clusterbench, tmp_path):
    bad = lab.hosts[2]
    process = lab.popen(command(lab, clusterbench, tmp_path / "k.json", *CACHE, "--iterations", 1000000, "--stall", "3s"))
    pid = rank_that_works(lab, bad)
    os.kill(pid, signal.SIGSTOP)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 124, err
    lines = [line for line in err.splitlines() if "not there" in line]
    assert lines and bad in lines[0] and "rank 2" in lines[0], err


def rates_of(record):
    """Bytes per second of the busiest host: [dispatch, combine]. The fastest call of a busy machine tells."""
    return [m["summary"]["max"] for name in ("dispatch", "combine")
            for m in record["metrics"] if m["name"] == f"{name}_host_bytes_per_second"]


def test_tokens_reach_their_experts_over_hosts_and_a_slow_link_bounds_both_exchanges(lab, clusterbench, tmp_path):
    free, code, err = exchange(lab, clusterbench, tmp_path / "m.json")
    assert code == 0, err
    lab.slow_link(lab.hosts[2], "80mbit", latency="500ms")
    try:
        slow, code, err = exchange(lab, clusterbench, tmp_path / "m.json")
    finally:
        lab.mend_link(lab.hosts[2])
    assert code == 0, err
    for record in free + slow:
        assert len(record["checks"]) == 12 and all(c["passed"] for c in record["checks"])
        assert {record["entities"][c["entity"]]["host"] for c in record["checks"]} == set(lab.hosts)
    for before, after in zip(free, slow, strict=True):
        assert before["facts"]["data_digest"] == after["facts"]["data_digest"]
        print(before["params"]["routing"], rates_of(before), rates_of(after), medians(after, "dispatch_exchange_seconds"),
              medians(after, "combine_exchange_seconds"), medians(after, "late_seconds"))
        # 80 Mb/s are 10 MB/s of frames, and of the busiest host's tokens the slow one sends at least nine tenths.
        for rate, bounded in zip(rates_of(before), rates_of(after), strict=True):
            assert 1e6 < bounded < 11e6 and rate > 2 * bounded


def test_a_wrong_element_of_a_token_is_named_with_its_host(lab, clusterbench, tmp_path):
    records, code, _ = exchange(lab, clusterbench, tmp_path / "m.json", "--inject-fault", "element@3")
    bad, = [c for c in records[0]["checks"] if not c["passed"]]
    assert code == 1 and records[0]["metrics"] == []
    assert bad["name"] == "dispatch" and records[0]["entities"][bad["entity"]]["host"] == lab.hosts[3]
    assert bad["detail"].startswith(f"{lab.hosts[3]} rank 3: check 1 before timing: ") and "element 512: got 0x" in bad["detail"]
