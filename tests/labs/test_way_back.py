"""A campaign on hosts that do not see its directory: the documents come back through the launcher, with all that holds on a
shared one. With --copy the program goes there the same way."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "slurm"))
import slurm_lab  # noqa: E402

SOURCE = {"kind": "practice", "ref": "lab", "date": "2026-11"}


def write_profile(path, samples=2, pause="0s"):
    def metric(identity):
        return {"id": f"{identity}.rate", "step": identity, "domain": "host", "why": "lab", "source": SOURCE,
                "metric": "bytes_per_second", "min": 1}

    def fake(samples, pause):
        return {"case": "fake", "deadline": "40s", "stall": "10s",
                "params": {"value": 2, "samples": samples, "pause": pause, "size": ["1K", "2K", "3K"]}}

    path.write_text(json.dumps({
        "schema": "clusterbench.profile/1", "name": "lab", "title": {"en": "lab", "zh": "lab"},
        "steps": [{"id": "info", "case": "info", "deadline": "30s", "informative": True, "why": "lab"},
                  {"id": "each", **fake(1, "0s")}, {"id": "all", "scope": "cluster", "ranks_per_host": 2, **fake(samples, pause)}],
        "criteria": [metric("each"), metric("all")]}))
    return path


@pytest.fixture
def hidden(tmp_path):
    """The directory that hosts do not see, and what hides it."""
    place = tmp_path / "hidden"
    place.mkdir()
    return place, {"CLUSTERBENCH_LAB_HIDE": str(place)}


def begin(netns, clusterbench, tmp_path, out, env, *more, **profile):
    words = [clusterbench, "run", write_profile(tmp_path / "p.json", **profile), "--out", out, "--hosts", netns.host_list(2),
             "--launcher", "mpirun", *more]
    return netns.popen(list(map(str, words)), env=env)


def end_of(process, seconds=120):
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


def record(out, name):
    return json.loads((out / "records" / name).read_text())


def ways(document):
    return [r.get("facts", {}).get("way_back") for r in document["records"]]


def wait_for_start(out, job, seconds=30):
    end = time.monotonic() + seconds
    while f'"event":"start","fingerprint"' not in "".join(
            line for line in (out / "journal.jsonl").read_text().splitlines() if f'"job":"{job}"' in line) \
            if (out / "journal.jsonl").exists() else True:
        assert time.monotonic() < end, f"{job} does not begin"
        time.sleep(0.05)


def ranks_of(netns, host, job):
    """Processes on the host that measure for this job, and not their launcher."""
    found = []
    for pid in netns.pids(host, "clusterbench"):
        words = open(f"/proc/{pid}/cmdline", encoding="utf-8").read()
        if f"/{job}.json" in words:
            found.append(pid)
    return found


def wait_for_kept(out, count, seconds=30):
    """Until that many points of the running job have come back."""
    end = time.monotonic() + seconds
    while True:
        streams = list((out / "records").glob("003-all.json.*.partial.*.partial"))
        lines = streams[0].read_text(errors="replace").split("\n")[:-1] if streams else []
        # mark, token, check, number of the document, index of the line, count of its lines, …
        pieces = {tuple(line.split()[3:6]) for line in lines if line.startswith("clusterbench-document")}
        whole = {number for number, _, lines_of_it in pieces
                 if sum(other == number for other, _, _ in pieces) == int(lines_of_it)}
        if len(whole) >= count:
            return
        assert time.monotonic() < end, f"{len(whole)} of {count} documents came back"
        time.sleep(0.05)


def left_in(out):
    return sorted(p.name for p in (out / "records").iterdir() if not p.name.endswith(".json"))


def test_no_host_sees_the_directory(netns, clusterbench, tmp_path, hidden):
    out, env = hidden[0] / "c", hidden[1]
    code, printed, said = end_of(begin(netns, clusterbench, tmp_path, out, env))
    assert code == 0, printed + said
    assert "ACCEPTED  2 pass" in printed
    for host in netns.hosts:
        document = record(out, f"002-each@{host}.json")
        assert document["run"]["hosts"] == [host]
        assert ways(document) == [f"the launcher: {host} cannot write to the campaign's directory"] * 3
    document = record(out, "003-all.json")
    assert (document["run"]["hosts"], document["run"]["ranks"], len(document["records"])) == (netns.hosts, 6, 3)
    assert left_in(out) == []
    for log in (out / "logs").iterdir():
        assert "clusterbench-document" not in log.read_text()


def test_one_host_does_not_see_it(netns, clusterbench, tmp_path, hidden):
    out, blind = hidden[0] / "c", netns.hosts[1]
    env = {**hidden[1], "CLUSTERBENCH_LAB_HIDE_ON": blind}
    code, printed, said = end_of(begin(netns, clusterbench, tmp_path, out, env))
    assert code == 0, printed + said
    for host in netns.hosts:
        assert (ways(record(out, f"002-each@{host}.json"))[0] is not None) == (host == blind)
    assert ways(record(out, "003-all.json")) == [None] * 3  # rank 0 is on the first host, which sees it
    assert left_in(out) == []


def test_jobs_of_a_sweep_come_back_too(netns, clusterbench, tmp_path, hidden):
    out = hidden[0] / "s"
    words = [clusterbench, "sweep", "mpi", "--env", "A=1,2", "--repeats", 2, "--out", out, "--hosts", netns.host_list(2),
             "--launcher", "mpirun", "--", "--op", "all_reduce", "--size", "8", "--duration", "20ms"]
    code, printed, said = end_of(netns.popen(list(map(str, words)), env={**hidden[1], "CLUSTERBENCH_LAB_HIDE_ON": netns.hosts[0]}))
    assert code == 0, printed + said
    assert "6 of 6 jobs done" in printed
    for run in json.loads((out / "sweep.json").read_text())["runs"]:
        document = json.loads((out / run["document"]).read_text())
        assert len(document["run"]["hosts"]) == 3 and all(ways(document))
        assert "clusterbench-document" not in (out / run["document"]).with_suffix(".out").read_text()
    assert not list(out.glob("*.partial"))


@pytest.mark.parametrize("victim", [0, 2], ids=["rank 0 is killed", "another rank is killed"])
def test_what_was_finished_comes_back(netns, clusterbench, tmp_path, hidden, victim):
    """Ranks of the third step are killed in its last point: the two points before it are there."""
    out, env = hidden[0] / "c", hidden[1]
    process = begin(netns, clusterbench, tmp_path, out, env, samples=4, pause="0.25s")
    wait_for_start(out, "003-all")
    wait_for_kept(out, 2)
    os.kill(ranks_of(netns, netns.hosts[victim], "003-all")[0], signal.SIGKILL)
    code, printed, said = end_of(process)
    assert code != 0, printed + said  # whatever is done afterwards, the first attempt counts
    document = record(out, "003-all+1.json")
    assert document["run"]["partial"]
    assert len(document["records"]) >= 2
    assert all(ways(document))
    assert left_in(out) == []
    end = [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines() if '"003-all"' in line and '"end"' in line][0]
    assert (end["state"], end["file"]) == ("failed", "records/003-all+1.json")


def test_ctrl_c_then_resume(netns, clusterbench, tmp_path, hidden):
    out, env = hidden[0] / "c", hidden[1]
    process = begin(netns, clusterbench, tmp_path, out, env, samples=4, pause="0.25s")
    wait_for_start(out, "003-all")
    wait_for_kept(out, 1)
    process.send_signal(signal.SIGINT)
    code, printed, said = end_of(process)
    assert code == 130, printed + said
    document = record(out, "003-all+1.json")
    assert document["run"]["partial"] and document["records"]
    done = netns.run([clusterbench, "run", "--resume", str(out)], env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(record(out, "003-all+2.json" if (out / "records/003-all+2.json").exists() else "003-all.json")["records"]) == 3
    assert left_in(out) == []


def test_a_run_that_was_killed_is_resumed(netns, clusterbench, tmp_path, hidden):
    out, env = hidden[0] / "c", hidden[1]
    process = begin(netns, clusterbench, tmp_path, out, env, samples=4, pause="0.25s")
    wait_for_start(out, "003-all")
    wait_for_kept(out, 1)
    process.kill()
    process.communicate(timeout=30)
    done = netns.run([clusterbench, "run", "--resume", str(out)], env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert record(out, "003-all+1.json")["records"]
    assert left_in(out) == []


def test_the_program_is_copied_and_removed(netns, clusterbench, tmp_path):
    """Hosts have neither the directory nor the program, /tmp is mounted noexec, and they share /var/tmp."""
    program = tmp_path / "clusterbench"
    subprocess.run(["strip", "-o", program, clusterbench], check=True, timeout=60)
    env = {"CLUSTERBENCH_LAB_HIDE": "/tmp", "CLUSTERBENCH_LAB_HIDE_AS": "noexec"}
    code, printed, said = end_of(begin(netns, program, tmp_path, tmp_path / "d", env, "--copy"))
    assert code == 0, printed + said
    for host in netns.hosts:
        assert f"{host}: not copied to /tmp: no program may be started there (noexec)" in said
    identity = json.loads((tmp_path / "d/campaign.json").read_text())["id"]
    argv = record(tmp_path / "d", f"002-each@{netns.hosts[0]}.json")["run"]["argv"]
    assert argv[0] == f"/var/tmp/clusterbench-{identity}/clusterbench"
    assert not os.path.exists(f"/var/tmp/clusterbench-{identity}")


def test_under_slurm(netns, clusterbench, tmp_path):
    """No node sees the directory, and the program goes to them: srun brings both."""
    if reason := slurm_lab.why_not():
        pytest.skip(reason)
    program = tmp_path / "hidden" / "clusterbench"
    program.parent.mkdir()
    subprocess.run(["strip", "-o", program, clusterbench], check=True, timeout=60)
    profile = json.loads(write_profile(tmp_path / "p.json").read_text())
    profile["steps"][2]["retries"] = 2  # PMIx between several slurmd of one machine now and then fails to wire up
    (tmp_path / "p.json").write_text(json.dumps(profile))
    out = program.parent / "c"
    with slurm_lab.SlurmLab(netns, tmp_path / "slurm", hide=program.parent) as slurm:
        done = slurm.run([program, "run", tmp_path / "p.json", "--out", out, "--hosts", netns.host_list(2), "--launcher", "srun",
                          "--copy-to", "/var/tmp"])
    assert done.returncode == 0, done.stdout + done.stderr
    for host in netns.hosts:
        assert ways(record(out, f"002-each@{host}.json")) == [f"the launcher: {host} cannot write to the campaign's directory"] * 3
    document = record(out, "003-all.json")
    assert (document["run"]["ranks"], document["run"]["launcher"], all(ways(document))) == (6, "srun", True)
    assert not list(Path("/var/tmp").glob(f"clusterbench-{json.loads((out / 'campaign.json').read_text())['id']}"))
