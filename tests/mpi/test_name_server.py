"""A job asks no name server: on a machine whose /etc/hosts is empty and whose name server stays silent, each
question would cost ten seconds."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))
from campaigns import at_least, step, write_profile

BINARY = os.environ["CLUSTERBENCH_BIN"]
MUTE = "127.86.0.1"
SCRIPT = """mount --bind "$1/hosts" /etc/hosts && mount --bind "$1/resolv.conf" /etc/resolv.conf &&
hostname lonely && shift && exec "$@" """


@pytest.fixture
def questions():
    """What a name server is asked that never answers; only whoever uses MUTE as its name server asks it."""
    asked = []
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        server.bind((MUTE, 53))
    except OSError as why:
        pytest.skip(f"no name server of its own: {why}")

    def listen():
        while data := server.recv(512):
            asked.append(data[12:])

    listener = threading.Thread(target=listen)
    listener.start()
    yield asked
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
        last.sendto(b"", (MUTE, 53))
    listener.join()
    server.close()


def lonely(tmp_path, *command, **options):
    (tmp_path / "hosts").write_text("")
    (tmp_path / "resolv.conf").write_text(f"nameserver {MUTE}\n")
    return subprocess.run(["unshare", "--mount", "--uts", "sh", "-c", SCRIPT, "sh", tmp_path, *command],
                          capture_output=True, text=True, timeout=200, check=False, **options)


def test_doctor_names_both_questions(tmp_path, questions):
    if lonely(tmp_path, "true").returncode != 0:
        pytest.skip("needs root for a machine of its own: unshare --mount --uts")
    done = lonely(tmp_path, BINARY, "doctor")
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    for check, next_step in (("own-name", "lonely to /etc/hosts"), ("localhost", '"127.0.0.1 localhost" to /etc/hosts')):
        assert "fail" in rows[check] and "nobody answers" in rows[check] and next_step in rows[check], done.stdout


def test_a_campaign_asks_no_name_server(tmp_path, questions):
    if lonely(tmp_path, "true").returncode != 0:
        pytest.skip("needs root for a machine of its own: unshare --mount --uts")
    # The server hears what is asked: else the test below could not fail.
    lonely(tmp_path, "timeout", "2", "getent", "hosts", "localhost.")
    assert questions
    questions.clear()
    # Four ranks: where each of them asks for a name, such a job takes 10 s and more.
    path = write_profile(tmp_path, [step("all", scope="cluster", deadline="120s")], [at_least("rate", "all", 1)])
    done = lonely(tmp_path, BINARY, "run", path, "--out", tmp_path / "out", "--launcher", "mpirun", "--hosts", "lonely:4")
    assert done.returncode == 0, done.stderr
    assert questions == []
