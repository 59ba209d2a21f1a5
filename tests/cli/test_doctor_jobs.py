"""`doctor` starts a job of two ranks: an mpirun and a library that opens are none yet. What ends badly is told with its own words."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from campaigns import BINARY, cb
from processes import compiled_shim, skip_under_sanitizers
from test_doctor import FAKE, HERE, ROOT, is_over, rows

pytestmark = pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun")


BEGINS = "#include <stdlib.h>\n#include <unistd.h>\n__attribute__((constructor)) static void begin(void) {{ {} }}"


def script(folder, name, text):
    (folder / name).write_text("#!/bin/sh\n" + text)
    (folder / name).chmod(0o755)
    return {**ROOT, "PATH": f"{folder}:{os.environ['PATH']}"}


def mpi_row(**more):
    done = cb("doctor", "--json", "-", timeout=120, **more)
    return done, rows(done.stdout)["mpi"]


def test_a_job_runs_here():
    _, row = mpi_row(env=ROOT)
    assert row["state"] == "ok" and "started by" in row["seen"], row


def test_an_mpirun_that_starts_nothing_fails_with_its_words(tmp_path):
    done, row = mpi_row(env=script(tmp_path, "mpirun", "echo ------ >&2; echo '[n:1] at pmix.c' >&2; echo 'No room left in /tmp.' >&2; exit 7\n"))
    assert done.returncode == 1 and row["state"] == "fail"
    assert row["seen"] == f"{tmp_path}/mpirun starts no job of two ranks here: exit code 7: No room left in /tmp."
    assert "run mpirun" in row["next"] and "by hand" in row["next"] and f"{HERE}:2" in row["next"]


@pytest.mark.parametrize("arguments, why", [("--password=abc", "a secret"), ("-x LD_PRELOAD=/x.so", "decides which program or library runs")])
def test_arguments_that_no_campaign_takes_are_a_row(arguments, why):
    done, row = mpi_row(env={**ROOT, "CLUSTERBENCH_MPIRUN_ARGS": arguments})
    assert done.returncode == 1 and row["state"] == "fail" and why in row["seen"] and "abc" not in done.stdout
    assert row["next"] == "unset CLUSTERBENCH_MPIRUN_ARGS, or correct it"


@pytest.mark.parametrize("arguments", ["--version", "--help"])
def test_a_launcher_that_ends_with_0_has_not_started_ranks(arguments):
    _, row = mpi_row(env={**ROOT, "CLUSTERBENCH_MPIRUN_ARGS": arguments})
    assert row["state"] == "fail" and row["seen"].endswith("starts no job of two ranks here: it ended with 0 and without a result of two ranks"), row


@pytest.mark.parametrize("arguments", ["", "--tag-output", "--timestamp-output"])
def test_marks_and_banners_of_a_launcher_are_no_fault(tmp_path, arguments):
    real = shutil.which("mpirun")
    if arguments and "orterun" not in os.path.realpath(real):
        pytest.skip("an option of Open MPI 4")
    banner = f'echo "welcome here"; {real} "$@"; code=$?; echo "= BAD TERMINATION ="; exit $code\n'
    _, row = mpi_row(env={**script(tmp_path, "mpirun", banner), "CLUSTERBENCH_MPIRUN_ARGS": arguments})
    assert row["state"] == "ok", row


def test_a_launcher_that_writes_without_end_is_ended(tmp_path):
    _, row = mpi_row(env=script(tmp_path, "mpirun", "exec yes no >&2\n"))
    assert row["state"] == "fail" and "it wrote more than 8 MiB: no no no" in row["seen"], row


@pytest.mark.parametrize("call", ["clearenv();", "signal(SIGCHLD, SIG_IGN);"], ids=["clears the environment", "ignores children"])
def test_what_a_library_does_to_this_process_does_not_fail_the_job(tmp_path, call):
    skip_under_sanitizers(BINARY)
    library = compiled_shim(tmp_path, "#include <signal.h>\n" + BEGINS.format(call))
    done, row = mpi_row(env={**ROOT, "CLUSTERBENCH_NVML_LIBRARY": str(library)})
    assert done.returncode in (0, 1), done
    assert row["state"] == "ok", row


def test_the_reason_is_told_and_not_the_headline(tmp_path):
    env = script(tmp_path, "mpirun", "echo 'clusterbench: 1 problem' >&2; echo '  MPI  is of another kind' >&2; echo 'than the launcher' >&2; echo ---- >&2; echo more >&2; exit 2\n")
    _, row = mpi_row(env=env)
    assert row["seen"].endswith("exit code 2: MPI is of another kind than the launcher"), row


@pytest.mark.parametrize("name", ["odd_host!", "a,b", "n[1-3]"])
def test_a_name_that_no_campaign_takes_is_not_blamed_on_a_variable(name):
    if subprocess.run(["unshare", "--uts", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs root for a name of its own: unshare --uts")
    named = "import os, socket, sys; socket.sethostname(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"
    done = subprocess.run(["unshare", "--uts", sys.executable, "-c", named, name, BINARY, "doctor", "--json", "-"], capture_output=True, text=True,
                          timeout=120, env=ROOT)
    row = rows(done.stdout)["mpi"]
    assert row["state"] == "fail" and f"'{name}' is not a host name" in row["seen"] and row["next"].startswith("give this host a name"), row


def test_what_a_launcher_repeats_of_a_secret_is_not_told(tmp_path):
    _, row = mpi_row(env=script(tmp_path, "mpirun", "echo 'no such option: --token=hunter2' >&2; exit 1\n"))
    assert "no such option: --token=[redacted]" in row["seen"] and "hunter2" not in str(row), row
    words = "echo 'password: hunter2 export ACCESS_TOKEN = foo and Authorization: NTLM abc.def and more' >&2; exit 1\n"
    _, row = mpi_row(env=script(tmp_path, "mpirun", words))
    assert row["seen"].endswith("password: [redacted] export ACCESS_TOKEN = [redacted] and Authorization: [redacted]"), row


def test_in_an_allocation_of_slurm_the_row_says_that_no_job_was_tried(tmp_path):
    script(tmp_path, "srun", "exit 1\n")
    mpirun = shutil.which("mpirun")
    _, row = mpi_row(env={**script(tmp_path, "mpirun", f'exec {mpirun} "$@"\n'), "SLURM_JOB_ID": "7"})
    assert row["state"] == "ok" and row["seen"].endswith("no job was started to try it, because srun would occupy nodes"), row


def test_without_a_loopback_no_job_starts():
    """As in a container without a network: Open MPI's daemon listens there."""
    if subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs root for a network of its own: unshare --net")
    if "orterun" not in os.path.realpath(shutil.which("mpirun")):
        pytest.skip("another MPI needs no loopback")
    done = subprocess.run(["unshare", "--net", BINARY, "doctor", "--json", "-"], capture_output=True, text=True, timeout=120, env=ROOT)
    row = rows(done.stdout)["mpi"]
    assert row["state"] == "fail" and "starts no job of two ranks here" in row["seen"], row


