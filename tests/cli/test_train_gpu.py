"""train --device gpu on a stand-in GPU that runs the real kernels on the CPU (tests/fake_cuda): what a user sees."""
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
BIN = BUILD / "bin" / "clusterbench_fake_gpu"
FAKE = BUILD / "fake"
H100 = "name=NVIDIA_H100_80GB_HBM3"

pytestmark = pytest.mark.skipif(not BIN.exists(), reason="built without CUDA")


def train(tmp_path, *args, cuda="", device="gpu", timeout=200):
    file = tmp_path / "t.json"
    file.unlink(missing_ok=True)
    env = dict(os.environ, CLUSTERBENCH_FAKE_CUDA=f"devices=2 memory=67108864 {H100} total=8.5e10 {cuda}",
               CLUSTERBENCH_CUBLASLT_LIBRARY=str(FAKE / "fake_cublaslt.so"), CLUSTERBENCH_NVML_LIBRARY=str(FAKE / "fake_nvml.so"),
               CLUSTERBENCH_FAKE_NVML=f"gpus=2 {H100} memory_total_bytes=8.5e10 clock_hertz=1.5e9")
    done = subprocess.run([BIN, "train", "--device", device, "--sequence", "16", *map(str, args), "--json", file], env=env,
                          capture_output=True, text=True, timeout=timeout, check=False)
    record = json.loads(file.read_text())["records"][0] if file.exists() else None
    return done, record


def samples(record, name):
    (metric,) = [m for m in record["metrics"] if m["name"] == name]
    return metric["samples"]


def failed(record):
    return {c["name"]: c.get("detail", "") for c in record["checks"] if not c["passed"]}


def test_it_learns_as_the_processor_does(tmp_path):
    done, gpu = train(tmp_path, "--steps", 8)
    assert done.returncode == 0, done.stdout + done.stderr
    done, cpu = train(tmp_path, "--steps", 8, "--library", "builtin", "--threads", 1, device="cpu")
    assert done.returncode == 0, done.stdout + done.stderr
    assert samples(gpu, "loss_nats") == pytest.approx(samples(cpu, "loss_nats"), rel=1e-5)
    assert {c["name"] for c in gpu["checks"] if c["passed"]} == {"finite", "first_loss", "floor", "straggler", "twin", "gpu"}
    assert not failed(gpu)
    assert gpu["facts"]["library"] == "cuBLASLt 13.1.0"
    assert gpu["facts"]["precision"] == "fp32 throughout: neither tensor cores nor tf32"
    assert gpu["facts"]["gpu"] == "NVIDIA H100 80GB HBM3"


def test_shares_are_of_the_peak_without_tensor_cores(tmp_path):
    done, record = train(tmp_path, "--steps", 6, "--gpu", 1)
    assert done.returncode == 0, done.stdout + done.stderr
    flops = samples(record, "model_flops_per_second")
    # 67 TFLOP/s at 1980 MHz; the clock was 1500.
    assert samples(record, "share_of_spec") == pytest.approx([f / 67e12 for f in flops])
    assert samples(record, "share_of_peak") == pytest.approx([f / (67e12 * 1500 / 1980) for f in flops])
    assert {e["id"] for e in record["entities"] if e["kind"] == "gpu"} == {"1"}  # the other is not watched
    assert "hardware_share_of_peak" not in {m["name"] for m in record["metrics"]}
    # Energy over tokens is power over their rate.
    watts = [j * rate for j, rate in zip(samples(record, "joules_per_token"), samples(record, "tokens_per_second"))]
    assert watts == pytest.approx([watts[0]] * len(watts)) and min(samples(record, "watts")) <= watts[0] <= max(samples(record, "watts"))


