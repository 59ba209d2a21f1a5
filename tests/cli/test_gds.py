"""clusterbench gds with a stand-in for cuFile: which way was really used, wrong data, short transfers, errors."""
import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

BIN = os.environ["CLUSTERBENCH_BIN"]
FAKE = Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "fake/fake_cufile.so"


@pytest.fixture
def disk():
    with tempfile.TemporaryDirectory(dir=os.environ["CLUSTERBENCH_BUILD_DIR"]) as name:
        root = Path(name)
        (root / "work").mkdir()
        for part in ("sysroot/proc/driver/nvidia-fs", "sysroot/sys/module/nvidia_fs/parameters"):
            (root / part).mkdir(parents=True)
        (root / "sysroot/sys/module/nvidia_fs/parameters/rw_stats_enabled").write_text("1\n")
        yield root


SMALL = {"--size": "1M", "--block-size": "64K", "--queue-depth": "4", "--duration": "100ms"}


def gds(disk, behaviour, *args, expect=0, library=FAKE):
    out = disk / "r.json"
    out.unlink(missing_ok=True)
    env = dict(os.environ, CLUSTERBENCH_CUFILE_LIBRARY=str(library), FAKE_CUFILE=behaviour,
               FAKE_NVFS_STATS=str(disk / "sysroot/proc/driver/nvidia-fs/stats"))
    small = [word for name, value in SMALL.items() if name not in args for word in (name, value)]
    done = subprocess.run([BIN, "gds", "--dir", disk / "work", "--memory", "host", *small, "--sysroot", disk / "sysroot", "--json", out, *args],
                          capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == expect, done.stderr + done.stdout
    assert list((disk / "work").iterdir()) == []
    return done, json.loads(out.read_text())["records"]


def checks(record):
    return {c["name"]: c for c in record["checks"]}


@pytest.mark.parametrize("rw", ["read", "write"])
def test_the_direct_path_is_proven_by_the_modules_counters(disk, rw):
    _, records = gds(disk, "direct", "--rw", rw, "--mode", "sync,batch,stream,bounce")
    assert [r["params"]["mode"] for r in records] == ["sync", "batch", "stream", "bounce"]
    for r in records:
        assert checks(r)["data"]["passed"]
        assert {m["name"] for m in r["metrics"]} == {"bytes_per_second", "round_seconds"}
    for r in records[:3]:
        assert checks(r)["path"]["passed"]
        assert r["facts"]["path"].startswith("nvidia-fs served")
        assert r["facts"]["library"] == str(FAKE)
    assert "path" not in checks(records[3])
    assert records[3]["facts"]["path"] == "host memory and a copy"


@pytest.mark.parametrize("mode", ["sync", "batch", "stream"])
def test_compatibility_mode_is_found_and_gives_no_figure(disk, mode):
    _, (r,) = gds(disk, "compat", "--mode", mode, expect=1)
    path = checks(r)["path"]
    assert not path["passed"] and path["value"] > 0.9
    assert "compatibility mode: 100 % of the bytes" in path["detail"] and "gdscheck" in path["detail"]
    assert r.get("metrics", []) == []
    _, (r,) = gds(disk, "compat", "--mode", mode, "--allow-compat")
    assert any("not of GPUDirect Storage: compatibility mode" in n for n in r["notes"])
    assert r["metrics"]


def test_success_without_a_counter_is_no_proof(disk):
    _, (r,) = gds(disk, "silent", "--mode", "sync", expect=1)
    assert "neither nvidia-fs nor the process counted" in checks(r)["path"]["detail"]
    (disk / "sysroot/sys/module/nvidia_fs/parameters/rw_stats_enabled").write_text("0\n")
    _, (r,) = gds(disk, "silent", "--mode", "sync", expect=1)
    assert "rw_stats_enabled is 0" in checks(r)["path"]["detail"]


def test_a_slow_request_of_host_memory_is_waited_for(disk, monkeypatch):
    """Its stream cannot be waited for, and the library says 0 bytes until the request is done."""
    monkeypatch.setenv("FAKE_CUFILE_MICROSECONDS", "1100000")
    _, (record,) = gds(disk, "direct", "--mode", "stream", "--queue-depth", "1")
    assert checks(record)["data"]["passed"] and record["metrics"]


def test_short_transfers_are_gone_on_with_and_in_a_batch_an_error(disk):
    _, (r,) = gds(disk, "short", "--mode", "sync")
    assert checks(r)["data"]["passed"]
    done, _ = gds(disk, "short", "--mode", "batch", expect=4)
    assert "4096 of 65536 bytes" in done.stderr
    done, _ = gds(disk, "short", "--mode", "stream", expect=4)
    assert "cuFile stream request at offset 0 of" in done.stderr and "4096 of 65536 bytes" in done.stderr


@pytest.mark.parametrize("mode", ["sync", "stream"])
@pytest.mark.parametrize("rw", ["read", "write"])
def test_wrong_data_gives_no_figure(disk, rw, mode):
    _, (r,) = gds(disk, "wrong", "--mode", mode, "--rw", rw, expect=1)
    assert not checks(r)["data"]["passed"]
    assert "rank0.dat at offset" in checks(r)["data"]["detail"]
    assert r.get("metrics", []) == []


@pytest.mark.parametrize("behaviour, mode, words", [
    ("error", "sync", "cuFile read of 65536 bytes at offset 0 of"), ("error", "sync", "Input/output error"),
    ("refuse", "sync", "5008 (not supported on this file)"), ("error", "batch", "status 0x40"), ("error", "stream", "cuFile stream request at offset 0 of"),
    ("refuse", "stream", "putting a read at offset 0 of"),
    ("novolume", "sync", "5027 (file not registered); next: cuFile asks udev for the file's volume: in a container mount the host's /run/udev"),
    ("nobuffer", "sync", "memory failed: 5030 (internal error); next: run gdscheck -p and look at cufile.log"),
    ("nodriver", "sync", "5001 (nvidia-fs is not loaded)")])
def test_errors_say_what_and_where(disk, behaviour, mode, words):
    done, _ = gds(disk, behaviour, "--mode", mode, expect=4)
    assert words in done.stderr and "next:" in done.stderr


def test_no_library(disk):
    done, _ = gds(disk, "direct", expect=4, library="/nonexistent/libcufile.so")
    assert "cuFile cannot be opened" in done.stderr and "CLUSTERBENCH_CUFILE_LIBRARY" in done.stderr


def test_every_round_is_in_the_rate(disk):
    _, (r,) = gds(disk, "direct", "--mode", "bounce", "--block-size", "4K", "--queue-depth", "1", "--duration", "2s")
    n = {m["name"]: m["summary"]["n"] for m in r["metrics"]}
    assert n["bytes_per_second"] == n["round_seconds"]
    assert n["round_seconds"] > 2048  # beyond what is kept as a list


@pytest.mark.parametrize("rw", ["read", "write"])
def test_a_block_that_it_spoils_itself_is_found(disk, rw):
    _, records = gds(disk, "direct", "--rw", rw, "--mode", "sync,batch,bounce", "--inject-fault", "0", expect=1)
    assert len(records) == 3
    for record in records:
        assert not checks(record)["data"]["passed"] and not record["metrics"]
        assert "at offset" in checks(record)["data"]["detail"]


FAKE_GPU = Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "bin/clusterbench_fake_gpu"


@pytest.mark.skipif(not FAKE_GPU.exists(), reason="built without CUDA")
@pytest.mark.parametrize("rw", ["read", "write"])
def test_the_way_by_the_host_has_page_locked_memory_and_each_rank_its_own_gpu(disk, monkeypatch, rw):
    """Pageable memory is copied at a fifth of the rate: GDS was held against that. And eight ranks measured one GPU."""
    staged = disk / "staged"
    monkeypatch.setenv("CLUSTERBENCH_FAKE_CUDA_STAGING", str(staged))
    env = dict(os.environ, CLUSTERBENCH_CUFILE_LIBRARY=str(FAKE), FAKE_CUFILE="direct", CLUSTERBENCH_FAKE_CUDA="devices=2",
               FAKE_NVFS_STATS=str(disk / "sysroot/proc/driver/nvidia-fs/stats"))
    small = [word for pair in SMALL.items() for word in pair]
    out = disk / "r.json"
    done = subprocess.run(
        ["mpirun", "--oversubscribe", "-np", "3", FAKE_GPU, "gds", "--dir", disk / "work", "--rw", rw, "--mode", "bounce",
         *small, "--sysroot", disk / "sysroot", "--json", out], capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, done.stderr + done.stdout
    record, = json.loads(out.read_text())["records"]
    assert "GPU 0" in record["facts"]["gpu"] and "GPU 1" in record["facts"]["gpu"]
    assert checks(record)["data"]["passed"] and not staged.exists()
