"""What ci/lint.sh says of runs on bare machines: nothing until something changes that they depend on."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
RUNS = [("bookworm", "quickstart"), ("trixie", "quickstart"), ("bookworm", "test"), ("trixie", "test")]


@pytest.fixture
def checkout(tmp_path):
    """The part of a checkout that counts, with all four runs recorded."""
    for name in ("CMakeLists.txt", "CMakePresets.json"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "ci", tmp_path / "ci")
    for suite, command in RUNS:
        assert record(tmp_path, suite, command, "2026-11-23, 4 m 0 s").returncode == 0
    return tmp_path


def record(checkout, *args):
    return subprocess.run([checkout / "ci/fresh-machine-record.sh", *args], capture_output=True, text=True, timeout=60, check=False)


def append(file, text):
    file.write_text(file.read_text() + text)


def test_nothing_is_said_of_what_was_recorded(checkout):
    done = record(checkout)
    assert (done.returncode, done.stdout) == (0, "")


def test_comments_and_reasons_do_not_count(checkout):
    append(checkout / "ci/bootstrap.sh", "\n# a remark\n")
    packages = checkout / "ci/packages.txt"
    packages.write_text(packages.read_text().replace("text formatting", "formats text"))
    assert record(checkout).stdout == ""


@pytest.mark.parametrize("file,text", [("ci/packages.txt", "libnew-dev  a reason\n"), ("ci/cmake/new.cmake", "message(x)\n"), ("ci/bootstrap.sh", "true\n")])
def test_a_change_names_its_file_and_the_run(checkout, file, text):
    path = checkout / file
    path.touch()
    append(path, text)
    done = record(checkout)
    assert done.returncode == 1
    assert f"fresh-machine: trixie-test: changed since it ran: {file}; run ci/fresh-machine.sh trixie test\n" in done.stdout
    assert len(done.stdout.splitlines()) == 4


@pytest.mark.parametrize("file", ["ci/test.sh", "ci/beside.sh", "ci/cmake/tests.cmake"])
def test_how_tests_are_made_counts_for_them_alone(checkout, file):
    append(checkout / file, "x\n")
    assert [line.split(": ")[1] for line in record(checkout).stdout.splitlines()] == ["bookworm-test", "trixie-test"]


def test_a_run_that_never_was_is_named(checkout):
    (checkout / "ci/fresh-machine/bookworm-test").unlink()
    assert record(checkout).stdout == "fresh-machine: bookworm-test was never recorded; run ci/fresh-machine.sh bookworm test\n"
