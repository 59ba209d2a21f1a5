"""Measuring again never takes back what an earlier attempt found: every document stays and counts."""

import csv
import json
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

import stand_in_mpirun
from campaigns import (BINARY, at_least, cb, criterion, ends, files, journal, manifest_holds, step,
                       write_profile)

HOST = os.uname().nodename
UNSURE = 2  # the median of the fake case: inside of its interval, so the job is measured again


def profile(tmp_path, limit=UNSURE):
    return write_profile(tmp_path, [step("one"), step("two")],
                         [at_least("one.rate", "one", 1), at_least("two.rate", "two", limit),
                          criterion("two.data", "two", check="data")])


def run(path, out, environment, *more):
    return cb("run", path, "--out", out, "--launcher", "mpirun", "--hosts", f"{HOST}:1", *more, env=environment)


def test_wrong_data_beside_an_open_figure_is_not_measured_away(tmp_path):
    """One part gives wrong data and another an open figure, in one job: the job stays what it is."""
    out = tmp_path / "out"
    done = run(profile(tmp_path), out, stand_in_mpirun.install(tmp_path / "bin", {"002-two:1": "wrong"}))
    assert done.returncode == 1, done.stdout
    assert "✗ two.data" in done.stdout and "planted fault" in done.stdout
    assert len(ends(out, "002-two")) == 1


@pytest.mark.parametrize("how, code, said", [
    ("wrong", 1, "✗ two.data"), ("errored", 3, "in attempt 2: planted fault"), ("skipped", 3, "in attempt 2: planted fault")])
def test_what_the_second_attempt_finds_ends_the_repeating(tmp_path, how, code, said):
    out = tmp_path / "out"
    done = run(profile(tmp_path), out, stand_in_mpirun.install(tmp_path / "bin", {"002-two:2": how}))
    assert done.returncode == code, done.stdout
    assert said.replace("in attempt 2: ", "") in done.stdout
    assert len(ends(out, "002-two")) == 2


@pytest.mark.parametrize("how, code", [("errored", 3), ("skipped", 3)])
def test_resume_does_not_cure_what_an_attempt_found(tmp_path, how, code):
    out = tmp_path / "out"
    environment = stand_in_mpirun.install(tmp_path / "bin", {"002-two:1": how})
    assert run(profile(tmp_path, 1), out, environment).returncode == 3
    stand_in_mpirun.install(tmp_path / "bin", {})
    done = cb("run", "--resume", out, env=environment)
    assert ends(out, "002-two")[-1]["state"] == "done"
    assert done.returncode == code, done.stdout
    assert "in attempt 1: planted fault" in done.stdout
    report = tmp_path / "r.md"
    assert cb("report", out, "--md", report).returncode == 0
    assert "in attempt 1: planted fault" in report.read_text().replace("\\", "")


def test_wrong_data_of_a_job_that_is_repeated_for_another_reason_still_fails(tmp_path):
    """Another build of the tool has another fingerprint, so every job runs again; here the journal's is changed."""
    out = tmp_path / "out"
    environment = stand_in_mpirun.install(tmp_path / "bin", {"002-two:1": "killed"})
    assert run(profile(tmp_path, 1), out, environment).returncode != 0
    stand_in_mpirun.install(tmp_path / "bin", {})
    done = cb("run", "--resume", out, env=environment)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "in attempt 1: planted fault" in done.stdout
    assert manifest_holds(out) == (True, "")


def test_every_attempt_keeps_its_file_and_is_listed(tmp_path):
    out = tmp_path / "out"
    done = run(profile(tmp_path), out, stand_in_mpirun.install(tmp_path / "bin", {}))
    assert done.returncode == 3, done.stdout  # still open after four
    names = [f"records/002-two{more}.json" for more in ("", "+2", "+3", "+4")]
    assert [e["file"] for e in ends(out, "002-two")] == names
    assert set(names) < set(files(out))
    manifest = (out / "MANIFEST.sha256").read_text()
    assert all(f"  {name}\n" in manifest for name in names)
    assert cb("report", out, "--json", tmp_path / "r.json", "--md", tmp_path / "r.md").returncode == 0
    job = json.loads((tmp_path / "r.json").read_text())["jobs"][1]
    assert [a["file"] for a in job["attempts"]] == names
    assert "records/002-two+4.json" in (tmp_path / "r.md").read_text().replace("\\", "")
    for name in names:
        (value,) = {m["summary"]["n"] for m in json.loads((out / name).read_text())["records"][0]["metrics"]}
        assert value == 20


def test_a_counted_attempt_that_is_gone_is_no_measurement(tmp_path):
    out = tmp_path / "out"
    run(profile(tmp_path), out, stand_in_mpirun.install(tmp_path / "bin", {}))
    (out / "records/002-two+2.json").unlink()
    gate = cb("gate", out)
    assert gate.returncode == 3 and "No such file" in gate.stdout