def test_a_rank_of_a_job_starts_no_other(tmp_path):
    log = tmp_path / "log"
    env = script(tmp_path, "mpirun", f"echo called >>{log}; exit 1\n")
    mpirun = shutil.which("mpirun")
    done = subprocess.run([mpirun, "-np", "1", BINARY, "doctor", "--json", "-"], capture_output=True, text=True, timeout=120, env=env)
    assert rows(done.stdout)["mpi"]["state"] == "ok" and not log.exists()


def test_the_library_of_the_mpirun_in_the_path_is_judged(tmp_path):
    """Where a job finds its library beside its launcher, what else the loader would find first does not count."""
    (tmp_path / "libmpi.so.40").write_bytes(b"")
    (tmp_path / "libmpi.so.12").write_bytes(b"")
    if "orterun" not in os.path.realpath(shutil.which("mpirun")):
        pytest.skip("needs an mpirun with its library beside it")
    _, row = mpi_row(env={**ROOT, "LD_LIBRARY_PATH": str(tmp_path)})
    assert row["state"] == "ok" and row["seen"].startswith("Open MPI"), row


def test_blank_lines_within_a_message_do_not_end_it(tmp_path):
    words = "printf -- '-----\\nA call to mkdir failed:\\n\\n  Directory: /x/y\\n\\nGive it room.\\n-----\\nmore\\n' >&2; exit 1\n"
    _, row = mpi_row(env=script(tmp_path, "mpirun", words))
    assert row["seen"].endswith("exit code 1: A call to mkdir failed: Directory: /x/y Give it room."), row


