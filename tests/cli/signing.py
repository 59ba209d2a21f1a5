"""Judged campaigns to be signed, keys, and how to sign and verify at a terminal or without one."""

import hashlib
import json
import os
import pty
import shutil
import subprocess
import termios
import time

import pytest

from campaigns import BINARY, at_least, cb, files, profile, run_local, step

WHO = ("--role", "customer", "--name", "B. Li")
SIGN = (*WHO, "--verdict", "accepted", "--yes")


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


def key(tmp_path, name, *more):
    private, public = tmp_path / f"{name}.pem", tmp_path / f"{name}.pub.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private, *more], check=True)
    secret = [*more[:0], "-passin", more[-1]] if more else []
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public, *secret], check=True)
    return private, public


def verify(directory, *public, more=()):
    """Exit code and lines; `public`: the keys that the reader has."""
    done = cb("signoff", "verify", directory, *(w for k in public for w in ("--public-key", k)), *more)
    return done.returncode, done.stdout.splitlines()


def signatures(directory):
    return sorted(p.name for p in (directory / "signoffs").glob("*")) if (directory / "signoffs").exists() else []


def forged(directory, source, name, /, **changes):
    """A signature file written by hand as whoever has none of the keys can write it, its digest right."""
    document = json.loads((directory / "signoffs" / source).read_text()) | changes
    document.pop("signature", None), document.pop("public_key", None), document.pop("digest", None)
    document["files"] = {n: {"sha256": hashlib.sha256(c).hexdigest(), "bytes": len(c)}
                         for n, c in files(directory).items()}
    dump = lambda d: json.dumps(d, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    document["digest"] = hashlib.sha256(dump(document).encode()).hexdigest()
    (directory / "signoffs" / name).write_text(dump(document))


def at_terminal(arguments, answers):
    """Runs it with a terminal of its own; gives each answer when its question has been read."""
    process, terminal = pty.fork()
    if process == 0:
        os.execv(BINARY, [BINARY, *map(str, arguments)])
    shown = ""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            shown += os.read(terminal, 4096).decode(errors="replace")
        except OSError:  # the other side is gone
            break
        if answers and answers[0][0] in shown:
            while answers[0][0].startswith("Passphrase") and termios.tcgetattr(terminal)[3] & termios.ECHO:
                assert time.monotonic() < deadline, "the passphrase would be echoed"
            os.write(terminal, answers.pop(0)[1].encode() + b"\n")
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), shown