def test_bad_news_of_an_attempt_outlive_its_file(tmp_path):
    """The journal says how much was wrong, so that the file can be lost, but not what it said."""
    out = tmp_path / "out"
    environment = stand_in_mpirun.install(tmp_path / "bin", {"002-two:1": "errored"})
    assert run(profile(tmp_path, 1), out, environment).returncode == 3
    stand_in_mpirun.install(tmp_path / "bin", {})
    (out / "records/002-two+1.json").unlink()
    done = cb("run", "--resume", out, env=environment)
    assert done.returncode == 3, done.stdout
    assert "by the journal it held 0 failed checks, 1 errored" in done.stdout.splitlines()[0]


def slow_once(tmp_path, plan, *more):
    """A campaign whose first attempt is too slow, and of which `plan` says what befalls the next ones."""
    out = tmp_path / "out"
    environment = stand_in_mpirun.install(tmp_path / "bin", {"002-two:1": "slow", **plan})
    done = run(profile(tmp_path, 1.5), out, environment, *more)
    stand_in_mpirun.install(tmp_path / "bin", {})
    return out, environment, done


def test_a_failing_figure_is_not_measured_away_by_an_interruption(tmp_path):
    """The repetition was killed and resumed: the samples of the attempt before it still count."""
    out, environment, done = slow_once(tmp_path, {"002-two:2": "slow", "002-two:3": "vanished"})
    assert done.returncode == 3 and "two.rate" in done.stdout
    done = cb("run", "--resume", out, env=environment)
    assert done.returncode == 3 and "inconclusive" in done.stdout, done.stdout
    gate = cb("gate", out)
    assert "attempt 3 of 002-two left no record" in gate.stderr


def slow_then_killed(tmp_path):
    """A resumed campaign whose run was killed when the slow first attempt had its document, but no line in the journal."""
    out = tmp_path / "out"
    environment = stand_in_mpirun.install(tmp_path / "bin", {"002-two:1": "slow"})
    run(profile(tmp_path, 1.5), out, environment)
    lines = (out / "journal.jsonl").read_text().splitlines(keepends=True)
    begun = next(i for i, line in enumerate(lines) if '"job":"002-two"' in line)
    (out / "journal.jsonl").write_text("".join(lines[:begun + 1]))  # as of a run that was killed here
    for path in (out / "records").glob("002-two+*"):
        path.unlink()
    stand_in_mpirun.install(tmp_path / "bin", {})
    cb("run", "--resume", out, env=environment)
    return out, environment


def test_figures_of_a_killed_attempt_count(tmp_path):
    """A figure that was measured is not forgotten because its run was killed afterwards."""
    out, _ = slow_then_killed(tmp_path)
    assert cb("gate", out, "--csv", tmp_path / "figures.csv").returncode == 0
    rows = list(csv.DictReader((tmp_path / "figures.csv").open()))
    (samples,) = {row["samples"] for row in rows if row["step"] == "two"}
    assert samples == "60"  # a slow attempt and two good ones


def test_a_lost_record_of_a_killed_attempt_is_not_replaced_either(tmp_path):
    """What was taken in after a kill spoke against the machine too, and the journal says so."""
    out, environment = slow_then_killed(tmp_path)
    taken_in, = (e for e in journal(out) if e["event"] == "kept")
    assert taken_in["unmet"] > 0
    (out / taken_in["file"]).unlink()
    done = cb("run", "--resume", out, env=environment)
    assert done.returncode == 3, done.stdout
    assert "by the journal it spoke against the machine" in done.stdout + done.stderr
    assert cb("gate", out).returncode == 3


def unreadable_and_killed(tmp_path):
    """A campaign of which the run was killed while the document of its last job could not be read."""
    out = tmp_path / "out"
    environment = stand_in_mpirun.install(tmp_path / "bin", {})
    run(profile(tmp_path, 1), out, environment)
    lines = (out / "journal.jsonl").read_text().splitlines(keepends=True)
    begun = next(i for i, line in enumerate(lines) if '"job":"002-two"' in line)
    (out / "journal.jsonl").write_text("".join(lines[:begun + 1]))
    (out / "records/002-two.json").unlink()
    (out / "records/002-two.json.1.partial").write_text('{"schema": "clusterb')
    return out, environment


