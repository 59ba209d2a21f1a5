"""infer on one rank: what a user sees."""

import json
import math
import os
import signal
import subprocess
import time

import pytest

BINARY = os.environ["CLUSTERBENCH_BIN"]
SMALL = ["--prompt", 16, "--new-tokens", 8, "--repetitions", 2]


def infer(*args):
    return subprocess.run([BINARY, "infer", "--library", "builtin", "--threads", "1", *map(str, args)],
                          capture_output=True, text=True, timeout=100, check=False)


def records_of(path):
    return json.loads(path.read_text())["records"]


def metric(record, name):
    found, = [m for m in record["metrics"] if m["name"] == name]
    return found


def failed(record):
    return {c["name"]: c["detail"] for c in record["checks"] if not c["passed"]}


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    out = tmp_path_factory.mktemp("sweep") / "i.json"
    done = infer(*SMALL, "--batch", "1,4", "--json", out)
    assert done.returncode == 0, done.stdout + done.stderr
    return records_of(out)


def test_a_batch_is_a_record_with_its_checks(sweep):
    assert [(r["params"]["batch"], r["params"]["new-tokens"]) for r in sweep] == [(1, 8), (4, 8)]
    for record in sweep:
        assert {c["name"] for c in record["checks"] if c["passed"]} == {"cache", "finite", "repeat"}
        assert failed(record) == {}
        assert record["facts"]["arrivals"].endswith("no scheduler, no tokenizer")


def test_heads_that_are_wider_than_the_model_are_within_the_limit(tmp_path):
    """The sums behind attention are over all heads, which the limit of `cache` did not know."""
    for seed in (39, 5, 37):
        done = infer("--hidden", 2, "--heads", 64, "--kv-heads", 64, "--head-dim", 128, "--feed-forward", 2, "--layers", 2,
                     "--prompt", 20, "--new-tokens", 6, "--repetitions", 1, "--seed", seed, "--json", tmp_path / "i.json")
        assert done.returncode == 0, done.stdout + done.stderr


def bounded(record):
    """Whether the probe was at least as fast as the steps; else there is neither a ceiling nor a share, and a note."""
    names = [m["name"] for m in record["metrics"]]
    has = "share_of_memory_bound" in names
    assert has == ("ceiling" in metric(record, "bytes_per_second")) == ("ceiling" in metric(record, "decode_tokens_per_second"))
    assert has or any("no ceiling and no share" in n for n in record["notes"])
    return has


