"""clusterbench kv-transfer: pages of a cache from rank to rank; wrong pages, dead and hanging ranks are seen and named."""

import os
import re

import pytest
from collectives import metrics

# 4 layers; a page of 4 tokens has 2 · 2 · 16 · 2 · 4 = 512 bytes.
SIZES = {"--model": "tiny", "--layers": "4", "--page-tokens": "4", "--prompt": "30", "--iterations": "5"}
SMALL = [word for option in SIZES.items() for word in option]


def small_but(*options):
    """SMALL with these options, in the place of its own where it has them."""
    return [w for option in SIZES.items() if option[0] not in options for w in option] + list(options)


def samples(record, name):
    """By pair: "rank 0 → rank 2"."""
    out = {}
    for m in metrics(record, name):
        e = record["entities"][m["entity"]]
        out[f"{e['id']} → {e['peer'].split(':')[1]}"] = m["samples"]
    return out


UNITS = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


def times_told(text):
    """The times in a sentence: seconds."""
    return [float(number) * UNITS[unit] for number, unit in re.findall(r"([\d.]+) (s|ms|µs|ns)\b", text)]


def approx(values):
    return pytest.approx(list(values), rel=1e-12)


@pytest.mark.parametrize("ranks, options", [
    (2, []), (4, []), (2, ["--scatter", "none"]), (2, ["--scatter", "none", "--join"]), (4, ["--pack"]), (2, ["--window", "1"])])
