"""infer --device gpu on a stand-in GPU that runs the real kernels on the CPU (tests/fake_cuda): what a user sees."""
import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
BIN = BUILD / "bin" / "clusterbench_fake_gpu"
FAKE = BUILD / "fake"
H100 = "name=NVIDIA_H100_80GB_HBM3"
# Sizes that differ from one another; two heads share keys and values.
SMALL = ["--hidden", "16", "--heads", "4", "--kv-heads", "2", "--head-dim", "4", "--feed-forward", "24", "--vocabulary", "64", "--layers", "2",
         "--prompt", "6", "--new-tokens", "5", "--repetitions", "2"]

pytestmark = pytest.mark.skipif(not BIN.exists(), reason="built without CUDA")


def infer(tmp_path, *args, cuda="", device="gpu", timeout=200):
    file = tmp_path / "i.json"
    file.unlink(missing_ok=True)
    env = dict(os.environ, CLUSTERBENCH_FAKE_CUDA=f"devices=2 memory=67108864 {H100} total=8.5e10 {cuda}",
               CLUSTERBENCH_CUBLASLT_LIBRARY=str(FAKE / "fake_cublaslt.so"), CLUSTERBENCH_NVML_LIBRARY=str(FAKE / "fake_nvml.so"),
               CLUSTERBENCH_FAKE_NVML=f"gpus=2 {H100} memory_total_bytes=8.5e10 clock_hertz=1.5e9")
    done = subprocess.run([BIN, "infer", "--device", device, *SMALL, *map(str, args), "--json", file], env=env, capture_output=True, text=True,
                          timeout=timeout, check=False)
    records = json.loads(file.read_text())["records"] if file.exists() else []
    return done, records


def samples(record, name):
    (metric,) = [m for m in record["metrics"] if m["name"] == name]
    return metric["samples"]


def failed(record):
    return {c["name"]: c.get("detail", "") for c in record["checks"] if not c["passed"]}


def digests(records):
    return [r["facts"]["tokens_digest"] for r in records]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """Few rows by own kernels, and more than those by the library."""
    done, records = infer(tmp_path_factory.mktemp("sweep"), "--batch", "1,3,9")
    assert done.returncode == 0, done.stdout + done.stderr
    return records


def test_it_generates_the_tokens_of_the_processor(sweep, tmp_path):
    done, host = infer(tmp_path, "--batch", "1,3,9", "--library", "builtin", "--threads", 1, device="cpu")
    assert done.returncode == 0, done.stdout + done.stderr
    assert digests(sweep) == digests(host) and len(set(digests(host))) == 3
    for record in sweep:
        assert {c["name"] for c in record["checks"] if c["passed"]} == {"cache", "finite", "repeat", "gpu"} and not failed(record)


def test_the_record_says_how_it_was_computed(sweep):
    for record in sweep:
        assert record["facts"]["graph"] == "a decode step is one launch of a CUDA graph"
        assert "of up to 8 rows by own kernels" in record["facts"]["products"]
        assert record["facts"]["precision"] == "fp32 throughout: neither tensor cores nor tf32"
        assert record["facts"]["gpu"] == "NVIDIA H100 80GB HBM3"
        assert [e["kind"] for e in record["entities"]][0] == "gpu"


@pytest.mark.parametrize("at, batch", [(0, 1), (1, 3), (2, 9)])
def test_figures_follow_from_one_another(sweep, at, batch):
    record = sweep[at]
    first, steps = samples(record, "time_to_first_token_seconds"), samples(record, "time_per_output_token_seconds")
    assert len(first) == 2 and len(steps) == 2 * 4
    assert samples(record, "prefill_tokens_per_second") == pytest.approx([6 * batch / s for s in first])
    assert samples(record, "decode_tokens_per_second") == pytest.approx([batch / s for s in steps])
    # 2 layers · 2 · 2 heads · 4 elements of 4 bytes a position; 6 + 5 − 1 positions.
    assert samples(record, "kv_cache_bytes") == [128 * 10 * batch]
    for name in ("bytes_per_second", "decode_tokens_per_second"):  # where the probe was as fast as the steps
        for m in (m for m in record["metrics"] if m["name"] == name and "ceiling" in m):
            assert "GPU" in m["ceiling"]["how"] and max(m["samples"]) <= 1.05 * m["ceiling"]["value"]
    weights = 4 * (2 * (16 * (16 + 16) + 16 * 16 + 3 * 16 * 24) + 64 * 16 + 5 * 16)
    assert samples(record, "bytes_per_second") == pytest.approx([(weights + batch * 128 * (7 + i % 4)) / s for i, s in enumerate(steps)])


@pytest.mark.parametrize("cuda, call", [("no_capture=900", "cudaStreamBeginCapture"), ("no_end=901", "cudaStreamEndCapture")])
def test_a_driver_that_records_no_graph_is_told_and_changes_no_token(sweep, tmp_path, cuda, call):
    """From the begin, and behind all that was to be recorded."""
    done, records = infer(tmp_path, "--batch", "1,3", cuda=cuda)
    assert done.returncode == 0, done.stdout + done.stderr
    assert digests(records) == digests(sweep)[:2]
    for record in records:
        assert "kernel by kernel, not as a CUDA graph: " in record["facts"]["graph"]
        assert call in record["facts"]["graph"] and "dmesg" not in record["facts"]["graph"] and not failed(record)


