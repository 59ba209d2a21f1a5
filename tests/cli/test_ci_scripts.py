"""Every script of ci/ says what it is for when asked, and does nothing else."""
import contextlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
LIBRARIES = {"common.sh"}  # sourced by the others
SCRIPTS = sorted(p for p in (ROOT / "ci").iterdir() if p.suffix in (".sh", ".py") and p.name not in LIBRARIES)


def ask(script, *arguments, **options):
    program = sys.executable if script.suffix == ".py" else "bash"
    return subprocess.run([program, script, *arguments], capture_output=True, text=True, timeout=30, check=False, **options)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.name)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_is_an_answer_and_nothing_else(script, option, tmp_path):
    # Without any program beside the shell's own and those that print: nothing can be built or fetched.
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "dirname", "basename", "sed", "cat", "nproc", "id", "python3"):
        (tools / name).symlink_to(f"/usr/bin/{name}")
    done = ask(script, option, cwd=tmp_path, env={**os.environ, "PATH": str(tools)})
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert done.stderr == "" and len(done.stdout.splitlines()) >= 2
    assert not done.stdout.startswith("#") and "shellcheck" not in done.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["bin"]


def test_points_of_the_comparison_with_iperf3():
    script = ROOT / "ci" / "compare_tcp.py"
    done = ask(script, "--points", "two-way-4,sideways")
    assert done.returncode == 2 and "'sideways' is none of one-way, two-way" in done.stderr
    assert "--points" in ask(script, "--help").stdout


