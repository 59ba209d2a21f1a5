"""`doctor`: a table and a document of what is in the way, on this host and on others."""

import json
import os
import pty
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from campaigns import BINARY, cb
from processes import compiled_shim, skip_under_sanitizers

FAKE = Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "fake"
HERE = socket.gethostname()
CHECKS = ["shared-memory", "locked-memory", "rdma", "gpu-driver", "nccl", "cublas", "processors", "memory", "clock", "mpi", "pmix", "own-name", "localhost"]
ROOT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def document(*options, **more):
    done = cb("doctor", "--json", "-", *options, timeout=200, **more)
    return done, json.loads(done.stdout)


def states(host):
    return {c["id"]: c["state"] for c in host["checks"]}


def test_this_host_is_checked():
    done, found = document()
    assert found["schema"] == "clusterbench.doctor/1"
    (host,) = found["hosts"]
    assert host["host"] == HERE and [c["id"] for c in host["checks"]] == CHECKS
    assert done.returncode == (1 if "fail" in states(host).values() else 0)
    for check in host["checks"]:
        assert check["state"] in ("ok", "warn", "fail", "not checked") and check["seen"] and check["say"]["id"]
        assert ("next" in check) == (check["state"] in ("warn", "fail"))
        assert check["id"] in done.stderr  # the table, beside the document


def test_both_languages():
    assert "next step" in cb("doctor").stdout
    assert "下一步" in cb("doctor", "--lang", "zh").stdout
    assert cb("doctor", "--lang", "de").returncode == 2


