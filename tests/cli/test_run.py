"""`clusterbench run`: what it measures, journals and answers when parts of it go wrong."""

import json
import os
import pathlib
import random
import re
import signal
import subprocess
import time

import pytest

from campaigns import (BINARY, at_least, cb, criterion, ends, files, journal, manifest_holds,
                       run_local, step, write_profile)


def two_steps(tmp_path):
    return write_profile(
        tmp_path,
        [step("one", params={"value": 2, "size": ["1K", "4K"]}), step("two")],
        [at_least("one.rate", "one", 1), criterion("two.data", "two", check="data")],
    )


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_accepted_campaign_has_all_its_files(tmp_path):
    out = tmp_path / "out"
    done = run_local(two_steps(tmp_path), out)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("ACCEPTED  2 pass · 0 warnings")
    assert "\033" not in done.stdout + done.stderr
    assert set(files(out)) == {
        "campaign.json", "journal.jsonl", "MANIFEST.sha256",
        "records/001-one.json", "records/002-two.json",
        "logs/001-one.out", "logs/001-one.err", "logs/002-two.out", "logs/002-two.err",
    }
    assert manifest_holds(out) == (True, "")
    assert [e["event"] for e in journal(out)] == [
        "session", "start", "end", "start", "end", "finished"]
    lines = done.stderr.splitlines()
    assert re.match(r"   one +✓ .*at size 4K.*2 checks, 0 wrong", lines[1])


@pytest.mark.usefixtures("under_mpirun")
def test_under_mpirun_every_rank_counts(tmp_path):
    path = write_profile(
        tmp_path,
        [step("all", scope="cluster", ranks_per_host=3, env={"CLUSTERBENCH_TEST": "a b"})],
        [at_least("rate", "all", 1)],
    )
    out = tmp_path / "out"
    host = os.uname().nodename
    done = cb("run", path, "--out", out, "--launcher", "mpirun", "--hosts", f"{host}:2")
    assert done.returncode == 0, done.stderr
    record = json.loads((out / "records/001-all.json").read_text())
    assert record["run"]["ranks"] == 3
    assert record["run"]["launcher"] == "mpirun"
    command = [e for e in journal(out) if e["event"] == "start"][0]["command"]
    assert command[:1] == ["mpirun"] and "--oversubscribe" in command
    assert command[command.index("-x") + 1] == "CLUSTERBENCH_TEST=a b"
    if os.getuid() == 0:
        assert "--allow-run-as-root" in command
        assert "as root (--allow-run-as-root)" in done.stderr


@pytest.mark.parametrize("params, limit, severity, code, word", [
    ({"value": 2}, 1.99, "fail", 0, "ACCEPTED"),
    ({"value": 2}, 2.01, "fail", 1, "NOT ACCEPTED"),
    ({"value": 2}, 2.01, "warn", 0, "ACCEPTED"),
    ({"value": 2}, 2, "fail", 3, "INCOMPLETE"),  # inside the interval of the median, again and again
    ({"value": 2, "wrong-rank": 0}, 1, "fail", 1, "NOT ACCEPTED"),
    ({"value": 2, "failing-rank": 0}, 1, "fail", 3, "INCOMPLETE"),
])
def test_the_verdict_and_the_exit_code(tmp_path, params, limit, severity, code, word):
    path = write_profile(tmp_path, [step("s", params=params)],
                         [at_least("c", "s", limit, severity=severity), at_least("floor", "s", 1)])
    done = run_local(path, tmp_path / "out")
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith(word)


def test_a_failing_rank_is_named_and_the_next_steps_run(tmp_path):
    path = write_profile(
        tmp_path, [step("bad", params={"failing-rank": 0}), step("good")],
        [at_least("bad.rate", "bad", 1), at_least("good.rate", "good", 1)])
    out = tmp_path / "out"
    done = run_local(path, out)
    assert done.returncode == 3
    assert "fails as it was told" in done.stdout
    assert "logs/001-bad.err" in done.stdout
    assert [e["state"] for e in ends(out)] == ["failed", "done"]
    assert manifest_holds(out) == (True, "")


