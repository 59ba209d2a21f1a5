"""Healthy ways of working that a strict judge might take for tampering: each is accepted still."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from campaigns import BINARY, at_least, cb, criterion, journal, run_local, step, write_profile  # noqa: E402

SOURCE_DIR = pathlib.Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    root = tmp_path_factory.mktemp("healthy")
    profile = write_profile(root, [step("first"), step("second")],
                            [at_least("first.rate", "first", 1), criterion("first.data", "first", check="data"),
                             at_least("second.rate", "second", 1)])
    assert run_local(profile, root / "c").returncode == 0
    return root / "c"


@pytest.fixture
def campaign(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "c")


def accepted(directory, **more):
    done = cb("gate", directory, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_after_resuming_what_is_finished(campaign):
    assert cb("run", "--resume", campaign).returncode == 0
    accepted(campaign)


def test_killed_in_the_middle_and_resumed(tmp_path):
    profile = write_profile(tmp_path, [step("first"), step("long", params={"value": 2, "pause": "100ms", "samples": 30})],
                            [at_least("first.rate", "first", 1), at_least("long.rate", "long", 1)])
    command = [BINARY, "run", profile, "--out", tmp_path / "c", "--launcher", "none"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        while not any(e["event"] == "start" and e["job"].endswith("long") for e in journal_so_far(tmp_path / "c")):
            assert running.poll() is None
        running.kill()
    assert cb("run", "--resume", tmp_path / "c").returncode == 0
    accepted(tmp_path / "c")


def journal_so_far(directory):
    return journal(directory) if (directory / "journal.jsonl").exists() else []


def test_a_noisy_figure_that_was_measured_again(tmp_path):
    """Limit inside the interval of the first measurement: repeated, pooled, and accepted or left open, never rejected."""
    profile = write_profile(tmp_path, [step("noisy", params={"value": 2, "samples": 7})],
                            [at_least("noisy.rate", "noisy", 1.9995)])
    done = run_local(profile, tmp_path / "c")
    assert done.returncode in (0, 3)
    assert cb("gate", tmp_path / "c").returncode == done.returncode


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_with_closed_descriptors(finished, closed):
    done = subprocess.run([BINARY, "gate", finished], preexec_fn=lambda: [os.close(fd) for fd in closed])
    assert done.returncode == 0


@pytest.mark.parametrize("closed", [(1,), (0, 1, 2)])
def test_run_with_closed_descriptors(tmp_path, closed):
    profile = write_profile(tmp_path, [step("first")], [at_least("first.rate", "first", 1)])
    command = [BINARY, "run", profile, "--out", tmp_path / "c", "--launcher", "none"]
    done = subprocess.run(command, preexec_fn=lambda: [os.close(fd) for fd in closed])
    assert done.returncode == 0
    accepted(tmp_path / "c")


@pytest.mark.parametrize("environment", [
    {"TZ": "Asia/Shanghai"}, {"TZ": "America/New_York", "LC_ALL": "C"}, {"HOME": "/nonexistent"}, {"LANG": "zh_CN.UTF-8"}])
def test_in_another_time_zone_and_language(finished, environment):
    accepted(finished, env={**os.environ, **environment})


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_by_another_user_who_may_only_read(campaign):
    for path in [*campaign.parents][:-2]:
        path.chmod(path.stat().st_mode | 0o055)
    subprocess.run(["chmod", "-R", "a+rX", campaign], check=True)
    done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", BINARY, "gate", campaign],
                          capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="a host name of its own needs root")
def test_on_another_machine_in_another_directory(finished, tmp_path):
    moved = shutil.copytree(finished, tmp_path / "näme mit blank" / "c")
    script = f'hostname laptop && exec "{BINARY}" gate "{moved}"'
    done = subprocess.run(["unshare", "--uts", "sh", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_documents_of_an_earlier_release(tmp_path):
    """It was measured by the first release: what its documents cannot say does not count against it."""
    old = shutil.copytree(SOURCE_DIR / "tests/data/campaign-v1", tmp_path / "c")
    assert re.search(r"^ACCEPTED", cb("gate", old).stdout, re.M)
    accepted(old)


def test_with_reports_and_papers_beside_the_evidence(campaign):
    assert cb("report", campaign, "--html", campaign / "report.html", "--md", campaign / "report.md").returncode == 0
    assert cb("issue", "add", campaign, "--host", "n1", "--symptom", "a scratch").returncode == 0
    accepted(campaign)