def test_without_a_launcher_only_this_host_can_be_measured(tmp_path):
    done, found = document(env={**os.environ, "PATH": str(tmp_path)})
    mpi = next(c for c in found["hosts"][0]["checks"] if c["id"] == "mpi")
    assert (mpi["state"], mpi["seen"]) == ("warn", "neither mpirun nor srun is in the PATH")
    done = cb("doctor", "--hosts", "n1,n2", env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 2 and "needs mpirun or srun" in done.stderr


@pytest.mark.parametrize("check, variable, file", [("nccl", "CLUSTERBENCH_NCCL_LIBRARY", "fake_nccl.so"),
                                                   ("cublas", "CLUSTERBENCH_CUBLASLT_LIBRARY", "fake_cublaslt_modules.so")])
@pytest.mark.parametrize("there", [True, False])
def test_libraries_of_gpus_are_opened_where_there_are_gpus(check, variable, file, there):
    if there and not (FAKE / file).exists():
        pytest.skip("built without CUDA")
    library = FAKE / file if there else "/nonexistent/lib.so"
    _, found = document(env={**os.environ, "CLUSTERBENCH_NVML_LIBRARY": str(FAKE / "fake_nvml.so"), "CLUSTERBENCH_FAKE_NVML": "gpus=2",
                             variable: str(library)})
    seen, = [c for c in found["hosts"][0]["checks"] if c["id"] == check]
    assert seen["state"] == ("ok" if there else "warn")
    assert ("/nonexistent/lib.so" in seen["seen"]) != there
    assert there or variable in seen["next"]


def test_a_library_of_another_name_is_no_cublas():
    _, found = document(env={**os.environ, "CLUSTERBENCH_NVML_LIBRARY": str(FAKE / "fake_nvml.so"), "CLUSTERBENCH_FAKE_NVML": "gpus=2",
                             "CLUSTERBENCH_CUBLASLT_LIBRARY": str(FAKE / "fake_nccl.so")})
    seen, = [c for c in found["hosts"][0]["checks"] if c["id"] == "cublas"]
    assert seen["state"] == "warn" and "fake_nccl.so is no cuBLASLt" in seen["seen"]


HANGS = "#include <unistd.h>\n"
CRASHES = """#include <stdio.h>
__attribute__((constructor)) static void begin(void) { puts("boo"); fflush(stdout); volatile int* p = 0; *p = 1; }"""
CRASHED = "a process that opens it crashes (signal 11, Segmentation fault)"


def test_a_named_driver_that_is_not_there_is_named():
    _, found = document(env={**os.environ, "CLUSTERBENCH_NVML_LIBRARY": str(FAKE / "fake_nvml.so"), "CLUSTERBENCH_FAKE_NVML": "gpus=2",
                             "CLUSTERBENCH_CUDA_LIBRARY": "/nonexistent/libcuda.so.1"})
    seen, = [c for c in found["hosts"][0]["checks"] if c["id"] == "gpu-driver"]
    assert seen["state"] == "fail" and "/nonexistent/libcuda.so.1" in seen["seen"] and "CLUSTERBENCH_CUDA_LIBRARY" in seen["seen"]
    assert seen["next"] == "unset CLUSTERBENCH_CUDA_LIBRARY, or correct it: it names /nonexistent/libcuda.so.1"


def test_a_named_driver_that_is_no_file_is_said_in_chinese(tmp_path):
    done = cb("doctor", "--lang", "zh", env={**os.environ, "CLUSTERBENCH_NVML_LIBRARY": str(FAKE / "fake_nvml.so"), "CLUSTERBENCH_FAKE_NVML": "gpus=2",
                                             "CLUSTERBENCH_CUDA_LIBRARY": str(tmp_path)})
    row, = [line for line in done.stdout.splitlines() if line.startswith("gpu-driver")]
    assert f"{tmp_path}：不是普通文件（已设置 CLUSTERBENCH_CUDA_LIBRARY）" in row and f"取消设置 CLUSTERBENCH_CUDA_LIBRARY，或更正其值：现为 {tmp_path}" in row


ON_PCI = """mount -t tmpfs none /sys/bus/pci/devices || exit 99
for i in $BUSES; do d=/sys/bus/pci/devices/0000:$i:00.0; mkdir -p $d; echo 0x030200 >$d/class; echo 0x10de >$d/vendor; echo 0x2330 >$d/device; done
exec "$@\""""


BUSES_OF_FAKE = "1b 2b"  # those that tests/fake_nvml tells of its first two GPUs


def on_pci(tmp_path, *words, source=None, nvml=None, buses="01 02", **more):
    """What doctor says where GPUs are on PCI and the driver's libraries are there."""
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs root for mounts of its own: unshare --mount")
    compiled_shim(tmp_path, source or "int cuDriverGetVersion(int* version) { *version = 12080; return 0; }").rename(tmp_path / "libcuda.so.1")
    if nvml:
        compiled_shim(tmp_path, nvml).rename(tmp_path / "libnvidia-ml.so.1")
    else:
        (tmp_path / "libnvidia-ml.so.1").symlink_to(FAKE / "fake_nvml.so")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", ON_PCI, "sh", BINARY, "doctor", *words], capture_output=True, text=True, timeout=90,
                          cwd=tmp_path, env={**os.environ, "BUSES": buses, "LD_LIBRARY_PATH": str(tmp_path), **more})
    if done.returncode == 99:
        pytest.skip("not permitted to mount over /sys/bus/pci/devices")
    return done.stdout


def test_a_driver_that_nvml_cannot_start_fails_with_its_reason(tmp_path):
    """That of a host after an update of the driver: libcuda still tells its version."""
    skip_under_sanitizers(BINARY)
    text = on_pci(tmp_path, "--json", "-", CLUSTERBENCH_FAKE_NVML="init=fail")
    seen, = [c for c in json.loads(text)["hosts"][0]["checks"] if c["id"] == "gpu-driver"]
    assert seen["state"] == "fail" and "2 GPUs, but nvmlInit_v2: Driver Not Loaded" in seen["seen"]
    assert "nvidia-smi" in seen["next"] and "dmesg" in seen["next"] and "load its kernel modules again, or restart the host" in seen["next"]


@pytest.mark.parametrize("lost", ["lost@0=1 lost@1=1", "fail@0=nvmlDeviceGetPciInfo_v3 fail@1=nvmlDeviceGetPciInfo_v3"])
def test_gpus_that_nvml_has_lost_are_counted_once(tmp_path, lost):
    skip_under_sanitizers(BINARY)
    text = on_pci(tmp_path, "--json", "-", CLUSTERBENCH_FAKE_NVML=f"gpus=2 {lost}")
    seen, = [c for c in json.loads(text)["hosts"][0]["checks"] if c["id"] == "gpu-driver"]
    assert seen["state"] == "fail" and seen["seen"].startswith("2 of 2 GPUs do not answer (0000:01:00.0, 0000:02:00.0): nvmlDeviceGet")