def test_no_figure_exceeds_its_ceiling(tmp_path):
    """Threads that are woken late cost a probe of microseconds more than it takes."""
    for number in range(6):
        out = tmp_path / f"{number}.json"
        done = subprocess.run([BINARY, "infer", "--quiet", "--prompt", "4", "--new-tokens", "4", "--json", out], capture_output=True,
                              text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stderr
        record, = records_of(out)
        if bounded(record):
            assert max(metric(record, "share_of_memory_bound")["samples"]) <= 1.05
        for m in record["metrics"]:
            if "ceiling" in m:
                assert max(m["samples"]) <= 1.05 * m["ceiling"]["value"], m


@pytest.mark.parametrize("at, batch", [(0, 1), (1, 4)])
def test_figures_follow_from_one_another(sweep, at, batch):
    record = sweep[at]
    first = metric(record, "time_to_first_token_seconds")["samples"]
    steps = metric(record, "time_per_output_token_seconds")["samples"]
    assert len(first) == 2 and len(steps) == 2 * 7  # the first new token is the prompt's
    assert metric(record, "prefill_tokens_per_second")["samples"] == pytest.approx([16 * batch / s for s in first])
    assert metric(record, "decode_tokens_per_second")["samples"] == pytest.approx([batch / s for s in steps])
    # fp32: 2 layers · 2 · 2 heads · 16 elements of a token; 16 + 8 − 1 positions.
    assert metric(record, "kv_cache_bytes")["samples"] == [512 * 23 * batch]
    weights = 4 * (2 * 49152 + 32768 + 5 * 64)
    bytes_of = [weights + batch * 512 * (17 + i % 7) for i in range(14)]
    assert metric(record, "bytes_per_second")["samples"] == pytest.approx([b / s for b, s in zip(bytes_of, steps)])
    assert metric(record, "bytes_per_token")["samples"] == [pytest.approx(sum(bytes_of) / 14 / batch)]
    if bounded(record):
        read = metric(record, "bytes_per_second")["ceiling"]["value"]
        assert metric(record, "share_of_memory_bound")["samples"] == pytest.approx([b / s / read for b, s in zip(bytes_of, steps)])
    assert "exposed_communication_seconds" not in {m["name"] for m in record["metrics"]}  # nothing is exchanged


def test_two_runs_generate_the_same_tokens_and_another_seed_others(sweep, tmp_path):
    digests = []
    for args in (["--batch", 4], ["--batch", 4, "--seed", 2]):
        out = tmp_path / "i.json"
        assert infer(*SMALL, *args, "--json", out).returncode == 0
        digests.append(records_of(out)[0]["facts"]["tokens_digest"])
    assert digests[0] == sweep[1]["facts"]["tokens_digest"] != digests[1]


def test_a_flipped_bit_of_the_cache_is_found_by_both_checks(tmp_path):
    out = tmp_path / "i.json"
    done = infer(*SMALL, "--inject-fault", "bitflip@0:1", "--json", out)
    assert done.returncode == 1, done.stdout + done.stderr
    record, = records_of(out)
    found = failed(record)
    assert set(found) == {"cache", "repeat"} and record["metrics"] == []
    assert "keys and values of layer 1" in found["repeat"] and "without it" in found["cache"]


def test_a_nan_in_the_cache_is_located(tmp_path):
    out = tmp_path / "i.json"
    done = infer(*SMALL, "--inject-fault", "nan@0", "--json", out)
    assert done.returncode == 1, done.stdout + done.stderr
    record, = records_of(out)
    assert set(failed(record)) == {"finite"} and record["metrics"] == []
    assert "attention of layer 0, forward" in failed(record)["finite"] and "new token 1" in failed(record)["finite"]


@pytest.mark.parametrize("args, text", [
    (["--heads", 3, "--kv-heads", 2], "3 is no multiple of 2 --kv-heads"),
    (["--vocabulary", 15], "16 tokens at least: the logits of fewer cancel"),
    (["--inject-fault", "slow@0"], "slow@0 is no fault of a cache"),
    (["--inject-fault", "nan@5"], "there is no rank 5"),
    (["--inject-fault", "nan@0:9"], "there is no layer 9"),
    (["--tp", 2], "1 ranks are no multiple of --tp 2"),
    (["--new-tokens", 1], "--new-tokens"),
    (["--batch", "1,x"], "--batch"),
])
def test_what_cannot_be_is_told(args, text):
    done = infer(*args)
    assert done.returncode == 2 and text in done.stderr


def test_what_does_not_fit_into_memory_is_refused_before_a_weight_is_made():
    done = infer("--model", "llama-405b")
    assert done.returncode == 4 and "fewer --layers" in done.stdout + done.stderr


def test_a_profiles_step_is_proved_to_find_a_fault_and_accepted(tmp_path):
    why, ref = {"en": "a", "zh": "b"}, {"kind": "practice", "ref": {"en": "a", "zh": "b"}, "date": "2026-11"}
    profile = {"schema": "clusterbench.profile/1", "name": "i", "title": why,
               "steps": [{"id": "i", "case": "infer", "scope": "host", "deadline": "2m",
                          "params": {"threads": 1, "library": "builtin", "prompt": 16}}],
               "criteria": [{"id": "tokens", "step": "i", "domain": "host", "title": why, "why": why, "source": ref,
                             "metric": "decode_tokens_per_second", "min": 1}]}
    (tmp_path / "p.json").write_text(json.dumps(profile))
    done = subprocess.run([BINARY, "run", "./p.json", "--out", "c", "--launcher", "none", "--prove"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=100, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "planted fault found by check" in said, said


# Requests that arrive over time.

TINY = ["--prompt", 4, "--new-tokens", 4, "--repetitions", 2]


def under_load(out, *args):
    done = infer(*TINY, *args, "--json", out)
    assert done.returncode == 0, done.stdout + done.stderr
    return records_of(out)


def values(record, name):
    return metric(record, name)["samples"]


def test_requests_arrive_whether_or_not_earlier_ones_are_answered(tmp_path):
    """The times of a request add up, and a rate is a record beside the one without arrivals."""
    closed, slow, fast = under_load(tmp_path / "i.json", "--batch", 3, "--arrival-rate", "10,20", "--requests", 30)
    assert "arrival-rate" not in closed["params"] and "requests" not in closed["params"] and metric(closed, "decode_tokens_per_second")
    assert [(r["params"]["arrival-rate"], r["params"]["requests"]) for r in (slow, fast)] == [(10, 30), (20, 30)]
    for record, rate in ((slow, 10), (fast, 20)):
        assert {c["name"] for c in record["checks"] if c["passed"]} == {"cache", "finite", "repeat"} and failed(record) == {}
        assert "open loop" in record["facts"]["arrivals"] and "no continuous batching" in record["facts"]["arrivals"]
        wait, first, whole, each = (values(record, name) for name in
                                    ("queueing_seconds", "request_first_token_seconds", "request_seconds", "request_token_seconds"))
        assert len(wait) == len(first) == len(whole) == len(each) == 30
        assert all(0 <= w < f < a for w, f, a in zip(wait, first, whole))
        assert each == pytest.approx([(a - f) / 3 for a, f in zip(whole, first)])
        together = values(record, "requests_of_generation")
        assert sum(together) == 30 and max(together) <= 3
        offered, = values(record, "offered_requests_per_second")
        achieved, = values(record, "requests_per_second")
        # The mean of 30 exponential gaps; the seed is always the same.
        assert rate / 2 < offered < rate * 2 and achieved <= offered
        assert values(record, "generated_tokens_per_second") == [pytest.approx(achieved * 4)]
        assert values(record, "offered_tokens_per_second") == [pytest.approx(offered * 4)]
        p90, = values(record, "request_first_token_p90_seconds")
        assert sorted(first)[25] <= p90 <= sorted(first)[28]
        assert 0 < values(record, "busy_share")[0] <= 1
    assert values(slow, "offered_requests_per_second")[0] == pytest.approx(values(fast, "offered_requests_per_second")[0] / 2)  # one seed


def test_beyond_the_capacity_no_latency_is_given_and_the_reason_is(tmp_path):
    # Of a larger model, so that what lies between generations is little of the time on a busy machine too.
    _, record = under_load(tmp_path / "i.json", "--batch", 2, "--arrival-rate", "1e6", "--requests", 50, "--hidden", 512, "--layers", 4)
    names = {m["name"] for m in record["metrics"]}
    assert not names & {"queueing_seconds", "request_first_token_seconds", "request_first_token_p90_seconds", "request_seconds"}
    assert any("the queue grows without end" in n and "--requests alone" in n for n in record["notes"])
    # The first takes what has come by then, one or two, so one may be left for the last.
    assert set(values(record, "requests_of_generation")[1:-1]) == {2}
    assert values(record, "capacity_requests_per_second")[0] < 1e6 and values(record, "requests_per_second")[0] < 1e6
    assert values(record, "busy_share")[0] > 0.2
    assert len(values(record, "request_token_seconds")) == 50


def test_a_stall_is_in_the_latency_of_every_request_that_came_meanwhile(tmp_path):
    """A loop that asks when it has time (coordinated omission) would see one late answer for each stall: four in six seconds."""
    out = tmp_path / "i.json"
    process = subprocess.Popen([BINARY, "infer", "--library", "builtin", "--threads", "1", *map(str, TINY), "--arrival-rate", "20", "--requests", "120",
                                "--quiet", "--json", out])
    try:
        while process.poll() is None:
            time.sleep(1.3)
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.7)
            process.send_signal(signal.SIGCONT)
    finally:
        process.kill()
    assert process.returncode == 0
    _, record = records_of(out)
    late = [s for s in values(record, "request_first_token_seconds") if s > 0.2]
    # A quarter comes in the first 0.5 s of a stall of 0.7 s in 2 s: 30 of 120, within three deviations.
    assert len(late) >= 14, sorted(late)
    assert sum(s > 0.2 for s in values(record, "queueing_seconds")) >= 14


def test_a_fault_of_the_cache_leaves_the_load_without_numbers(tmp_path):
    out = tmp_path / "i.json"
    done = infer(*TINY, "--batch", 2, "--arrival-rate", 50, "--requests", 5, "--inject-fault", 0, "--json", out)
    assert done.returncode == 1, done.stdout + done.stderr
    _, record = records_of(out)
    assert set(failed(record)) == {"cache", "repeat"} and record["metrics"] == []


def test_requests_without_a_rate_are_refused():
    done = infer("--requests", 5)
    assert done.returncode == 2 and "needs --arrival-rate" in done.stderr


def test_a_load_that_cannot_end_before_the_deadline_is_refused_at_once():
    done = infer(*TINY, "--batch", "1,2", "--arrival-rate", 0.1, "--requests", 3, "--deadline", "59s")
    assert done.returncode == 2 and "--deadline" in done.stderr and "60.0 s" in done.stderr and "59.0 s" in done.stderr and "--requests" in done.stderr, done.stderr


def mixed(z):
    """SplitMix64 (Steele, Lea & Flood 2014), written again."""
    mask = (1 << 64) - 1
    z = (z + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def gaps_of(seed, replica, rate, count):
    of_replica = mixed(mixed(seed) ^ replica)
    drawn = [(mixed(of_replica ^ i) >> 11) / 2**53 for i in range(count)]
    return [-math.log1p(-u) / rate for u in drawn]


def test_each_wait_follows_from_the_arrivals_and_the_services_before(tmp_path):
    """Lindley's recursion: a request waits for what is left of the wait and the service before it. Taking it up costs some more."""
    _, record = under_load(tmp_path / "i.json", "--arrival-rate", 60, "--requests", 150, "--seed", 5, "--hidden", 512, "--layers", 4)
    if not any(m["name"] == "queueing_seconds" for m in record["metrics"]):
        pytest.skip(f"too slow now: {record['notes']}")
    waits, whole = values(record, "queueing_seconds"), values(record, "request_seconds")
    gaps = gaps_of(5, 0, 60, 150)
    assert values(record, "offered_requests_per_second") == [pytest.approx(150 / sum(gaps))]
    behind = [waits[i - 1] + (whole[i - 1] - waits[i - 1]) - gaps[i] for i in range(1, 150)]
    assert all(wait >= max(0, least) - 1e-9 for wait, least in zip(waits[1:], behind))
    excess = sorted(wait - max(0, least) for wait, least in zip(waits[1:], behind))
    assert excess[75] < 0.02  # seconds
