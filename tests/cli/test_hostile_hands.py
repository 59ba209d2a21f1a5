"""Editors, careless commands and accidents in a campaign's directory: no verdict, no evidence and no patience is lost."""

import csv
import json
import os
import shutil
import subprocess

import pytest

from campaigns import at_least, cb, criterion, files, profile, run_local, step, write_profile
from signing import SIGN, campaigns, forged, good, key, verify  # noqa: F401  (fixtures)

EVIDENCE = ("campaign.json", "journal.jsonl", "MANIFEST.sha256", "records/001-good.json", "records/new.json",
            "logs/001-good.out", "signoffs/001-customer.json", "site.json", "checklist.json", "issues.json",
            "issues.history.jsonl")


@pytest.mark.parametrize("name", EVIDENCE)
def test_no_output_replaces_evidence(good, name):
    before = files(good)
    for command, option in ("gate", "--json"), ("gate", "--md"), ("report", "--html"), ("report", "--csv"):
        done = cb(command, good, option, good / name)
        assert done.returncode == 2 and "is evidence of the campaign" in done.stderr, done.stderr
    assert files(good) == before


def test_other_files_may_be_written_beside_the_evidence(good):
    assert cb("gate", good, "--json", good / "mine.json").returncode == 0
    assert cb("report", good).returncode == 0 and (good / "report.html").exists()
    assert cb("gate", good).returncode == 0