def gpu_driver(text):
    seen, = [c for c in json.loads(text)["hosts"][0]["checks"] if c["id"] == "gpu-driver"]
    return seen


def test_a_lost_gpu_is_named(tmp_path):
    skip_under_sanitizers(BINARY)
    seen = gpu_driver(on_pci(tmp_path, "--json", "-", buses=BUSES_OF_FAKE, CLUSTERBENCH_FAKE_NVML="gpus=2 lost@1=1"))
    assert seen["state"] == "fail" and seen["seen"].startswith("1 of 2 GPUs do not answer (0000:2b:00.0): nvmlDeviceGet")
    assert "Xid 79" in seen["next"] and "container" not in seen["next"]


@pytest.mark.parametrize("listed, lacks", [(1, "1 of them (0000:2b:00.0)"), (0, "2 of them (0000:1b:00.0, 0000:2b:00.0)")])
def test_gpus_that_nvml_does_not_list_are_no_good_row(tmp_path, listed, lacks):
    """Nothing says that this process was given them, so it may be a container with some of the GPUs."""
    skip_under_sanitizers(BINARY)
    seen = gpu_driver(on_pci(tmp_path, "--json", "-", buses=BUSES_OF_FAKE, CLUSTERBENCH_FAKE_NVML=f"gpus={listed}"))
    assert seen["state"] == "warn" and seen["seen"].startswith(f"2 GPUs on PCI, and NVML lacks {lacks}: NVML does not list this GPU")
    assert "in a container or a job" in seen["next"] and "Xid 79" in seen["next"]


@pytest.mark.parametrize("more", [{"CLUSTERBENCH_NVML_LIBRARY": str(FAKE / "fake_nvml.so"), "CLUSTERBENCH_CUDA_LIBRARY": str(FAKE / "libcuda.so.1"), "LD_LIBRARY_PATH": ""},
                                  {"LD_LIBRARY_PATH": "."}], ids=["named", "in a relative folder"])
def test_an_nvml_that_answers_is_there_wherever_its_file_is(tmp_path, more):
    skip_under_sanitizers(BINARY)
    seen = gpu_driver(on_pci(tmp_path, "--json", "-", buses=BUSES_OF_FAKE, CLUSTERBENCH_FAKE_NVML="gpus=2", **more))
    assert (seen["state"], seen["seen"]) == ("ok", "2 GPUs, and the driver's libraries")


@pytest.mark.parametrize("row", ["nccl", "cublas"])
def test_where_the_gpus_cannot_be_read_no_library_of_theirs_is_tried(row):
    _, found = document(env={**os.environ, "CLUSTERBENCH_NVML_LIBRARY": str(FAKE / "fake_nvml.so"), "CLUSTERBENCH_FAKE_NVML": "gpus=2 fail=nvmlDeviceGetCount_v2"})
    seen = {c["id"]: c for c in found["hosts"][0]["checks"]}
    assert seen["gpu-driver"]["state"] == "fail"
    assert (seen[row]["state"], seen[row]["seen"]) == ("not checked", "not tried: the GPUs could not be read")


@pytest.mark.parametrize("content", [None, "no library"], ids=["missing", "of no use"])
def test_a_named_mpi_library_that_does_not_open_is_named(tmp_path, content):
    if not shutil.which("mpirun"):
        pytest.skip("no mpirun")
    library = tmp_path / "libmpi.so"
    if content:
        library.write_text(content)
    _, found = document(env={**os.environ, "CLUSTERBENCH_MPI_LIBRARY": str(library)})
    seen, = [c for c in found["hosts"][0]["checks"] if c["id"] == "mpi"]
    assert seen["state"] == "fail" and str(library) in seen["seen"] and "(CLUSTERBENCH_MPI_LIBRARY is set)" in seen["seen"]
    assert seen["next"] == f"unset CLUSTERBENCH_MPI_LIBRARY, or correct it: it names {library}"