def test_what_ran_once_more_counts_as_it_ended_then(tmp_path):
    def suite(file, **tests):
        cases = "".join(f'<testcase name="{name}" status="{status}"></testcase>'
                        for name, status in tests.items())
        (tmp_path / file).write_text(f"<testsuite>{cases}</testsuite>")

    def counted():
        done = subprocess.run([ROOT / "ci/count_tests.py", tmp_path], capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines()

    suite("ctest.xml", unit="run", lab="fail")
    assert counted() == (1, [f"failed {tmp_path.name} lab", "1 passed, 1 failed, 0 skipped"])
    suite("again.xml", lab="run")
    assert counted() == (0, [f"repeated {tmp_path.name} lab", "2 passed, 0 failed, 0 skipped"])
    suite("again.xml", lab="fail")
    assert counted()[0] == 1


def test_the_bundles_libraries_are_for_its_own_programs(tmp_path):
    """Debian's libstdc++ of a bundle stood before the machine's for python3, nvidia-smi and nvbandwidth too."""
    bundle, machine, out = tmp_path / "bundle", tmp_path / "machine", tmp_path / "out"
    for place, name in ((bundle, "clusterbench"), (bundle, "gpu_kernels"), (machine, "nvidia-smi")):
        place.mkdir(exist_ok=True)
        (place / name).write_text("#!/bin/sh\necho libraries: $LD_LIBRARY_PATH.\n")
        (place / name).chmod(0o755)
    env = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"} | {"PATH": f"{machine}:{os.environ['PATH']}"}
    subprocess.run(["bash", ROOT / "ci/gpu-check.sh", out, "--bundle", bundle, "--seconds", "60"], env=env, cwd=ROOT, capture_output=True,
                   timeout=120, check=False)
    words = {name: (out / f"{name}.log").read_text().strip() for name in ("nvidia-smi", "gpu_kernels", "info")}
    assert words == {"nvidia-smi": "libraries: .", "gpu_kernels": f"libraries: {bundle}/lib.", "info": f"libraries: {bundle}/lib."}


def compare_hpl(tmp_path, rounds, *words):
    """ci/compare_hpl.py over a program whose nth run of a case has n times the first rate."""
    program, log = tmp_path / "clusterbench", tmp_path / "log"
    program.write_text(f"""#!/usr/bin/python3
import json, pathlib, sys
log = pathlib.Path({str(log)!r})
case = sys.argv[1]
with log.open("a") as file:
    file.write(case + "\\n")
rate = {{"gemm": 100e9, "lu": 80e9, "external": 50e9, "cg": 1e9}}[case] * log.read_text().split().count(case)
json.dump({{"records": [{{"metrics": [{{"name": "flops_per_second", "summary": {{"median": rate}}}}]}}]}},
          open(sys.argv[sys.argv.index("--json") + 1], "w"))
""")
    (tmp_path / "hpcc").write_text("#!/bin/sh\n")
    for file in (program, tmp_path / "hpcc"):
        file.chmod(0o755)
    done = ask(ROOT / "ci" / "compare_hpl.py", "--binary", program, "--rounds", str(rounds), *words,
               env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    return done, log.read_text().split() if log.exists() else []


def test_the_comparison_with_hpl_alternates_and_has_a_spread(tmp_path):
    done, runs = compare_hpl(tmp_path, 3)
    assert done.returncode == 0, done.stderr
    assert runs == ["gemm", "lu", "external", "gemm", "external", "lu", "gemm", "lu", "external"]
    assert done.stdout.splitlines()[3:] == ["gemm: 200.0 [100.0 … 300.0] GFLOP/s", "lu: 160.0 [80.0 … 240.0] GFLOP/s",
                                            "HPL: 100.0 [50.0 … 150.0] GFLOP/s", "lu : HPL 1.60 [1.60 … 1.60]", "lu : gemm 0.80 [0.80 … 0.80]"]


def test_the_comparison_with_hpcg_alternates_too(tmp_path):
    done, runs = compare_hpl(tmp_path, 3, "--hpcg", "/opt/xhpcg", "--cores", "1")
    assert done.returncode == 0, done.stderr
    assert runs == ["cg", "external", "external", "cg", "cg", "external"]
    assert done.stdout.splitlines()[3:] == ["cg: 2.00 [1.00 … 3.00] GFLOP/s", "HPCG: 100.00 [50.00 … 150.00] GFLOP/s", "cg : HPCG 0.02 [0.02 … 0.02]"]


def test_two_rounds_with_hpl_are_refused(tmp_path):
    done, runs = compare_hpl(tmp_path, 2)
    assert done.returncode == 2 and "fewer than 3 have no spread" in done.stderr and runs == []


# Samples of which only the mean without the 5 % at either end is `value`.
SPREAD = """
def spread(value):
    return [0.1 * value, *[0.95 * value] * 12, *[1.1 * value] * 6, 50 * value]
"""
MADE_UP_BUILD = """#!/usr/bin/python3 -IS
import json, pathlib, sys
""" + SPREAD + """
side, log, ratios = {side!r}, pathlib.Path({log!r}), {ratios!r}
words = sys.argv[1:]
with log.open("a") as file:
    file.write(f"{{side}} {{' '.join(words[:words.index('--quiet')])}}\\n")
runs = sum(line.startswith(f"{{side}} {{words[0]}} ") for line in log.read_text().splitlines())
rate = ratios[(runs - 1) % len(ratios)] if side == "portable" else 1
metrics = [("flops_per_second", 1), ("bytes_per_second", 1), ("bus_bytes_per_second", 1), ("io_per_second", 1), ("latency_seconds", -1)]
sizes = words[words.index("--size") + 1].split(",") if "--size" in words else ["0"]
records = [{{"params": {{"size": size}}, "metrics": [
    {{"name": name, "better": "higher" if sign > 0 else "lower", "samples": spread(rate ** sign)}} for name, sign in metrics]}}
    for size in sizes]
json.dump({{"records": records}}, open(words[words.index("--json") + 1], "w"))
"""


def compare_speed(tmp_path, ratios, *words, rounds=6):
    """ci/portable/speed.py over two programs, of which the portable one's figures are `ratios`, run by run of a case."""
    log = tmp_path / "log"
    for side in ("native", "portable"):
        (tmp_path / side).write_text(MADE_UP_BUILD.format(side=side, log=str(log), ratios=ratios))
    (tmp_path / "mpirun").write_text('#!/bin/sh\n[ "$1 $2 $3" = "--oversubscribe -np 2" ] && shift 3 && exec "$@"\n')
    for name in ("native", "portable", "mpirun"):
        (tmp_path / name).chmod(0o755)
    done = ask(ROOT / "ci" / "portable" / "speed.py", tmp_path / "native", tmp_path / "portable", str(rounds), "--dir", tmp_path, *words,
               env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    return done, log.read_text().splitlines()


FIGURES = ["gemm-fp64", "gemm-fp32", "triad", "all-reduce 4K B", "all-reduce 1M B", "all-reduce 64M B", "pingpong", "randread", "write", "burn"]


def test_the_comparison_of_two_builds_alternates_over_the_steps_of_host_quick(tmp_path):
    done, runs = compare_speed(tmp_path, [0.98 + 1e-9])  # a mean is rounded
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[:-1] == [f"{name:26} 0.980 [0.980 … 0.980], best 0.980" for name in FIGURES]
    assert lines[-1].startswith("6 rounds, load")
    assert [run.split()[0] for run in runs] == ["native", "portable", "portable", "native"] * 3 * 8
    assert runs[0] == "native gemm --device cpu --dtype fp64 --size 2048 --duration 4s"
    assert runs[36] == "native mpi --op all_reduce --size 4K,1M,64M --duration 2s"
    assert runs[60].startswith("native io --rw randread --block-size 4K --queue-depth 32 --size 256M --duration 5s --dir ")
    assert runs[84] == "native burn --device cpu --duration 10s"


@pytest.mark.parametrize("ratios, rounds, end", [
    ([0.97], 6, "FAILED: below 0.98"), ([0.97] * 5 + [1.5], 6, "not decided: the interval reaches below 0.98"),
    ([1.5] * 5 + [0.97], 6, "not decided: the interval reaches below 0.98"), ([1.5], 5, "not decided: fewer than 6 rounds")])
def test_of_two_builds_only_a_whole_interval_above_the_limit_shows_something(tmp_path, ratios, rounds, end):
    done, runs = compare_speed(tmp_path, ratios, "--duration", "1s", rounds=rounds)
    assert done.returncode == 1, done.stdout + done.stderr
    assert [line.split("  ")[0] for line in done.stdout.splitlines() if line.endswith(end)] == FIGURES
    assert all("--duration 1s" in run for run in runs)


def test_two_builds_are_compared_by_some_steps_alone(tmp_path):
    done, runs = compare_speed(tmp_path, [1], "--step", "triad", "--step", "burn")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[:-1]] == ["triad", "burn"]
    assert len(runs) == 24


def test_the_middle_of_samples_is_what_lies_between_the_ends_and_buckets_are_where_the_guide_says():
    sys.path.append(str(ROOT / "tests" / "tools"))
    from medians import mean_of_the_middle, middle_of_bucket  # noqa: PLC0415
    assert mean_of_the_middle({"samples": [1000.0, *[2.0] * 9, *[4.0] * 9, 0.0]}) == 3  # of twenty one at either end is left out
    assert mean_of_the_middle({"samples": [3.0, 1.0, 2.0]}) == pytest.approx(2)
    assert mean_of_the_middle({"samples": [8.0, 2.0]}, lambda rate: 4 / rate) == pytest.approx(1.25)
    assert middle_of_bucket(40 * 128) == pytest.approx(1 + 0.5 / 128) and middle_of_bucket(41 * 128) == pytest.approx(2 + 1 / 128)
    buckets = [[40 * 128, 5], [41 * 128, 90], [50 * 128, 5]]
    assert mean_of_the_middle({"histogram": {"buckets": buckets}}) == pytest.approx(2 + 1 / 128)


MADE_UP_LAUNCHER = """#!/usr/bin/python3
import json, pathlib, sys
""" + SPREAD + """
words, log = sys.argv[1:], pathlib.Path({log!r})
def takes(op, size):
    return size * (3 if op == "alltoall" else 1)
variables = dict(word.split("=", 1) for word in words if "=" in word)
if variables:
    assert pathlib.Path(variables["CLUSTERBENCH_MPI_LIBRARY"]).name == "libmpi_plain.so" and words[2] == "env"
    op, size = variables["MPI_PLAIN"].split()
    runs = len(log.read_text()) // 6 if log.exists() else 0
    one, other = {loops!r}[runs % len({loops!r})]
    lines = [f"{{takes(op, int(size)) * share * one}} {{takes(op, int(size)) * share * other}}" for share in {shares!r}]
    pathlib.Path(variables["MPI_PLAIN_OUT"]).write_text("\\n".join(lines) + "\\n")
ranks, times = int(words[1]), {times!r}
time, op, size = 1, "all_reduce", 64
if ranks == 2:
    with log.open("a") as file:
        file.write("x")
    time = times[(len(log.read_text()) - 1) // 6 % len(times)]  # a round has six jobs, one for each point
    op, size = words[words.index("--op") + 1], int(words[words.index("--size") + 1])
records = [{{"checks": [{{"passed": True}}], "params": {{"op": op}}, "facts": {{"actual_bytes": str(size)}},
            "metrics": [{{"name": "algorithm_bytes_per_second", "samples": [size / t for t in spread(takes(op, size) * time)]}}]}}]
json.dump({{"run": {{"ranks": ranks}}, "tool": {{"build": {{"mpi": "Made up 1.0"}}}}, "records": records}},
          open(words[words.index("--json") + 1], "w"))
"""


def any_mpi(tmp_path, monkeypatch, times, compiler, *names, shares=(0.99, 1.01), loops=((1, 1),)):
    """The exit code of tests/tools/any_mpi.py with one MPI: the program takes `times` the plain loop, run by run, and the loop itself
    `shares` of what it takes, before and after, and either kind of it `loops`, run by run. Each point takes a time of its own."""
    spec = importlib.util.spec_from_file_location("any_mpi", ROOT / "tests" / "tools" / "any_mpi.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, text in (("launcher", MADE_UP_LAUNCHER.format(log=str(tmp_path / "log"), times=times, shares=shares, loops=loops)), ("mpicc", "#!/bin/sh\n: >\"$5\"\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    made_up = module.Mpi("Made up", [str(tmp_path / "launcher")], str(tmp_path / compiler))
    monkeypatch.setattr(module, "installations", lambda folder: [made_up])
    monkeypatch.setattr(module, "slurm_of_two", lambda: contextlib.nullcontext((None, "not here")))
    monkeypatch.setattr(sys, "argv", ["any_mpi.py", "clusterbench", str(len(times)), str(tmp_path), *names])
    return int(module.main())


# Of nine values the smallest and the largest lie outside of the median's interval.
@pytest.mark.parametrize("times, told, end", [
    ([0.9, 1.0, 1.0, 1.0, 1.0, 1.0, 1.02, 1.03 - 1e-9, 1.5], "1.000 [1.000 … 1.030]", ""),
    ([0.9, 1.0, 1.0, 1.0, 1.0, 1.0, 1.02, 1.04, 1.5], "1.000 [1.000 … 1.040]", " not decided: the interval reaches over 1.03"),
    ([0.9, 1.03 - 1e-9, 1.03 - 1e-9, 1.04, 1.04, 1.1, 1.1, 1.1, 1.5], "1.040 [1.030 … 1.100]", " not decided: the interval reaches over 1.03"),
    ([0.9, 1.04, 1.04, 1.04, 1.04, 1.1, 1.1, 1.1, 1.5], "1.040 [1.040 … 1.100]", " FAILED: above 1.03"),
    ([0.97] * 6, "0.970 [0.970 … 0.970]", " not decided: the loop takes longer"), ([0.98] * 6, "0.980 [0.980 … 0.980]", ""),
    ([1.0] * 5, "1.000 [1.000 … 1.000]", " not decided: fewer than 6 rounds"), ([1.0] * 6, "1.000 [1.000 … 1.000]", "")])
def test_a_median_over_a_plain_loop_is_shown_to_be_within_the_limit_or_fails(tmp_path, monkeypatch, capsys, times, told, end):
    assert any_mpi(tmp_path, monkeypatch, times, "mpicc") == (1 if end else 0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Made up: Made up 1.0, 4 ranks, 1 records, 1 checks, 0 wrong"
    assert lines[-1] == "srun: not here"
    assert len(lines) == 8 and all(line.endswith(f"over a plain loop {told}, loop after/before 1.020{end}") for line in lines[1:-1]), lines


@pytest.mark.parametrize("shares, end", [((1, 1.03), ""), ((1, 1.04), " not decided: the loop itself changed by more than 1.03"),
                                         ((1.04, 1), " not decided: the loop itself changed by more than 1.03")])
def test_beside_a_loop_that_changes_itself_nothing_is_shown(tmp_path, monkeypatch, capsys, shares, end):
    assert any_mpi(tmp_path, monkeypatch, [1.0] * 6, "mpicc", shares=shares) == (1 if end else 0)
    assert all(line.endswith(f"loop after/before {shares[1] / shares[0]:.3f}{end}") for line in capsys.readouterr().out.splitlines()[1:-1])


@pytest.mark.parametrize("loops, told", [
    (((1, 0.98),), "1.020 [1.020 … 1.020]"), (((0.98, 1),), "1.020 [1.020 … 1.020]"),
    (((0.96, 1), (1, 0.96)), "1.021 [1.000 … 1.042]")])  # the faster of each round would be 1.042 in all
def test_of_two_loops_the_faster_over_all_rounds_counts(tmp_path, monkeypatch, capsys, loops, told):
    any_mpi(tmp_path, monkeypatch, [1.0] * 6, "mpicc", shares=(1, 1), loops=loops)
    assert all(f"over a plain loop {told}, loop after/before 1.000" in line for line in capsys.readouterr().out.splitlines()[1:-1])


def test_a_loop_that_did_not_run_fails_that_mpi_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(globals(), "MADE_UP_LAUNCHER", MADE_UP_LAUNCHER.replace("if variables:", "if False:"))
    assert any_mpi(tmp_path, monkeypatch, [1.0] * 6, "mpicc") == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  FAILED: the plain loop did not run: the program calls another library than the one that stands before it", "srun: not here"]


def test_a_job_that_measured_another_point_fails_that_mpi_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(globals(), "MADE_UP_LAUNCHER", MADE_UP_LAUNCHER.replace("str(size)", "str(2 * size)"))
    assert any_mpi(tmp_path, monkeypatch, [1.0] * 6, "mpicc") == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  FAILED: clusterbench measured ('all_reduce', 64), the plain loop ('all_reduce', 32)", "srun: not here"]


@pytest.mark.parametrize("there, said", [
    (["clusterbench-1.2.0-x86_64.tar.gz"], "there is no {}/clusterbench_1.2.0-1_amd64.deb"),
    (["clusterbench-1.2.0-x86_64.tar.gz", "clusterbench_1.2.0-1_amd64.deb", "clusterbench-1.1.0-1.x86_64.rpm"],
     "there is no {}/clusterbench-1.2.0-1.x86_64.rpm"),
    (["clusterbench-1.2.0-aarch64.tar.gz", "clusterbench_1.2.0-1_amd64.deb"], "there is no {}/clusterbench_1.2.0-1_arm64.deb"),
    (["release.tar.gz"], "{}/release.tar.gz is named like no release")])
def test_roots_are_not_tried_without_the_packages_of_the_archive(tmp_path, there, said):
    for name in there:
        (tmp_path / name).touch()
    done = subprocess.run([ROOT / "ci" / "release-roots.sh", "--packages", tmp_path / there[0], "bookworm"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1 and said.format(tmp_path) in done.stderr


def test_only_the_named_are_tried(tmp_path, monkeypatch, capsys):
    assert any_mpi(tmp_path, monkeypatch, [1.0] * 6, "mpicc", "Made up") == 0
    assert len(capsys.readouterr().out.splitlines()) == 7
    (tmp_path / "log").unlink()
    assert any_mpi(tmp_path, monkeypatch, [1.0] * 6, "mpicc", "Made up", "Misspelt") == 1
    assert capsys.readouterr().out.splitlines()[7:] == ["FAILED: Misspelt: no such MPI, or it could not be had"]
    (tmp_path / "log").unlink()
    assert any_mpi(tmp_path, monkeypatch, [1.0] * 6, "mpicc", "Made up", "srun") == 1
    assert capsys.readouterr().out.splitlines()[7:] == ["srun: not here", "FAILED: srun: no such MPI, or it could not be had"]


def test_where_no_mpi_has_a_compiler_nothing_is_compared_and_that_fails(tmp_path, monkeypatch, capsys):
    assert any_mpi(tmp_path, monkeypatch, [9.0], "none") == 1
    assert capsys.readouterr().out.splitlines()[1:] == ["  not compared: no compiler of this MPI", "srun: not here",
                                                         "FAILED: no MPI could be compared with a plain loop"]


@pytest.mark.parametrize("code", [0, 8], ids=["all pass", "some fail"])
def test_what_goes_on_beside_the_tests_is_idle_and_ends_as_its_tests_do(tmp_path, code):
    """ci/beside.sh over a cmake and a ctest that write down how they were called, and how the kernel schedules them."""
    (tmp_path / "ci").mkdir()
    log = tmp_path / "log"
    for name in ("beside.sh", "common.sh"):
        (tmp_path / "ci" / name).write_bytes((ROOT / "ci" / name).read_bytes())
        (tmp_path / "ci" / name).chmod(0o755)
    for name, ends in (("cmake", 0), ("ctest", code)):
        (tmp_path / name).write_text(f"#!/bin/sh\necho \"$(basename \"$0\") $* $(chrt -p $$ | sed -n 's/.*policy: //p')\" >>{log}\nexit {ends}\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(["setsid", tmp_path / "ci" / "beside.sh", "unit|fuzz"], capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")
    called = [line.split() for line in log.read_text().splitlines()]
    assert all(words[-1] == "SCHED_IDLE" for words in called), called
    assert [" ".join(words[:3]) for words in called] == ["cmake --preset asan", "cmake --build --preset", "ctest --preset asan"]
    assert f"--label-regex ^(unit|fuzz)$ --output-junit {tmp_path}/build/asan/ctest.xml" in " ".join(called[-1])


BROKEN_SEARCH = "LeakSanitizer has encountered a fatal error"
WRONG_VALUE = "[doctest] Status: FAILURE!"


@pytest.mark.parametrize("failed, again", [
    ({"unit.core": [BROKEN_SEARCH]}, True), ({"unit.core": [BROKEN_SEARCH], "labs.run": []}, True), ({"labs.run": []}, True),
    ({"unit.core": [BROKEN_SEARCH], "unit.judge": [WRONG_VALUE]}, False), ({"unit.core": [BROKEN_SEARCH, WRONG_VALUE]}, False),
    ({"unit.core": [BROKEN_SEARCH], "unit.core_more": []}, False), ({"unit.judge": [WRONG_VALUE]}, False),
    ({"unit.core": [BROKEN_SEARCH, "ERROR: LeakSanitizer: detected memory leaks"]}, False)], ids=str)
def test_a_broken_search_for_leaks_forgives_its_own_test_alone(tmp_path, failed, again):
    """The functions of ci/test.sh, over what ctest writes of tests with sanitizers."""
    logs = tmp_path / "build" / "asan" / "Testing" / "Temporary"
    logs.mkdir(parents=True)
    sections = {"unit.a": ["[doctest] Status: SUCCESS!"], **failed}
    (logs / "LastTest.log").write_text("".join(
        "\n".join([f"{n}/9 Testing: {name}", f"{n}/9 Test: {name}", "Output:", *lines, "<end of output>", "Test time =   1.00 sec", ""])
        for n, (name, lines) in enumerate(sections.items(), 1)))
    (logs / "LastTestsFailed.log").write_text("".join(f"{n}:{name}\n" for n, name in enumerate(sections, 1) if name in failed))
    (tmp_path / "ctest").write_text(f"#!/bin/sh\necho \"$*\" >>{tmp_path}/log\n")
    (tmp_path / "ctest").chmod(0o755)
    script = (ROOT / "ci" / "test.sh").read_text()
    functions = script[script.index("\nfailures="):script.index('\nstage "1/4')]
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", f"root={tmp_path}; stage() {{ :; }}; goes_on() {{ false; }}\n{functions}\n"
                           "timed_again asan"], cwd=tmp_path, capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == (0 if again else 1), done.stderr
    assert (tmp_path / "log").exists() == again
