"""The NVLink domain of a host's GPUs, as the stand-in for NVML names it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "fake"


def parts(tmp_path, script):
    """The host's parts by kind, with the stand-in's GPUs as told."""
    file = tmp_path / "info.json"
    subprocess.run([os.environ["CLUSTERBENCH_BIN"], "info", "--json", file], check=True, capture_output=True, timeout=60,
                   env={**os.environ, "CLUSTERBENCH_NVML_LIBRARY": str(BUILD / "fake_nvml.so"),
                        "CLUSTERBENCH_FAKE_NVML": script})
    out = {}
    for part in json.loads(file.read_text())["hosts"][0]["parts"]:
        out.setdefault(part["kind"], []).append(part)
    return out


def test_a_domain_is_a_part_of_its_own(tmp_path):
    found = parts(tmp_path, "gpus=4 fabric_uuid=171 fabric_clique=3")
    name = "ab" * 16 + ".3"
    domain, = found["nvlink_domain"]
    assert domain["id"] == name and domain["attributes"]["gpus"] == 4
    assert "imex_channels" in domain["attributes"]
    assert {g["attributes"]["nvlink_domain"] for g in found["gpu"]} == {name}
    assert {g["attributes"]["fabric_state"] for g in found["gpu"]} == {"completed"}


def test_a_gpu_that_is_not_registered_is_in_no_domain(tmp_path):
    found = parts(tmp_path, "gpus=4 fabric_uuid=171 fabric_clique=3 fabric_state@2=2")
    assert [d["attributes"]["gpus"] for d in found["nvlink_domain"]] == [3]
    states = [g["attributes"]["fabric_state"] for g in found["gpu"]]
    assert sorted(states) == ["completed"] * 3 + ["in progress"]


def test_a_single_host_has_none(tmp_path):
    assert "nvlink_domain" not in parts(tmp_path, "gpus=8")


GPU_BINARY = Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "bin" / "clusterbench_fake_gpu"


@pytest.mark.skipif(not GPU_BINARY.exists(), reason="built without CUDA")
def test_collectives_name_the_domains_of_their_gpus(tmp_path):
    """Two GPUs of the stand-in in one domain, then in two."""
    def record(nvml):
        out = tmp_path / "r.json"
        env = dict(os.environ, CLUSTERBENCH_FAKE_CUDA="memory=536870912 devices=2", CLUSTERBENCH_FAKE_NVML="gpus=2 " + nvml,
                   CLUSTERBENCH_NCCL_LIBRARY=str(BUILD / "fake_nccl.so"), CLUSTERBENCH_NVML_LIBRARY=str(BUILD / "fake_nvml.so"))
        done = subprocess.run([GPU_BINARY, "nccl", "--size", "4K", "--iterations", "2", "--json", out], env=env,
                              capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        (found,) = json.loads(out.read_text())["records"]
        counts = {found["entities"][m["entity"]]["id"]: m["samples"] for m in found["metrics"] if m["name"] == "domain_gpus"}
        here, = {e["host"] for e in found["entities"] if e.get("host")}
        # A domain of one host is that host's.
        assert all(e.get("host") for e in found["entities"] if e["kind"] == "nvlink_domain")
        return found["facts"].get("nvlink_domains", "").replace(here, "HOST"), counts

    name = "ab" * 16
    assert record("fabric_uuid=171 fabric_clique=3") == (f"{name}.3: 2 GPUs on HOST", {f"{name}.3": [2]})
    assert record("fabric_uuid=171 fabric_clique@1=4")[1] == {f"{name}.0": [1], f"{name}.4": [1]}
    assert record("") == ("", {})