def test_the_version_is_that_of_the_job(tmp_path):
    """Beside the mpirun in the PATH lies a library that no job takes."""
    skip_under_sanitizers(BINARY)
    if "orterun" not in os.path.realpath(shutil.which("mpirun")):
        pytest.skip("needs Open MPI")
    _, real = mpi_row(env=ROOT)
    for folder in ("bin", "lib"):
        (tmp_path / folder).mkdir()
    (tmp_path / "shim.c").write_text("""#include <string.h>
int MPI_Get_library_version(char* text, int* length) { *length = (int)strlen(strcpy(text, "Open MPI v9.9.9, of nobody")); return 0; }""")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "lib/libmpi.so.40", tmp_path / "shim.c", "-Wl,--no-as-needed", "-l:libmpi.so.40"], check=True)
    env = script(tmp_path / "bin", "mpirun", f'exec {shutil.which("mpirun")} "$@"\n')
    _, row = mpi_row(env=env)
    assert row["state"] == "ok" and row["seen"] == real["seen"].rpartition("by ")[0] + f"by {tmp_path}/bin/mpirun", row


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("trap", ["echo ended >>{log}; kill $!; exit 1", ""], ids=["obeys", "ignores"])
def test_launchers_end_with_doctor(tmp_path, number, trap):
    """Each gets SIGTERM, with which a real one ends what it has started on other hosts; what is left here is killed."""
    log = tmp_path / "log"
    log.touch()
    env = script(tmp_path, "mpirun", f"trap '{trap.format(log=log)}' TERM; sleep 617 & echo $! >>{log}.children; echo begun >>{log}; wait; wait\n")
    env = {**env, "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    process = subprocess.Popen([BINARY, "doctor", "--hosts", "far,farther", "--launcher", "mpirun"], env=env, stdout=subprocess.DEVNULL,
                               preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    deadline = time.monotonic() + 60

    def wait_for(words):
        while sorted(log.read_text().split()) != words and time.monotonic() < deadline:
            time.sleep(0.05)
        assert sorted(log.read_text().split()) == words

    wait_for(["begun", "begun"])
    process.send_signal(number)
    assert process.wait(timeout=60) == -number
    if trap:
        wait_for(["begun", "begun", "ended", "ended"])
    children = (tmp_path / "log.children").read_text().split()
    assert len(children) == 2
    while not all(is_over(int(child)) for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert all(is_over(int(child)) for child in children)
    assert not list((tmp_path / "tmp").iterdir())


def test_a_launcher_that_writes_without_end_fills_no_memory(tmp_path):
    """It ignores that it is asked to end, and is killed after three seconds."""
    env = script(tmp_path, "mpirun", "trap '' TERM; yes no; exec sleep 60\n")
    process = subprocess.Popen([BINARY, "doctor", "--json", "-"], env=env, stdout=subprocess.PIPE, text=True)
    most = 0
    while process.poll() is None:
        most = max(most, output_bytes(process.pid))
        time.sleep(0.02)
    row = rows(process.stdout.read())["mpi"]
    assert "it wrote more than 8 MiB" in row["seen"] and 8 << 20 < most < 1 << 30, most


def output_bytes(pid):
    """Of what its launchers have written into files in its memory."""
    sizes = [0]
    for file in Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(OSError):
            if os.readlink(file).startswith("/memfd:launched"):
                sizes.append(file.stat().st_size)
    return max(sizes)


def test_limits_of_a_process_are_no_free_memory():
    skip_under_sanitizers(BINARY, "a sanitizer needs more addresses")
    done = subprocess.run(["sh", "-c", 'ulimit -v 2000000; exec "$0" doctor --json -', BINARY], capture_output=True, text=True, timeout=120, env=ROOT)
    memory = rows(done.stdout)["memory"]
    assert memory["state"] == "warn" and "ulimit -v" in memory["seen"] and "ulimit -v unlimited" in memory["next"]


@pytest.mark.parametrize("source, reason", [
    ("fork();", "it leaves a copy of the process that opens it"),
    ("if (fork() != 0) _exit(0); setsid();", "a process that opens it is ended by it, with exit code 0"),
    ("kill(getpid(), 9);", "was killed, as where memory is short")], ids=["copies", "daemon", "killed"])
@pytest.mark.parametrize("words", [["doctor"], ["info"]], ids=["doctor", "info"])
def test_a_library_that_copies_its_process_is_told(tmp_path, words, source, reason):
    skip_under_sanitizers(BINARY)
    library = compiled_shim(tmp_path, "#include <signal.h>\n" + BEGINS.format(source))
    done = cb(*words, "--json", "-", timeout=60, env={**ROOT, "CLUSTERBENCH_MPI_LIBRARY": str(library)})
    assert done.stdout.count('"schema"') == 1 and reason in done.stdout, done.stdout


@pytest.mark.parametrize("words", [["list"], ["doctor"], ["info"]], ids=lambda words: words[0])
@pytest.mark.parametrize("end", ["for (;;) sleep(9);", "abort();"], ids=["hangs", "crashes"])
def test_a_library_does_not_spoil_the_end(tmp_path, words, end):
    """All was said; the destructor of a library comes after it."""
    skip_under_sanitizers(BINARY)
    library = compiled_shim(tmp_path, "#include <stdlib.h>\n#include <unistd.h>\n__attribute__((destructor)) static void end(void) { " + end + " }")
    done = cb(*words, timeout=60, env={**ROOT, "CLUSTERBENCH_NVML_LIBRARY": str(library)})
    assert done.returncode in (0, 1) and done.stdout


@pytest.mark.parametrize("words", [["health"], ["bandwidth", "--device", "gpu"]], ids=lambda words: words[0])
@pytest.mark.parametrize("end", ["exit", "quick_exit"])
def test_a_library_that_ends_a_measuring_process_is_no_success(tmp_path, end, words):
    skip_under_sanitizers(BINARY)
    library = compiled_shim(tmp_path, BEGINS.format(f"{end}(0);"))
    done = cb(*words, timeout=60, env={**ROOT, "CLUSTERBENCH_NVML_LIBRARY": str(library)})
    assert done.returncode == 4 and "a library has ended this process; next: clusterbench doctor names it" in done.stderr


def lacking(folder, name):
    """A library that needs one which is not there."""
    (folder / "needed").mkdir(exist_ok=True)
    needed = compiled_shim(folder / "needed", "int cb_needed(void) { return 1; }").rename(folder / "needed" / "libcb_needed.so.7")
    (folder / "shim.c").write_text("int cb_needed(void);\nint cb_needs(void) { return cb_needed(); }")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / name, folder / "shim.c", needed], check=True)
    needed.unlink()
    return folder / name