def test_a_document_that_cannot_be_read_does_not_vanish_without_a_word(tmp_path):
    out, environment = unreadable_and_killed(tmp_path)
    done = cb("run", "--resume", out, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    first, second = ends(out, "002-two")
    assert first["attempt"] == 1 and first["state"] == "failed" and "sha256" not in first
    assert first["reason"].startswith("its record file cannot be used")
    assert second["attempt"] == 2 and second["state"] == "done"
    assert "attempt 1 of 002-two left no record" in cb("gate", out).stderr


def test_what_a_killed_process_had_finished_still_counts(tmp_path):
    """Rank 0 writes the document. It is killed after a point with a failed check, and nobody is left to say so."""
    steps = [step("two", params={"value": 2, "size": ["1K", "2K"], "pause": "1s", "inject-fault": 0},
                  informative=True, why="its data is wrong on purpose")]
    path = write_profile(tmp_path, steps, [criterion("two.data", "two", check="data")])
    out = tmp_path / "out"
    with subprocess.Popen([BINARY, "run", path, "--out", out, "--launcher", "none"], stdout=subprocess.PIPE, text=True) as process:
        partial = out / "records/001-two.json.1.partial"
        end = time.monotonic() + 60
        while not partial.exists() and time.monotonic() < end:
            time.sleep(0.01)
        os.kill(child_of(process.pid), signal.SIGKILL)
        told = process.communicate(timeout=60)[0]
    assert process.returncode == 1, told
    end, = ends(out)
    assert end["state"] == "failed" and end["failed_checks"] == 1
    (record,) = json.loads((out / end["file"]).read_text())["records"]
    assert record["params"]["size"] == 1024


def child_of(process):
    (children,) = [(task / "children").read_text().split() for task in pathlib.Path(f"/proc/{process}/task").iterdir()
                   if (task / "children").read_text()]
    return int(children[0])


@pytest.mark.parametrize("spoilt", [lambda p: p.unlink(), lambda p: p.write_bytes(p.read_bytes() + b" ")])
def test_a_lost_record_is_not_replaced_by_measuring_again(tmp_path, spoilt):
    out, environment, done = slow_once(tmp_path, {f"002-two:{n}": "slow" for n in (2, 3, 4)})
    assert done.returncode == 1, done.stdout
    records = sorted((out / "records").glob("002-two*"))
    kept = {path: path.read_bytes() for path in records}
    for path in records:
        spoilt(path)
    done = cb("run", "--resume", out, env=environment)
    assert done.returncode == 3, done.stdout
    assert "restore it from a copy, or begin a new campaign" in done.stdout
    assert "repeat it with run --resume" not in done.stdout
    assert len(ends(out, "002-two")) == 4  # nothing was measured for it
    for path, content in kept.items():
        path.write_bytes(content)
    done = cb("run", "--resume", out, env=environment)
    assert done.returncode == 1, done.stdout


def test_a_record_with_other_line_ends_is_named_so(tmp_path):
    out, environment, done = slow_once(tmp_path, {f"002-two:{n}": "slow" for n in (2, 3, 4)})
    path = out / "records/001-one.json"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    gate = cb("gate", out)
    assert "it was copied as text" in gate.stdout


def killed_and_resumed(tmp_path, number, moment, seconds, path, environment):
    """Runs, kills the run at a moment, and resumes until it ends; the last answer."""
    out = tmp_path / f"out{number}"
    command = [BINARY, "run", path, "--out", out, "--launcher", "mpirun", "--hosts", f"{HOST}:1"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds * moment)
    process.kill()
    killed = process.wait() == -signal.SIGKILL
    if (out / "campaign.json").exists():
        return killed, out, cb("run", "--resume", out, env=environment)
    return killed, out, cb(*command[1:], env=environment)


def test_killed_at_any_moment_no_failed_check_is_lost(tmp_path):
    """The stand-in notes every fault that it has planted: each must be in the verdict, whenever the run was killed.

    CLUSTERBENCH_KILLS sets how often; docs/evidence tells of longer runs.
    """
    path = write_profile(tmp_path, [step("one"), step("two")],
                         [at_least("one.rate", "one", 1), at_least("two.rate", "two", 1)])
    environment = stand_in_mpirun.install(tmp_path / "bin", {"001-one:1": "wrong", "002-two:1": "wrong"})
    whole = float("inf")
    for i in range(3):  # a run that stood still is longer than those that are killed
        begin = time.monotonic()
        assert run(path, tmp_path / f"whole{i}", environment).returncode == 1
        whole = min(whole, time.monotonic() - begin)
    seed = int.from_bytes(os.urandom(4), "big")
    moments = random.Random(seed)
    killed = planted = 0
    for i in range(int(os.environ.get("CLUSTERBENCH_KILLS", "12"))):
        was_killed, out, done = killed_and_resumed(tmp_path, i, moments.uniform(0, 1), whole, path, environment)
        faults = stand_in_mpirun.planted(tmp_path / "bin", out)
        for job in faults:
            assert done.returncode == 1, (seed, i, done.stdout, done.stderr)
            assert sum(e.get("failed_checks", 0) for e in journal(out) if e.get("job") == job) == 1, (seed, i, job)
        assert manifest_holds(out) == (True, ""), (seed, i)
        killed += was_killed
        planted += was_killed and len(faults) > 0
    print(f"seed {seed}: {killed} killed, {planted} of them with a fault in attempt 1 of a job")
    assert killed >= 3
