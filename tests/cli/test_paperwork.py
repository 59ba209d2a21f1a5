"""`checklist`, `issue` and `compare`: what people add to a campaign, and what changed since an earlier one."""

import hashlib
import json
import shutil

import pytest

from test_bad_campaign import relink
from campaigns import at_least, cb, profile, run_local, step


def run(directory, name, value, limit=1.8):
    path = directory / f"{name}.json"
    text = profile([step("good", params={"value": value})], [at_least("good.rate", "good", limit)])
    text["checklist"] = [{"id": "spares", "domain": "host", "text": {"en": "Spares", "zh": "备件"}}]
    path.write_text(json.dumps(text))
    out = directory / name
    assert run_local(path, out).returncode in (0, 1)
    return out


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    directory = tmp_path_factory.mktemp("base")
    return {name: run(directory, name, value) for name, value in (("fast", 2), ("slow", 1.7), ("again", 1.7))}


def scaled(campaign, directory, factor):
    """The same campaign as it would be had all been slower, with its digests made true again."""
    shutil.copytree(campaign, directory)
    journal = directory / "journal.jsonl"
    for path in (directory / "records").iterdir():
        old = hashlib.sha256(path.read_bytes()).hexdigest()
        document = json.loads(path.read_text())
        for record in document["records"]:
            for metric in record["metrics"]:
                metric["samples"] = [v * factor for v in metric["samples"]]
                metric["summary"] = {k: [x * factor for x in v] if k == "ci95" else v if k == "n" else v * factor
                                     for k, v in metric["summary"].items()}
        path.write_text(json.dumps(document))
        new = hashlib.sha256(path.read_bytes()).hexdigest()
        journal.write_text(journal.read_text().replace(old, new))
    relink(directory)
    return directory


@pytest.fixture
def slow(base, tmp_path):
    return shutil.copytree(base["slow"], tmp_path / "slow")


def test_the_checklist_is_filled_in_and_reported(slow, tmp_path):
    assert "1 of 1 items are open" in cb("checklist", slow).stdout
    done = cb("checklist", slow, "--item", "spares", "--result", "pass", "--by", "B. Li", "--remark", "shelf 3")
    assert done.returncode == 0 and "0 of 1 items are open" in done.stdout
    assert cb("report", slow, "--md", tmp_path / "r.md").returncode == 0
    assert "B. Li" in (tmp_path / "r.md").read_text()


@pytest.mark.parametrize("change, said", [
    (["--item", "spare", "--result", "pass", "--by", "x"], "did you mean spares?"),
    (["--item", "spares", "--result", "passed", "--by", "x"], "did you mean pass?"),
    (["--item", "spares", "--result", "pass"], "--by"),
])
def test_a_wrong_checklist_entry_is_an_error(slow, change, said):
    done = cb("checklist", slow, *change)
    assert done.returncode == 2 and said in done.stderr
    assert not (slow / "checklist.json").exists()


def test_issues_come_from_failures_and_close_with_a_passing_retest_only(slow, base, tmp_path):
    done = cb("issue", "add", slow, "--from-failures")
    assert done.returncode == 0 and "1 added, 1 in all" in done.stdout
    assert "0 added, 1 in all" in cb("issue", "add", slow, "--from-failures").stdout
    cb("issue", "update", slow, "--id", "I-001", "--owner", "vendor", "--old-part", "SN1", "--new-part", "SN2")
    done = cb("issue", "update", slow, "--id", "I-001", "--retest", base["slow"])
    assert done.returncode == 2 and "the campaign that found it" in done.stderr
    done = cb("issue", "update", slow, "--id", "I-001", "--retest", base["again"])
    assert done.returncode == 2 and "still fails" in done.stderr
    done = cb("issue", "update", slow, "--id", "I-001", "--retest",
              scaled(base["again"], tmp_path / "mended", 2))
    assert done.returncode == 0, done.stderr
    assert "0 open of 1" in cb("issue", "list", slow).stdout
    issue = json.loads((slow / "issues.json").read_text())["issues"][0]
    assert issue["criterion"] == "good.rate" and issue["closed"] and issue["new_part"] == "SN2"
    cb("report", slow, "--md", tmp_path / "r.md")
    assert "SN1 → SN2" in (tmp_path / "r.md").read_text()


def test_an_issue_by_hand(slow):
    assert cb("issue", "add", slow).returncode == 2
    done = cb("issue", "add", slow, "--symptom", "=cmd|'x'!A1 fan is loud", "--severity", "minor", "--host", "n1")
    assert done.returncode == 0 and "I-001" in done.stdout
    done = cb("issue", "update", slow, "--id", "I-002")
    assert done.returncode == 2 and "I-001" in done.stderr


