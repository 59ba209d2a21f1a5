"""Evidence that does not fit is noticed, stands in the first line of every output and is never accepted."""

import json
import os
import re
import shutil
import subprocess

import pytest

from campaigns import at_least, cb, profile, run_local, step, write_profile
from test_bad_campaign import change, digest, relink

CRITERIA = [at_least("first.rate", "first", 1), at_least("second.rate", "second", 1)]
STEPS = [step("first", params={"value": 2, "size": "1K"}), step("second", params={"value": 3, "size": ["1K", "4K"]})]


def keys(directory, name):
    key = directory / f"{name}.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
    subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", directory / f"{name}.pub"], check=True)
    return key, directory / f"{name}.pub"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    directory = tmp_path_factory.mktemp("evidence")
    (directory / "p.json").write_text(json.dumps(profile(STEPS, CRITERIA)))
    assert run_local(directory / "p.json", directory / "plain").returncode == 0
    key, _ = keys(directory, "measurer")
    keys(directory, "stranger")
    assert run_local(directory / "p.json", directory / "signed", "--key", key).returncode == 0
    return directory


@pytest.fixture
def campaign(made, tmp_path):
    return shutil.copytree(made / "plain", tmp_path / "campaign")


@pytest.fixture
def signed(made, tmp_path):
    return shutil.copytree(made / "signed", tmp_path / "signed")


