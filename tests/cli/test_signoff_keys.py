"""Keys and time stamps of signatures: PEM, passphrases, OpenSSH, RFC 3161, and signatures of another shape."""

import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

import pytest

from campaigns import cb
from signing import SIGN, at_terminal, bad, campaigns, good, key, signatures, verify


@pytest.mark.parametrize("change", [
    lambda d: d["signature"].update(algorithm=5),
    lambda d: d["signature"].pop("value"),
    lambda d: d["signature"].update(note="read and approved"),
    lambda d: d.pop("signature"),
    lambda d: d.update(signature="yes"),
])
def test_a_signature_object_of_another_shape_is_a_change(good, tmp_path, change):
    li, public = key(tmp_path, "li")
    assert cb("signoff", good, *SIGN, "--key", li).returncode == 0
    file = good / "signoffs/001-customer.json"
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    assert verify(good)[0] == 1 and verify(good, public)[0] == 1


def test_a_key_with_a_passphrase_opens_by_file_or_at_a_terminal(good, tmp_path):
    li, public = key(tmp_path, "li", "-aes256", "-pass", "pass:open sesame")
    done = cb("signoff", good, *SIGN, "--key", li, stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and "--passphrase-file" in done.stderr
    (tmp_path / "word").write_text("open says me\n")
    done = cb("signoff", good, *SIGN, "--key", li, "--passphrase-file", tmp_path / "word")
    assert done.returncode == 2 and "does not open with this passphrase" in done.stderr
    (tmp_path / "word").write_text("x" * 5000 + "\n")  # longer than libcrypto has room for
    done = cb("signoff", good, *SIGN, "--key", li, "--passphrase-file", tmp_path / "word")
    assert done.returncode == 2 and "does not open with this passphrase" in done.stderr
    assert signatures(good) == []
    (tmp_path / "word").write_text("open sesame\n")
    done = cb("signoff", good, *SIGN, "--key", li, "--passphrase-file", tmp_path / "word")
    assert done.returncode == 0 and verify(good, public)[0] == 0
    arguments = ["signoff", good, "--role", "customer", "--name", "C", *SIGN[4:], "--key"]
    mei, mei_public = key(tmp_path, "mei", "-aes256", "-pass", "pass:open sesame")
    status, shown = at_terminal([*arguments, mei], [("Passphrase of", "open sesame")])
    assert status == 0 and "sesame" not in shown
    assert verify(good, public, mei_public)[0] == 0


def test_openssh_keys_sign_and_verify(good, tmp_path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "li", "-C", "li@x"], check=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", tmp_path / "locked"], check=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", tmp_path / "other"], check=True)
    done = cb("signoff", good, *SIGN, "--key", tmp_path / "locked")
    assert done.returncode == 2 and "ssh-add" in done.stderr
    done = cb("signoff", good, *SIGN, "--key", tmp_path / "other")
    assert done.returncode == 2 and "is no Ed25519 key" in done.stderr
    assert cb("signoff", good, *SIGN, "--key", tmp_path / "li").returncode == 0
    code, lines = verify(good, tmp_path / "li.pub")
    assert code == 0 and "key li.pub" in lines[1]
    assert verify(good, tmp_path / "locked.pub")[0] == 1
    assert verify(good, tmp_path / "other.pub")[0] == 2


def with_agent(**variables):
    return {**{k: v for k, v in os.environ.items() if k != "SSH_AUTH_SOCK"}, **variables}


@pytest.fixture
def agent(tmp_path):
    """An ssh-agent that holds one key with a passphrase."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", tmp_path / "li"], check=True)
    place = tempfile.mktemp(prefix="cb-agent-")  # a path of this kind is short
    running = subprocess.Popen(["ssh-agent", "-D", "-a", place], stdout=subprocess.DEVNULL)
    environment = with_agent(SSH_AUTH_SOCK=place, SSH_ASKPASS=str(tmp_path / "ask"), SSH_ASKPASS_REQUIRE="force")
    (tmp_path / "ask").write_text("#!/bin/sh\necho secret\n")
    (tmp_path / "ask").chmod(0o700)
    for _ in range(100):
        if os.path.exists(place):
            break
        time.sleep(0.05)
    subprocess.run(["ssh-add", "-q", tmp_path / "li"], check=True, env=environment)
    yield environment
    running.terminate()
    running.wait(10)


def test_an_agent_signs_with_a_key_that_no_file_holds(good, tmp_path, agent):
    public = tmp_path / "li.pub"
    (tmp_path / "li").unlink()
    done = cb("signoff", good, *SIGN, "--key", public, env=with_agent())
    assert done.returncode == 2 and "SSH_AUTH_SOCK is not set" in done.stderr
    done = cb("signoff", good, *SIGN, "--key", public, env=with_agent(SSH_AUTH_SOCK=str(tmp_path / "nobody")))
    assert done.returncode == 2 and "No such file" in done.stderr and "ssh-add -l" in done.stderr
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "mei"], check=True)
    done = cb("signoff", good, *SIGN, "--key", tmp_path / "mei.pub", env=agent)
    assert done.returncode == 2 and "does not hold this key" in done.stderr
    assert signatures(good) == []
    done = cb("signoff", good, *SIGN, "--key", public, env=agent)
    assert done.returncode == 0, done.stderr
    code, lines = verify(good, public)
    assert code == 0 and "key li.pub" in lines[1]
    assert verify(good, tmp_path / "mei.pub")[0] == 1


@pytest.mark.parametrize("answer, said", [
    (b"", "closed the connection"),
    (b"\0\0\0\0", "no answer of its protocol"),
    (b"\x7f\xff\xff\xff", "no answer of its protocol"),
    (b"\0\0\0\x01\x05", "does not hold this key"),
    (b"\0\0\0\x01\x0e", "no Ed25519 signature"),
    (b"\0\0\0\x58\x0e\0\0\0\x53\0\0\0\x0bssh-ed25519\0\0\0\x40" + bytes(64), "does not verify"),
])
def test_an_agent_that_answers_badly_signs_nothing(good, tmp_path, answer, said):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "li"], check=True)
    place = tempfile.mktemp(prefix="cb-agent-")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(place)
        door.listen()

        def serve():
            guest, _ = door.accept()
            with guest:
                guest.recv(4096)
                guest.sendall(answer)

        served = threading.Thread(target=serve, daemon=True)
        served.start()
        done = cb("signoff", good, *SIGN, "--key", tmp_path / "li.pub", env=with_agent(SSH_AUTH_SOCK=place))
        served.join(10)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert signatures(good) == []


def test_a_run_signs_with_a_file_only(tmp_path, agent):
    done = cb("run", "host-quick", "--out", tmp_path / "c", "--key", tmp_path / "li.pub", env=agent)
    assert done.returncode == 2 and "name a private key" in done.stderr
    assert not (tmp_path / "c").exists()


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A time-stamp authority of openssl's own."""
    directory = tmp_path_factory.mktemp("tsa")
    (directory / "tsa.cnf").write_text(TSA.format(directory=directory))
    (directory / "serial").write_text("01\n")
    run = lambda *words: subprocess.run(words, cwd=directory, check=True, capture_output=True)
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "tsa.key", "-out", "tsa.pem",
        "-days", "9999", "-config", "tsa.cnf")

    def stamp(file, out, digest="-sha256"):
        run("openssl", "ts", "-query", "-data", str(file), digest, "-cert", "-out", "q.tsq")
        run("openssl", "ts", "-reply", "-queryfile", "q.tsq", "-config", "tsa.cnf", "-out", str(out))
        return out

    stamp.certificate = directory / "tsa.pem"
    return stamp


