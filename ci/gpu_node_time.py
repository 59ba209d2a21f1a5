#!/usr/bin/python3
"""What a node of eight GPUs costs in time, on stand-ins whose calls cost what real ones do: ci/gpu_node_time.py BUILD [--profile]

1. The share of their time that eight GPUs of one process idle in burn and gemm, by the stand-in's clock (a launch takes the host 20 us).
2. How many looks a second NVML's telemetry makes if each call takes 0.3 ms, and how many calls that is.
3. With --profile: how long each job of the profile h20 takes with its own durations (the burn's ten minutes cut to one), where NVML takes
   0.3 ms a call, a launch 5 us, a copy 4 us, an allocation or freeing 0.2 ms. Sizes are small: the stand-in computes on the host.
   About seven minutes.
"""
import json
import os
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests/cli"))
from gpu_node import NO_PCI, run_node  # noqa: E402


def run(build, scratch, *arguments, cuda="", nvml=""):
    file = Path(scratch) / "r.json"
    fake = Path(build) / "fake"
    env = dict(os.environ, CLUSTERBENCH_CUBLASLT_LIBRARY=str(fake / "fake_cublaslt.so"),
               CLUSTERBENCH_FAKE_CUDA=f"devices=8 memory=536870912 {cuda}", CLUSTERBENCH_NVML_LIBRARY=str(fake / "fake_nvml.so"),
               CLUSTERBENCH_FAKE_NVML=f"gpus=8 {nvml}", CLUSTERBENCH_FAKE_CUDA_BUSY=str(Path(scratch) / "busy"))
    subprocess.run([Path(build) / "bin/clusterbench_fake_gpu", *arguments, "--json", file], env=env, check=True, capture_output=True, timeout=300)
    return json.loads(file.read_text())["records"][0]


def idle_shares(scratch, begin, end):
    spans = {}
    for line in (Path(scratch) / "busy").read_text().splitlines():
        device, start, stop = line.split()
        spans.setdefault(int(device), []).append((float(start), float(stop)))
    for device in sorted(spans):
        since, until = spans[device][-1][1] * begin, spans[device][-1][1] * end
        worked = sum(max(0.0, min(stop, until) - max(start, since)) for start, stop in spans[device])
        yield 1 - worked / (until - since)


def idle(build, scratch):
    gemm = ("gemm", "--device", "gpu", "--m", "64", "--n", "64", "--k", "64", "--dtype", "bf16", "--iterations", "60", "--algorithms", "1",
            "--warm-up", "0s")
    burn = ("burn", "--device", "gpu", "--phase", "bf16", "--size", "128", "--memory-share", "0.05", "--duration", "3s")
    for case, flops in ((burn, 8e8), (gemm, 1e8)):
        run(build, scratch, *case, cuda=f"launch=2e-5 flops={flops}")
        shares = list(idle_shares(scratch, 0.4, 0.9))
        print(f"idle share of eight GPUs in {case[0]}: {100 * max(shares):.2f} % at most, {100 * min(shares):.2f} % at least")


def looks(build, scratch):
    record = run(build, scratch, "burn", "--device", "gpu", "--phase", "bf16", "--size", "128", "--memory-share", "0.05", "--duration", "10s",
                 nvml="call_cost=3e-4 gpm_sm=90 gpm_dram=40 utilisation=98")
    for name in ("watts", "dram_active", "gpu_utilisation"):
        lines = [s for s in record["telemetry"]["series"] if s["name"] == name]
        rates = [(len(s["at"]) - 1) / (s["at"][-1] - s["at"][0]) for s in lines]
        print(f"looks at {name} of eight GPUs with NVML at 0.3 ms a call: {min(rates):.1f} to {max(rates):.1f} a second")


def profile(build, scratch):
    small = {
        "bandwidth": {"size": "16K"}, "gemm": {"size": None, "m": 32, "n": 32, "k": 32},
        "burn": {"size": "128", "duration": "60s", "memory-share": 0.05},
    }
    code, _, text = run_node(build, SOURCE, scratch, "h20", nvml="call_cost=3e-4", small=small, without=NO_PCI,
                             cuda="launch_cost=5e-6 copy_cost=4e-6 graph_cost=2e-5 malloc_cost=2e-4")
    jobs(Path(scratch) / "out/journal.jsonl")
    print(f"exit {code}")
    if code != 0:
        print(text)


def jobs(journal):
    """How long each attempt took, by the journal's times, which are whole seconds."""
    begun, total = {}, 0
    for line in journal.read_text().splitlines():
        event = json.loads(line)
        key = (event.get("job"), event.get("attempt"))
        at = datetime.fromisoformat(event["at"].replace("Z", "+00:00"))
        if event["event"] == "start":
            begun[key] = at
        elif event["event"] == "end":
            seconds = (at - begun[key]).total_seconds()
            print(f"{event['job']:20} attempt {event['attempt']} {seconds:5.0f} s")
            total += seconds
    print(f"all jobs {total:.0f} s; with the burn's ten minutes {total + 540:.0f} s")


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    with tempfile.TemporaryDirectory() as scratch:
        idle(arguments[0], scratch)
        looks(arguments[0], scratch)
        if "--profile" in arguments:
            profile(arguments[0], Path(scratch) / "node")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
