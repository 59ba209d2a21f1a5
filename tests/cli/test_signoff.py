"""`signoff`, `issue`, `checklist` and `bundle`: from a judged campaign to its archive."""

import json
import os
import re
import shutil
import subprocess
import tarfile
import time

import pytest

from campaigns import at_least, cb, files, profile, run_local, step

SIGN = ("--role", "customer", "--name", "B. Li")


def write(path, limit, checklist=()):
    document = profile([step("good")], [at_least("good.rate", "good", limit)])
    document["checklist"] = [{"id": i, "domain": "host", "text": {"en": i, "zh": i}} for i in checklist]
    path.write_text(json.dumps(document))
    return path


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory):
    """value 2 everywhere: `good` asks for 1, `bad` for 3 and for labels that somebody must look at."""
    directory = tmp_path_factory.mktemp("signoff")
    for name, limit, checklist in (("good", 1, ()), ("bad", 3, ("labels",))):
        path = write(directory / f"{name}.json", limit, checklist)
        assert run_local(path, directory / name).returncode == (0 if name == "good" else 1)
    return directory


@pytest.fixture
def good(campaigns, tmp_path):
    return shutil.copytree(campaigns / "good", tmp_path / "good")


@pytest.fixture
def bad(campaigns, tmp_path):
    return shutil.copytree(campaigns / "bad", tmp_path / "bad")


def key(tmp_path, name):
    private, public = tmp_path / f"{name}.pem", tmp_path / f"{name}.pub.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
    return private, public


def test_two_parties_sign_and_anybody_verifies(good, tmp_path):
    private, public = key(tmp_path, "li")
    _, other = key(tmp_path, "other")
    assert cb("signoff", "verify", good).returncode == 3
    done = cb("signoff", good, *SIGN, "--key", private)
    assert done.returncode == 0, done.stderr
    assert cb("signoff", good, "--role", "supplier", "--name", "A. Wang").returncode == 0
    done = cb("signoff", "verify", good, "--public-key", public)
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1] == "nothing that was signed has changed"
    assert "accepted by B. Li (customer)" in done.stdout and "no key" in done.stdout
    assert cb("signoff", "verify", good, "--public-key", other).returncode == 1
    document = json.loads((good / "signoffs/001-customer.json").read_text())
    campaign = json.loads((good / "campaign.json").read_text())
    assert document["profile_sha256"] == campaign["profile_sha256"]
    assert document["campaign"] == campaign["id"]


def test_the_ed25519_signature_is_openssls(good, tmp_path):
    private, public = key(tmp_path, "li")
    assert cb("signoff", good, *SIGN, "--key", private).returncode == 0
    document = json.loads((good / "signoffs/001-customer.json").read_text())
    value = document.pop("signature")["value"]
    document.pop("digest")
    (tmp_path / "body").write_text(json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    (tmp_path / "value").write_bytes(bytes.fromhex(value))
    done = subprocess.run(
        ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in", tmp_path / "body",
         "-sigfile", tmp_path / "value"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_changed_byte_of_every_file_is_named(good):
    assert cb("report", good).returncode == 0
    assert cb("signoff", good, *SIGN).returncode == 0
    for name, content in files(good).items():
        if not content:
            continue
        place = len(content) // 2
        (good / name).write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1:])
        done = cb("signoff", "verify", good)
        (good / name).write_bytes(content)
        assert done.returncode == 1, name
        assert any(line.startswith("changed: ") and name in line for line in done.stdout.splitlines()), name
    assert cb("signoff", "verify", good).returncode == 0


def test_a_failing_campaign_needs_conditions_with_days(bad):
    done = cb("signoff", bad, *SIGN)
    assert done.returncode == 2
    assert "criterion good.rate" in done.stderr and "checklist labels" in done.stderr
    assert not (bad / "signoffs").exists()
    assert cb("signoff", bad, *SIGN, "--verdict", "conditional").returncode == 2
    done = cb("signoff", bad, *SIGN, "--verdict", "conditional", "--until", "2999-12-31",
              "--open-item", "spare parts;2999-11-30")
    assert done.returncode == 0, done.stderr
    assert "criterion good.rate, fail, by 2999-12-31" in done.stdout
    assert "checklist labels, incomplete, by 2999-12-31" in done.stdout
    assert "agreed spare parts, by 2999-11-30" in done.stdout


def test_a_signed_campaign_is_not_written_again(good, tmp_path):
    assert cb("signoff", good, *SIGN).returncode == 0
    before = files(good)
    assert cb("report", good, "--html", good / "report.html").returncode == 2
    assert cb("report", good, "--md", good / "x.md", "--html", tmp_path / "x.html").returncode == 2
    assert cb("gate", good, "--json", good / "gate.json").returncode == 2
    assert cb("run", "--resume", good).returncode == 2
    assert files(good) == before
    assert cb("report", good, "--html", tmp_path / "x.html").returncode == 0
    assert cb("report", good).returncode == 0
    assert (good / "report-signed.html").exists()
    assert cb("signoff", "verify", good).returncode == 0


def test_an_unfinished_campaign_is_not_signed(good):
    lines = (good / "journal.jsonl").read_text().splitlines()
    (good / "journal.jsonl").write_text("\n".join(lines[:-1]) + "\n")
    done = cb("signoff", good, *SIGN)
    assert done.returncode == 2 and "not finished" in done.stderr


