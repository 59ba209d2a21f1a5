"""What `template slurm` prints, under a real Slurm of three nodes: it measures all of them, outlives a node that is drained or
lost in the middle, and keeps jobs off a node that its check finds sick."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "slurm"))
import slurm_lab  # noqa: E402

SOURCE = {"kind": "practice", "ref": "lab", "date": "2026-11"}


@pytest.fixture(scope="module")
def slurm(netns, tmp_path_factory):
    if reason := slurm_lab.why_not():
        pytest.skip(reason)
    with slurm_lab.SlurmLab(netns, tmp_path_factory.mktemp("slurm") / "lab") as lab:
        yield lab


def write_profile(path, seconds):
    """A step for each host, one of two ranks a host over PMIx, and a last one for each host."""
    def metric(identity):
        return {"id": f"{identity}.rate", "step": identity, "domain": "host", "why": "lab", "source": SOURCE,
                "metric": "bytes_per_second", "min": 1}

    def step(identity, **more):
        return {"id": identity, "case": "fake", "deadline": "60s", "params": {"value": 2, **more.pop("params", {})}, **more}

    path.write_text(json.dumps({
        "schema": "clusterbench.profile/1", "name": "lab", "title": {"en": "lab", "zh": "lab"},
        "steps": [{"id": "info", "case": "info", "deadline": "60s", "informative": True, "why": "lab"},
                  step("each", params={"samples": 1, "pause": f"{seconds}s"}),
                  step("all", scope="cluster", ranks_per_host=2), step("last")],
        "criteria": [metric("each"), metric("all"), metric("last")]}))
    return path


def submit(slurm, clusterbench, tmp_path, seconds=0, **environment):
    """The rendered script as a job; its identity and the campaign's directory."""
    script, profile = tmp_path / "acceptance.sbatch", tmp_path / "profile.json"
    if not script.exists():
        write_profile(profile, seconds)
        made = slurm.run([clusterbench, "template", "slurm", "--profile", profile, "--hosts", slurm.netns.host_list(2),
                          "--directory", tmp_path, "--program", clusterbench, "--time", "10:00"])
        assert made.returncode == 0, made.stderr
        script.write_text(made.stdout)
    words = [f"{name}={value}" for name, value in environment.items()]
    sent = slurm.run(["env", *words, "sbatch", "--parsable", script], cwd=tmp_path)
    assert sent.returncode == 0, sent.stderr
    job = sent.stdout.strip()
    return job, Path(environment.get("CAMPAIGN", tmp_path / f"acceptance-{job}"))


