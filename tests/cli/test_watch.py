"""`watch` and the units' activity, against a driver library that behaves as a script says (tests/fake_nvml)."""
import json
import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
BIN = os.environ["CLUSTERBENCH_BIN"]
FAKE = BUILD / "fake" / "fake_nvml.so"
OLD = BUILD / "fake" / "fake_nvml_old.so"

MEMORY_BOUND = "utilisation=98 gpm_sm=97 gpm_occupancy=50 gpm_tensor=11 gpm_dram=91"


def start(tmp_path, *args, script="", library=FAKE, **more):
    env = dict(os.environ, CLUSTERBENCH_NVML_LIBRARY=str(library), CLUSTERBENCH_FAKE_NVML=script)
    return subprocess.Popen([BIN, "watch", "--json", str(tmp_path / "w.json"), *args], env=env, text=True, stdout=subprocess.PIPE,
                            stderr=more.pop("stderr", subprocess.PIPE), **more)


def watch(tmp_path, *args, code=0, **more):
    process = start(tmp_path, *args, **more)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, out + str(err)
    file = tmp_path / "w.json"
    return out + str(err), json.loads(file.read_text())["records"][0] if file.exists() else None


def values(record, name):
    return {record["entities"][m["entity"]]["id"]: m["summary"]["median"] for m in record["metrics"] if m["name"] == name}


def read_until(terminal, enough):
    """What a terminal shows until that is enough, or until its other side is closed."""
    shown = b""
    try:
        while not enough(shown.decode(errors="ignore")) and (chunk := os.read(terminal, 65536)):
            shown += chunk
    except OSError:
        pass  # the other side is closed
    return shown.decode(errors="ignore")


def stood_still(record):
    """Whether the machine did not let the watch take its four samples a second."""
    times = record["telemetry"]["series"][0]["at"]
    return max(later - earlier for earlier, later in zip(times, times[1:])) > 0.5


def test_a_job_that_waits_for_its_memory(tmp_path):
    script = f"gpus=2 {MEMORY_BOUND} gpm_tensor@1=85 gpm_dram@1=40 gpm_nvlink_sent@1=1024"
    for _ in range(5):
        text, record = watch(tmp_path, "--duration", "2s", script=script)
        if not stood_still(record):
            break
    for gpu, tensor, dram in (("0", 0.11, 0.91), ("1", 0.85, 0.40)):
        assert values(record, "tensor_active")[gpu] == pytest.approx(tensor)
        assert values(record, "dram_active")[gpu] == pytest.approx(dram)
    assert values(record, "nvlink_sent_bytes_per_second")["1"] == pytest.approx(1024 * 2**20)
    assert values(record, "gpu_utilisation") == {"0": pytest.approx(0.98), "1": pytest.approx(0.98)}
    (first,) = [n for n in record["notes"] if "utilisation 98 %, SM 97 %, tensor 11 %, DRAM 91 %: bound by memory" in n]
    assert first.split(":")[1] == "0" and first in text
    assert any(n.endswith("bound by the tensor cores") for n in record["notes"])
    assert {s["name"] for s in record["telemetry"]["series"]} >= {"gpu_utilisation", "sm_active", "dram_active", "watts"}
    assert all(m["summary"]["n"] == 2 for m in record["metrics"])  # a value for each second


def test_shares_beyond_the_whole_are_left_out_and_said(tmp_path):
    _, record = watch(tmp_path, "--duration", "1s", script=f"gpus=1 {MEMORY_BOUND} utilisation=255 gpm_dram=4000")
    assert not values(record, "gpu_utilisation") and not values(record, "dram_active")
    assert values(record, "sm_active") == {"0": pytest.approx(0.97)}
    left_out = [n for n in record["notes"] if "cannot be" in n]
    assert any("255 % for gpu_utilisation" in n for n in left_out) and any("4000 % for dram_active" in n for n in left_out)


@pytest.mark.parametrize("script, library, why", [
    ("gpm=0", FAKE, "this product has no GPM"), ("mig_mode=1", FAKE, "MIG mode"), ("", OLD, "GPM needs driver 525 or newer")])
