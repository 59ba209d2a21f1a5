"""Ctrl-C in a measurement: what was finished and where it is stands on the terminal, and the bar is gone."""

import json
import os
import pty
import re
import select
import signal
import subprocess

from processes import wait_until_busy

BINARY = os.environ["CLUSTERBENCH_BIN"]
LONG = ["burn", "--device", "cpu", "--duration", "10m"]


def interrupted(*arguments):
    process = subprocess.Popen([BINARY, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until_busy(process.pid, 0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_the_partial_document_is_named(tmp_path):
    code, _, err = interrupted(*LONG, "--json", tmp_path / "b.json")
    assert code == 130
    count = len(json.loads((tmp_path / "b.json").read_text())["records"])
    finished = "nothing was finished" if count == 0 else f"{count} record"
    assert re.search(rf"clusterbench burn: interrupted: {finished}.*; the partial document is in {tmp_path}/b.json", err)


def test_without_a_document_it_says_so():
    code, _, err = interrupted(*LONG)
    assert code == 130
    assert "clusterbench burn: interrupted: " in err
    assert "no document was asked for (--json)" in err


def test_also_quietly():
    code, _, err = interrupted(*LONG, "--quiet")
    assert code == 130
    assert "interrupted" in err


def test_the_bar_is_cleared_before(tmp_path):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(BINARY, [BINARY, *LONG])
    shown, asked = b"", False
    while select.select([terminal], [], [], 60)[0]:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the end, on Linux
            break
        shown += piece
        if not asked and shown.count(b"\r\x1b[K") > 2:
            os.write(terminal, b"\x03")
            asked = True
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    last = shown.rpartition(b"\r\x1b[K")[2]
    assert b"interrupted" in last
    assert b"burn, " not in last.partition(b"clusterbench burn: interrupted")[0]