@pytest.mark.usefixtures("under_mpirun")
def test_a_hanging_rank_costs_its_step_and_is_named(tmp_path):
    path = write_profile(
        tmp_path,
        [step("hang", scope="cluster", ranks_per_host=2, deadline="2s", params={"hanging-rank": 1, "value": 2}),
         step("good")],
        [at_least("hang.rate", "hang", 1), at_least("good.rate", "good", 1)])
    out = tmp_path / "out"
    begin = time.monotonic()
    done = cb("run", path, "--out", out, "--launcher", "mpirun")
    assert time.monotonic() - begin < 30
    assert done.returncode == 3, done.stderr
    assert [e["state"] for e in ends(out)] == ["deadline", "done"]
    assert re.search(r"deadline: the time of the whole measurement, 2.00 s, has passed; nothing has moved for .*: \S+ rank 1", done.stdout)


def test_needs_are_journaled_as_not_applicable(tmp_path):
    path = write_profile(
        tmp_path, [step("one"), step("pair", needs={"hosts": 2})],
        [at_least("one.rate", "one", 1), at_least("pair.rate", "pair", 1)])
    out = tmp_path / "out"
    done = run_local(path, out)
    assert done.returncode == 0
    assert "– pair.rate  not applicable: needs 2 hosts, has 1" in done.stdout
    assert ends(out, "002-pair")[0]["state"] == "not-applicable"
    assert not (out / "records/002-pair.json").exists()


