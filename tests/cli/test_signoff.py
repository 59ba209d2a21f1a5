"""`clusterbench signoff`, `signoff verify` and `bundle`: what may be signed, and that any changed byte is found."""

import json
import pathlib
import random
import shutil
import subprocess
import tarfile

import pytest

from campaigns import at_least, cb, run_local, step, write_profile


def make(directory, limit):
    path = write_profile(directory, [step("good")], [at_least("good.rate", "good", limit)])
    out = directory / "out"
    assert run_local(path, out).returncode in (0, 1)
    return out


@pytest.fixture(scope="module")
def passing(tmp_path_factory):
    return make(tmp_path_factory.mktemp("pass"), 1)


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    return make(tmp_path_factory.mktemp("fail"), 5)


@pytest.fixture
def campaign(passing, tmp_path):
    return shutil.copytree(passing, tmp_path / "out")


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    directory = tmp_path_factory.mktemp("keys")
    private, public = directory / "key.pem", directory / "pub.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
    return private, public


def sign(out, *more, verdict="accepted", role="customer"):
    return cb("signoff", out, "--role", role, "--name", "B. Li", "--verdict", verdict, *more)


def test_an_accepted_campaign_is_signed_and_verified(campaign, key):
    assert cb("report", campaign).returncode == 0
    done = sign(campaign, "--key", key[0], "--remark", "witnessed on site")
    assert done.returncode == 0, done.stderr
    signature = json.loads((campaign / "signoffs/001-customer.json").read_text())
    assert signature["verdict"] == "accepted" and signature["result"] == "accepted"
    assert signature["open"] == {}
    assert {"campaign.json", "journal.jsonl", "MANIFEST.sha256", "report.html"} <= signature["files"].keys()
    checked = cb("signoff", "verify", campaign, "--public-key", key[1])
    assert checked.returncode == 0, checked.stdout
    assert "nothing that was signed has changed" in checked.stdout


def test_the_ed25519_signature_is_openssls(campaign, key, tmp_path):
    assert sign(campaign, "--key", key[0]).returncode == 0
    document = json.loads((campaign / "signoffs/001-customer.json").read_text())
    value = document.pop("signature")["value"]
    document.pop("digest")
    body = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    (tmp_path / "body").write_text(body)
    (tmp_path / "value").write_bytes(bytes.fromhex(value))
    done = subprocess.run(
        ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", key[1], "-rawin", "-in",
         tmp_path / "body", "-sigfile", tmp_path / "value"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_second_party_signs_over_the_first(campaign):
    assert sign(campaign, role="supplier").returncode == 0
    assert sign(campaign).returncode == 0
    second = json.loads((campaign / "signoffs/002-customer.json").read_text())
    assert "signoffs/001-supplier.json" in second["files"]
    assert cb("signoff", "verify", campaign).returncode == 0


def test_what_fails_cannot_be_accepted_plainly(failing, tmp_path):
    out = shutil.copytree(failing, tmp_path / "out")
    done = sign(out)
    assert done.returncode == 2
    assert "good.rate" in done.stderr and "conditional" in done.stderr
    assert not (out / "signoffs").exists()
    done = sign(out, verdict="conditional")
    assert done.returncode == 2 and "no day" in done.stderr
    done = sign(out, "--until", "2999-12-31", verdict="conditional")
    assert done.returncode == 0, done.stderr
    document = json.loads((out / "signoffs/001-customer.json").read_text())
    assert document["open"] == {"good.rate": "2999-12-31"}
    assert document["result"] == "not-accepted"


def test_what_fails_can_be_rejected(failing, tmp_path):
    out = shutil.copytree(failing, tmp_path / "out")
    assert sign(out, verdict="rejected").returncode == 0


@pytest.mark.parametrize("more, said", [
    (["--until", "2020-01-01"], "is past"),
    (["--until", "tomorrow"], "not a day"),
    (["--due", "nothing=2999-01-01"], "not an open item"),
    (["--key", "/dev/null"], "no private Ed25519 key"),
])
def test_a_bad_request_is_an_error(failing, tmp_path, more, said):
    out = shutil.copytree(failing, tmp_path / "out")
    done = sign(out, "--due", "good.rate=2999-12-31", *more, verdict="conditional")
    assert done.returncode == 2 and said in done.stderr
    assert not list(out.glob("signoffs/*"))


def test_without_a_role_or_a_name(campaign):
    done = cb("signoff", campaign, "--verdict", "accepted")
    assert done.returncode == 2 and "--role" in done.stderr and "--name" in done.stderr


def test_no_signature_is_not_a_valid_one(campaign):
    assert cb("signoff", "verify", campaign).returncode == 3


def test_another_partys_key_is_missed(campaign, key, tmp_path):
    assert sign(campaign).returncode == 0  # without a key
    done = cb("signoff", "verify", campaign, "--public-key", key[1])
    assert done.returncode == 1 and "has not signed" in done.stdout


def test_any_changed_byte_is_found_and_named(campaign, key):
    """Property: one byte in each file, and more at random, in records, profile, report and signatures."""
    assert cb("report", campaign).returncode == 0
    assert sign(campaign, "--key", key[0], role="supplier").returncode == 0
    assert sign(campaign).returncode == 0
    files = [p for p in sorted(campaign.rglob("*")) if p.is_file() and p.stat().st_size > 0]
    assert len(files) >= 7
    random.seed(7)
    for path in files + random.choices(files, k=8):
        original = path.read_bytes()
        at = random.randrange(len(original))
        changed = bytearray(original)
        changed[at] ^= 1 << random.randrange(8)
        path.write_bytes(bytes(changed))
        done = cb("signoff", "verify", campaign)
        name = str(path.relative_to(campaign))
        assert done.returncode == 1, f"{name}: byte {at} was changed and not found"
        assert f"changed: {name} " in done.stdout, done.stdout
        path.write_bytes(original)
    assert cb("signoff", "verify", campaign).returncode == 0


def test_a_removed_file_and_a_new_one_are_named(campaign):
    assert sign(campaign).returncode == 0
    (campaign / "records/001-good.json").unlink()
    (campaign / "extra.txt").write_text("x")
    done = cb("signoff", "verify", campaign)
    assert done.returncode == 1
    assert "records/001-good.json is not there" in done.stdout
    assert "not signed: extra.txt" in done.stdout


def test_a_changed_campaign_cannot_be_signed(campaign):
    with open(campaign / "records/001-good.json", "a") as out:
        out.write(" ")
    done = sign(campaign)
    assert done.returncode == 2 and "manifest" in done.stderr


def test_the_bundle_depends_on_nothing_but_the_files(campaign, tmp_path):
    first, second = tmp_path / "a.tar", tmp_path / "b.tar"
    assert cb("bundle", campaign, "--out", first).returncode == 0
    moved = shutil.copytree(campaign, tmp_path / "elsewhere", copy_function=shutil.copy)
    for path in moved.rglob("*"):
        path.chmod(0o755)
    assert cb("bundle", moved, "--out", second).returncode == 0
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as tar:
        names = tar.getnames()
        assert names == sorted(names)
        assert {m.uid for m in tar} == {0} and len({m.mtime for m in tar}) == 1
        tar.extractall(tmp_path / "unpacked")
    unpacked = next((tmp_path / "unpacked").iterdir())
    files = lambda root: {str(p.relative_to(root)): p.read_bytes()
                          for p in pathlib.Path(root).rglob("*") if p.is_file()}
    assert files(unpacked) == files(campaign)