def test_the_reason_of_nvml_is_said_in_chinese(tmp_path):
    skip_under_sanitizers(BINARY)
    row, = [line for line in on_pci(tmp_path, "--lang", "zh", CLUSTERBENCH_FAKE_NVML="init=fail").splitlines() if line.startswith("gpu-driver")]
    assert "失败" in row and "nvmlInit_v2：Driver Not Loaded" in row and "重新加载其内核模块，或重启主机" in row


def test_a_named_nvml_that_is_not_there_is_named(tmp_path):
    skip_under_sanitizers(BINARY)
    text = on_pci(tmp_path, "--json", "-", CLUSTERBENCH_NVML_LIBRARY="/nonexistent/nvml.so")
    seen, = [c for c in json.loads(text)["hosts"][0]["checks"] if c["id"] == "gpu-driver"]
    assert seen["state"] == "fail" and seen["next"] == "unset CLUSTERBENCH_NVML_LIBRARY, or correct it: it names /nonexistent/nvml.so"


@pytest.mark.parametrize("listed, words, state", [("none pmi2 pmix", "", "ok"), ("none cray_shasta", "", "warn"),
                                                  ("none pmi2", "--mpi=pmi2 -v", "ok"), ("none pmi2", "-v --mpi pmi2", "ok"),
                                                  ("none pmi2", "--mpi=pmix --mpi=pmi2", "ok"), ("none pmi2", "--mpi=pmi2 --mpi pmix", "fail"),
                                                  ("none pmix", "--mpi=pmi2", "fail"), ("none pmix", "--mpi=pmxi", "fail"),
                                                  ("none pmix", "--mpi=none", "warn"), ("none pmi2 pmix_v4,pmix_v5", "", "ok"),
                                                  ("none pmi2 pmix_v4,pmix_v5", "--mpi=pmix_v5", "ok"), ("none pmix_v4,pmix_v5", "--mpi=pmix_v3", "fail"),
                                                  ("none pmi2", "--exclusive", "warn"),
                                                  ("none pmi2", "--mpi=pmi_2", "fail"), ("none pmi2", "--mpi=none", "warn")])
def test_srun_is_asked_for_pmix(tmp_path, listed, words, state):
    (tmp_path / "srun").write_text(f"#!/bin/sh\necho {listed} >&2\n")
    (tmp_path / "srun").chmod(0o755)
    _, found = document(env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "CLUSTERBENCH_SRUN_ARGS": words})
    assert states(found["hosts"][0])["pmix"] == state


def test_a_plugin_that_srun_lacks_is_named_with_what_srun_has(tmp_path):
    (tmp_path / "srun").write_text("#!/bin/sh\nprintf 'MPI plugin types are...\\n\\tnone\\n\\tpmix\\nspecific pmix plugin versions available: pmix_v4,pmix_v5\\n'\n")
    (tmp_path / "srun").chmod(0o755)
    _, found = document(env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "CLUSTERBENCH_SRUN_ARGS": "-v --mpi=pmi2"})
    seen, = [c for c in found["hosts"][0]["checks"] if c["id"] == "pmix"]
    assert seen["seen"] == 'CLUSTERBENCH_SRUN_ARGS is "-v --mpi=pmi2", and srun has no plugin pmi2; it has: none pmix pmix_v4 pmix_v5'
    assert "unset CLUSTERBENCH_SRUN_ARGS" in seen["next"]