def test_a_site_file_names_parties_and_clauses(slow, tmp_path):
    site = tmp_path / "site.json"
    site.write_text(json.dumps({"schema": "clusterbench.site/1", "project": "P-1", "customer": "Buyer Ltd",
                                "clauses": {"good.rate": "annex 2, item 14"}}))
    assert cb("report", slow, "--site", site, "--md", tmp_path / "r.md").returncode == 0
    text = (tmp_path / "r.md").read_text()
    assert "Buyer Ltd" in text and "annex 2, item 14" in text
    site.write_text(json.dumps({"schema": "clusterbench.site/1", "projekt": "P-1"}))
    done = cb("report", slow, "--site", site, "--md", tmp_path / "r.md")
    assert done.returncode == 2 and "did you mean project?" in done.stderr


def test_compare_names_what_became_slower(base, tmp_path):
    later = scaled(base["fast"], tmp_path / "later", 0.7)
    done = cb("compare", base["fast"], later, "--json", tmp_path / "c.json")
    assert done.returncode == 1, done.stdout
    assert "worse" in done.stdout and "-30.0 %" in done.stdout
    found = json.loads((tmp_path / "c.json").read_text())
    assert found["changes"][0]["verdict"] == "worse" and found["fingerprint"] == []
    assert cb("compare", later, base["fast"]).returncode == 0
    assert cb("compare", base["fast"], scaled(base["fast"], tmp_path / "near", 0.99)).returncode == 0
    same = cb("compare", base["fast"], base["fast"])
    assert same.returncode == 0 and "differs" not in same.stdout
    other = cb("compare", base["fast"], base["slow"])
    assert other.returncode == 1 and "profile.sha256 differs" in other.stdout
    assert "criterion good.rate: pass → fail" in other.stdout


def test_a_profile_is_captured_from_good_machines_and_judges_others(base, tmp_path):
    """The median is 2, its samples spread by 0.1 %: 3 % of room, so 1.94."""
    captured = tmp_path / "ours.json"
    done = cb("profile", "capture", base["fast"], base["fast"], "--name", "ours", "--out", captured)
    assert done.returncode == 0, done.stderr
    criterion = json.loads(captured.read_text())["criteria"][0]
    assert criterion["min"] == 1.94
    assert criterion["source"]["kind"] == "measured"
    assert "2 entities of 2 campaigns" in criterion["source"]["ref"]["en"]
    assert cb("profile", "validate", captured).returncode == 0
    assert cb("gate", base["fast"], "--profile", captured).returncode == 0
    assert cb("gate", scaled(base["fast"], tmp_path / "slowed", 0.85), "--profile", captured).returncode == 1
    # A campaign whose step had other parameters does not answer to the profile.
    assert cb("gate", base["slow"], "--profile", captured).returncode == 3
    done = cb("profile", "capture", base["fast"], base["slow"], "--name", "ours")
    assert done.returncode == 2 and "other steps" in done.stderr


def test_the_difference_between_two_profiles(tmp_path, base):
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    text = profile([step("good")], [at_least("a", "good", 1), at_least("b", "good", 1)])
    one.write_text(json.dumps(text))
    text["criteria"] = [at_least("a", "good", 2), at_least("c", "good", 1)]
    two.write_text(json.dumps(text))
    done = cb("profile", "diff", one, two)
    assert done.returncode == 1
    assert done.stdout.splitlines() == ["~ criteria[a].min: 1 → 2", "- criteria[b]", "+ criteria[c]", "3 differences"]
    assert cb("profile", "diff", one, one).returncode == 0


def test_a_standard_is_named_only_where_the_site_file_names_it(slow, tmp_path):
    site, page = tmp_path / "site.json", tmp_path / "r.md"
    for lang in ("en", "zh"):
        assert cb("report", slow, "--lang", lang, "--md", page).returncode == 0
        assert "GB/T" not in page.read_text()
    text = {"schema": "clusterbench.site/1", "standard": "GB/T 46346-2025"}
    for lang, said in (("en", "matched by their titles in its table of contents; its text was not read"),
                       ("zh", "仅依据其目录标题，未核对标准正文")):
        site.write_text(json.dumps(text))
        assert cb("report", slow, "--site", site, "--lang", lang, "--md", page).returncode == 0
        assert "GB/T 46346-2025 §7" in page.read_text() and said in page.read_text()
    site.write_text(json.dumps({**text, "standard": "GB/T 1"}))
    done = cb("report", slow, "--site", site, "--md", page)
    assert done.returncode == 2 and "only the items of GB/T 46346-2025 are known" in done.stderr