def end_of(slurm, job, tmp_path):
    """The exit code of the job, and what it printed."""
    slurm.wait(lambda: slurm.job(job)["JobState"] not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING"), f"job {job} has no end", 120)
    return int(slurm.job(job)["ExitCode"].split(":")[0]), (tmp_path / f"clusterbench-{job}.log").read_text()


def test_a_campaign_over_three_nodes(slurm, clusterbench, tmp_path):
    job, campaign = submit(slurm, clusterbench, tmp_path)
    code, printed = end_of(slurm, job, tmp_path)
    assert code == 0, printed
    assert "ACCEPTED" in printed
    for host in slurm.netns.hosts:
        record = json.loads((campaign / f"records/002-each@{host}.json").read_text())
        assert record["run"]["hosts"] == [host]
    record = json.loads((campaign / "records/003-all.json").read_text())
    assert (record["run"]["hosts"], record["run"]["ranks"], record["run"]["launcher"]) == (slurm.netns.hosts, 6, "srun")


def start_of(campaign, step, host):
    """True once the step runs on the host."""
    journal = campaign / "journal.jsonl"
    return journal.exists() and any(f"{step}@{host}" in line and '"start"' in line for line in journal.read_text().splitlines())


def test_a_node_drained_in_the_middle_ends_its_job_first(slurm, clusterbench, tmp_path):
    job, campaign = submit(slurm, clusterbench, tmp_path, seconds=6)
    second = slurm.netns.hosts[1]
    slurm.wait(lambda: start_of(campaign, "each", second), "the step does not begin")
    assert slurm.run(["scontrol", "update", f"nodename={second}", "state=drain", "reason=lab"]).returncode == 0
    try:
        assert slurm.states()[second] in ("draining", "drained")
        code, printed = end_of(slurm, job, tmp_path)
        assert code == 0 and "ACCEPTED" in printed, printed
        assert (campaign / f"records/004-last@{second}.json").exists()
        slurm.wait(lambda: slurm.states()[second] == "drained", "the node is not drained")
    finally:
        slurm.run(["scontrol", "update", f"nodename={second}", "state=resume"])
    slurm.wait(lambda: slurm.states()[second] == "idle", "the node does not come back")


def test_a_lost_node_costs_itself_and_is_measured_later(slurm, clusterbench, tmp_path):
    job, campaign = submit(slurm, clusterbench, tmp_path, seconds=6)
    lost = slurm.netns.hosts[2]
    slurm.wait(lambda: start_of(campaign, "each", lost), "the step does not begin")
    slurm.stop(lost)
    code, printed = end_of(slurm, job, tmp_path)
    slurm.start(lost)
    assert code == 3 and "INCOMPLETE" in printed and lost in printed, printed
    for host in slurm.netns.hosts[:2]:
        assert (campaign / f"records/004-last@{host}.json").exists()
    slurm.wait(lambda: slurm.states()[lost] == "idle", "the node does not come back")
    again, _ = submit(slurm, clusterbench, tmp_path, CAMPAIGN=str(campaign))
    code, printed = end_of(slurm, again, tmp_path)
    assert code == 0 and "ACCEPTED" in printed, printed


def test_a_spare_steps_in_for_a_node_that_is_drained_and_lost(slurm, clusterbench, tmp_path):
    """Three nodes, of which the contract takes two: the report is complete, and names who went and who came."""
    first, bad, spare = slurm.netns.hosts
    profile = json.loads(write_profile(tmp_path / "p.json", 4).read_text())
    profile["steps"][2]["retries"] = 2  # PMIx between several slurmd of one machine now and then fails to wire up
    profile["delivery"] = {"hosts": 2, "replaced_at_most": 1, "why": "lab", "source": SOURCE}
    (tmp_path / "p.json").write_text(json.dumps(profile))
    script, out = tmp_path / "spare.sbatch", tmp_path / "out"
    script.write_text(f"#!/bin/bash\n#SBATCH --nodes=3 --ntasks-per-node=2 --no-kill --time=10:00 --output={tmp_path}/clusterbench-%j.log\n"
                      f"exec {clusterbench} run {tmp_path}/p.json --out {out} --hosts {first}:2,{bad}:2 --spares {spare}:2 --launcher srun\n")
    sent = slurm.run(["sbatch", "--parsable", "-w", ",".join(slurm.netns.hosts), script], cwd=tmp_path)
    assert sent.returncode == 0, sent.stderr
    slurm.wait(lambda: start_of(out, "each", bad), "the step does not begin")
    assert slurm.run(["scontrol", "update", f"nodename={bad}", "state=drain", "reason=lab"]).returncode == 0
    slurm.stop(bad)
    try:
        code, printed = end_of(slurm, sent.stdout.strip(), tmp_path)
    finally:
        slurm.start(bad)
        slurm.run(["scontrol", "update", f"nodename={bad}", "state=resume"])
    assert code == 0 and "ACCEPTED" in printed, printed
    assert f"{spare} takes its place" in printed
    record = json.loads((out / "records/003-all.json").read_text())
    assert record["run"]["hosts"] == [first, spare]
    page = slurm.run([clusterbench, "report", out, "--md", tmp_path / "report.md"])
    assert page.returncode == 0, page.stderr
    report = (tmp_path / "report.md").read_text()
    assert "2 of 2 hosts could be read" in report and "Hosts taken out" in report and bad in report
    slurm.wait(lambda: slurm.states()[bad] == "idle", "the node does not come back")


def node_check(slurm, clusterbench, tmp_path, sick):
    """The rendered script. A program in place of clusterbench says that this node is sick, as `health` would by its exit code."""
    fake = tmp_path / "clusterbench"
    fake.write_text(f'#!/bin/sh\n[ "$(hostname)" != {sick} ] || [ "$1" != health ] || exit 1\nexit 3\n')
    fake.chmod(0o755)
    made = slurm.run([clusterbench, "template", "slurm", "--file", "node-check.sh", "--program", fake])
    check = tmp_path / "node-check.sh"
    check.write_text(made.stdout)
    check.chmod(0o755)
    return check


def test_the_prolog_keeps_jobs_off_a_sick_node(slurm, clusterbench, tmp_path):
    sick = slurm.netns.hosts[1]
    slurm.configure(f"Prolog={node_check(slurm, clusterbench, tmp_path, sick)}")
    try:
        done = slurm.run(["srun", "--immediate=20", "-N2", "-w", ",".join(slurm.netns.hosts[::2]), "hostname"])
        assert sorted(done.stdout.split()) == slurm.netns.hosts[::2], done.stderr
        done = slurm.run(["sbatch", "--parsable", "--no-requeue", "-w", sick, "--wrap", "true"], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        slurm.wait(lambda: slurm.states()[sick] in ("drained", "draining"), "the node is not drained")
    finally:
        slurm.configure("")
        slurm.run(["scancel", "--state=PENDING"])
        slurm.run(["scontrol", "update", f"nodename={sick}", "state=resume"])


def test_the_epilog_keeps_the_next_job_off_a_node_that_a_job_left_sick(slurm, clusterbench, tmp_path):
    sick = slurm.netns.hosts[1]
    slurm.configure(f"Epilog={node_check(slurm, clusterbench, tmp_path, sick)}")
    try:
        done = slurm.run(["srun", "--immediate=20", "-N3", "-w", ",".join(slurm.netns.hosts), "hostname"])
        assert sorted(done.stdout.split()) == slurm.netns.hosts, done.stderr
        slurm.wait(lambda: slurm.states()[sick] in ("drained", "draining"), "the node is not drained")
        slurm.wait(lambda: {slurm.states()[host] for host in slurm.netns.hosts[::2]} == {"idle"}, "the others are not idle")
    finally:
        slurm.configure("")
        slurm.run(["scontrol", "update", f"nodename={sick}", "state=resume"])
        slurm.wait(lambda: slurm.states()[sick] == "idle", "the node does not come back")


def test_a_campaign_by_pmi2(slurm, clusterbench, tmp_path):
    """As `doctor` advises where srun has no plugin pmix: the steps take an MPI that speaks PMI2."""
    out = tmp_path / "out"
    done = slurm.run(["env", "CLUSTERBENCH_SRUN_ARGS=--mpi=pmi2", clusterbench, "run", write_profile(tmp_path / "p.json", 0), "--out", out,
                      "--hosts", slurm.netns.host_list(2), "--launcher", "srun"], timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads((out / "records/003-all.json").read_text())
    assert (document["run"]["ranks"], document["run"]["launcher"]) == (6, "srun")
    assert document["tool"]["build"]["mpi"].startswith("MPICH")
    assert not any("--mpi=pmix" in line for line in (out / "journal.jsonl").read_text().splitlines())


def collectives(slurm, clusterbench, out, *options):
    """all_reduce and alltoall of three ranks, one on each node, that srun starts with these options."""
    return slurm.run(["srun", *options, "-N3", "-n3", clusterbench, "mpi", "--op", "all_reduce,alltoall", "--size", "1K",
                      "--duration", "5ms", "--deadline", "60s", "--json", out], timeout=200)


def expect_three_nodes(slurm, out, library):
    document = json.loads(out.read_text())
    assert (document["run"]["hosts"], document["run"]["ranks"]) == (slurm.netns.hosts, 3)
    assert all(r["facts"]["library"].startswith(library) for r in document["records"])
    checks = [c for r in document["records"] for c in r["checks"]]
    assert len(document["records"]) == 2 and checks and all(c["passed"] for c in checks)


def test_mpich_by_pmi2(slurm, clusterbench, tmp_path):
    """srun starts the ranks of an MPICH by PMI2: the same program opens that MPI, over three nodes."""
    out = tmp_path / "r.json"
    done = collectives(slurm, clusterbench, out, "--mpi=pmi2")
    assert done.returncode == 0, done.stdout + done.stderr
    expect_three_nodes(slurm, out, "MPICH")


def test_open_mpi_by_pmix(slurm, clusterbench, tmp_path):
    """PMIx between several slurmd of one machine now and then fails to wire up, before a rank has begun: it has three attempts, of
    a minute each. A job that began has one."""
    out = tmp_path / "r.json"
    for _ in range(3):
        done = collectives(slurm, clusterbench, out, "--mpi=pmix", "--time=1", "--export=ALL,CLUSTERBENCH_SAY_STARTED=1")
        if done.returncode == 0 or "has started" in done.stdout:
            break
    assert done.returncode == 0, done.stdout + done.stderr
    expect_three_nodes(slurm, out, "Open MPI")
