"""1,250 hosts × 8 GPUs with planted defects: each is in the conclusion, nobody else is, and the cost grows with the hosts and no faster."""

import json
import os
import pathlib
import subprocess

import pytest

BINARY = os.environ["CLUSTERBENCH_BIN"]
SOURCE = pathlib.Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
GENERATOR = pathlib.Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "bin" / "synth_cluster"
PROFILE = SOURCE / "tests/data/synth/h20-cluster.json"


def generate(directory, hosts, *more):
    done = subprocess.run([GENERATOR, directory, "--hosts", str(hosts), "--profile", PROFILE, *more],
                          capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return [tuple(line.split(" ", 1)) for line in done.stdout.splitlines()]


class Used:
    """CPU seconds and the largest resident size of one command."""

    def __init__(self, *command):
        process = subprocess.Popen([BINARY, *map(str, command)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.out, self.err = (s.decode() for s in process.communicate(timeout=240))
        self.code = process.returncode

    @classmethod
    def measured(cls, *command):
        script = ("import resource,subprocess,sys;c=subprocess.run(sys.argv[1:],capture_output=True);"
                  "u=resource.getrusage(resource.RUSAGE_CHILDREN);"
                  "print(c.returncode,u.ru_utime+u.ru_stime,u.ru_maxrss)")
        done = subprocess.run(["/usr/bin/python3", "-c", script, BINARY, *map(str, command)],
                              capture_output=True, text=True, timeout=240)
        code, seconds, kib = done.stdout.split()
        return int(code), float(seconds), int(kib) * 1024


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    directory = tmp_path_factory.mktemp("large") / "campaign"
    return directory, generate(directory, 1250)


@pytest.fixture(scope="module")
def with_findings(tmp_path_factory):
    """As records of GPUs are: each has a finding of each GPU."""
    directory = tmp_path_factory.mktemp("findings") / "campaign"
    generate(directory, 1250, "--findings")
    return directory


def seconds_of_a_plain_parser(directory):
    """CPU seconds in which Python's parser reads the records once: a measure of this machine as busy as it is now."""
    script = ("import json,pathlib,resource,sys\n"
              "for p in pathlib.Path(sys.argv[1], 'records').iterdir(): json.loads(p.read_bytes())\n"
              "u = resource.getrusage(resource.RUSAGE_SELF); print(u.ru_utime + u.ru_stime)")
    done = subprocess.run(["/usr/bin/python3", "-c", script, directory], capture_output=True, text=True, timeout=240)
    return float(done.stdout)


def verdicts(directory, tmp_path):
    path = tmp_path / "report.json"
    done = Used("report", directory, "--json", path, "--html", tmp_path / "report.html")
    assert done.code == 0, done.err
    return json.loads(path.read_text())


def accused(report):
    """(criterion, entity) of every failing part, and the hosts that were not measured."""
    parts = {(c["id"], f["name"]) for c in report["criteria"] for f in c.get("failing", [])}
    gaps = {(c["id"], g["host"]) for c in report["criteria"] for g in c.get("gaps", []) if "host" in g}
    return parts, gaps


@pytest.mark.parametrize("hosts", [10, 1250])
def test_every_planted_defect_is_named_and_nobody_else(hosts, large, tmp_path):
    if hosts == 1250:
        directory, planted = large
    else:
        directory = tmp_path / "campaign"
        planted = generate(directory, hosts)
    report = verdicts(directory, tmp_path)
    assert report["verdict"] == "not-accepted"
    parts, gaps = accused(report)
    for defect in planted:
        assert defect in parts | gaps, defect
    guilty = {name.split(":")[0] for _, name in planted}
    assert {name.split(":")[0] for _, name in parts} <= guilty
    assert {host for _, host in gaps} <= guilty
    page = (tmp_path / "report.html").read_text()
    open_items = page[page.index("<h2>1 "):]
    conclusion = open_items[:open_items.index("</table>")]
    for _, name in planted:
        host = name.split(":")[0]
        assert host in conclusion, host


def test_a_healthy_cluster_is_accepted_and_nobody_is_accused(tmp_path):
    directory = tmp_path / "campaign"
    assert generate(directory, 64, "--healthy") == []
    report = verdicts(directory, tmp_path)
    assert report["verdict"] == "accepted"
    assert accused(report) == (set(), set())
    assert report.get("outliers", []) == []


def test_the_page_and_the_memory_stay_small(large, tmp_path):
    page = tmp_path / "report.html"
    code, _, resident = Used.measured("report", large[0], "--html", page)
    assert code == 0
    assert page.stat().st_size <= 8_000_000
    assert resident <= 300 << 20
    code, _, resident = Used.measured("gate", large[0], "--junit", tmp_path / "gate.xml")
    assert code == 1
    assert resident <= 300 << 20
    assert (tmp_path / "gate.xml").stat().st_size < 1_000_000


def test_the_cost_is_linear(large, tmp_path):
    """Ten times the hosts: about ten times the CPU time, and a hundred times if anything were quadratic."""
    small = tmp_path / "campaign"
    generate(small, 125)
    for command in (["gate"], ["report", "--html", tmp_path / "r.html"]):
        cost = [min(Used.measured(command[0], directory, *command[1:])[1] for _ in range(1))
                for directory in (small, large[0])]
        assert cost[1] < 30 * cost[0], cost


def test_the_gate_costs_little_more_than_reading(with_findings):
    """Reading, digests, binding and judging of 8,700 records take about 1.1 times what Python takes to parse them; a
    reader that reads twice, or a search that is quadratic in the hosts, is far above the limit."""
    ratios = []
    for _ in range(3):
        code, seconds, _ = Used.measured("gate", with_findings)
        assert code == 1
        ratios.append(seconds / seconds_of_a_plain_parser(with_findings))
    assert min(ratios) < 1.7, ratios