def test_every_page_is_verified_and_every_figure_follows_from_the_times(job, ranks, options):
    code, document, out, err = job.measure(ranks, "kv-transfer", *SMALL, "--schedule", "together,one-at-a-time", *options)
    assert code == 0, err
    records = document["records"]
    assert [(r["params"]["prompt"], r["params"]["schedule"]) for r in records] == [(30, "together"), (30, "one-at-a-time")]
    pairs = [f"rank {i} → rank {i + ranks // 2}" for i in range(ranks // 2)]
    messages = {"--join": 4, "--pack": 4}.get(options[-1] if options else "", 32)
    for record in records:
        # Both ends look at their pages.
        assert len(record["checks"]) == ranks and all(c["passed"] and c["value"] == 0 for c in record["checks"])
        assert "4 layers of 8 pages of 512 B: 16.0 KiB in" in record["facts"]["cache"]
        assert f"in {messages} messages" in record["facts"]["cache"]
        # Five iterations and those that warm up, pages and plain messages.
        assert int(record["facts"]["verified_calls"]) >= 2 * 6
        seconds = samples(record, "transfer_seconds")
        assert sorted(seconds) == pairs
        for pair, times in seconds.items():
            assert len(times) == 5 and min(times) > 0
            assert samples(record, "bytes_per_second")[pair] == approx(16384 / t for t in times)
            assert samples(record, "pages_per_second")[pair] == approx(32 / t for t in times)
            assert samples(record, "layer_seconds")[pair] == approx(t / 4 for t in times)
            plain = samples(record, "plain_seconds")[pair]
            assert samples(record, "share_of_plain")[pair] == approx(p / t for p, t in zip(plain, times, strict=True))
            first, longest = samples(record, "first_layer_seconds")[pair], samples(record, "longest_layer_seconds")[pair]
            for f, g, t in zip(first, longest, times, strict=True):
                assert 0 < f <= t and t / 4 <= g * (1 + 1e-9) and g <= t * (1 + 1e-9)
        # One host: no network between hosts, and so no ceiling.
        assert all("ceiling" not in m for m in record["metrics"])
        if ranks == 2:
            assert not metrics(record, "transfer_spread") and "slowest_pair" not in record["facts"]
            continue
        spread, = metrics(record, "transfer_spread")
        times = list(zip(*seconds.values(), strict=True))
        assert spread["samples"] == approx(max(t) / min(t) for t in times)
        total = metrics(record, "total_bytes_per_second")
        if record["params"]["schedule"] == "together":
            assert total[0]["samples"] == approx(2 * 16384 / max(t) for t in times)
        else:
            assert not total
        slowest = max(seconds, key=lambda p: sorted(seconds[p])[2])
        begin, end = slowest.split(" → ")
        host = document["run"]["hosts"][0]
        assert record["facts"]["slowest_pair"].startswith(f"{host} {begin} → {host} {end}: ")
        # Beside it stands the other pair, not the slowest one itself.
        assert times_told(record["facts"]["slowest_pair"]) == pytest.approx(sorted((m[2] for m in map(sorted, seconds.values())), reverse=True), rel=0.01)
    assert "transfer_seconds" in out


def test_tp_divides_the_heads_among_pairs_and_types_their_bytes(job):
    sizes = {}
    for options in (["--tp", "2"], ["--dtype", "fp8"], ["--dtype", "fp32"]):
        code, document, _, err = job.measure(2, "kv-transfer", *small_but(*options))
        assert code == 0, err
        sizes[options[-1]] = document["records"][0]["facts"]["cache"].split(" pages of ")[1].split(":")[0]
    assert sizes == {"2": "256 B", "fp8": "256 B", "fp32": "1.00 KiB"}


@pytest.mark.parametrize("fault, pair, where, count", [
    ("0", (0, 2), "layer 0, page 4: byte 256 of 512: got 0x", 1),
    ("bitflip@2:3", (0, 2), "layer 3, page 4: byte 256 of 512: got 0x", 1),
    ("drop@3:1", (1, 3), "layer 1, page 4: it did not come", 1),
    ("swap@1:2", (1, 3), "layer 2, page 4: layer 2, page 5 came in its place", 2),
    ("twice@3", (1, 3), "layer 0, page 4: layer 0, page 5 came in its place", 1),
])
def test_what_is_wrong_is_named_with_pair_layer_and_page_and_takes_the_numbers(job, fault, pair, where, count):
    code, document, out, _ = job.measure(4, "kv-transfer", *SMALL, "--inject-fault", fault)
    assert code == 1
    record, = document["records"]
    assert record["metrics"] == []
    bad, = [c for c in record["checks"] if not c["passed"]]
    host = document["run"]["hosts"][0]
    entity = record["entities"][bad["entity"]]
    assert (bad["name"], entity["kind"], entity["id"]) == ("pages", "pair", f"rank {pair[0]}")
    assert bad["detail"].startswith(f"{host} rank {pair[0]} → {host} rank {pair[1]}: transfer 1: {where}")
    assert f"{count} page(s) wrong at the receiver; next: " in bad["detail"] and bad["value"] == count
    assert f"rank {pair[0]}" in out


def test_one_page_alone_can_be_swapped_only_with_the_next_layers(job):
    code, document, _, _ = job.measure(2, "kv-transfer", *small_but("--prompt", "4", "--inject-fault", "swap@1:3"))
    bad, = [c for c in document["records"][0]["checks"] if not c["passed"]]
    assert code == 1 and "layer 0, page 0: layer 3, page 0 came in its place" in bad["detail"]


@pytest.mark.parametrize("ranks, args, text", [
    (2, ["--tp", "3"], "2 heads of keys and values cannot be divided among 3 ranks"),
    (2, ["--head-dim", "1", "--kv-heads", "1", "--page-tokens", "1"], "a page has 4 bytes; it needs a multiple of 8, at least 32"),
    (2, ["--backend", "nccl", "--window", "2049"], "a group of NCCL takes at most 2048 operations"),
    (2, ["--pack", "--join"], "--pack has no pages to join"),
    (2, ["--inject-fault", "drop@2"], "there is no rank 2"),
    (5, ["--inject-fault", "drop@4"], "rank 4 has no partner"),
    (2, ["--inject-fault", "drop@1:4"], "there is no layer 4"),
    (2, ["--inject-fault", "lost@1"], "lost@1 is no fault"),
    (2, ["--layers", "1", "--prompt", "4", "--inject-fault", "swap@1"], "one page alone"),
    (2, ["--model", "llama-405b", "--layers", "126", "--prompt", "16M"], "ask for fewer tokens"),
])
def test_what_cannot_be_measured_is_refused_with_the_reason(job, ranks, args, text):
    code, out, err = job.run(ranks, "kv-transfer", *small_but(*args))
    assert code == 2 and out == "", err
    assert text in err


@pytest.mark.parametrize("options", [[], ["--schedule", "one-at-a-time"]])
def test_of_an_odd_number_of_ranks_the_last_one_is_left_out_and_named(job, options):
    code, document, _, err = job.measure(5, "kv-transfer", *SMALL, *options)
    assert code == 0, err
    record, = document["records"]
    assert sorted(samples(record, "transfer_seconds")) == ["rank 0 → rank 2", "rank 1 → rank 3"]
    assert len(record["checks"]) == 4
    # Its host has pairs of other ranks, but its own place was in no transfer: figures of all pairs must not speak for it.
    spread, = metrics(record, "transfer_spread")
    assert record["entities"][spread["entity"]]["kind"] == "pairs"
    assert any(f"{document['run']['hosts'][0]} rank 4 has no partner" in note for note in record["notes"]), record["notes"]


def test_one_rank_is_skipped(job):
    code, document, _, _ = job.measure(0, "kv-transfer", *SMALL)
    assert code == 3 and document["records"][0]["outcome"] == "skipped"


def test_without_an_rdma_device_writes_are_skipped_with_the_reason(job):
    if os.path.isdir("/sys/class/infiniband") and os.listdir("/sys/class/infiniband"):
        pytest.skip("this machine has an RDMA device")
    code, document, _, _ = job.measure(2, "kv-transfer", *SMALL, "--backend", "verbs")
    record, = document["records"]
    assert code == 3 and record["outcome"] == "skipped" and "no RDMA device" in record["reason"]


def test_a_rank_that_dies_ends_the_job_and_is_named(rank_dies):
    rank_dies(2, "kv-transfer", "--prompt", "64")


def test_a_rank_that_hangs_ends_the_job_at_the_stall(rank_hangs):
    rank_hangs(3, "64 tokens, together", "kv-transfer", "--prompt", "64")


@pytest.mark.parametrize("ranks, pair, options", [
    (3, (0, 1), []), (4, (0, 2), ["--schedule", "one-at-a-time"]), (5, (0, 2), ["--schedule", "together,one-at-a-time"])])
def test_a_link_that_dies_silently_names_its_own_pair_alone(job, mpi_shim, ranks, pair, options):
    """The ranks without a partner, or without a turn, count as many steps as those that transfer."""
    # 36 messages an iteration: 32 pages and 4 plain ones. In the third, after two of four layers.
    mpi_shim("dead_link_shim.c", DEAD_LINK="0", DEAD_AFTER=str(2 * 36 + 20))
    code, document, _, err = job.measure(ranks, "kv-transfer", *SMALL, *options, "--stall", "2s")
    assert code == 124 and document["run"]["partial"], err
    steps = {}
    for who, step in re.findall(r"(?:not there : \S+ rank|waiting   : ranks?) ([\d,-]+).*inside step (\d+)", err):
        for first, last in re.findall(r"(\d+)-?(\d*)", who):
            steps |= dict.fromkeys(range(int(first), int(last or first) + 1), int(step))
    assert sorted(steps) == list(range(ranks)), err
    assert {rank for rank in steps if steps[rank] == min(steps.values())} == set(pair), err
    # On a machine that is too busy ranks are silent, and a silent rank is named before one that is behind.
    blamed = {int(re.search(r"rank (\d+)", line)[1]) for line in err.splitlines() if "not there" in line}
    assert blamed == set(pair) or "has been silent" in err, err
