"""Campaign directories that somebody or something spoilt: what is wrong is named, and nothing unmeasured passes."""

import hashlib
import json
import shutil

import pytest

from campaigns import at_least, cb, profile, run_local, step

CRITERIA = [at_least("first.rate", "first", 1), at_least("second.rate", "second", 1)]
SIGN = ("--verdict", "accepted", "--yes")


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory):
    directory = tmp_path_factory.mktemp("bad")
    (directory / "p.json").write_text(json.dumps(profile([step("first"), step("second")], CRITERIA)))
    for name in ("one", "other"):
        assert run_local(directory / "p.json", directory / name).returncode == 0
    return directory


@pytest.fixture
def campaign(campaigns, tmp_path):
    return shutil.copytree(campaigns / "one", tmp_path / "one")


def replace(campaign, text, name="records/001-first.json"):
    """Puts another record in and makes journal and manifest agree, as somebody with a program could."""
    change(campaign, name, text, "journal.jsonl")
    relink(campaign)


def relink(campaign):
    """Links the journal's lines anew, from campaign.json on, and puts both digests into the manifest."""
    previous, lines = digest(campaign / "campaign.json"), []
    manifest = [line.split("  ", 1)[1] for line in (campaign / "MANIFEST.sha256").read_text().splitlines()]
    files = "".join(f"{digest(campaign / name)}  {name}\n" for name in manifest
                    if name != "journal.jsonl" and (campaign / name).exists())
    for line in (campaign / "journal.jsonl").read_text().splitlines():
        event = {**json.loads(line), "previous": previous}
        if "files" in event:
            event["files"] = hashlib.sha256(files.encode()).hexdigest()
        lines.append(json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
        previous = hashlib.sha256(lines[-1].encode()).hexdigest()
    (campaign / "journal.jsonl").write_text("".join(line + "\n" for line in lines))
    (campaign / "MANIFEST.sha256").write_text(
        "".join(f"{digest(campaign / name)}  {name}\n" for name in manifest if (campaign / name).exists()))


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def change(campaign, name, text, *indices):
    """Writes a file and puts its new digest wherever the old one stood."""
    before = hashlib.sha256((campaign / name).read_bytes()).hexdigest()
    (campaign / name).write_text(text)
    after = hashlib.sha256((campaign / name).read_bytes()).hexdigest()
    for index in ("MANIFEST.sha256", *indices):
        (campaign / index).write_text((campaign / index).read_text().replace(before, after))


def record(campaign, name="records/001-first.json"):
    return json.loads((campaign / name).read_text())


def test_the_helper_alone_changes_no_verdict(campaign):
    replace(campaign, json.dumps(record(campaign)))
    done = cb("gate", campaign)
    assert done.returncode == 0 and done.stderr == ""


def test_a_record_of_another_campaign_is_not_believed(campaign, campaigns):
    shutil.copy(campaigns / "other/records/001-first.json", campaign / "records")
    done = cb("gate", campaign)
    assert done.returncode == 3
    assert "was changed after the run" in done.stdout and "manifest" in done.stderr


@pytest.mark.parametrize("day, seen", [("2020-01-01", True), (None, False)])
def test_a_record_of_another_time_is_named(campaign, day, seen):
    """A clock that is wrong, or a record that was slipped in with journal and manifest edited."""
    document = record(campaign)
    if day:
        document["run"]["started"] = document["run"]["ended"] = f"{day}T00:00:00Z"
    replace(campaign, json.dumps(document))
    done = cb("gate", campaign)
    assert ("records/001-first.json was taken at 2020-01-01T00:00:00Z" in done.stderr) == seen
    assert ("another campaign" in done.stderr) == seen
    assert cb("signoff", campaign, "--role", "customer", "--name", "x", *SIGN).returncode == (2 if seen else 0)


def test_a_record_of_another_host_is_named_and_blocks_the_signature(campaign):
    text = (campaign / "records/001-first.json").read_text()
    host = record(campaign)["hosts"][0]["host"]
    replace(campaign, text.replace(f'"{host}"', '"elsewhere"'))
    done = cb("gate", campaign)
    assert "records/002-second.json names the machine" in done.stderr and "elsewhere" in done.stderr
    assert cb("signoff", campaign, "--role", "customer", "--name", "x", *SIGN).returncode == 2


def test_a_copied_record_belongs_to_no_job(campaign):
    shutil.copy(campaign / "records/001-first.json", campaign / "records/001-first (copy).json")
    shutil.copy(campaign / "records/001-first.json", campaign / "records/003-third.json")
    done = cb("gate", campaign)
    assert done.returncode == 3
    assert "001-first (copy).json belongs to no job" in done.stderr
    assert "003-third.json belongs to no job" in done.stderr


def test_dots_in_a_name_lead_nowhere(campaign):
    """a..b is a name; only a part that is .. leads out."""
    for name, there in (("logs/a..b", True), ("logs/../../beside", False)):
        (campaign / name).write_text("x")
        with open(campaign / "MANIFEST.sha256", "a") as manifest:
            manifest.write(f"{digest(campaign / name)}  {name}\n")
        done = cb("gate", campaign)
        assert done.returncode == (0 if there else 3), done.stdout
        assert (f"{name} of the manifest is not there" in done.stderr) == (not there)


def test_a_missing_step_is_incomplete_and_named(campaign):
    (campaign / "records/002-second.json").unlink()
    done = cb("gate", campaign)
    assert done.returncode == 3
    assert "second" in done.stdout and "1 pass · 1 incomplete" in done.stdout
    assert "records/002-second.json of the manifest is not there" in done.stderr


def test_a_step_that_the_journal_lost_is_incomplete(campaign):
    lines = (campaign / "journal.jsonl").read_text().splitlines(keepends=True)
    (campaign / "journal.jsonl").write_text("".join(line for line in lines if "002-second" not in line))
    done = cb("gate", campaign)
    assert done.returncode == 3 and "step second" in done.stdout


def test_a_duplicated_step_is_refused(campaign, tmp_path):
    document = json.loads((campaign / "campaign.json").read_text())
    document["profile"]["steps"].append(document["profile"]["steps"][0])
    (campaign / "campaign.json").write_text(json.dumps(document))
    done = cb("gate", campaign)
    assert done.returncode == 2 and "first" in done.stderr
    (tmp_path / "twice.json").write_text(json.dumps(profile([step("first"), step("first")], CRITERIA[:1])))
    done = cb("profile", "validate", tmp_path / "twice.json")
    assert done.returncode == 2 and "first" in done.stderr


def test_a_line_of_the_journal_that_stands_twice_breaks_its_chain(campaign):
    lines = (campaign / "journal.jsonl").read_text().splitlines(keepends=True)
    (campaign / "journal.jsonl").write_text("".join(line + line for line in lines if "finished" not in line) + lines[-1])
    done = cb("gate", campaign)
    assert done.returncode == 3 and "does not follow from the one before" in done.stdout.splitlines()[0]


def sample(document, value):
    document["records"][0]["metrics"][0]["samples"][0] = value
    return json.dumps(document)  # writes NaN and Infinity as Python does


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e308, "fast", None, [1]])
def test_a_sample_that_is_no_number_is_no_measurement(campaign, value):
    replace(campaign, sample(record(campaign), value))
    done = cb("gate", campaign)
    assert done.returncode == 3
    assert "cannot be used" in done.stdout and "records/001-first.json" not in done.stdout.split("INCOMPLETE")[1]


