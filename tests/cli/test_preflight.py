"""The look before anything is measured, on one host; tests/labs/test_faults.py has four."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

CLUSTERBENCH = os.environ["CLUSTERBENCH_BIN"]


def preflight(tmp_path, *more, code=0, start=(), binary=CLUSTERBENCH, **env):
    done = subprocess.run([*start, binary, "preflight", "--json", tmp_path / "p.json", *map(str, more)], capture_output=True,
                          text=True, timeout=60, check=False, env={**os.environ, **env})
    assert code in (None, done.returncode), done.stdout + done.stderr
    (record,) = json.loads((tmp_path / "p.json").read_text())["records"]
    return record


def test_one_host_is_not_compared_with_itself(tmp_path):
    record = preflight(tmp_path)
    names = {m["name"] for m in record["metrics"]}
    assert "clock_offset_seconds" not in names and "open_files" in names
    assert not {"same_program", "rank_map"} & {c["name"] for c in record["checks"]}
    assert any("nothing to be compared with" in n for n in record["notes"])


def test_room_is_that_of_a_directory_which_holds_data(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for room in (file, "/proc"):
        record = preflight(tmp_path, "--room", room)
        assert "free_bytes" not in {m["name"] for m in record["metrics"]}
        assert any(str(room) in n for n in record["notes"])
    assert "free_bytes" in {m["name"] for m in preflight(tmp_path, "--room", tmp_path)["metrics"]}


def program(root, pid, name, *devices):
    """A process of a composed /proc, with these files open."""
    descriptors = root / "proc" / str(pid) / "fd"
    descriptors.mkdir(parents=True)
    (root / "proc" / str(pid) / "comm").write_text(name + "\n")
    for i, device in enumerate(devices):
        (descriptors / str(i)).symlink_to(device)


def look_at_gpus(tmp_path, **more):
    """The record of a machine with a GPU and these processes."""
    device = tmp_path / "root/sys/bus/pci/devices/0000:1b:00.0"
    device.mkdir(parents=True)
    for name, content in {"vendor": "0x10de", "device": "0x2329", "class": "0x030200"}.items():
        (device / name).write_text(f"{content}\n")
    return preflight(tmp_path, "--sysroot", tmp_path / "root", code=None, **more)


def idle_gpus(tmp_path):
    """(passed, detail) of the check."""
    record = look_at_gpus(tmp_path)
    (check,) = [c for c in record["checks"] if c["name"] == "idle_gpus"]
    return check["passed"], check.get("detail", "")


def test_programs_that_compute_on_gpus_are_named_with_them(tmp_path):
    program(tmp_path / "root", 4711, "python", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia3", "/dev/nvidia3", "/dev/nvidia10")
    # The driver in a container of its own: its device files lie below its root.
    program(tmp_path / "root", 42, "gpu_burn", "/run/nvidia/driver/dev/nvidia-uvm", "/run/nvidia/driver/dev/nvidia0")
    passed, detail = idle_gpus(tmp_path)
    assert not passed and "python (4711: nvidia10 nvidia3)" in detail and "gpu_burn (42: nvidia0)" in detail


def test_what_only_looks_or_keeps_the_driver_loaded_uses_no_gpu(tmp_path):
    """nvidia-persistenced holds every GPU open: each node with persistence mode, which profiles ask for, failed."""
    gpus = [f"/dev/nvidia{i}" for i in range(8)]
    program(tmp_path / "root", 22049, "nvidia-persiste", "/dev/nvidiactl", *gpus)
    program(tmp_path / "root", 22050, "nvidia-persiste", "/dev/nvidia-uvm", *gpus)  # --uvm-persistence-mode
    program(tmp_path / "root", 31, "nv-hostengine", "/dev/nvidiactl", *gpus)
    program(tmp_path / "root", 32, "nv-fabricmanage", "/dev/nvidia-nvswitchctl", "/dev/nvidia-nvswitch0")
    program(tmp_path / "root", 33, "cuda-gdb", "/dev/nvidia-uvm", "/dev/nvidiactl")
    assert idle_gpus(tmp_path) == (True, "")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_where_not_all_programs_are_seen_the_driver_is_asked_or_there_is_no_check():
    """Another user's files are closed to this one: nothing that was not looked at passes."""
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        place.chmod(0o777)
        program(place / "root", 4711, "python", "/dev/nvidia-uvm", "/dev/nvidia3")
        (place / "root/proc/4711/fd").chmod(0o700)
        binary = shutil.copy(CLUSTERBENCH, place / "clusterbench")
        start = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        record = look_at_gpus(place, start=start, binary=binary, CLUSTERBENCH_NVML_LIBRARY="/nonexistent.so")
    assert "idle_gpus" not in {c["name"] for c in record["checks"]}
    assert any("not all programs of the host are seen" in n for n in record["notes"])
