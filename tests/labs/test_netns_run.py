"""`clusterbench run` across three hosts: every host named, a lost one costs only itself."""

import json
import subprocess

SOURCE = {"kind": "practice", "ref": "lab", "date": "2026-11"}


def write_profile(path):
    def metric(identity, step):
        return {"id": identity, "step": step, "domain": "host", "why": "lab", "source": SOURCE,
                "metric": "bytes_per_second", "min": 1}

    path.write_text(json.dumps({
        "schema": "clusterbench.profile/1", "name": "lab", "title": {"en": "lab", "zh": "lab"},
        "steps": [
            {"id": "info", "case": "info", "deadline": "30s"},
            {"id": "each", "case": "fake", "deadline": "30s", "params": {"value": 2}},
            {"id": "all", "case": "fake", "deadline": "30s", "scope": "cluster",
             "ranks_per_host": 2, "params": {"value": 2}},
        ],
        "criteria": [metric("each.rate", "each"), metric("all.rate", "all"),
                     {"id": "uniform", "step": "info", "domain": "host", "why": "lab",
                      "source": SOURCE, "uniform": ["system.kernel"], "needs": {"hosts": 2}}],
    }))
    return path


def run(netns, clusterbench, *arguments, **more):
    # From the head, so that mpirun reaches the hosts by the lab's launch agent.
    return netns.run([clusterbench, "run", *map(str, arguments)], timeout=180, **more)


def test_across_three_hosts(netns, clusterbench, tmp_path):
    out = tmp_path / "out"
    hostfile = netns.write_hostfile(tmp_path / "hosts", 2)
    done = run(netns, clusterbench, write_profile(tmp_path / "p.json"), "--out", out,
               "--hostfile", hostfile, "--launcher", "mpirun")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("ACCEPTED  3 pass")
    records = {p.name for p in (out / "records").iterdir()}
    assert records == {f"{step}@{host}.json" for step in ("001-info", "002-each")
                       for host in netns.hosts} | {"003-all.json"}
    for host in netns.hosts:
        record = json.loads((out / f"records/002-each@{host}.json").read_text())
        assert record["run"]["hosts"] == [host]
    record = json.loads((out / "records/003-all.json").read_text())
    assert record["run"]["hosts"] == netns.hosts
    assert record["run"]["ranks"] == 6
    check = subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "MANIFEST.sha256"],
                           cwd=out)
    assert check.returncode == 0
    page = tmp_path / "report.html"
    subprocess.run([clusterbench, "report", out, "--html", page], check=True, timeout=60)
    assert f"3 of 3 hosts could be read: {', '.join(netns.hosts)}." in page.read_text()


def test_a_lost_host_costs_only_itself_and_is_named(netns, clusterbench, tmp_path):
    """The host whose link is cut is left out of the later steps, stays in the verdict as not
    measured, and is measured after all by --resume once its link is back."""
    out = tmp_path / "out"
    lost = netns.hosts[1]
    hosts = netns.host_list(2)
    netns.cut_link(lost)
    try:
        done = run(netns, clusterbench, write_profile(tmp_path / "p.json"), "--out", out,
                   "--hosts", hosts, "--launcher", "mpirun",
                   env={"CLUSTERBENCH_MPIRUN_ARGS": "--timeout 10"})
    finally:
        netns.mend_link(lost)
    assert done.returncode == 3, done.stdout + done.stderr
    assert lost in done.stdout
    assert "INCOMPLETE" in done.stdout.splitlines()[-1]
    record = json.loads((out / "records/003-all.json").read_text())
    assert record["run"]["hosts"] == [h for h in netns.hosts if h != lost]
    done = run(netns, clusterbench, "--resume", out)
    assert done.returncode == 2 and "continue with --trust" in done.stderr  # arguments that are not in this environment
    done = run(netns, clusterbench, "--resume", out, "--trust")
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((out / "records/003-all+2.json").read_text())  # the second attempt, beside the first
    assert record["run"]["hosts"] == netns.hosts


def write_hpl_profile(path, folder, **params):
    path.write_text(json.dumps({
        "schema": "clusterbench.profile/1", "name": "hpl", "title": {"en": "HPL", "zh": "HPL"},
        "steps": [{"id": "hpl", "case": "external", "deadline": "5m", "scope": "cluster",
                   "params": {"kind": "hpcc", "program": "hpcc", "order": "1000", "block": "96", "threads": 1, "dir": str(folder),
                              **params}}],
        "criteria": [{"id": "hpl.rate", "step": "hpl", "domain": "compute", "metric": "flops_per_second", "min": "0.01 GFLOP/s",
                      "title": {"en": "HPL", "zh": "HPL"}, "why": {"en": "lab", "zh": "实验"}, "source": SOURCE}]}))
    return path


def test_the_real_hpl_runs_over_two_hosts_as_a_step(netns, clusterbench, tmp_path):
    """The campaign's launcher starts one rank a host; the first of them starts HPL's own processes on both hosts."""
    out, folder = tmp_path / "out", tmp_path / "scratch"
    folder.mkdir()
    where = tmp_path / "where"
    program = tmp_path / "hpcc-that-says-where"
    program.write_text(f"#!/bin/sh\nhostname >>{where}\nexec hpcc\n")
    program.chmod(0o755)
    profile = write_hpl_profile(tmp_path / "p.json", folder, program=str(program))
    handed_on = " ".join(f"-x {name}" for name in netns.environment() if name.startswith("PRTE_MCA_"))  # which Open MPI 5 hands to nobody
    done = run(netns, clusterbench, profile, "--out", out, "--hosts", netns.host_list(1, netns.hosts[:2]), "--launcher", "mpirun",
               env={"CLUSTERBENCH_MPIRUN_ARGS": handed_on})
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads((out / "records/001-hpl.json").read_text())
    assert document["run"]["hosts"] == netns.hosts[:2]
    record, = document["records"]
    assert all(c["passed"] for c in record["checks"]) and {c["name"] for c in record["checks"]} == {"residual", "rate", "output"}
    assert record["facts"]["processes"] == "2" and record["facts"]["grid"] == "1 × 2"
    assert sorted(where.read_text().split()) == netns.hosts[:2]
    assert record["entities"][0]["kind"] == "cluster"
    assert not list(folder.iterdir())
