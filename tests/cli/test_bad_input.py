"""What a user does wrong is said all at once with the nearest valid value, and every exit code."""
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import time

import pytest

BINARY = os.environ["CLUSTERBENCH_BIN"]


def run(*arguments, **options):
    options.setdefault("timeout", 60)
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True,
                          check=False, **options)


def refused(*arguments):
    done = run(*arguments)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stdout == ""
    return done.stderr


def test_several_problems_stand_in_one_message_with_the_nearest_valid_value():
    assert refused("fake", "--sise", "4K", "--value", "abc", "--samples", "0", "--deadline", "soon") == (
        "clusterbench fake: 4 problems\n"
        "  --sise      unknown option, did you mean --size?\n"
        "  --value     'abc' is not a number\n"
        "  --samples   0 is below the least allowed, 1\n"
        "  --deadline  'soon' is not a duration such as 90s or 10m\n")


def test_sizes_durations_and_repeats():
    assert "'4Q' is not a size such as 4K, 64M or 1G" in refused("fake", "--size", "1K,4Q")
    assert "'-1s' is not a duration" in refused("fake", "--stall=-1s")
    assert "was given more than once" in refused("fake", "--value", "1", "--value", "2")
    assert "is not a duration" in refused("fake", "--deadline", "0s")


def test_an_unknown_subcommand_is_answered_with_the_nearest():
    assert "lsit is not known, did you mean list?" in refused("lsit")
    assert "fake" not in refused("qqqqqqqq")  # hidden cases stay hidden
    assert refused("prove") == "clusterbench: 1 problem\n  prove is not known; clusterbench --help lists what is\n"
    assert "clusterbench drill: 1 problem\n  lst is not known, did you mean list?" in refused("drill", "lst")
    assert "did you mean validate?" in refused("profile", "valdate")
    # What takes a directory where others take a word of their own still takes it.
    assert "is not a campaign directory" in refused("signoff", "/nonexistent", "--role", "customer", "--name", "A", "--verdict", "accepted")


def test_a_launcher_that_reaches_nobody_makes_no_plan_for_others():
    """Without a launcher a plan can still be printed, on a laptop for a cluster; asked for by name it is a mistake."""
    said = refused("run", "host-quick", "--hosts", "a,b", "--launcher", "none", "--dry-run")
    assert "--hosts  --launcher none starts nothing on other hosts" in said
    assert "--into  is not a campaign" in refused("run", "--only", "a", "--into", "/nonexistent")


def test_nothing_asked_for_is_answered_with_first_steps():
    said = refused()
    for command in ("clusterbench run host-quick ", "clusterbench list ", "clusterbench --help "):
        assert command in said


def test_unknown_options_and_words():
    assert "--verison  unknown option, did you mean --version?" in refused("--verison")
    assert "word  is not expected here" in refused("fake", "word")
    assert refused().startswith("clusterbench: 1 problem\n")
    assert refused("fake", "--size").startswith("clusterbench fake: 1 problem\n")
    assert "list" in refused("list", "--nonsense")


def test_unknown_device_and_dtype():
    if "gemm" not in run("list").stdout:
        pytest.skip("the registry has no case gemm")
    message = refused("gemm", "--device", "cpx", "--dtype", "fp61", "--sise", "4096")
    assert "did you mean cpu?" in message
    assert "fp61 is not known, did you mean fp64?" in message
    assert "--sise" in message and "did you mean --size?" in message


def test_nothing_from_the_command_line_steers_the_terminal():
    for arguments in (["\033[31mx"], ["fake", "--\033[31mx"], ["fake", "--value", "\033[2J"],
                      ["fake", "--json", "/none/\033[2J"]):
        assert "\033" not in refused(*arguments)


@pytest.mark.parametrize("target, why", [
    ("none/r.json", "No such file or directory"),
    ("", "is a directory"),
])
def test_a_document_that_cannot_be_written_is_refused_before_measuring(tmp_path, target, why):
    begin = time.monotonic()
    message = refused("fake", "--pause", "1s", "--samples", "30", "--json", tmp_path / target)
    assert time.monotonic() - begin < 5
    assert message.startswith("clusterbench fake: 1 problem\n  --json  ")
    assert why in message
    assert list(tmp_path.iterdir()) == []


def test_a_pseudo_file_system_is_refused_also_for_root():
    assert "cannot be written" in refused("fake", "--json", "/proc/r.json")


def test_a_full_disk_is_a_failure_that_keeps_the_table():
    done = run("fake", "--json", "/dev/full")
    assert done.returncode == 4
    assert "bytes_per_second" in done.stdout
    assert "/dev/full: No space left on device" in done.stderr
    assert pathlib.Path("/dev/full").is_char_device()