def test_layers_that_are_computed_again_are_work_of_the_hardware_alone(tmp_path):
    done, record = train(tmp_path, "--steps", 6, "--recompute", "layer")
    assert done.returncode == 0, done.stdout + done.stderr
    # tiny at 16 tokens: 6·131072 + 6·2·16·64 operations a token; one forward of all but the head more.
    model, head = 6 * 131072 + 6 * 2 * 16 * 64, 6 * 64 * 512
    more = 1 + (model - head) / 3 / model
    assert samples(record, "hardware_share_of_peak") == pytest.approx([more * s for s in samples(record, "share_of_peak")])


def test_fp8_learns_and_is_compared_with_its_own_peak(tmp_path):
    done, record = train(tmp_path, "--steps", 6, "--dtype", "fp8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not failed(record) and "E4M3, and gradients E5M2" in record["facts"]["precision"]
    assert samples(record, "share_of_spec") == pytest.approx([f / 1979e12 for f in samples(record, "model_flops_per_second")])
    done, wide = train(tmp_path, "--steps", 6)
    losses = samples(record, "loss_nats")
    assert losses == pytest.approx(samples(wide, "loss_nats"), rel=0.02) and losses != samples(wide, "loss_nats")


def test_fp8_is_refused_where_it_cannot_be_computed(tmp_path):
    done, _ = train(tmp_path, "--steps", 6, "--dtype", "fp8", "--hidden", 72, "--feed-forward", 100)
    assert done.returncode == 2
    assert "fp8 needs multiples of 16, and 72 numbers of a token are none" in done.stderr
    assert "fp8 needs multiples of 16, and 100 columns of the feed-forward on a rank are none" in done.stderr
    done, _ = train(tmp_path, "--steps", 6, "--dtype", "fp8", cuda="capability=80")
    assert done.returncode == 4
    assert "has no units for fp8; next: --dtype bf16" in done.stderr


def test_bf16_is_said_and_compared_with_its_own_peak(tmp_path):
    done, record = train(tmp_path, "--steps", 6, "--dtype", "bf16")
    assert done.returncode == 0, done.stdout + done.stderr
    assert record["facts"]["precision"] == \
        "operands are rounded to bf16 before each product; sums, weights, gradients and all else are fp32"
    assert samples(record, "share_of_spec") == pytest.approx([f / 989e12 for f in samples(record, "model_flops_per_second")])
    done, plain = train(tmp_path, "--steps", 6)
    assert samples(record, "loss_nats") != samples(plain, "loss_nats")
    assert samples(record, "loss_nats") == pytest.approx(samples(plain, "loss_nats"), rel=1e-3)


def test_a_checkpoint_of_another_type_is_not_resumed(tmp_path):
    folder = tmp_path / "saved"
    folder.mkdir()
    options = ("--warm-up-steps", 1, "--twin-every", 0, "--checkpoint-every", 3, "--checkpoint-dir", folder)
    assert train(tmp_path, "--steps", 4, *options)[0].returncode == 0
    done, _ = train(tmp_path, "--steps", 8, *options, "--resume", "--dtype", "bf16")
    assert done.returncode != 0 and "no checkpoint of this training" in done.stdout + done.stderr


def test_the_sum_of_the_parts_is_near_the_step_where_products_take_their_time(tmp_path):
    """The stand-in's products last by the wall's clock; what is beside them is computed, and so not told how long it lasts."""
    for _ in range(3):  # a busy machine makes the prediction longer, never shorter
        done, record = train(tmp_path, "--steps", 5, cuda="wall=1 flops=4e7")
        assert done.returncode == 0, done.stdout + done.stderr
        measured = samples(record, "matmul_seconds")[0]  # by the device's clock
        predicted = samples(record, "predicted_matmul_seconds")[0]  # by the host's
        if predicted < 1.3 * measured:
            break
    assert predicted == pytest.approx(measured, rel=0.3)
    assert samples(record, "predicted_step_seconds")[0] > measured


def test_memory_that_does_not_suffice_is_told_before_anything_is_allocated(tmp_path):
    done, record = train(tmp_path, cuda="memory=4e7 full@0=0")
    assert done.returncode == 4
    assert "the training needs 4" in done.stderr and "38.1 MiB of its memory are free" in done.stderr
    assert "GPU-00000000" in done.stderr and record["metrics"] == []


def test_an_allocation_that_fails_names_the_gpu(tmp_path):
    done, record = train(tmp_path, cuda="full@0=3")  # another program takes the memory after three kernels
    assert done.returncode == 4
    assert "memory that was free has gone: cudaMalloc on CUDA device 0: out of memory" in done.stderr
    assert "nvidia-smi" in done.stderr and record["metrics"] == []


def test_a_gpu_that_hangs_is_named_in_time(tmp_path):
    begin = time.monotonic()
    done, record = train(tmp_path, "--hang-after", "2s", "--gpu", 1, cuda="hang@1=400")
    assert time.monotonic() - begin < 60
    assert done.returncode == 1 and record["metrics"] == []
    assert "CUDA device 1 has not finished training step after 2 s: it hangs" in failed(record)["gpu"]
    assert "GPU-00000000-0000-0000-0000-000000000001" in failed(record)["gpu"]


@pytest.mark.parametrize("count", [1, 40, 400])
def test_a_gpu_that_fails_is_named(tmp_path, count):
    """While it makes the weights, in a product, and later."""
    done, record = train(tmp_path, cuda=f"die@0={count}")
    assert done.returncode == 1 and record["metrics"] == []
    assert "vm:0" in failed(record)["gpu"] or "GPU-00000000" in failed(record)["gpu"]
    assert "cudaErrorLaunchFailure" in failed(record)["gpu"] and "dmesg" in failed(record)["gpu"]


def test_a_program_without_code_for_the_gpu_skips_with_the_reason(tmp_path):
    done, _ = train(tmp_path, cuda="no_kernels=209")
    assert done.returncode == 3 and "compute capability 9.0" in done.stderr


@pytest.mark.parametrize("args, check, words", [
    (("--inject-fault", "bitflip@0:1"), "twin", "feed-forward of layer 1, forward"),
    (("--inject-fault", "nan@0:1", "--twin-every", 0), "finite", "feed-forward of layer 1, forward")])
def test_a_fault_that_is_planted_on_the_device_is_found(tmp_path, args, check, words):
    done, record = train(tmp_path, "--steps", 5, *args)
    assert done.returncode == 1 and record["metrics"] == []
    assert set(failed(record)) == {check} and words in failed(record)[check]


def test_a_gpu_that_makes_a_number_that_is_none_is_found(tmp_path):
    done, record = train(tmp_path, "--steps", 5, cuda="flip@0=nan")
    assert done.returncode == 1 and record["metrics"] == []
    assert set(failed(record)) == {"finite"} and "feed-forward of layer 0, forward" in failed(record)["finite"]


def test_a_training_goes_on_from_its_checkpoint_with_the_same_bits(tmp_path):
    options = ("--warm-up-steps", 1, "--twin-every", 0, "--checkpoint-every", 3)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    done, straight = train(tmp_path, "--steps", 8, *options, "--checkpoint-dir", whole)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(samples(straight, "checkpoint_seconds")) == 2
    assert train(tmp_path, "--steps", 5, *options, "--checkpoint-dir", parts)[0].returncode == 0
    done, resumed = train(tmp_path, "--steps", 8, *options, "--checkpoint-dir", parts, "--resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert resumed["facts"]["resumed_at"] == "3"
    assert resumed["facts"]["weights_digest"] == straight["facts"]["weights_digest"]
    assert samples(resumed, "loss_nats")[-4:] == samples(straight, "loss_nats")[-4:]


@pytest.mark.parametrize("args, words", [
    (("--tp", 2), "1 ranks are no multiple of --tp 2"), (("--pp", 2), "× --pp 2"), (("--shard", "zero1"), "no replicas"),
    (("--gpu", 7), "no GPU 7 here: there is 0, 1")])
def test_what_is_not_there_is_refused_with_its_reason(tmp_path, args, words):
    done, record = train(tmp_path, *args)
    assert done.returncode == 2 and record is None
    assert words in done.stderr