@pytest.mark.parametrize("copy", [[], ["--launcher", "mpirun", "--copy-to"]])
@pytest.mark.usefixtures("under_mpirun")
def test_ctrl_c_stops_and_says_how_to_go_on(tmp_path, copy):
    if copy:
        (tmp_path / "copies").mkdir()
        copy = [*copy, tmp_path / "copies"]
    path = write_profile(tmp_path, [step("good"), step("hang", params={"hanging-rank": 0})],
                         [at_least("rate", "good", 1)])
    out = tmp_path / "out"
    process = subprocess.Popen([BINARY, "run", path, "--out", out, *(copy or ["--launcher", "none"])],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert wait_for(lambda: (out / "logs/002-hang.err").exists())
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted after 1 of 2 steps" in err
    assert f"continue with: clusterbench run --resume {out}{' --copy-to ' + str(copy[-1]) if copy else ''}\n" in err
    assert ends(out, "002-hang")[0]["state"] == "missing"
    assert not (out / "MANIFEST.sha256").exists()


def test_killed_at_any_moment_it_is_finished_by_resume(tmp_path):
    steps = [step(f"s{i}", params={"value": 2 + i}) for i in range(6)]
    path = write_profile(tmp_path, steps, [at_least(f"c{i}", f"s{i}", 1) for i in range(6)])
    begin = time.monotonic()
    assert run_local(path, tmp_path / "whole").returncode == 0
    whole = time.monotonic() - begin
    seed = int.from_bytes(os.urandom(4), "big")
    print("seed", seed)
    moments = random.Random(seed)
    killed = 0
    for i in range(10):
        out = tmp_path / f"out{i}"
        process = subprocess.Popen([BINARY, "run", path, "--out", out, "--launcher", "none"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(whole * moments.uniform(0, 1) ** 2)
        process.kill()
        killed += process.wait() == -signal.SIGKILL
        done = run_local(path, out, "--resume") if not (out / "campaign.json").exists() else cb(
            "run", "--resume", out)
        assert done.returncode == 0, (seed, i, done.stdout, done.stderr)
        states = {e["job"]: e["state"] for e in ends(out)}
        assert states == {f"{n + 1:03}-s{n}": "done" for n in range(6)}, (seed, i)
        repeated = [e["job"] for e in ends(out) if e["state"] == "done"]
        assert len(repeated) == len(set(repeated)), (seed, i)
        assert manifest_holds(out) == (True, ""), (seed, i)
        assert not [f for f in files(out) if f.endswith(".partial")]
    assert killed >= 3


def test_done_jobs_are_not_repeated_and_others_are(tmp_path):
    path = two_steps(tmp_path)
    out = tmp_path / "out"
    assert run_local(path, out).returncode == 0
    before = (out / "records/001-one.json").read_bytes()
    (out / "records/002-two.json").unlink()
    gate = cb("gate", out)
    assert gate.returncode == 3
    assert "No such file" in gate.stdout and "step two" in gate.stdout
    assert "records/002-two.json of the manifest is not there" in gate.stderr
    done = cb("run", "--resume", out)
    assert done.returncode == 0, done.stderr
    assert "done before" in done.stderr
    assert (out / "records/001-one.json").read_bytes() == before
    assert len(ends(out, "001-one")) == 1
    assert [e["attempt"] for e in ends(out, "002-two")] == [1, 2]
    assert manifest_holds(out) == (True, "")


def test_a_truncated_record_is_a_failed_job_and_is_repeated(tmp_path):
    out = tmp_path / "out"
    assert run_local(two_steps(tmp_path), out).returncode == 0
    record = out / "records/001-one.json"
    record.write_bytes(record.read_bytes()[:200])
    gate = cb("gate", out)
    assert gate.returncode == 3
    assert "truncated" in gate.stdout
    assert record.stat().st_size == 200
    assert cb("run", "--resume", out).returncode == 0


def test_a_changed_record_is_not_believed(tmp_path):
    path = write_profile(tmp_path, [step("s")], [at_least("c", "s", 3)])
    out = tmp_path / "out"
    assert run_local(path, out).returncode == 1
    record = out / "records/001-s.json"
    record.write_text(record.read_text().replace("2.0", "4.0"))
    gate = cb("gate", out)
    assert gate.returncode == 3
    assert "changed after the run" in gate.stdout


def test_a_torn_journal_line_costs_one_job(tmp_path):
    out = tmp_path / "out"
    assert run_local(two_steps(tmp_path), out).returncode == 0
    lines = (out / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (out / "journal.jsonl").write_bytes(b"".join(lines[:4]) + lines[4][:30])
    gate = cb("gate", out)
    assert gate.returncode == 3
    assert "torn" in gate.stderr
    assert cb("run", "--resume", out).returncode == 0
    assert len(ends(out, "001-one")) == 1
    assert len(ends(out, "002-two")) == 1


def test_two_runs_never_share_a_directory(tmp_path):
    path = write_profile(tmp_path, [step("long", params={"samples": 1000, "pause": "1s"})],
                         [at_least("c", "long", 1)])
    out = tmp_path / "out"
    first = subprocess.Popen([BINARY, "run", path, "--out", out, "--launcher", "none"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert wait_for(lambda: (out / "logs/001-long.err").exists())
        second = cb("run", "--resume", out)
        assert second.returncode == 2
        assert "is being used by another run" in second.stderr
        assert run_local(path, out).returncode == 2
    finally:
        first.terminate()
        assert first.wait(timeout=30) == 130


def test_nothing_is_written_over(tmp_path):
    path = two_steps(tmp_path)
    out = tmp_path / "out"
    assert run_local(path, out).returncode == 0
    before = files(out)
    again = run_local(path, out)
    assert again.returncode == 2
    assert "--resume" in again.stderr
    assert files(out) == before
    full = tmp_path / "full"
    full.mkdir()
    (full / "thesis.txt").write_text("mine")
    assert run_local(path, full).returncode == 2
    assert files(full) == {"thesis.txt": b"mine"}


def test_out_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x")
    done = run_local(two_steps(tmp_path), tmp_path / "file" / "out")
    assert done.returncode in (2, 4)
    assert str(tmp_path / "file") in done.stderr
    done = run_local(two_steps(tmp_path), "/proc/clusterbench-out")
    assert done.returncode == 4
    assert "cannot create /proc/clusterbench-out" in done.stderr
    assert "next: name a directory that can be written, with --out" in done.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_loses_nothing(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk])
    if mounted.returncode != 0:
        pytest.skip("mounting is not permitted here")
    try:
        path = write_profile(
            tmp_path, [step("small"), step("large", params={"size": [f"{k}K" for k in range(1, 40)], "samples": 1000})],
            [at_least("small.rate", "small", 1), at_least("large.rate", "large", 1)])
        done = run_local(path, disk / "out")
        assert done.returncode in (3, 4), done.stderr
        assert "No space left on device" in done.stdout + done.stderr
        assert {e["job"]: e["state"] for e in ends(disk / "out")}["001-small"] == "done"
        json.loads((disk / "out/records/001-small.json").read_text())
        subprocess.run(["mount", "-o", "remount,size=16m", disk], check=True)
        done = cb("run", "--resume", disk / "out")
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(ends(disk / "out", "001-small")) == 1
        assert manifest_holds(disk / "out") == (True, "")
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_newer_campaign_is_refused_and_left_alone(tmp_path):
    out = tmp_path / "out"
    assert run_local(two_steps(tmp_path), out).returncode == 0
    campaign = out / "campaign.json"
    campaign.write_text(campaign.read_text().replace("clusterbench.campaign/1",
                                                     "clusterbench.campaign/2"))
    before = files(out)
    for command in (("gate", out), ("run", "--resume", out)):
        done = cb(*command)
        assert done.returncode == 2
        assert "newer clusterbench" in done.stderr
    assert files(out) == before


def test_a_changed_profile_is_refused(tmp_path):
    out = tmp_path / "out"
    assert run_local(two_steps(tmp_path), out).returncode == 0
    campaign = out / "campaign.json"
    text = json.loads(campaign.read_text())
    text["profile"]["criteria"][0]["min"] = 0
    campaign.write_text(json.dumps(text))
    done = cb("gate", out)
    assert done.returncode == 2
    assert "profile was changed" in done.stderr


def test_dry_run_prints_the_commands_and_writes_nothing(tmp_path):
    path = write_profile(
        tmp_path, [step("one"), step("all", scope="cluster", ranks_per_host="slots")],
        [at_least("rate", "one", 1)])
    out = tmp_path / "out"
    done = cb("run", path, "--out", out, "--hosts", "a:2,b:2", "--launcher", "mpirun", "--dry-run",
              env={**os.environ, "CLUSTERBENCH_MPIRUN_ARGS": "--mca plm_rsh_agent /x"})
    assert done.returncode == 0, done.stderr
    root = "--allow-run-as-root " if os.getuid() == 0 else ""
    tail = "--value 2 --deadline 20s --no-color --json"
    assert done.stdout.splitlines() == [
        f"mpirun {root}--host {host} -np {ranks} {bind}--mca plm_rsh_agent /x {BINARY} fake {tail} "
        f"{out}/records/{name}.json"
        for host, ranks, bind, name in (
            ("a:1", 1, "--bind-to none ", "001-one@a"), ("b:1", 1, "--bind-to none ", "001-one@b"),
            ("a:2,b:2", 4, "", "002-all"))
    ]
    assert not out.exists()


@pytest.mark.parametrize("arguments, said", [
    (["run"], "PROFILE"),
    (["run", "host-quik"], "did you mean host-quick?"),
    (["run", "VALID", "--launcher", "mpirum"], "did you mean mpirun?"),
    (["run", "host-quik", "--launcher", "mpirum", "--hosts", "-"], "3 problems"),
    (["run", "VALID", "--hosts", "a:x,-b"], "2 problems"),
    (["run", "VALID", "--hosts", "a", "--hostfile", "f"], "exclude each other"),
    (["run", "VALID", "--hostfile", "nofile"], "--hostfile nofile  cannot be read: No such file"),
    (["run", "VALID", "--hosts", "a,b", "--launcher", "none"], "--launcher none starts nothing on other hosts"),
    (["run", "--resume", "nowhere"], "is not a campaign"),
    (["run", "--resume", "nowhere", "--hosts", "a"], "is fixed in the campaign"),
])
def test_bad_input_is_refused(tmp_path, tmp_path_factory, arguments, said):
    valid = write_profile(tmp_path_factory.mktemp("valid"), [step("s")], [at_least("c", "s", 1)])
    done = cb(*[valid if a == "VALID" else a for a in arguments], cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert not list(pathlib.Path(tmp_path).iterdir())


def test_what_is_wrong_in_a_hostfile_names_it(tmp_path):
    valid = write_profile(tmp_path, [step("s")], [at_least("c", "s", 1)])
    (tmp_path / "hosts").write_text("one\ntwo slots=x\n")
    done = cb("run", valid, "--hostfile", "hosts", cwd=tmp_path)
    assert done.returncode == 2
    assert "--hostfile hosts line 2  'x' is not a number of slots" in done.stderr


def test_a_dry_run_refuses_the_directory_that_a_run_refuses(tmp_path):
    valid = write_profile(tmp_path, [step("s")], [at_least("c", "s", 1)])
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").touch()
    for more in ([], ["--dry-run"]):
        done = cb("run", valid, "--out", tmp_path / "used", *more)
        assert done.returncode == 2 and "is not empty" in done.stderr
    assert cb("run", valid, "--out", tmp_path / "fresh", "--dry-run").returncode == 0


def test_a_failing_figure_is_measured_four_times_before_it_rejects(tmp_path):
    path = write_profile(tmp_path, [step("good"), step("slow")],
                         [at_least("good.rate", "good", 1), at_least("slow.rate", "slow", 2.4)])
    done = run_local(path, tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.count("measured once more") == 3
    assert len(ends(tmp_path / "out", "001-good")) == 1
    assert len(ends(tmp_path / "out", "002-slow")) == 4
    # Each attempt has a document of its own; the figure is that of all their samples.
    documents = [json.loads((tmp_path / f"out/records/002-slow{more}.json").read_text())
                 for more in ("", "+2", "+3", "+4")]
    assert [d["records"][0]["metrics"][0]["summary"]["n"] for d in documents] == [20] * 4
    assert cb("report", tmp_path / "out", "--csv", tmp_path / "r.csv").returncode == 0
    heading, *rows = [line.split(",") for line in (tmp_path / "r.csv").read_text().splitlines()]
    assert [row[heading.index("samples")] for row in rows if row[0] == "slow"] == ["80"]
    # What was measured four times counts as it is: nothing is repeated by asking again.
    again = cb("run", "--resume", tmp_path / "out")
    assert again.returncode == 1
    assert len(ends(tmp_path / "out", "002-slow")) == 4


def test_wrong_data_rejects_at_once(tmp_path):
    path = write_profile(tmp_path, [step("wrong", params={"value": 2, "wrong-rank": 0})],
                         [at_least("wrong.rate", "wrong", 1)])
    done = run_local(path, tmp_path / "out")
    assert done.returncode == 1
    assert "measured once more" not in done.stderr
    assert len(ends(tmp_path / "out", "001-wrong")) == 1


def test_of_several_runs_into_one_directory_one_measures_and_the_others_say_why(tmp_path):
    """Each is either refused before it has written anything, or meets the other's file on its way."""
    path = write_profile(tmp_path, [step("s", params={"value": 2, "samples": 1})], [at_least("c", "s", 1)])
    for number in range(8):
        command = [BINARY, "run", path, "--launcher", "none", "--out", str(tmp_path / f"c{number}")]
        runs = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(5)]
        said = [run.communicate(timeout=60)[1] for run in runs]
        assert sorted(run.returncode for run in runs) == [0, 2, 2, 2, 2], said
        assert cb("gate", tmp_path / f"c{number}").returncode == 0
        for run, text in zip(runs, said):
            if run.returncode == 2:
                assert "is being used by another run" in text or "is not empty" in text