def test_a_record_without_figures_has_its_reason_in_the_table():
    failed, skipped = run("fake", "--failing-rank", "0"), run("fake", "--skipping-rank", "0")
    assert failed.returncode == 4 and skipped.returncode == 3
    heading, reason = failed.stdout.splitlines()
    assert heading == "fake on 1 host, 1 rank"
    assert reason.startswith("✗ ") and reason.endswith(": fails as it was told")
    assert skipped.stdout.splitlines() == [heading, "– skipped: skipped as it was told"]
    assert run("fake", "--failing-rank", "0", "--quiet").stdout == ""


def test_a_full_standard_output_is_a_failure():
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([BINARY, "list"], stdout=full, stderr=subprocess.PIPE, text=True,
                              timeout=60, check=False)
    assert done.returncode == 4
    assert "standard output" in done.stderr


def test_a_device_is_written_not_replaced(tmp_path):
    assert run("fake", "--quiet", "--json", "/dev/null").returncode == 0
    assert pathlib.Path("/dev/null").is_char_device()
    done = run("fake", "--quiet", "--json", "/dev/stdout")
    assert json.loads(done.stdout)["schema"] == "clusterbench.result/2"


def test_an_old_document_is_replaced_whole_and_nothing_left_beside_it(tmp_path):
    out = tmp_path / "r.json"
    out.write_text("x" * 1000000, encoding="utf-8")
    assert run("fake", "--json", out).returncode == 0
    assert json.loads(out.read_text(encoding="utf-8"))["schema"] == "clusterbench.result/2"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("code, arguments", [
    (0, []),
    (1, ["--wrong-rank", "0"]),
    (2, ["--value", "x"]),
    (3, ["--skipping-rank", "0"]),
    (4, ["--failing-rank", "0"]),
    (124, ["--hanging-rank", "0", "--stall", "500ms"]),
    (124, ["--pause", "20ms", "--samples", "10000", "--deadline", "500ms"]),
])
def test_every_exit_code(code, arguments):
    assert run("fake", *arguments).returncode == code


def test_a_deadline_names_host_and_what_it_waited_for():
    done = run("fake", "--hanging-rank", "0", "--stall", "500ms")
    assert os.uname().nodename in done.stderr
    assert "fake" in done.stderr and "next  " in done.stderr


def test_a_deadline_of_one_process_speaks_of_no_other_ranks():
    done = run("fake", "--deadline", "1ms", "--pause", "1s")  # else it may end before
    assert "give it more time with --deadline" in done.stderr
    assert "ranks that report nothing" not in done.stderr


def started(*arguments):
    """A run of the scripted case that has begun to measure: it handles signals, and goes on until one comes."""
    process = subprocess.Popen([BINARY, "fake", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "CLUSTERBENCH_SAY_STARTED": "1"})
    if process.stdout.readline() != "fake has started\n":
        process.kill()
        raise AssertionError(process.communicate())
    return process


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupt_writes_what_there_is(tmp_path, name):
    out = tmp_path / "r.json"
    with started("--pause", "50ms", "--samples", "10000", "--json", out) as process:
        process.send_signal(getattr(signal, name))
        process.communicate(timeout=20)
    assert process.returncode == 130
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["run"]["partial"] == "interrupted"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("options, acts", [
    (["--rwmix", "30"], "--rw randrw"),
    (["--rw", "write", "--direction", "write"], "--rw randrw"),
    (["--zipf-theta", "1.3"], "--distribution zipf"),
    (["--round", "5s"], "--steady"),
    (["--files", "5"], "--workload metadata"),
])
def test_an_option_of_io_that_would_change_nothing_is_refused(tmp_path, options, acts):
    done = run("io", "--dir", tmp_path, "--size", "1M", *options)
    assert done.returncode == 2
    assert re.search(f"{options[-2]} +changes nothing here: it is for {acts}", done.stderr)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("apart", [0, 0.02, 0.3])
@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_the_same_key_press_twice_costs_no_document(tmp_path, sig, apart):
    """A terminal and mpirun both pass a Ctrl-C on."""
    out = tmp_path / "r.json"
    for _ in range(3):
        with started("--pause", "400ms", "--samples", "10000", "--json", out) as process:
            begun = time.monotonic()
            process.send_signal(sig)
            time.sleep(apart)
            process.send_signal(sig)
            process.communicate(timeout=20)
        if process.returncode == 130 or time.monotonic() - begun < 1:
            break  # else the second came a second later: another key press
    assert process.returncode == 130
    assert json.loads(out.read_text(encoding="utf-8"))["run"]["partial"]


def test_a_later_interrupt_ends_at_once():
    with started("--hanging-rank", "0", "--stall", "60s") as process:
        process.send_signal(signal.SIGINT)
        time.sleep(3)  # a repeat within a second of the first is the same key press
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT


def test_results_stand_on_stdout_and_only_there(tmp_path):
    done = run("fake", "--json", tmp_path / "r.json")
    assert done.stderr == ""
    assert "bytes_per_second" in done.stdout
    quiet = run("fake", "--quiet", "--json", tmp_path / "r.json")
    assert (quiet.stdout, quiet.stderr) == ("", "")
    failing = run("fake", "--quiet", "--failing-rank", "0")
    assert failing.stdout == ""
    assert "fails as it was told" in failing.stderr
    wrong = run("fake", "--quiet", "--wrong-rank", "0")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    line, = wrong.stderr.splitlines()
    assert line.startswith("✗ ") and " data " in line


def test_a_flag_with_a_value_and_an_unknown_option_are_named_as_they_were_written():
    assert "--foo  unknown option; clusterbench gate --help" in refused("gate", "d", "--foo", "q")
    assert "--profil  unknown option, did you mean --profile?" in refused("gate", "d", "--profil", "q")
    assert "--in-place  takes no value: leave '=maybe' out" in refused("mpi", "--in-place=maybe")


def test_help_names_what_every_device_has_of_a_measurement():
    text = " ".join(run("--help").stdout.split())
    for words in ("--device gpu: matrix product on the GPUs", "--device gpu: copies to, from, within and between GPUs",
                  "--device gpu: all GPUs at full load"):
        assert words in text, words


def terminal_output(arguments, **environment):
    """What the program writes when stdout and stderr are a terminal."""
    leader, follower = pty.openpty()
    with subprocess.Popen([BINARY, *arguments], stdout=follower, stderr=follower,
                          env=dict(os.environ, TERM="xterm", **environment)) as process:
        os.close(follower)
        text = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        process.wait(timeout=30)
    os.close(leader)
    return text.decode()


def test_no_colour_where_none_is_wanted():
    arguments = ["fake", "--pause", "50ms", "--samples", "6"]
    assert "\033[36m" in terminal_output(arguments)
    assert "\033[3" not in terminal_output(arguments, NO_COLOR="1")
    assert "\033[3" not in terminal_output([*arguments, "--no-color"])
    assert "\033" not in run(*arguments).stderr


def test_progress_stands_on_stderr_with_the_remaining_time():
    bar = terminal_output(["fake", "--pause", "50ms", "--samples", "20"])
    assert "━" in bar and "left" in bar
    assert "━" not in terminal_output(["fake", "--pause", "50ms", "--samples", "20", "--quiet"])


def subcommands():
    lines = run("--help").stdout.splitlines()
    names, inside = [], False
    for line in lines:
        if line and not line.startswith(" "):
            inside = not line.startswith(("Options", "Usage", "Example"))
        elif inside and line.startswith("  ") and line[2] != " ":
            names.append(line.split()[0])
    return names


def test_every_help_has_an_example():
    assert "Example" in run("--help").stdout
    names = subcommands()
    assert "list" in names
    for name in [*names, "fake"]:
        done = run(name, "--help")
        assert done.returncode == 0, name
        assert f"clusterbench {name}" in done.stdout.partition("Example")[2], name


@pytest.mark.parametrize("name", ["nccl", "tcp", "io"])
def test_the_texts_of_options_stand_in_one_column(name):
    """Names of lists end with "…", which has three bytes; flags have a negative form, which CLI11 marks for itself."""
    text = run(name, "--help").stdout
    assert "{false}" not in text
    for line in text.splitlines():
        if line.startswith("  --") and len(line) > 30:
            assert line[28:30] == "  " or "  " not in line[2:], line
            assert line[30] != " ", line


def test_what_other_tools_call_an_option_leads_to_ours():
    assert "--bs       unknown option, did you mean --block-size?" in refused("io", "--bs", "4k", "--iodepth", 8)
    assert "--iodepth  unknown option, did you mean --queue-depth?" in refused("io", "--bs", "4k", "--iodepth", 8)
    assert "did you mean --min-size?" in refused("nccl", "--minbytes", 8)
    assert "did you mean --streams?" in refused("tcp", "-P", 8)
    assert "help  is not expected here, did you mean --help?" in refused("gemm", "help")


def test_help_and_version_in_every_spelling():
    whole = subprocess.run([BINARY, "--help"], capture_output=True, text=True)
    assert subprocess.run([BINARY, "help"], capture_output=True, text=True).stdout == whole.stdout
    for words in (["help", "gemm"], ["help", "signoff", "verify"]):
        asked = subprocess.run([BINARY, *words], capture_output=True, text=True)
        wanted = subprocess.run([BINARY, *words[1:], "--help"], capture_output=True, text=True)
        assert asked.returncode == 0 and asked.stdout == wanted.stdout and "Usage" in asked.stdout
    version = subprocess.run([BINARY, "--version"], capture_output=True, text=True).stdout
    assert version.startswith("clusterbench ")
    for word in ("-V", "version"):
        done = subprocess.run([BINARY, word], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout == version
    assert "did you mean gemm?" in refused("help", "gem")