def test_an_srun_that_hangs_is_not_waited_for(tmp_path):
    (tmp_path / "srun").write_text("#!/bin/sh\nexec sleep 100\n")
    (tmp_path / "srun").chmod(0o755)
    done = subprocess.run([BINARY, "doctor", "--json", "-"], capture_output=True, text=True, timeout=30,
                          env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    pmix = next(c for c in json.loads(done.stdout)["hosts"][0]["checks"] if c["id"] == "pmix")
    assert (pmix["state"], pmix["seen"]) == ("warn", "srun --mpi=list does not answer")


def test_a_host_that_cannot_be_reached_fails_and_is_named(tmp_path):
    """The launcher fails for it, so the ports between the hosts are not tried."""
    (tmp_path / "mpirun").write_text("#!/bin/sh\nexit 9\n")
    (tmp_path / "mpirun").chmod(0o755)
    done, found = document("--hosts", f"{HERE},far", env={**ROOT, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == 1
    here, far, between = found["hosts"]
    assert list(states(here)) == CHECKS
    assert (far["host"], states(far)) == ("far", {"reached": "fail"})
    assert "exit code 9" in far["checks"][0]["seen"] and "doctor --json -" in far["checks"][0]["next"]
    assert states(between) == {"listeners": "not checked"} and between["checks"][0]["seen"] == "not tried: far could not be reached"


# A launcher that starts one rank here, whatever the host is called; behind it "$@" is the rank's program.
STARTS_ONE_HERE = 'while [ "${1##*/}" != clusterbench ]; do shift; done; export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1\n'


def test_where_mpi_does_not_open_no_ports_are_tried(tmp_path):
    """The launcher reaches the other host, which is this one under another name."""
    log = tmp_path / "log"
    (tmp_path / "mpirun").write_text(f'#!/bin/sh\necho "$*" >>{log}\n{STARTS_ONE_HERE}exec "$@"\n')
    (tmp_path / "mpirun").chmod(0o755)
    _, found = document("--hosts", f"{HERE},far", "--launcher", "mpirun", env={**ROOT, "PATH": f"{tmp_path}:{os.environ['PATH']}", "CLUSTERBENCH_MPI_LIBRARY": "/nonexistent/libmpi.so"})
    *_, between = found["hosts"]
    assert states(between) == {"listeners": "not checked"}
    assert between["checks"][0]["seen"] == f"not tried: the check mpi fails on {HERE}, far ({HERE})"
    assert " tcp " not in log.read_text()


def rows(text):
    return {c["id"]: c for c in json.loads(text)["hosts"][0]["checks"]}


def with_srun(folder):
    """The environment in which there is an srun."""
    (folder / "srun").write_text("#!/bin/sh\necho none pmix\n")
    (folder / "srun").chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def test_where_no_process_can_be_started_the_rows_stay():
    """Neither a thread: who is asked for a name on one is not asked."""
    skip_under_sanitizers(BINARY)
    other = 65534 if os.getuid() == 0 else None  # root has no such limit
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        try:
            done = subprocess.run([BINARY, "doctor", "--json", "-"], capture_output=True, text=True, timeout=60, cwd=folder, env=with_srun(Path(folder)),
                                  user=other, extra_groups=[] if other else None, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (0, 0)))
        except PermissionError:
            pytest.skip("another user may not read the program")
    seen = rows(done.stdout)
    assert list(seen) == CHECKS and done.returncode in (0, 1), done.stderr
    assert seen["pmix"]["state"] == "warn" and "srun could not be asked for its plugins: cannot start /bin/sh: Resource temporarily unavailable" in seen["pmix"]["seen"]
    assert "ulimit -u" in seen["pmix"]["next"]
    for row in ("own-name", "localhost"):
        assert seen[row]["state"] == "warn" and "no thread can be started" in seen[row]["seen"] and "ulimit -u" in seen[row]["next"]


def test_without_dev_the_rows_stay(tmp_path):
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs root for mounts of its own: unshare --mount")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev || exit 99; exec "$@"', "sh", BINARY, "doctor", "--json", "-"],
                          capture_output=True, text=True, timeout=60, env=with_srun(tmp_path))
    if done.returncode == 99:
        pytest.skip("not permitted to mount over /dev")
    seen = rows(done.stdout)
    assert list(seen) == CHECKS and seen["pmix"]["state"] == "warn" and "next: mount /dev in this container" in seen["pmix"]["seen"]


def test_a_driver_that_opens_just_in_time_opens(tmp_path):
    """Its trial and its opening each take six seconds."""
    skip_under_sanitizers(BINARY)
    library = compiled_shim(tmp_path, HANGS + "__attribute__((constructor)) static void begin(void) { sleep(6); }\n"
                                              "int cuDriverGetVersion(int* version) { *version = 12080; return 0; }")
    _, found = document(env={**os.environ, "CLUSTERBENCH_NVML_LIBRARY": str(FAKE / "fake_nvml.so"), "CLUSTERBENCH_FAKE_NVML": "gpus=2",
                             "CLUSTERBENCH_CUDA_LIBRARY": str(library)})
    seen, = [c for c in found["hosts"][0]["checks"] if c["id"] == "gpu-driver"]
    assert "hangs" not in seen["seen"] and "no answer" not in seen["seen"] and str(library) not in seen["seen"], seen


SIGNALS = "#include <signal.h>\n__attribute__((constructor)) static void begin(void) { kill(0, SIGTERM); }"
CLOSES = "#include <unistd.h>\n__attribute__((constructor)) static void begin(void) { for (int i = 0; i < 256; i++) close(i); }"
CLEARS = "#include <stdlib.h>\n__attribute__((constructor)) static void begin(void) { clearenv(); }"


@pytest.mark.parametrize("source, reason", [(SIGNALS, "a process that opens it crashes (signal 15, Terminated)"),
                                            (CLOSES, "it closes the files of the process that opens it"), (CLEARS, "has no MPI_Init")],
                         ids=["signals its group", "closes all files", "clears the environment"])
def test_a_library_does_not_reach_out_of_its_trial(tmp_path, source, reason):
    if not shutil.which("mpirun"):
        pytest.skip("no mpirun")
    skip_under_sanitizers(BINARY)
    library = compiled_shim(tmp_path, source)
    done = subprocess.run([BINARY, "doctor", "--json", tmp_path / "d.json"], capture_output=True, timeout=60, start_new_session=True,
                          env={**os.environ, "CLUSTERBENCH_MPI_LIBRARY": str(library)})
    assert done.returncode == 1, done
    seen = rows((tmp_path / "d.json").read_text())
    assert list(seen) == CHECKS and reason in seen["mpi"]["seen"]


def test_what_is_printed_in_a_trial_does_not_spoil_it(tmp_path):
    if not shutil.which("mpirun"):
        pytest.skip("no mpirun")
    skip_under_sanitizers(BINARY)
    (tmp_path / "loud").mkdir()
    loud = compiled_shim(tmp_path / "loud", '#include <unistd.h>\n__attribute__((constructor)) static void begin(void) { if (write(1, "banner", 6)) {} }')
    library = compiled_shim(tmp_path, CRASHES)
    cb("doctor", "--json", tmp_path / "d.json", env={**os.environ, "LD_PRELOAD": str(loud), "CLUSTERBENCH_MPI_LIBRARY": str(library)})
    assert CRASHED in rows((tmp_path / "d.json").read_text())["mpi"]["seen"]


def test_a_library_that_starts_doctor_does_so_once_for_each_opening(tmp_path):
    """In its trial and in the program itself. What it starts opens it no more."""
    skip_under_sanitizers(BINARY)
    log = tmp_path / "log"
    library = compiled_shim(tmp_path, f"""#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void begin(void) {{ FILE* f = fopen("{log}", "a"); fputs("opened\\n", f); fclose(f); if (system("{BINARY} doctor >/dev/null 2>&1")) {{}} }}""")
    done = cb("doctor", timeout=100, env={**os.environ, "CLUSTERBENCH_MPI_LIBRARY": str(library)})
    assert done.returncode in (0, 1) and log.read_text().split() == ["opened", "opened"]


def is_over(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_control_c_at_a_terminal_ends_a_trial_too(tmp_path):
    """Although it is in a group of its own, and ignores the signal."""
    skip_under_sanitizers(BINARY)
    file = tmp_path / "pid"
    library = compiled_shim(tmp_path, f"""#include <signal.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(void) {{ signal(SIGINT, SIG_IGN); FILE* f = fopen("{file}", "w"); fprintf(f, "%d\\n", getpid()); fclose(f); sleep(100); }}""")
    child, terminal = pty.fork()
    if child == 0:
        os.execve(BINARY, [BINARY, "doctor"], {**os.environ, "CLUSTERBENCH_MPI_LIBRARY": str(library)})
    until = time.monotonic() + 60
    while not (file.exists() and file.read_text().endswith("\n")) and time.monotonic() < until:
        time.sleep(0.01)
    trial = int(file.read_text())
    pressed = time.monotonic()
    os.write(terminal, b"\x03")
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGINT and time.monotonic() < pressed + 7
    until = time.monotonic() + 5
    while not is_over(trial) and time.monotonic() < until:
        time.sleep(0.01)
    assert is_over(trial)
    os.close(terminal)
