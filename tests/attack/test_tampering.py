"""Falsified campaigns, drawn at random: ACCEPTED only for untouched healthy ones.

CLUSTERBENCH_ATTACKS is the number of campaigns (2,000), CLUSTERBENCH_ATTACK_SEED the first seed (1). A finding names
its seed: CLUSTERBENCH_ATTACKS=1 CLUSTERBENCH_ATTACK_SEED=N repeats it alone.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import tampering  # noqa: E402
from campaigns import SOURCE, at_least, cb, criterion, run_local, step, write_profile  # noqa: E402

COUNT = int(os.environ.get("CLUSTERBENCH_ATTACKS", "2000"))
FIRST = int(os.environ.get("CLUSTERBENCH_ATTACK_SEED", "1"))
BATCH = 100


def healthy_profile(directory):
    return write_profile(
        directory,
        [step("first"), step("second", params={"value": 3, "size": ["1K", "2K"]})],
        [at_least("first.rate", "first", 1), criterion("first.data", "first", check="data"),
         at_least("second.rate", "second", 2.5), criterion("second.data", "second", check="data")])


# Each is not to be accepted as it is, for another reason.
UNHEALTHY = {
    "wrong": [step("first"), step("second", params={"value": 3, "wrong-rank": 0})],
    "slow": [step("first"), step("second", params={"value": 1})],
    "failed": [step("first"), step("second", params={"value": 3, "failing-rank": 0})],
    "skipped": [step("first"), step("second", params={"value": 3, "skipping-rank": 0})],
}


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    """Campaigns by name, and for each one whose files can be mixed in: healthy ones of the same profile."""
    root = tmp_path_factory.mktemp("attack")
    (root / "healthy").mkdir()
    profile = healthy_profile(root / "healthy")
    key = make_key(root)
    for name, more in (("one", []), ("other", []), ("keyed", key), ("keyed-other", key)):
        assert run_local(profile, root / name, "--prove", *more).returncode == 0
    for name, steps in UNHEALTHY.items():
        (root / f"p-{name}").mkdir()
        rules = [at_least("first.rate", "first", 1), at_least("second.rate", "second", 2.5),
                 criterion("second.data", "second", check="data")]
        path = write_profile(root / f"p-{name}", steps, rules)
        assert run_local(path, root / name).returncode in (1, 3)
        assert run_local(path, root / f"keyed-{name}", *key).returncode in (1, 3)
    return root


def make_key(root):
    """--key of a fresh private key; its public half is root/public.pem."""
    for arguments in (["genpkey", "-algorithm", "ed25519", "-out", root / "key.pem"],
                      ["pkey", "-in", root / "key.pem", "-pubout", "-out", root / "public.pem"]):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)
    return ["--key", root / "key.pem"]


HEALTHY = ("one", "keyed")
NAMES = ["one"] * 3 + ["keyed"] * 3 + [*UNHEALTHY] + [f"keyed-{name}" for name in UNHEALTHY]


def attempt(bases, seed):
    """One falsified campaign: what was done to it, and how gate ended."""
    lot = random.Random(seed)
    name = lot.choice(NAMES)
    keyed = name.startswith("keyed")
    changes = tampering.CHANGES + (2 * tampering.SEALED if keyed else [])
    with tampering.scratch_copy(bases / name) as campaign:
        done = []
        for change in lot.choices(changes, k=lot.choice([1, 1, 1, 2, 3])):
            done.append(tampering.apply(change, campaign, bases / ("keyed-other" if keyed else "other"), lot))
        if name in HEALTHY and tampering.same_files(campaign, bases / name):
            return seed, name, done, None
        gate = cb("gate", campaign, *(["--public-key", bases / "public.pem"] if keyed else []),
                  *lot.choice([[], [], ["--md", campaign / "gate.md"], ["--lang", "zh"]]))
        return seed, name, done, gate


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, BATCH))
def test_no_falsified_campaign_is_accepted(bases, first):
    seeds = range(first, min(first + BATCH, FIRST + COUNT))
    codes, accepted = collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for seed, name, done, gate in pool.map(lambda s: attempt(bases, s), seeds):
            if gate is None:
                codes["unchanged"] += 1
                continue
            codes[gate.returncode] += 1
            if gate.returncode == 0 or "ACCEPTED" in gate.stdout.replace("NOT ACCEPTED", ""):
                accepted.append((seed, name, done, gate.stdout[-400:]))
            assert gate.returncode in (0, 1, 2, 3), (seed, name, done, gate.returncode, gate.stderr)
            assert gate.returncode == 1 or gate.stdout + gate.stderr, (seed, "says nothing")
    print("seeds from", first, dict(codes))
    assert not accepted, accepted[:5]


def test_the_healthy_campaigns_are_accepted(bases):
    for name, more in (("one", []), ("keyed", []), ("keyed", ["--public-key", bases / "public.pem"])):
        done = cb("gate", bases / name, *more)
        assert done.returncode == 0 and "✓ proofs" in done.stdout, done.stdout


# ---- sealed again without a key: what docs/guide/threat-model.md promises, and no more ----
def test_what_does_not_fit_its_step_counts_nowhere_though_all_digests_agree(bases):
    for seed in range(FIRST, FIRST + max(COUNT // 10, 1)):
        lot = random.Random(seed)
        with tampering.scratch_copy(bases / "one") as campaign:
            done = tampering.apply(lot.choice(tampering.BOUND), campaign, bases / "other", lot)
            if done:
                gate = cb("gate", campaign)
                assert gate.returncode in (1, 2, 3), (seed, done, gate.stdout)


@pytest.fixture(scope="module")
def soaks(tmp_path_factory):
    root = tmp_path_factory.mktemp("soaks")
    profile = soak_profile(root)
    for name in ("one", "other"):
        assert run_local(profile, root / name).returncode == 0
    return root


def soak_profile(directory):
    rules = [at_least("load.rate", "load", 1), criterion("load.data", "load", check="data"),
             {"id": "none", "soak": "interruptions", "max": 2, "domain": "stability", "why": "test", "source": SOURCE}]
    path = pathlib.Path(write_profile(directory, [step("info", case="info", params={}), step("events", case="events", params={}),
                                                  step("load")], rules))
    value = json.loads(path.read_text())
    value["soak"] = {"steps": ["events", "load"], "for": "1s", "every": "0.2s"}
    path.write_text(json.dumps(value))
    return path


def spoil_text(*change):
    def spoil(path):
        path.write_text(path.read_text().replace(*change, 1))
    return spoil


@pytest.mark.parametrize("spoil", [
    pathlib.Path.unlink, spoil_text('"samples": [', '"samples": [NaN,'), spoil_text('"samples": [', '"samples": [null,'),
    spoil_text("bytes_per_second", "bytes"), spoil_text('"case": "fake"', '"case": "gemm"'), spoil_text("result/", "result/9"),
    lambda path: path.write_text(""),
], ids=["gone", "nan", "null", "unit", "case", "schema", "empty"])
def test_a_cycle_of_a_soak_whose_record_says_nothing_is_a_gap_though_interruptions_are_judged(soaks, spoil):
    assert cb("gate", soaks / "one").returncode == 0
    with tampering.scratch_copy(soaks / "one") as campaign:
        path = next((campaign / "records").glob("*load~0003*.json"))
        before = path.read_bytes()
        spoil(path)
        assert not path.exists() or path.read_bytes() != before
        tampering.seal(campaign)
        gate = cb("gate", campaign)
        assert gate.returncode in (2, 3), gate.stdout


def test_what_does_not_fit_a_cycle_counts_nowhere(soaks):
    for seed in range(FIRST, FIRST + max(COUNT // 40, 1)):
        lot = random.Random(seed)
        with tampering.scratch_copy(soaks / "one") as campaign:
            done = tampering.apply(lot.choice(tampering.BOUND), campaign, soaks / "other", lot)
            if done and not tampering.same_files(campaign, soaks / "one"):
                gate = cb("gate", campaign)
                assert gate.returncode in (1, 2, 3), (seed, done, gate.stdout)


def test_a_campaign_without_a_key_is_never_taken_for_one_with_a_key(bases):
    assert cb("gate", bases / "one", "--public-key", bases / "public.pem").returncode == 3
    for seed in range(FIRST, FIRST + max(COUNT // 40, 1)):
        lot = random.Random(seed)
        with tampering.scratch_copy(bases / "one") as campaign:
            done = tampering.apply(lot.choice(tampering.SEALED), campaign, bases / "other", lot)
            gate = cb("gate", campaign, "--public-key", bases / "public.pem")
            assert gate.returncode in (1, 2, 3), (seed, done, gate.stdout)


@pytest.mark.parametrize("file", ["records/001-first.json", "proofs/001-first.json", "logs/001-first.err"])
def test_a_file_that_was_altered_and_sealed_again_is_seen_with_a_key_alone(bases, file):
    """Said in the threat model, and shown here so that nobody believes otherwise."""
    for name, more, code in (("one", [], 0), ("keyed", ["--public-key", bases / "public.pem"], 3)):
        with tampering.scratch_copy(bases / name) as campaign:
            path = campaign / file
            path.write_text(path.read_text() + " ")
            tampering.seal(campaign)
            assert cb("gate", campaign, *more).returncode == code


# ---- waivers and comparisons ----
def waiver(lot):
    """A waiver as generous as the reader allows, with one thing about it drawn at random."""
    value = {"id": "W-1", "criterion": lot.choice(["second.rate", "second.data", "first.rate", "*", "nothing"]),
             "scope": lot.choice(["*", "*:rank 0", f"{os.uname().nodename}*", "node*", "?"]), "reason": "r",
             "approver": "A", "ticket": "T", "limit": lot.choice([0, -1e308, 1e308, 0.5, 1, 2, 1000, "1 GB/s"]),
             "expires": lot.choice(["2099-12-31", "9999-12-31", "2020-01-01"])}
    if lot.random() < 0.2:
        value.pop(lot.choice(list(value)))
    return value


@pytest.mark.parametrize("name", ["wrong", "failed", "skipped"])
def test_no_waiver_stands_for_wrong_or_missing_data(bases, tmp_path, name):
    for seed in range(FIRST, FIRST + max(COUNT // 40, 1)):
        lot = random.Random(seed)
        path = tmp_path / "waivers.json"
        tampering.save(path, {"schema": "clusterbench.waivers/1", "waivers": [waiver(lot) for _ in range(lot.choice([1, 2]))]})
        assert cb("gate", bases / name, "--waivers", path).returncode in (1, 2, 3), (seed, path.read_text())


@pytest.mark.parametrize("name", UNHEALTHY)
def test_a_campaign_that_is_worse_never_compares_as_equal(bases, name):
    assert cb("compare", bases / "one", bases / name).returncode in (1, 3)


def test_a_falsified_campaign_never_compares_as_equal(bases):
    """On either side: a comparison with doubtful evidence says nothing."""
    codes = collections.Counter()
    for seed in range(FIRST, FIRST + max(COUNT // 20, 1)):
        lot = random.Random(seed)
        with tampering.scratch_copy(bases / "one") as campaign:
            done = tampering.apply(lot.choice(tampering.CHANGES), campaign, bases / "other", lot)
            if done is None or tampering.same_files(campaign, bases / "one"):
                continue
            sides = [bases / "one", campaign]
            lot.shuffle(sides)
            compared = cb("compare", *lot.choice([sides, [campaign, campaign]]))
            codes[compared.returncode] += 1
            assert compared.returncode in (1, 2, 3), (seed, done, compared.stdout[-400:])
    print("seeds from", FIRST, dict(codes))


def test_a_part_that_vanished_is_seen_by_compare(bases):
    for seed in range(FIRST, FIRST + max(COUNT // 40, 1)):
        lot = random.Random(seed)
        with tampering.scratch_copy(bases / "one") as campaign:
            done = tampering.apply(tampering.drop_entry, campaign, bases / "other", lot)
            if done:
                assert cb("compare", bases / "one", campaign).returncode in (1, 2, 3), (seed, done)