TSA = """[req]
distinguished_name = name
x509_extensions = usage
prompt = no
[name]
CN = Test TSA
[usage]
extendedKeyUsage = critical,timeStamping
[tsa]
default_tsa = one
[one]
serial = {directory}/serial
signer_cert = {directory}/tsa.pem
signer_key = {directory}/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256, sha512
accuracy = secs:1
"""


def test_a_time_stamp_is_kept_with_its_signature(good, tmp_path, authority):
    li, public = key(tmp_path, "li")
    assert cb("signoff", good, *SIGN, "--key", li).returncode == 0
    file = good / "signoffs/001-customer.json"
    for wrong, said in ((authority(good / "campaign.json", tmp_path / "a.tsr"), "no signature of"),
                        (authority(file, tmp_path / "b.tsr", "-sha512"), "SHA-256"), (public, "no time-stamp response")):
        done = cb("signoff", "stamp", good, "--timestamp", wrong)
        assert done.returncode == 2 and said in done.stderr, done.stderr
    assert signatures(good) == ["001-customer.json"]
    done = cb("signoff", "stamp", good, "--timestamp", authority(file, tmp_path / "c.tsr"))
    assert done.returncode == 0, done.stderr
    assert signatures(good) == ["001-customer.json", "001-customer.tsr"]
    done = subprocess.run(["openssl", "ts", "-verify", "-in", good / "signoffs/001-customer.tsr", "-data", file,
                           "-CAfile", authority.certificate], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    code, lines = verify(good, public)
    assert code == 0 and re.search(r"time stamp of 20\d\d-\d\d-\d\dT[0-9:]+Z \(authority not checked: openssl ts -verify\)$", lines[1])
    shutil.copy(tmp_path / "a.tsr", good / "signoffs/001-customer.tsr")
    code, lines = verify(good, public)
    assert code == 1 and any("is not a time stamp of signoffs/001-customer.json" in line for line in lines)


def test_a_signature_of_an_earlier_version_still_verifies(good, tmp_path):
    """clusterbench.signoff/1: no title, no company, and the key only beside the signature."""
    li, public = key(tmp_path, "li")
    assert cb("signoff", good, *SIGN, "--key", li).returncode == 0
    file = good / "signoffs/001-customer.json"
    document = json.loads(file.read_text())
    signature = document.pop("signature")
    for name in ("title", "company", "public_key", "digest"):
        document.pop(name)
    document["schema"] = "clusterbench.signoff/1"
    dump = lambda d: json.dumps(d, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    body = dump(document)
    (tmp_path / "body").write_text(body)
    subprocess.run(["openssl", "pkeyutl", "-sign", "-inkey", li, "-rawin", "-in", tmp_path / "body", "-out",
                    tmp_path / "value"], check=True)
    document["digest"] = hashlib.sha256(body.encode()).hexdigest()
    document["signature"] = signature | {"value": (tmp_path / "value").read_bytes().hex()}
    file.write_text(dump(document))
    assert verify(good, public)[0] == 0
    assert verify(good)[0] == 3


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


@pytest.mark.parametrize("command", [("checklist", "--item", "labels", "--result", "pass", "--by", "x"),
                                     ("issue", "add", "--symptom", "loud")])
def test_a_private_key_inside_the_campaign_is_refused(bad, tmp_path, command):
    li, _ = key(tmp_path, "li")
    inside = shutil.copy(li, bad / "li.pem")
    words = [*command[:2], bad, *command[2:]] if command[0] == "issue" else [command[0], bad, *command[1:]]
    done = cb(*words, "--key", inside)
    assert done.returncode == 2 and "keep the private key elsewhere" in done.stderr
    assert not (bad / "checklist.json").exists() and not (bad / "issues.json").exists()