def lower_the_limits(campaign):
    path = campaign / "campaign.json"
    document = json.loads(path.read_text())
    document["profile"]["criteria"][0]["min"] = 0.5
    # As the program writes it, so that the sum is right.
    text = json.dumps(document["profile"], sort_keys=True, indent=1, ensure_ascii=False) + "\n"
    import hashlib
    document["profile_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False) + "\n")


def remove_manifest(campaign):
    (campaign / "MANIFEST.sha256").unlink()


def lower_and_remove(campaign):
    lower_the_limits(campaign)
    remove_manifest(campaign)


def empty_manifest(campaign):
    (campaign / "MANIFEST.sha256").write_text("")


def wrong_manifest(campaign):
    text = (campaign / "MANIFEST.sha256").read_text()
    (campaign / "MANIFEST.sha256").write_text(re.sub(r"^[0-9a-f]{64}", "0" * 64, text, flags=re.M))


def drop_a_file_from_the_manifest(campaign):
    lines = (campaign / "MANIFEST.sha256").read_text().splitlines(keepends=True)
    (campaign / "MANIFEST.sha256").write_text("".join(line for line in lines if "001-first.json" not in line))


def unfinish(campaign):
    lines = (campaign / "journal.jsonl").read_text().splitlines(keepends=True)
    assert "finished" in lines[-1]
    (campaign / "journal.jsonl").write_text("".join(lines[:-1]))
    relink(campaign)


def of_another_year(campaign):
    name = "records/001-first.json"
    document = json.loads((campaign / name).read_text())
    document["run"]["started"] = document["run"]["ended"] = "2020-01-01T00:00:00Z"
    change(campaign, name, json.dumps(document), "journal.jsonl")
    relink(campaign)


def unlink_the_journal(campaign):
    lines = [json.loads(line) for line in (campaign / "journal.jsonl").read_text().splitlines()]
    (campaign / "journal.jsonl").write_text(
        "".join(json.dumps({k: v for k, v in e.items() if k != "previous"}) + "\n" for e in lines))
    manifest = campaign / "MANIFEST.sha256"
    manifest.write_text(re.sub(r"[0-9a-f]{64}  journal", digest(campaign / "journal.jsonl") + "  journal",
                               manifest.read_text()))


TAMPERINGS = {
    lower_the_limits: "campaign.json is not what the journal began with",
    lower_and_remove: "campaign.json is not what the journal began with",
    remove_manifest: "MANIFEST.sha256 is missing or empty",
    empty_manifest: "MANIFEST.sha256 is missing or empty",
    wrong_manifest: "is not what the manifest says",
    drop_a_file_from_the_manifest: "records/001-first.json is not in the manifest",
    unfinish: "the campaign has not ended",
    of_another_year: "was taken at 2020-01-01T00:00:00Z",
    unlink_the_journal: "the journal has lost the links",
}


@pytest.mark.parametrize("tamper", TAMPERINGS, ids=lambda f: f.__name__)
def test_what_is_noticed_is_never_accepted(campaign, tamper):
    assert cb("gate", campaign).returncode == 0
    tamper(campaign)
    done = cb("gate", campaign)
    assert done.returncode == 3, done.stdout
    assert done.stdout.startswith("? evidence")
    assert TAMPERINGS[tamper] in done.stdout
    assert done.stdout.splitlines()[-1].startswith("INCOMPLETE")


def test_every_output_begins_with_it(campaign, tmp_path):
    empty_manifest(campaign)
    said = "MANIFEST.sha256 is missing or empty"
    out = {name: tmp_path / f"x.{name}" for name in ("html", "md", "json", "csv", "junit", "prom", "summary")}
    assert cb("report", campaign, "--html", out["html"], "--md", out["md"]).returncode == 0
    assert cb("gate", campaign, "--json", out["json"], "--csv", out["csv"], "--junit", out["junit"],
              "--prom", out["prom"], "--md", out["summary"]).returncode == 3
    text = {name: path.read_text().replace("\\", "") for name, path in out.items()}
    assert said in text["md"].splitlines()[2] and "Incomplete" in text["md"].splitlines()[2]
    assert said in text["html"] and text["html"].index(said) < text["html"].index("Criteria by result")
    document = json.loads(text["json"])
    assert document["verdict"] == "incomplete" and document["warnings"] == [said]
    assert text["csv"].splitlines()[1].startswith(f"evidence,doubt,,{said}")
    assert f'<error message="{said}"' in text["junit"] and "clusterbench.evidence" in text["junit"]
    assert "clusterbench_evidence_doubts 1" in text["prom"] and 'clusterbench_accepted{profile="test"} 0' in text["prom"]
    assert said in text["summary"].splitlines()[2]
    assert cb("report", campaign, "--md", out["md"], "--lang", "zh").returncode == 0
    assert "缺失或为空" in out["md"].read_text()


def test_a_failing_criterion_stays_a_failure_whatever_the_evidence(tmp_path):
    path = write_profile(tmp_path, [step("s", params={"value": 2, "wrong-rank": 0})], [at_least("c", "s", 1)])
    assert run_local(path, tmp_path / "out").returncode == 1
    empty_manifest(tmp_path / "out")
    assert cb("gate", tmp_path / "out").returncode == 1


def put_record(campaign, source, target):
    change(campaign, target, (campaign / source).read_text(), "journal.jsonl")
    relink(campaign)


def test_a_record_of_another_step_is_not_believed(campaign):
    put_record(campaign, "records/002-second.json", "records/001-first.json")
    done = cb("gate", campaign)
    assert done.returncode == 3
    assert "is not of this job: it was taken with" in done.stdout or "is not of this job: its command" in done.stdout


@pytest.mark.parametrize("spoil, said", [
    (lambda d: [r.update(case="gemm") for r in d["records"]], "it is of the case gemm, the step's case is fake"),
    (lambda d: [r["params"].update(size=2048) for r in d["records"]], "it was taken with size 2048, the step has 1K"),
    (lambda d: d["run"]["argv"].__setitem__(d["run"]["argv"].index("--value") + 1, "5"),
     "its command has --value 5, the step has 2"),
    (lambda d: d["run"]["argv"].extend(["--samples", "9"]), "its command has --samples 9, the step has none"),
    (lambda d: d["run"].update(ranks=2), "2 ranks ran, the step has 1"),
])
def test_a_record_with_other_circumstances_is_not_believed(campaign, spoil, said):
    name = "records/001-first.json"
    document = json.loads((campaign / name).read_text())
    spoil(document)
    change(campaign, name, json.dumps(document), "journal.jsonl")
    relink(campaign)
    done = cb("gate", campaign)
    assert done.returncode == 3 and said in done.stdout, done.stdout
    assert "? first.rate" in done.stdout and "✓ second.rate" in done.stdout


@pytest.mark.parametrize("spoil, said", [
    (lambda e: e.update(fingerprint="0" * 64), "fingerprint"),
    (lambda e: e["command"].extend(["--samples", "9"]), "--samples 9, the step has none"),
])
def test_a_command_that_is_not_the_steps_is_not_believed(campaign, spoil, said):
    lines = [json.loads(line) for line in (campaign / "journal.jsonl").read_text().splitlines()]
    spoil(next(e for e in lines if e["event"] == "start"))
    (campaign / "journal.jsonl").write_text("".join(json.dumps(e) + "\n" for e in lines))
    relink(campaign)
    done = cb("gate", campaign)
    assert done.returncode == 3 and said in done.stdout, done.stdout


def test_a_renamed_host_never_ran(campaign):
    path = campaign / "campaign.json"
    path.write_text(path.read_text().replace(f'"name": "{os.uname().nodename}"', '"name": "node07"'))
    relink(campaign)
    done = cb("gate", campaign)
    assert done.returncode == 3 and "not on node07" in done.stdout, done.stdout


@pytest.mark.parametrize("params, code, said", [
    ({"value": 2, "size": "1024"}, 0, "ACCEPTED"),
    ({"value": "2.0", "size": "1K", "samples": "20"}, 0, "ACCEPTED"),  # as it ran, by the default
    ({"value": 2, "size": "1K", "samples": "21"}, 3, "it ran with samples 20, the profile asks for 21"),
    ({"value": 2, "size": "8K"}, 3, "it ran with size 1K, the profile asks for 8K"),
    ({"value": 2, "size": ["1K", "2K"]}, 3, "the profile asks for 1K,2K"),
    ({"value": 2, "pause": "1s", "size": "1K"}, 3, "it ran with pause 0s, the profile asks for 1s"),
])
def test_another_profile_is_answered_only_by_what_it_asks_for(campaign, tmp_path, params, code, said):
    path = write_profile(tmp_path, [step("first", params=params)], CRITERIA[:1])
    done = cb("gate", campaign, "--profile", path)
    assert done.returncode == code and said in done.stdout, done.stdout


@pytest.mark.parametrize("more", [{"scope": "cluster"}, {"ranks_per_host": 2}, {"env": {"OMP_NUM_THREADS": "1"}}])
def test_another_profile_with_other_circumstances_is_not_answered(campaign, tmp_path, more):
    path = write_profile(tmp_path, [step("first", params={"value": 2, "size": "1K"}, **more)], CRITERIA[:1])
    done = cb("gate", campaign, "--profile", path)
    assert done.returncode == 3 and "the profile asks for" in done.stdout


def test_what_is_measured_is_signed(signed, made):
    assert cb("gate", signed, "--public-key", made / "measurer.pub").returncode == 0
    other = cb("gate", signed, "--public-key", made / "stranger.pub")
    assert other.returncode == 3 and "another key" in other.stdout.splitlines()[0]
    events = [json.loads(line) for line in (signed / "journal.jsonl").read_text().splitlines()]
    assert all(len(e["signature"]) == 128 for e in events)


def test_an_unsigned_campaign_does_not_answer_to_a_key(campaign, made):
    done = cb("gate", campaign, "--public-key", made / "measurer.pub")
    assert done.returncode == 3 and "without a key" in done.stdout.splitlines()[0]


def test_a_signed_record_cannot_be_exchanged_even_with_every_digest_right(signed):
    name = "records/001-first.json"
    change(signed, name, (signed / name).read_text() + " ", "journal.jsonl")
    relink(signed)
    done = cb("gate", signed)
    assert done.returncode == 3 and "is not signed by the campaign's key" in done.stdout.splitlines()[0]


def test_a_signed_campaign_is_continued_with_its_key_only(signed, made):
    (signed / "records/002-second.json").unlink()
    for more, said in ([], "must be the key"), (["--key", made / "stranger.pem"], "must be the key"):
        done = cb("run", "--resume", signed, "--trust", *more)
        assert done.returncode == 2 and said in done.stderr
    done = cb("run", "--resume", signed, "--trust", "--key", made / "measurer.pem")
    assert done.returncode == 0, done.stderr
    assert cb("gate", signed, "--public-key", made / "measurer.pub").returncode == 0


def test_a_key_that_is_none_is_refused_before_anything_is_written(made, tmp_path):
    (tmp_path / "k.pem").write_text("nothing")
    assert run_local(made / "p.json", tmp_path / "out", "--key", tmp_path / "k.pem").returncode == 2
    assert not (tmp_path / "out").exists()


def test_the_private_key_cannot_be_the_campaigns_public_one(made, tmp_path):
    assert run_local(made / "p.json", tmp_path / "out", "--key", made / "measurer.pub").returncode == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("spoil, said", [
    (lambda d: d.update(id="../../x/EVIL"), "16 hex digits"),
    (lambda d: d.update(id="5CE53433E3CB10D0"), "16 hex digits"),
    (lambda d: d["hosts"][0].update(name="-x"), "is not a host name"),
    (lambda d: d["hosts"][0].update(name="vm,evil"), "is not a host name"),
    (lambda d: d["hosts"][0].update(name="$(touch x)"), "is not a host name"),
    (lambda d: d["hosts"][0].update(slots=0), "slots"),
    (lambda d: d["hosts"].append(d["hosts"][0]), "stands twice"),
    (lambda d: d.update(launcher_arguments=["-x", "LD_PRELOAD=/tmp/x.so"]), "decides which program"),
    (lambda d: d.update(launcher_arguments=["a\nb"]), "is no argument"),
    (lambda d: d.update(public_key="k"), "64 hex digits"),
])
def test_a_campaign_file_that_nobody_may_execute_is_refused(campaign, spoil, said):
    document = json.loads((campaign / "campaign.json").read_text())
    spoil(document)
    (campaign / "campaign.json").write_text(json.dumps(document))
    for command in (["gate", campaign], ["run", "--resume", campaign, "--trust"], ["bundle", campaign]):
        done = cb(*command)
        assert done.returncode == 2 and said in done.stderr, (command, done.stderr)


@pytest.mark.parametrize("name", ["LD_PRELOAD", "PATH", "OMPI_MCA_plm_rsh_agent", "A=B", "-x", ""])
def test_a_profile_cannot_choose_programs_by_its_environment(tmp_path, name):
    path = write_profile(tmp_path, [step("s", env={name: "x"})], [at_least("c", "s", 1)])
    for command in (["profile", "validate", path], ["run", path, "--out", tmp_path / "out"]):
        done = cb(*command)
        assert done.returncode == 2 and "env." in done.stderr, done.stderr
    assert not (tmp_path / "out").exists()


def test_a_line_end_in_a_variable_is_refused(tmp_path):
    path = write_profile(tmp_path, [step("s", env={"A": "b\nc"})], [at_least("c", "s", 1)])
    assert cb("profile", "validate", path).returncode == 2


@pytest.mark.parametrize("option", ["--hosts", "--hostfile"])
def test_an_empty_list_of_hosts_is_not_this_host(made, option, tmp_path):
    done = cb("run", made / "p.json", "--out", tmp_path / "out", option, "", "--dry-run")
    assert done.returncode == 2 and "is empty" in done.stderr
    assert not (tmp_path / "out").exists()


def backdate(campaign):
    """As a campaign that came in an archive: its file is younger than its begin."""
    document = json.loads((campaign / "campaign.json").read_text())
    document["started"] = "2026-01-01T00:00:00Z"
    (campaign / "campaign.json").write_text(json.dumps(document))
    return document


def test_a_campaign_from_elsewhere_shows_what_it_executes_first(campaign):
    document = backdate(campaign)
    document["launcher"], document["launcher_arguments"] = "mpirun", ["--mca", "plm_rsh_agent", "/tmp/some.sh"]
    (campaign / "campaign.json").write_text(json.dumps(document))
    before = (campaign / "journal.jsonl").read_bytes()
    done = cb("run", "--resume", campaign)
    assert done.returncode == 2
    assert "plm_rsh_agent /tmp/some.sh" in done.stderr and "--trust" in done.stderr
    assert (campaign / "journal.jsonl").read_bytes() == before
    dry = cb("run", "--resume", campaign, "--dry-run")
    assert dry.returncode == 0 and "plm_rsh_agent /tmp/some.sh" in dry.stdout


def test_a_campaign_of_this_user_is_continued_without_a_word(made, tmp_path):
    assert run_local(made / "p.json", tmp_path / "out").returncode == 0
    shutil.move(tmp_path / "out", tmp_path / "moved")
    assert cb("run", "--resume", tmp_path / "moved").returncode == 0
    backdate(tmp_path / "moved")
    assert cb("run", "--resume", tmp_path / "moved").returncode == 2


def test_a_kill_that_tore_the_journal_blocks_nothing_once_resumed(campaign):
    lines = (campaign / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (campaign / "journal.jsonl").write_bytes(b"".join(lines[:-1]) + lines[-1][:20])
    assert cb("gate", campaign).returncode == 3
    done = cb("run", "--resume", campaign, "--trust")
    assert done.returncode == 0, done.stdout + done.stderr
    gate = cb("gate", campaign)
    assert gate.returncode == 0 and "torn by a kill" in gate.stderr