def test_two_names_of_a_library_that_lacks_another_are_not_called_missing(tmp_path):
    skip_under_sanitizers(BINARY)
    for name in ("libnccl.so.2", "libnccl.so"):
        lacking(tmp_path, name)
    env = {**ROOT, "LD_LIBRARY_PATH": str(tmp_path), "CLUSTERBENCH_NVML_LIBRARY": str(FAKE / "fake_nvml.so"), "CLUSTERBENCH_FAKE_NVML": "gpus=2"}
    row = rows(cb("doctor", "--json", "-", env=env, timeout=60).stdout)["nccl"]
    assert "it needs a library that does not open" in row["seen"] and row["next"].startswith("install the library that it needs"), row


@pytest.mark.parametrize("variable, row", [("CLUSTERBENCH_MPI_LIBRARY", "mpi"), ("CLUSTERBENCH_NVML_LIBRARY", "gpu-driver")])
def test_a_file_for_another_processor_and_one_that_lacks_a_library_are_told(tmp_path, variable, row):
    skip_under_sanitizers(BINARY)
    library = lacking(tmp_path, "library.so")
    env = {**ROOT, variable: str(library)}
    seen = rows(cb("doctor", "--json", "-", env=env, timeout=60).stdout)[row]
    assert seen["state"] == "fail" and f"{library}: it needs a library that does not open: " in seen["seen"] and "libcb_needed.so.7" in seen["seen"]
    assert seen["next"].startswith("install the library that it needs")
    code = bytearray(library.read_bytes())
    code[18] = 0xB7 if code[18] != 0xB7 else 0x3E  # e_machine: AArch64, or x86-64
    code[19] = 0
    library.write_bytes(code)
    seen = rows(cb("doctor", "--json", "-", env=env, timeout=60).stdout)[row]
    assert f"{library}: built for another kind of processor" in seen["seen"] and f"unset {variable}" in seen["next"]