def test_an_issue_is_closed_by_a_passing_measurement_only(bad, tmp_path):
    def close(directory):
        return cb("issue", "update", bad, "--id", "I-001", "--retest", directory)

    assert "1 added" in cb("issue", "add", bad, "--from-failures").stdout
    assert close(bad).returncode == 2
    assert run_local(write(tmp_path / "again.json", 1), tmp_path / "again").returncode == 0
    done = close(tmp_path / "again")  # accepted by its own profile, which asks for less
    assert done.returncode == 2 and "still fails" in done.stderr
    faster = profile([step("good", params={"value": 4})], [at_least("good.rate", "good", 3)])
    (tmp_path / "faster.json").write_text(json.dumps(faster))
    assert run_local(tmp_path / "faster.json", tmp_path / "faster").returncode == 0
    shutil.copytree(tmp_path / "faster", tmp_path / "old")
    file = tmp_path / "old" / "campaign.json"
    file.write_text(re.sub('"started": "[^"]*"', '"started": "2020-01-01T00:00:00Z"', file.read_text()))
    done = close(tmp_path / "old")
    assert done.returncode == 2 and "changed" in done.stderr
    (tmp_path / "old" / "MANIFEST.sha256").unlink()
    done = close(tmp_path / "old")
    assert done.returncode == 2 and "before the issue was found" in done.stderr
    assert cb("issue", "add", tmp_path / "faster", "--symptom", "loud").returncode == 0
    itself = cb("issue", "update", tmp_path / "faster", "--id", "I-001", "--retest", tmp_path / "faster")
    assert itself.returncode == 2
    assert close(tmp_path / "faster").returncode == 0
    assert "0 open of 1" in cb("issue", "list", bad).stdout


def test_work_on_issues_goes_on_after_a_conditional_signature(bad, tmp_path):
    cb("issue", "add", bad, "--from-failures")
    cb("checklist", bad, "--item", "labels", "--result", "fail", "--by", "B. Li")
    done = cb("signoff", bad, *SIGN, "--verdict", "conditional", "--until", "2999-12-31")
    assert done.returncode == 0, done.stderr
    assert "issue I-001, open" in done.stdout and "checklist labels, fail" in done.stdout
    cb("issue", "update", bad, "--id", "I-001", "--owner", "A. Wang")
    cb("checklist", bad, "--item", "labels", "--result", "pass", "--by", "B. Li")
    done = cb("signoff", "verify", bad)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("later: ") == 2
    text = (bad / "issues.json").read_text()
    (bad / "issues.json").write_text(text.replace("A. Wang", "B. Wang"))
    assert cb("signoff", "verify", bad).returncode == 1
    assert cb("issue", "list", bad).returncode == 2


def test_the_bundle_is_the_same_whenever_and_wherever_it_is_packed(good, tmp_path):
    (good / "logs/empty.out").write_bytes(b"")
    first = cb("bundle", good, "--out", tmp_path / "a.tar")
    assert first.returncode == 0, first.stderr
    copy = tmp_path / "other" / "copy"
    shutil.copytree(good, copy)
    for path in copy.rglob("*"):
        os.utime(path, (time.time(), 1))
        path.chmod(0o700)
    second = cb("bundle", str(copy) + "/", "--out", tmp_path / "b.tar")
    assert second.returncode == 0, second.stderr
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
    assert first.stdout.split()[0] == second.stdout.split()[0]
    for name in ("a.tar.gz", "b.tgz"):
        assert cb("bundle", good, "--out", tmp_path / name).returncode == 0
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tgz").read_bytes()
    for archive in ("a.tar", "a.tar.gz"):
        with tarfile.open(tmp_path / archive) as tar:
            members = tar.getmembers()
            assert all(m.isreg() and m.uid == 0 and m.mode == 0o644 for m in members)
            got = {m.name.split("/", 1)[1]: tar.extractfile(m).read() for m in members}
        assert got == files(good)
    names = subprocess.run(["tar", "tf", tmp_path / "a.tar"], capture_output=True, text=True, check=True)
    assert len(names.stdout.splitlines()) == len(files(good))


def test_the_bundle_refuses_links_and_its_own_directory(good, tmp_path):
    done = cb("bundle", good, "--out", good / "a.tar")
    assert done.returncode == 2 and "lies in the campaign" in done.stderr
    (good / "logs/host").symlink_to("/etc/hostname")
    done = cb("bundle", good, "--out", tmp_path / "a.tar")
    assert done.returncode == 2 and "logs/host" in done.stderr
    assert not (tmp_path / "a.tar").exists()
    (good / "logs/host").unlink()
    done = cb("bundle", good, "--out", tmp_path / "none" / "a.tar")
    assert done.returncode == 4
    assert cb("bundle", tmp_path).returncode == 2


def test_long_names_are_kept_and_too_long_ones_named(good, tmp_path):
    name = "records/" + "n" * 90 + ".json"
    (good / name).write_text("x")
    assert cb("bundle", good, "--out", tmp_path / "a.tar").returncode == 0
    with tarfile.open(tmp_path / "a.tar") as tar:
        assert any(m.name.endswith(name) for m in tar.getmembers())
    (good / ("records/" + "m" * 120)).write_text("x")
    done = cb("bundle", good, "--out", tmp_path / "b.tar")
    assert done.returncode == 4 and "too long" in done.stderr
    assert not (tmp_path / "b.tar").exists()


def test_hostile_words_reach_the_terminal_harmless(good):
    done = cb("signoff", good, "--role", "witness", "--name", "\x1b[31mB\nLi", "--remark", "<script>")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout and "\x1b" not in cb("signoff", "verify", good).stdout