@pytest.mark.parametrize("spoil", [
    lambda d: d["run"].update(ranks=-1),
    lambda d: d["records"][0]["metrics"][0].update(entity=-1),
    lambda d: d["records"][0]["metrics"][0].update(entity=999),
    lambda d: d["records"][0]["metrics"][0]["summary"].update(n=-5),
    lambda d: d.pop("records"),
    lambda d: d.update(schema="clusterbench.result/3"),
    lambda d: d.update(schema="somebody.else/1"),
])
def test_negative_counts_dangling_indices_and_newer_schemas_are_no_measurement(campaign, spoil):
    document = record(campaign)
    spoil(document)
    replace(campaign, json.dumps(document))
    done = cb("gate", campaign)
    assert done.returncode == 3 and "cannot be used" in done.stdout


def test_a_newer_schema_is_named_as_newer(campaign):
    document = record(campaign)
    document["schema"] = "clusterbench.result/3"
    replace(campaign, json.dumps(document))
    assert "newer" in cb("gate", campaign).stdout


def test_negative_samples_that_do_not_fit_their_summary_are_no_measurement(campaign):
    document = record(campaign)
    metric = document["records"][0]["metrics"][0]
    metric["samples"] = [-s for s in metric["samples"]]
    replace(campaign, json.dumps(document))
    done = cb("gate", campaign)
    assert done.returncode == 3 and "does not follow from the samples" in done.stdout