def test_bf16_halves_the_cache_and_what_a_step_reads(sweep, tmp_path):
    done, records = infer(tmp_path, "--batch", "1,9", "--dtype", "bf16")
    assert done.returncode == 0, done.stdout + done.stderr
    for record, wide in zip(records, (sweep[0], sweep[2])):
        assert samples(record, "kv_cache_bytes") == [samples(wide, "kv_cache_bytes")[0] / 2]
        assert samples(record, "bytes_per_token") == [pytest.approx(samples(wide, "bytes_per_token")[0] / 2)]
        assert "weights, cache and operands of products are bf16" in record["facts"]["precision"]
        cache, = [c for c in record["checks"] if c["name"] == "cache"]
        assert cache["limit"] == pytest.approx(3 / 256 * (11 / 3) ** 0.5) and 1e-6 < cache["value"] < cache["limit"]


def test_a_flipped_bit_and_a_nan_of_the_gpus_cache_are_found(tmp_path):
    done, (record,) = infer(tmp_path, "--inject-fault", "bitflip@0:1")
    assert done.returncode == 1 and record["metrics"] == [], done.stdout + done.stderr
    assert set(failed(record)) == {"cache", "repeat"} and "keys and values of layer 1" in failed(record)["repeat"]
    done, (record,) = infer(tmp_path, "--inject-fault", "nan@0:1")
    assert done.returncode == 1 and record["metrics"] == [], done.stdout + done.stderr
    assert set(failed(record)) == {"finite"} and "attention of layer 1, forward" in failed(record)["finite"]


def test_bf16_finds_a_flipped_bit_too(tmp_path):
    done, (record,) = infer(tmp_path, "--dtype", "bf16", "--inject-fault", "bitflip@0:1")
    assert done.returncode == 1 and record["metrics"] == [] and "keys and values of layer 1" in failed(record)["repeat"]


@pytest.mark.parametrize("what, checks", [("attention", {"cache"}), ("unsteady", {"repeat"})])
def test_a_gpu_whose_attention_is_wrong_or_changes_is_found(tmp_path, what, checks):
    """Wrong in the same way each time: only the pass without a cache shows it."""
    done, (record,) = infer(tmp_path, cuda=f"flip@0={what}")
    assert done.returncode == 1 and record["metrics"] == [], done.stdout + done.stderr
    assert checks <= set(failed(record)) and (what == "unsteady" or checks == set(failed(record)))


@pytest.mark.parametrize("args", [("--batch", 9), ("--batch", 9, "--dtype", "bf16", "--arrival-rate", 500, "--requests", 9)])
def test_the_memory_that_is_told_suffices_and_is_no_less_than_is_held(tmp_path, args):
    """All that the stand-in has given is in memory_bytes."""
    told, _ = infer(tmp_path, *args, cuda="memory=1e6")
    needed = max(float(x) for x in re.findall(r"generating needs ([0-9.]+) MiB", told.stderr)) * 2**20
    done, records = infer(tmp_path, *args, cuda=f"memory={needed / 0.97 * 1.002}")
    assert done.returncode == 0, done.stderr
    for record in records:
        assert 32 * 2**20 < samples(record, "memory_bytes")[0] <= needed


def test_requests_arrive_at_a_gpu_too(tmp_path):
    done, records = infer(tmp_path, "--batch", 3, "--arrival-rate", 40, "--requests", 4)
    assert done.returncode == 0, done.stdout + done.stderr
    _, load = records
    assert load["facts"]["graph"] == "a decode step is one launch of a CUDA graph" and not failed(load)
    assert sum(samples(load, "requests_of_generation")) == 4 and len(samples(load, "request_token_seconds")) == 4


def test_memory_that_does_not_suffice_is_told_before_anything_is_allocated(tmp_path):
    done, (record,) = infer(tmp_path, cuda="memory=3e7 full@0=0")
    assert done.returncode == 4 and record["metrics"] == []
    assert "generating needs 3" in done.stderr and "28.6 MiB of its memory are free" in done.stderr and "fewer --layers" in done.stderr
    assert "GPU-00000000" in done.stderr


@pytest.mark.parametrize("count", [1, 40, 150])
def test_a_gpu_that_fails_is_named(tmp_path, count):
    """While it makes the weights, reads the prompt, and decodes."""
    done, (record,) = infer(tmp_path, cuda=f"die@0={count}")
    assert done.returncode == 1 and record["metrics"] == []
    assert "cudaErrorLaunchFailure" in failed(record)["gpu"] and "GPU-00000000" in failed(record)["gpu"]
    assert ("graph" in record["facts"]) == (count == 150)  # no step was tried before


def test_a_host_that_pins_no_memory_is_not_taken_for_a_full_gpu(tmp_path):
    done, (record,) = infer(tmp_path, cuda="pinned_full=1")
    assert done.returncode == 4 and record["metrics"] == []
    assert "the host cannot pin 64" in done.stderr and "lost" not in done.stderr and "free memory of the host" in done.stderr


def test_a_gpu_that_hangs_is_named_in_time(tmp_path):
    begin = time.monotonic()
    done, (record,) = infer(tmp_path, "--hang-after", "1s", "--gpu", 1, cuda="hang@1=200")
    assert time.monotonic() - begin < 60
    assert done.returncode == 1 and record["metrics"] == []
    assert "CUDA device 1 has not finished generating tokens after 1 s: it hangs" in failed(record)["gpu"]


@pytest.mark.parametrize("args, words", [
    (("--tp", 2), "1 ranks are no multiple of --tp 2"), (("--gpu", 7), "no GPU 7 here: there is 0, 1"), (("--dtype", "fp8"), "--dtype")])
def test_what_is_not_there_is_refused_with_its_reason(tmp_path, args, words):
    done, records = infer(tmp_path, *args)
    assert done.returncode == 2 and records == []
    assert words in done.stderr
