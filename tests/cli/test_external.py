"""external: a site's own program is started, and its output is believed only where it can be verified."""

import json
import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest

BINARY = os.environ["CLUSTERBENCH_BIN"]
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

HEAD = """HPLinpack 2.3  --  stand-in
- Computational tests pass if scaled residuals are less than                16.0
T/V                N    NB     P     Q               Time                 Gflops
"""
ROW = "WR11C2R4        {n}   192     1     1               2.00              3.341e-01\n"
RESIDUAL = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        {residual} ...... PASSED\n"
TAIL = """Finished      1 tests with the following results:
              1 tests completed and passed residual checks,
              0 tests completed and failed residual checks,
              0 tests skipped because of illegal input values.
End of Tests.
"""


def output(n=1000, residual="0.0041437"):
    return HEAD + ROW.format(n=n) + RESIDUAL.format(residual=residual) + TAIL


def program(folder, text, before=""):
    """A stand-in that behaves as a program does which was started in its directory."""
    (folder / "text").write_text(text)
    script = folder / "xhpl"
    script.write_text(f"#!/bin/sh\n{before}\ncat {folder}/text\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


def external(folder, *args, timeout=120):
    out = folder / "e.json"
    done = subprocess.run([BINARY, "external", "--dir", folder, "--json", out, *map(str, args)], capture_output=True,
                          text=True, timeout=timeout, check=False, env=ENVIRONMENT)
    records = json.loads(out.read_text())["records"] if out.exists() else []
    return done, records[0] if records else None


def direct(folder, script, *args):
    return external(folder, "--program", script, "--launch", "none", "--order", 1000, *args)


def failed(record):
    return [c["name"] for c in record["checks"] if not c["passed"]]


def test_the_input_is_made_and_the_figure_is_the_programs(tmp_path):
    script = program(tmp_path, output(), f"cp HPL.dat {tmp_path}/seen; env >{tmp_path}/variables")
    done, record = direct(tmp_path, script, "--threads", 3)
    assert done.returncode == 0, done.stdout + done.stderr
    words = [line.split()[0] for line in (tmp_path / "seen").read_text().splitlines()]
    assert words[2:13] == ["HPL.out", "6", "1", "1000", "1", "192", "0", "1", "1", "1", "16.0"]
    assert "OMP_NUM_THREADS=3" in (tmp_path / "variables").read_text().splitlines()
    rate, seconds = record["metrics"]
    assert (rate["samples"], seconds["samples"]) == ([3.341e8], [2.0])
    assert failed(record) == [] and len(record["checks"]) == 3
    assert record["facts"]["program"] == str(script) and record["facts"]["program_version"] == "2.3"
    digest = subprocess.run(["sha256sum", script], capture_output=True, text=True, check=True).stdout.split()[0]
    assert record["facts"]["program_sha256"] == digest
    assert not list(tmp_path.glob("clusterbench-external-*"))


def test_every_run_counts(tmp_path):
    done, record = direct(tmp_path, program(tmp_path, output()), "--iterations", 3)
    assert done.returncode == 0 and record["metrics"][0]["samples"] == [3.341e8] * 3
    # The second run is wrong: no figure of any.
    flaky = program(tmp_path, output(), f"echo x >>{tmp_path}/runs; [ $(wc -l <{tmp_path}/runs) != 2 ] || "
                                        f"sed -i s/0.0041437/99.0000000/ {tmp_path}/text")
    done, record = direct(tmp_path, flaky, "--iterations", 3)
    assert done.returncode == 1 and failed(record) == ["residual"] and record["metrics"] == []


@pytest.mark.parametrize("text, check", [
    (output(residual="16.0000000"), "residual"),
    (output(residual="nan"), "residual"),
    (output().replace("16.0\n", "0.0\n").replace(RESIDUAL.format(residual="0.0041437"), ""), "residual"),
    (output().replace("3.341e-01", "3.341e+01"), "rate"),
    (output().replace("End of Tests.", ""), "output"),
    (output(n=2000).replace("3.341e-01", "2.670e+00"), "output"),  # of an older input
])
def test_wrong_data_gives_no_number(tmp_path, text, check):
    done, record = direct(tmp_path, program(tmp_path, text))
    assert done.returncode == 1, done.stderr
    assert failed(record) == [check] and record["metrics"] == []


def test_a_second_result_is_not_pooled(tmp_path):
    """An input file elsewhere asks for two orders: both rows are good by themselves, and the last one is the one asked for."""
    other = ROW.format(n=2000).replace("3.341e-01", "2.670e+00") + RESIDUAL.format(residual="0.002")
    both = HEAD + other + ROW.format(n=1000) + RESIDUAL.format(residual="0.004") + TAIL.replace(" 1 tests", " 2 tests")
    done, record = direct(tmp_path, program(tmp_path, both))
    assert done.returncode == 1 and failed(record) == ["output"] and record["metrics"] == []


HPCG = """HPCG-Benchmark
version=3.1
Machine Summary::Distributed Processes={processes}
Machine Summary::Threads per processes=1
Local Domain Dimensions::nx={edge}
Local Domain Dimensions::ny=16
Local Domain Dimensions::nz=16
Spectral Convergence Tests::Result=PASSED
Departure from Symmetry |x'Ay-y'Ax|/(2*||x||*||A||*||y||)/epsilon::Result=PASSED
Iteration Count Information::Result=PASSED
Reproducibility Information::Result=PASSED
Reproducibility Information::Scaled residual mean=0.001
Reproducibility Information::Scaled residual variance=0
Benchmark Time Summary::Total=2000
Floating Point Operations Summary::Total=2e12
GFLOP/s Summary::Raw Total=1
Final Summary::HPCG result is VALID with a GFLOP/s rating of=1
"""


@pytest.mark.parametrize("processes, edge, files, code", [(1, 16, 1, 0), (2, 16, 1, 1), (1, 24, 1, 1), (1, 16, 2, 4)])
def test_hpcg_solved_what_was_asked_for(tmp_path, processes, edge, files, code):
    script = program(tmp_path, HPCG.format(processes=processes, edge=edge),
                     "\n".join(f"cp {tmp_path}/text HPCG-Benchmark_{n}.txt" for n in range(files)))
    done, record = external(tmp_path, "--program", script, "--launch", "none", "--kind", "hpcg", "--edge", 16)
    assert done.returncode == code, done.stdout + done.stderr
    assert [m["name"] for m in record.get("metrics", [])][:1] == (["flops_per_second"] if code == 0 else [])


def test_an_exit_code_counts_also_where_the_parent_ignores_children(tmp_path):
    script = program(tmp_path, output(), f"cat {tmp_path}/text; exit 3")
    command = [BINARY, "external", "--dir", tmp_path, "--program", script, "--launch", "none", "--order", "1000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.returncode == 4 and "exit code 3" in done.stderr


def test_nothing_runs_on_behind_a_program_that_has_ended(tmp_path):
    script = program(tmp_path, output(), f"sleep 300 >/dev/null 2>&1 & echo $! >{tmp_path}/pid")
    assert direct(tmp_path, script)[0].returncode == 0
    stat = Path("/proc") / (tmp_path / "pid").read_text().strip() / "stat"
    assert not stat.exists() or stat.read_text().rpartition(") ")[2][0] == "Z"


def test_a_program_that_writes_without_end_is_ended(tmp_path):
    done, _ = direct(tmp_path, program(tmp_path, "", "exec yes"))
    assert done.returncode == 4 and "more than 64 MiB" in done.stderr
    assert not list(tmp_path.glob("clusterbench-external-*"))


def test_a_program_that_fails_says_why(tmp_path):
    done, record = direct(tmp_path, program(tmp_path, "no memory for A\n", "cat " + str(tmp_path / "text") + "; exit 3"))
    assert done.returncode == 4 and "exit code 3; it last said: no memory for A" in done.stderr
    assert record["outcome"] == "errored"
    done, _ = direct(tmp_path, program(tmp_path, "usage: xhpl\n"))
    assert done.returncode == 4 and "no output that can be read" in done.stderr
    done, _ = direct(tmp_path, tmp_path / "nowhere")
    assert done.returncode == 4 and "nowhere could not be started: No such file or directory" in done.stderr


def test_a_program_that_hangs_is_ended_with_all_that_it_started(tmp_path):
    script = program(tmp_path, output(), f"sleep 300 & echo $! >{tmp_path}/pid; wait")
    done, record = direct(tmp_path, script, "--run-deadline", "1s")
    assert done.returncode == 4 and record["outcome"] == "errored" and "did not end within 1 s" in done.stderr
    stat = Path("/proc") / (tmp_path / "pid").read_text().strip() / "stat"
    assert not stat.exists() or stat.read_text().rpartition(") ")[2][0] == "Z"  # nobody may have asked for its end yet


def test_what_is_missing_is_told_before_anything_is_run(tmp_path):
    done = subprocess.run([BINARY, "external", "--launch", "none", "--processes", "2"], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 2
    for option in ("--program", "--dir", "--launch"):
        assert option in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("edge, code, text", [(20, 2, "20 is no multiple of 8"), (24, 4, "could not be started")])
def test_hpcg_is_not_asked_for_a_cube_that_it_cannot_halve(tmp_path, edge, code, text):
    """The real one aborts there, with a list of addresses as its last words."""
    done, _ = external(tmp_path, "--kind", "hpcg", "--program", "/nowhere", "--launch", "none", "--edge", edge)
    assert done.returncode == code and text in done.stderr


PROFILE = {"schema": "clusterbench.profile/1", "name": "hpl", "title": {"en": "HPL", "zh": "HPL"},
           "steps": [{"id": "hpl", "case": "external", "deadline": "5m",
                      "params": {"launch": "none", "order": "1000"}}],
           "criteria": [{"id": "rate", "step": "hpl", "domain": "compute", "metric": "flops_per_second",
                         "min": "0.3 GFLOP/s", "title": {"en": "HPL", "zh": "HPL"}, "why": {"en": "order", "zh": "合同"},
                         "source": {"kind": "contract", "ref": {"en": "test", "zh": "测试"}, "date": "2026"}}]}


def test_a_step_of_a_profile_shows_what_it_would_start_and_is_judged(tmp_path):
    script = program(tmp_path, output(), f"echo x >>{tmp_path}/runs")
    PROFILE["steps"][0]["params"]["program"] = str(script)
    (tmp_path / "p.json").write_text(json.dumps(PROFILE))
    command = [BINARY, "run", tmp_path / "p.json", "--out", tmp_path / "c", "--launcher", "none"]
    dry = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, timeout=60, check=False)
    assert dry.returncode == 0, dry.stderr
    assert f"--program {script}" in dry.stdout + dry.stderr and not (tmp_path / "runs").exists()
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    gate = subprocess.run([BINARY, "gate", tmp_path / "c"], capture_output=True, text=True, timeout=60, check=False)
    assert gate.returncode == 0, gate.stdout + gate.stderr
    assert (tmp_path / "runs").read_text() == "x\n"


APPTAINER = """#!/bin/sh
# As the real one: its own words, an image that is there, then a program that sees only the directory that was bound.
[ "$1 $2" = "exec --bind" ] && [ "$3" = "$(pwd):/work" ] && [ "$4 $5" = "--pwd /work" ] && [ -f "$6" ] || { echo "wrong: $*"; exit 64; }
shift 6
exec "$@"
"""


def test_a_container_is_started_by_its_own_command(tmp_path):
    script = program(tmp_path, output(), "[ -f HPL.dat ] || exit 65")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "apptainer").write_text(APPTAINER)
    (tmp_path / "bin" / "apptainer").chmod(0o755)
    image = tmp_path / "hpl.sif"
    image.write_text("an image")
    out = tmp_path / "e.json"
    words = f"exec,--bind,{{dir}}:/work,--pwd,/work,{image},{script}"
    done = subprocess.run([BINARY, "external", "--dir", tmp_path, "--json", out, "--program", "apptainer", "--launch", "none", "--order", "1000",
                           "--arguments", words], capture_output=True, text=True, timeout=60, check=False,
                          env={**ENVIRONMENT, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stdout + done.stderr
    record, = json.loads(out.read_text())["records"]
    assert failed(record) == [] and record["metrics"][0]["samples"] == [3.341e8]
    assert record["facts"]["program"] == str(tmp_path / "bin" / "apptainer")
    assert f"{tmp_path}/bin/apptainer exec --bind {{dir}}:/work --pwd /work {image} {script}" in record["facts"]["command"]
    lines = subprocess.run(["sha256sum", image, script], capture_output=True, text=True, check=True).stdout.splitlines()
    digests = [f"{path} {digest}" for digest, path in (line.split() for line in lines)]
    assert record["facts"]["argument_sha256"] == ", ".join(digests)


def test_the_real_one(tmp_path, under_mpirun):
    done, record = external(tmp_path, "--kind", "hpcc", "--program", "hpcc", "--order", 1500, "--block", 96, "--threads", 1,
                            timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert failed(record) == [] and record["metrics"][0]["samples"][0] > 1e8
    assert record["params"]["order"] == 1500 and record["facts"]["grid"] == "1 × 1"