def test_negative_rates_fail(campaign):
    document = record(campaign)
    metric = document["records"][0]["metrics"][0]
    metric["samples"] = [-s for s in metric["samples"]]
    s = metric["summary"]
    metric["summary"] = {"n": s["n"], "stdev": s["stdev"], "ci95": [-s["ci95"][1], -s["ci95"][0]], "mean": -s["mean"],
                         "median": -s["median"], "min": -s["max"], "max": -s["min"], "p05": -s["p95"],
                         "p95": -s["p05"], "p99": quantile(sorted(metric["samples"]), 0.99)}
    replace(campaign, json.dumps(document))
    done = cb("gate", campaign)
    assert done.returncode == 1 and "✗ first.rate" in done.stdout


def quantile(ascending, q):
    place = q * (len(ascending) - 1)
    low = int(place)
    return ascending[low] + (place - low) * (ascending[min(low + 1, len(ascending) - 1)] - ascending[low])


def test_a_record_of_200_mb_is_answered(campaign):
    """Sparse, so that the disk does not decide how long this takes."""
    path = campaign / "records/001-first.json"
    with open(path, "r+b") as out:
        out.truncate(200 * 1024 * 1024)
    done = cb("gate", campaign, timeout=120)
    assert done.returncode == 3
    assert "was changed after the run" in done.stdout
    assert cb("report", campaign, "--html", campaign / "r.html", timeout=120).returncode == 0


@pytest.mark.parametrize("name", ["campaign.json", "journal.jsonl", "MANIFEST.sha256", "records/001-first.json",
                                  "issues.json", "checklist.json", "signoffs/001-customer.json"])
@pytest.mark.parametrize("junk", [b"", b"\x00" * 64, b"[" * 5000, b"{}\n", b"\xff\xfe<script>\x1b[2J"])
def test_junk_in_any_file_is_answered_without_a_crash(campaign, name, junk):
    (campaign / name).parent.mkdir(exist_ok=True)
    (campaign / name).write_bytes(junk)
    for command in (["gate"], ["report", "--md", "/dev/null"], ["issue", "list"], ["signoff", "verify"]):
        done = cb(*command[:2] if command[0] in ("issue", "signoff") else command[:1], campaign,
                  *(command[1:] if command[0] == "report" else []))
        assert done.returncode in (0, 1, 2, 3), (command, done.stderr)
        assert "\x1b" not in done.stdout + done.stderr


def forged(campaign, how, args=None):
    """The record with another ceiling, in English alone or with the sentence beside it; all digests agree."""
    document = json.loads((campaign / "records/001-first.json").read_text())
    ceiling = document["records"][0]["metrics"][0]["ceiling"]
    assert ceiling["say"] == {"id": "fake.ceiling", "args": []}
    ceiling["how"] = how
    if args is not None:
        ceiling["say"] = {"id": "said.of", "args": args}
    replace(campaign, json.dumps(document))


def test_two_languages_cannot_be_made_to_say_different_things(campaign):
    forged(campaign, "the peak of the data sheet")
    gate = cb("gate", campaign)
    assert gate.returncode == 3
    assert ('records[0].metrics[0].ceiling.say does not say its text: the text is "the peak of the data sheet", but its sentence fake.ceiling says '
            '"1.25 × the scripted value": one of them was changed') in gate.stdout
    for language in ("en", "zh"):
        page = campaign.parent / f"{language}.md"
        cb("report", campaign, "--lang", language, "--md", page)
        assert "the peak of the data sheet" in page.read_text()  # in what is wrong, in both
        assert ("无法使用" if language == "zh" else "cannot be used") in page.read_text()


def test_what_a_stranger_puts_into_a_sentence_is_shown_and_does_nothing(campaign):
    evil = "<script>alert(1)</script>\x1b[2J\u202e$\\input{x}$|**[a](javascript:1)"
    forged(campaign, f"{evil}: {evil}", [evil, evil])
    assert cb("gate", campaign).returncode == 0
    for language in ("en", "zh"):
        for kind in ("html", "md"):
            page = campaign.parent / f"{language}.{kind}"
            assert cb("report", campaign, "--lang", language, f"--{kind}", page).returncode == 0
            text = page.read_text()
            assert "alert(1)" in text
            assert not any(bad in text for bad in ("<script>alert", "\x1b", "\u202e"))
            assert kind == "html" or "[a](javascript" not in text


def test_a_sentence_of_a_newer_version_is_shown_in_its_english(campaign):
    document = json.loads((campaign / "records/001-first.json").read_text())
    document["records"][0]["metrics"][0]["ceiling"]["say"] = {"id": "of.the_future", "args": []}
    replace(campaign, json.dumps(document))
    page = campaign.parent / "zh.md"
    assert cb("gate", campaign).returncode == 0
    assert cb("report", campaign, "--lang", "zh", "--md", page).returncode == 0
    assert "1.25 × the scripted value" in page.read_text()
