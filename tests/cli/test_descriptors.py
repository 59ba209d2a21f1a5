"""Started with standard input, output or error closed: nothing meant for the terminal gets into a file."""

import json
import os
import pathlib
import subprocess

import pytest

from campaigns import BINARY, at_least, cb, manifest_holds, run_local, step, write_profile

CLOSED = ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"]


def closed(which, *arguments):
    line = f'exec "$0" "$@" {which}'
    return subprocess.run(["sh", "-c", line, BINARY, *map(str, arguments)], timeout=60)


@pytest.fixture
def campaign(tmp_path):
    profile = write_profile(tmp_path, [step("speed")], [at_least("speed", "speed", 1)])
    assert run_local(profile, tmp_path / "c").returncode == 0
    return tmp_path / "c"


@pytest.mark.parametrize("which", CLOSED)
def test_a_campaign_is_measured_and_can_be_read(tmp_path, which):
    profile = write_profile(tmp_path, [step("speed")], [at_least("speed", "speed", 1)])
    out = tmp_path / "c"
    assert closed(which, "run", profile, "--launcher", "none", "--out", out).returncode == 0
    assert json.loads((out / "campaign.json").read_text())["schema"] == "clusterbench.campaign/1"
    assert manifest_holds(out)[0]
    assert cb("gate", out).returncode == 0


@pytest.mark.parametrize("which", CLOSED)
def test_a_finished_campaign_is_continued_and_stays_as_it_is(campaign, which):
    before = (campaign / "campaign.json").read_bytes()
    assert closed(which, "run", "--resume", campaign).returncode == 0
    assert (campaign / "campaign.json").read_bytes() == before
    assert cb("gate", campaign).returncode == 0


@pytest.mark.parametrize("which", CLOSED)
@pytest.mark.parametrize(
    "command",
    [
        ["fake", "--json", "OUT"],
        ["io", "--dir", "DIR", "--size", "1M", "--duration", "500ms", "--no-direct", "--json", "OUT"],
        ["report", "CAMPAIGN", "--json", "OUT"],
        ["gate", "CAMPAIGN", "--json", "OUT"],
        ["compare", "CAMPAIGN", "CAMPAIGN", "--json", "OUT"],
    ],
    ids=lambda c: c[0],
)
def test_a_written_document_holds_nothing_but_itself(campaign, tmp_path, which, command):
    out = tmp_path / "out.json"
    names = {"OUT": out, "DIR": tmp_path, "CAMPAIGN": campaign}
    assert closed(which, *[names.get(word, word) for word in command]).returncode == 0
    json.loads(out.read_text())


@pytest.mark.parametrize("which", CLOSED)
@pytest.mark.parametrize(
    "command",
    [["list"], ["info"], ["profile", "show", "host-selftest"], ["checklist", "CAMPAIGN"], ["issue", "list", "CAMPAIGN"]],
    ids=lambda c: c[0],
)
def test_what_only_prints_ends_as_with_a_terminal(campaign, which, command):
    words = [str(campaign) if word == "CAMPAIGN" else word for word in command]
    expected = cb(*words).returncode
    before = {p: p.read_bytes() for p in pathlib.Path(campaign).rglob("*") if p.is_file()}
    assert closed(which, *words).returncode == expected
    assert {p: p.read_bytes() for p in pathlib.Path(campaign).rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("command", [["fake", "--json", "-"], ["gate", "CAMPAIGN", "--json", "-"], ["report", "CAMPAIGN", "--md", "-"]],
                         ids=lambda c: c[0])
def test_a_document_for_closed_standard_output_is_refused(campaign, command):
    words = [str(campaign) if word == "CAMPAIGN" else word for word in command]
    done = subprocess.run(["sh", "-c", 'exec "$0" "$@" 1>&-', BINARY, *words], stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 2
    assert "standard output is closed: name a file for the document" in done.stderr


PRINTS = """
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void prints(void) {
  if (write(1, "written\\n", 8) < 8) _exit(1);
  printf("held");  // by the C library, until the program ends
}
"""


@pytest.mark.parametrize("command", ["doctor", "info"])
def test_what_a_library_prints_is_not_in_the_document(tmp_path, command):
    (tmp_path / "prints.c").write_text(PRINTS)
    library = tmp_path / "prints.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "prints.c"], check=True)
    done = cb(command, "--json", "-", env={**os.environ, "CLUSTERBENCH_MPI_LIBRARY": str(library)})
    assert json.loads(done.stdout)["hosts"]
    assert "written" in done.stderr and "held" in done.stderr