@pytest.mark.parametrize("name", ["campaign.json", "journal.jsonl", "MANIFEST.sha256", "records/001-good.json",
                                  "signoffs/001-customer.json", "checklist.json", "site.json", "issues.history.jsonl"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(good, name):
    assert cb("signoff", good, *SIGN).returncode == 0
    (good / name).unlink(missing_ok=True)
    os.mkfifo(good / name)
    for command in (["gate", good], ["report", good, "--md", "-"], ["signoff", "verify", good], ["checklist", good],
                    ["compare", good, good]):
        assert cb(*command, timeout=20).returncode in (0, 1, 2, 3)
    assert cb("gate", good, timeout=20).returncode != 0


def test_a_profile_may_come_from_a_shell_substitution(tmp_path):
    path = write_profile(tmp_path, [step("s")], [at_least("c", "s", 1)])
    done = subprocess.run(["bash", "-c", f'"$CLUSTERBENCH_BIN" profile validate /dev/stdin < <(cat {path})'],
                          capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("content", ["", "<html>", "\ufeffx"])
def test_a_manifest_that_is_none_is_a_doubt(good, content):
    (good / "MANIFEST.sha256").write_text(content)
    done = cb("gate", good)
    assert done.returncode == 3 and done.stdout.startswith("? evidence"), done.stdout + done.stderr


# ---- signatures in the directory ----
def test_gate_believes_no_changed_signature(good, tmp_path):
    private, public = key(tmp_path, "li")
    assert cb("signoff", good, *SIGN, "--key", private).returncode == 0
    done = cb("gate", good)
    assert done.returncode == 0 and "? B. Li (customer): accepted" in done.stderr
    path = good / "signoffs/001-customer.json"
    path.write_text(path.read_text().replace("B. Li", "B. Lo"))
    done = cb("gate", good, "--json", tmp_path / "g.json", "--junit", tmp_path / "g.xml", "--prom", tmp_path / "g.prom")
    assert done.returncode == 3 and "a signature does not hold: signoffs/001-customer.json" in done.stdout
    assert "✗ B. Lo (customer)" in done.stderr
    assert json.loads((tmp_path / "g.json").read_text())["verdict"] == "incomplete"
    assert "does not hold" in (tmp_path / "g.xml").read_text()
    assert 'clusterbench_accepted{profile="test"} 0' in (tmp_path / "g.prom").read_text()


def test_gate_names_the_keys_that_have_signed(good, campaigns, tmp_path):
    measurer, measurer_public = key(tmp_path, "measurer")
    private, public = key(tmp_path, "li")
    out = tmp_path / "signed"
    assert run_local(campaigns / "good.json", out, "--key", measurer).returncode == 0
    assert cb("signoff", out, *SIGN, "--key", private).returncode == 0
    done = cb("gate", out, "--public-key", measurer_public)
    assert done.returncode == 0 and "? B. Li (customer)" in done.stderr
    done = cb("gate", out, "--public-key", measurer_public, "--public-key", public)
    assert done.returncode == 0 and "✓ B. Li (customer): accepted" in done.stderr and "key li.pub.pem" in done.stderr
    done = cb("gate", out, "--public-key", public)  # did not measure it
    assert done.returncode == 3 and "measured with another key" in done.stdout


def test_whoever_has_only_signed_did_not_measure(good, campaigns, tmp_path):
    """The other party measures with a key of its own, and signs with it: it is listed, but not as the measurer."""
    _, measurer_public = key(tmp_path, "measurer")
    private, public = key(tmp_path, "supplier")
    out = tmp_path / "signed"
    assert run_local(campaigns / "good.json", out, "--key", private).returncode == 0
    done = cb("gate", out, "--public-key", measurer_public, "--public-key", public)
    assert done.returncode == 3 and "measured with another key" in done.stdout
    assert cb("gate", out, "--public-key", public, "--public-key", measurer_public).returncode == 0


def test_gate_sees_what_was_added_after_the_signature(good):
    assert cb("signoff", good, *SIGN).returncode == 0
    (good / "site.json").write_text('{"schema": "clusterbench.site/1", "project": "another"}')
    done = cb("gate", good)
    assert done.returncode == 3 and "site.json was added" in done.stdout


@pytest.mark.parametrize("name", [" ", "\t", "\u200b", "\u3000", "B. Li\naccepted", "\u202eiL .B", "x" * 201])
def test_a_name_that_nobody_can_read_does_not_sign(good, name):
    done = cb("signoff", good, "--role", "customer", "--name", name, "--verdict", "accepted", "--yes")
    assert done.returncode == 2 and "--name" in done.stderr, done.stdout
    assert not (good / "signoffs").exists()


# ---- checklist ----
def test_a_change_that_cannot_be_written_down_changes_nothing(campaigns, tmp_path):
    """As on a full disk: the history cannot take its line, so the checklist stays what it was."""
    bad = shutil.copytree(campaigns / "bad", tmp_path / "bad")
    mark = ["checklist", bad, "--item", "labels", "--result", "pass", "--by", "B. Li"]
    history = bad / "checklist.history.jsonl"
    history.symlink_to("nowhere")
    assert cb(*mark).returncode == 4
    history.unlink()
    assert not (bad / "checklist.json").exists() and not (bad / "checklist.json.new").exists()
    assert cb(*mark).returncode == 0
    assert cb("checklist", bad).returncode == 0


def test_a_change_that_was_cut_off_is_completed(campaigns, tmp_path):
    """Killed when the history had its line and the checklist not yet its content."""
    bad = shutil.copytree(campaigns / "bad", tmp_path / "bad")
    mark = ["checklist", bad, "--item", "labels", "--by", "B. Li", "--result"]
    assert cb(*mark, "fail").returncode == 0
    before = (bad / "checklist.json").read_bytes()
    assert cb(*mark, "pass").returncode == 0
    after = (bad / "checklist.json").read_bytes()
    (bad / "checklist.json").write_bytes(before)
    (bad / "checklist.json.new").write_bytes(after)
    shown = cb("checklist", bad)
    assert shown.returncode == 2 and "give the next change" in shown.stderr
    assert cb(*mark, "pass").returncode == 0
    assert not (bad / "checklist.json.new").exists()
    assert cb("checklist", bad).returncode == 0


def test_of_two_who_add_an_issue_none_is_lost(good):
    """Each that was told to have been added is there, under a number of its own."""
    added = [subprocess.Popen([os.environ["CLUSTERBENCH_BIN"], "issue", "add", good, "--symptom", f"symptom{i}"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for i in range(16)]
    told = [line.split()[0] for p in added for line in p.communicate()[0].splitlines() if line.startswith("I-")]
    listed = [line.split()[0] for line in cb("issue", "list", good).stdout.splitlines() if line.startswith("I-")]
    assert told and sorted(told) == sorted(listed)


# ---- what stands on a campaign ----
@pytest.mark.parametrize("spoil, said", [
    (lambda d: (d / "MANIFEST.sha256").unlink(), "MANIFEST.sha256 is missing"),
    (lambda d: (d / "records/001-good.json").unlink(), "record file")])
def test_no_profile_is_captured_from_doubtful_evidence(good, spoil, said):
    spoil(good)
    done = cb("profile", "capture", good, "--name", "ours")
    assert done.returncode == 2 and said in done.stderr and done.stdout == ""


def test_no_profile_is_captured_from_wrong_data(tmp_path):
    path = write_profile(tmp_path, [step("s", params={"value": 2, "wrong-rank": 0})], [at_least("c", "s", 1)])
    run_local(path, tmp_path / "out")
    done = cb("profile", "capture", tmp_path / "out", "--name", "ours")
    assert done.returncode == 2 and "known to be good" in done.stderr


def test_a_limit_that_is_not_met_is_said_and_may_be_replaced(campaigns):
    done = cb("profile", "capture", campaigns / "bad", "--name", "ours")
    assert done.returncode == 0 and "does not meet good.rate" in done.stderr


def test_compare_names_a_limit_that_was_lowered(campaigns, tmp_path):
    document = json.loads((campaigns / "good.json").read_text())
    document["criteria"][0]["min"] = 1.5
    (tmp_path / "p.json").write_text(json.dumps(document))
    assert run_local(tmp_path / "p.json", tmp_path / "out").returncode == 0
    done = cb("compare", campaigns / "good", tmp_path / "out", "--json", tmp_path / "c.json")
    assert done.returncode == 3, done.stdout
    assert "criterion good.rate" in done.stdout and "asks for something else, min: 1 → 1.5" in done.stdout
    assert "asks for something else" in (tmp_path / "c.json").read_text()


def test_a_fail_that_a_lower_limit_lets_pass_is_not_better(campaigns, tmp_path):
    document = json.loads((campaigns / "bad.json").read_text())
    document["criteria"][0]["min"] = 1
    (tmp_path / "p.json").write_text(json.dumps(document))
    assert run_local(tmp_path / "p.json", tmp_path / "out").returncode == 0
    done = cb("compare", campaigns / "bad", tmp_path / "out")
    assert done.returncode == 3 and "? criterion good.rate: fail → pass" in done.stdout, done.stdout


def test_gate_says_that_another_profile_judged(campaigns, tmp_path):
    document = json.loads((campaigns / "good.json").read_text())
    document["name"], document["criteria"][0]["min"] = "weaker", 1.1
    (tmp_path / "p.json").write_text(json.dumps(document))
    done = cb("gate", campaigns / "good", "--profile", tmp_path / "p.json", "--json", tmp_path / "g.json",
              "--prom", tmp_path / "g.prom", "--md", tmp_path / "g.md")
    assert done.returncode == 0
    assert "judged by weaker, not by the campaign's own profile" in done.stdout.splitlines()[-1]
    assert json.loads((tmp_path / "g.json").read_text())["judged_by"] == "weaker"
    assert 'clusterbench_accepted{profile="weaker"} 1' in (tmp_path / "g.prom").read_text()
    assert "· weaker" in (tmp_path / "g.md").read_text()


def test_a_retest_of_another_step_closes_no_issue(campaigns, tmp_path):
    bad = shutil.copytree(campaigns / "bad", tmp_path / "bad")
    assert cb("issue", "add", bad, "--from-failures").returncode == 0
    easier = profile([step("good", params={"value": 4})], [at_least("good.rate", "good", 3)])
    (tmp_path / "p.json").write_text(json.dumps(easier))
    assert run_local(tmp_path / "p.json", tmp_path / "retest").returncode == 0
    done = cb("issue", "update", bad, "--id", "I-001", "--retest", tmp_path / "retest")
    assert done.returncode == 2 and "good.rate was not measured there" in done.stderr, done.stderr


# ---- what other programs read ----
def test_scripted_figures_are_marked_in_every_format(good, tmp_path):
    out = {name: tmp_path / name for name in ("json", "junit", "prom", "csv")}
    assert cb("gate", good, *(w for name, path in out.items() for w in (f"--{name}", path))).returncode == 0
    text = {name: path.read_text() for name, path in out.items()}
    assert json.loads(text["json"])["test_profile"] is True
    assert 'name="test profile"' in text["junit"] and "Test profile: scripted figures" in text["junit"]
    assert "clusterbench_test_profile 1" in text["prom"]
    rows = list(csv.DictReader(text["csv"].splitlines()))
    assert (rows[0]["step"], rows[0]["point"], rows[0]["state"]) == ("verdict", "test profile", "accepted")
    assert (rows[1]["case"], rows[1]["state"], rows[1]["median"], rows[1]["limit"]) == ("good.rate", "pass", "2", "1")


def test_the_verdict_lines_of_the_table_say_what_gate_says(tmp_path):
    path = write_profile(tmp_path, [step("good")], [at_least("good.rate", "good", 2.4)])
    assert run_local(path, tmp_path / "out").returncode == 1
    assert cb("gate", tmp_path / "out", "--csv", tmp_path / "x.csv").returncode == 1
    rows = [r for r in csv.DictReader((tmp_path / "x.csv").open()) if r["step"] == "verdict"]
    assert [r["state"] for r in rows] == ["not-accepted", "fail"]
    assert rows[1]["host"] == os.uname().nodename


# ---- texts ----
def test_a_step_that_is_not_there_is_said_once(good, tmp_path):
    path = write_profile(tmp_path, [step("good"), step("more")],
                         [at_least("good.rate", "good", 1), at_least("more.rate", "more", 1)])
    done = cb("gate", good, "--profile", path)
    line = next(line for line in done.stdout.splitlines() if "more.rate" in line)
    assert done.returncode == 3 and "run this profile anew" in line and "contributed nothing" not in line


def test_a_step_with_other_parameters_is_not_said_to_be_cured_by_resume(good, tmp_path):
    path = write_profile(tmp_path, [step("good", params={"value": 2, "samples": 30})], [at_least("good.rate", "good", 1)])
    done = cb("gate", good, "--profile", path)
    assert done.returncode == 3 and "counts as not measured: it ran with samples 20" in done.stdout
    assert "has not run" not in done.stdout and "--resume" not in done.stdout


def test_an_errored_step_is_said_once(tmp_path):
    path = write_profile(tmp_path, [step("s", params={"value": 2, "failing-rank": 0})], [at_least("c", "s", 1)])
    done = run_local(path, tmp_path / "out")
    assert done.returncode == 3 and done.stdout.count("fails as it was told") == 1, done.stdout


def test_what_a_step_lacks_is_a_sentence(tmp_path):
    path = write_profile(tmp_path, [step("s"), step("extra", params={"value": 2, "skipping-rank": 0})], [at_least("c", "s", 1)])
    run_local(path, tmp_path / "out")
    for language, said in ("en", "Step extra: every job ends well"), ("zh", "步骤 extra：全部作业正常结束"):
        done = cb("report", tmp_path / "out", "--md", "-", "--lang", language)
        assert said in done.stdout and "is measured (step" not in done.stdout


# ---- run --redact ----
def test_run_keeps_no_values_where_asked(tmp_path):
    path = write_profile(tmp_path, [step("s", env={"MY_SETTING": "hidden4711"})], [at_least("c", "s", 1)])
    out = tmp_path / "out"
    environment = {**os.environ, "NCCL_TUNING": "hidden4712"}
    assert run_local(path, out, "--redact", env=environment).returncode == 0
    assert cb("gate", out).returncode == 0
    record = json.loads((out / "records/001-s.json").read_text())
    assert "hidden4712" not in json.dumps(record)
    assert set(record["run"]["environment"].values()) <= {"[redacted]"}
    assert str(path) not in json.dumps(json.loads((out / "campaign.json").read_text())["command"])
    assert cb("run", "--resume", out).returncode == 0
    assert len([e for e in (out / "journal.jsonl").read_text().splitlines() if '"event":"end"' in e]) == 1


def test_redacting_cannot_begin_in_the_middle(campaigns, tmp_path):
    out = shutil.copytree(campaigns / "good", tmp_path / "good")
    done = cb("run", "--resume", out, "--trust", "--redact")
    assert done.returncode == 2 and "--redact" in done.stderr