def test_without_gpm_there_is_the_utilisation_and_a_reason(tmp_path, script, library, why):
    _, record = watch(tmp_path, "--duration", "1s", script=f"gpus=1 utilisation=97 {script}", library=library)
    assert values(record, "gpu_utilisation") == {"0": pytest.approx(0.97)}
    assert not values(record, "sm_active") and any(why in note for note in record["notes"])
    assert any("utilisation 97 %: what limits is not known" in note for note in record["notes"])


def test_a_metric_that_is_refused_is_absent(tmp_path):
    _, record = watch(tmp_path, "--duration", "1s", script=f"gpus=1 {MEMORY_BOUND} gpm_refuse=5")
    assert not values(record, "tensor_active") and values(record, "dram_active") == {"0": pytest.approx(0.91)}


def test_only_the_gpus_of_a_process_and_its_descendants(tmp_path):
    parent = subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    try:
        _, record = watch(tmp_path, "--duration", "1s", "--pid", str(parent.pid), script=f"gpus=4 pids@2={child} pids@3=1 {MEMORY_BOUND}")
        assert {e["id"] for e in record["entities"] if e["kind"] == "gpu"} == {"2"}
        text, record = watch(tmp_path, "--duration", "1s", "--pid", str(parent.pid), script="gpus=2 pids@1=1", code=4)
        assert "GPU 1: 1" in text and f"process {parent.pid} and its descendants use no GPU" in text
        ours, theirs = pty.openpty()
        late = start(tmp_path, "--duration", "60s", "--pid", str(parent.pid), script=f"gpus=2 pids@0={child}", stderr=theirs)
        os.close(theirs)
        assert "percent of" in read_until(ours, lambda shown: "percent of" in shown)  # it stands above the first row
    finally:
        os.kill(child, signal.SIGTERM)
        parent.wait(timeout=10)
    late.communicate(timeout=20)  # the process is gone: so is the watch
    os.close(ours)
    assert late.returncode == 0
    record = json.loads((tmp_path / "w.json").read_text())["records"][0]
    assert any(f"process {parent.pid} ended after" in note for note in record["notes"])
    text, _ = watch(tmp_path, "--pid", "4194304", code=4)
    assert "there is no process 4194304" in text


def test_only_the_gpus_that_were_asked_for(tmp_path):
    _, record = watch(tmp_path, "--duration", "1s", "--gpu", "1,3", script="gpus=4")
    assert {e["id"] for e in record["entities"] if e["kind"] == "gpu"} == {"1", "3"}
    text, _ = watch(tmp_path, "--duration", "1s", "--gpu", "7", script="gpus=4", code=4)
    assert "GPU 7 is not there: NVML counts 4" in text


def test_a_row_a_second_on_a_terminal_and_what_was_seen_after_ctrl_c(tmp_path):
    ours, theirs = pty.openpty()
    begun = time.monotonic()
    process = start(tmp_path, "--duration", "60s", script=f"gpus=2 {MEMORY_BOUND}", stderr=theirs)
    os.close(theirs)

    def has_two_rows(shown):
        return len([line for line in shown.splitlines() if line.count("98/97/11/91") == 2]) >= 2

    shown = read_until(ours, has_two_rows)
    process.send_signal(signal.SIGINT)
    assert has_two_rows(shown), shown
    shown += read_until(ours, lambda _: False)
    rows = [line for line in shown.splitlines() if re.search(r"\d s +\S+/\S+/", line)]
    assert all(len(re.findall("(98|–)/(97|–)/(11|–)/(91|–)", line)) == 2 for line in rows), shown
    process.communicate(timeout=20)
    assert process.returncode == 130
    seconds = [int(second) for second in re.findall(r"(\d+) s +\S+/\S+/", shown)]
    assert seconds == list(range(1, len(seconds) + 1)) and len(seconds) <= time.monotonic() - begun + 1, shown
    assert "percent of utilisation/SMs/tensor/DRAM" in shown
    record = json.loads((tmp_path / "w.json").read_text())["records"][0]
    assert values(record, "dram_active")["0"] == pytest.approx(0.91)
