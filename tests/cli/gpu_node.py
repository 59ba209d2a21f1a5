"""A node of eight GPUs that are stand-ins (tests/fake_cuda, tests/fake_nvml), measured and judged by `clusterbench run` with a shipped
profile. Sizes and times are scaled down, limits are the profile's own. ci/gpu_nodes.py runs all products and faults."""
import json
import os
import subprocess
from pathlib import Path

GPUS = 8

# What a healthy GPU of the product does, in the words of the stand-ins. The rates are what fleets measure, as in
# tests/unit/profiles/fleet.h.
HOPPER = "flops_bf16=7.3e14 flops_tf32=3.73e14"
AMPERE = "capability=80 flops_bf16=2.537e14 flops_tf32=1.274e14 flops_fp64=1.895e13 flops_int8=4.666e14 memory_rate=1.7e12 host_rate=2.6e10"
PRODUCTS = {
    "h20": {
        "nvml": "name=NVIDIA_H20",
        "cuda": "name=NVIDIA_H20 flops_bf16=1.39e14 flops_tf32=6.9e13 flops_fp8=2.7e14 flops_int8=2.7e14 memory_rate=3.4e12 peer_rate=3.8e11",
    },
    "h20-3e": {
        "nvml": "name=NVIDIA_H20-3e memory_total_bytes=1.5e11",
        "cuda": "name=NVIDIA_H20-3e total=1.5e11 flops_bf16=1.39e14 flops_tf32=6.9e13 flops_fp8=2.7e14 flops_int8=2.7e14 memory_rate=4.1e12 "
                "peer_rate=3.8e11",
    },
    "h100-sxm": {
        "nvml": "name=NVIDIA_H100_80GB_HBM3 memory_total_bytes=8.5e10",
        "cuda": f"name=NVIDIA_H100_80GB_HBM3 total=8.5e10 {HOPPER} flops_fp8=1.29e15 flops_fp64=6e13 memory_rate=2.97e12 peer_rate=3.8e11",
    },
    "h200-sxm": {
        "nvml": "name=NVIDIA_H200 memory_total_bytes=1.5e11",
        "cuda": f"name=NVIDIA_H200 total=1.5e11 {HOPPER} flops_fp8=1.301e15 flops_fp64=6e13 memory_rate=4.15e12 peer_rate=3.96e11",
    },
    "h800-sxm": {
        "nvml": "name=NVIDIA_H800 memory_total_bytes=8.5e10",
        "cuda": f"name=NVIDIA_H800 total=8.5e10 {HOPPER} flops_fp8=1.29e15 memory_rate=2.97e12 peer_rate=1.6e11",
        "nvlinks": 8,
    },
    "a100-sxm-80g": {
        "nvml": "name=NVIDIA_A100-SXM4-80GB memory_total_bytes=8.5e10",
        "cuda": f"name=NVIDIA_A100-SXM4-80GB total=8.5e10 {AMPERE} peer_rate=2.75e11",
        "nvlinks": 12,
    },
    "a800-sxm": {
        "nvml": "name=NVIDIA_A800-SXM4-80GB memory_total_bytes=8.5e10",
        "cuda": f"name=NVIDIA_A800-SXM4-80GB total=8.5e10 {AMPERE} peer_rate=1.84e11",
        "nvlinks": 8,
    },
    "b200": {
        "nvml": "name=NVIDIA_B200 memory_total_bytes=1.92e11",
        "cuda": "name=NVIDIA_B200 total=1.92e11 capability=100 flops_bf16=1.6e15 flops_tf32=8e14 flops_fp8=3.9e15 flops_fp4=7e15 "
                "memory_rate=6.6e12 peer_rate=7.9e11",
    },
}
HEALTHY_NVML = "watts=480 clock_hertz=1.9e9"
HEALTHY_CUDA = "memory=536870912 start=0 host_rate=5.2e10"

# Fault: what the stand-ins are told, with @3 for the GPU; the criterion that must name it; and what may fail with it, besides
# the same criterion after the load: criteria that begin with one of these words.
FAULTS = {
    "ECC is off": ("nvml", "ecc_enabled@3=0", "health.ecc_enabled"),
    "uncorrectable errors": ("nvml", "ecc_uncorrected_volatile@3=2", "health.ecc_uncorrected_volatile"),
    "SRAM errors over its life": ("nvml", "sram_uncorrected_aggregate@3=5", "health.sram_uncorrected_aggregate"),
    "a row waits to be remapped": ("nvml", "row_remap_pending@3=1", "health.row_remap_pending"),
    "no spare row was left": ("nvml", "row_remap_failed@3=1", "health.row_remap_failed"),
    "the driver asks for a reset": ("nvml", "recovery_action@3=1", "health.recovery_action"),
    "slowed by the hardware": ("nvml", "event_reasons@3=8", "health.hw_slowdown", "burn.throttled"),
    "slowed for heat under load": ("nvml", "event_reasons@3=64", "burn.throttled", "health."),
    "a lower power limit": ("nvml", "power_limit@3=400", "health.power_limit_share"),
    "reserved for one process": ("nvml", "compute_mode@3=2", "health.compute_mode"),
    "damaged infoROM": ("nvml", "inforom_valid@3=0", "health.inforom_valid"),
    "somebody else's process": ("nvml", "processes@3=1", "health.processes"),
    "half the PCIe lanes": ("nvml", "pcie_lanes@3=8", "health.pcie_lanes_share"),
    "a slot of an older PCIe": ("nvml", "pcie_slot_generation@3=4", "health.pcie_generation_share"),
    "an NVLink is down": ("nvml", "nvlinks_active@3={links_less_one}", "health.nvlinks_active"),
    "not in the NVSwitch fabric": ("nvml", "fabric_state@3=2", "health.fabric_ready"),
    "the fabric reports a fault": ("nvml", "fabric_mask@3=1", "health.fabric_faults"),
    "a fatal Xid": ("nvml", "xid@3=79", "burn.gpu", "burn.", "gemm", "memory.", "copy", "peer.", "step:"),
    "little power under load": ("nvml", "watts@3=100", "burn.power", "burn.power"),
    "a slow memory clock": ("nvml", "memory_clock_hertz@3=2.4e9", "burn.memory_clock"),
    "a tenth slower": ("cuda", "slow@3=0.9", "gemm.bf16.fleet", "gemm.", "burn.", "memory.", "copy", "peer."),
    "wrong products": ("cuda", "flip@3=gemm", "gemm-bf16.product", "gemm", "burn.", "step:"),
    "wrong copies": ("cuda", "flip@3=copy", "host-copy.pattern", "copy", "host-copy", "memory.", "peer.", "burn.", "step:"),
    "a weak memory cell": ("cuda", "flip@3=march", "burn.memory", "burn.", "step:"),
    "a wrong SM": ("cuda", "flip@3=chain", "burn.sm", "burn.", "step:"),
}

SMALL = {
    "bandwidth": {"size": "16K", "iterations": 2, "warm-up": "0s"},
    "gemm": {"size": None, "m": 32, "n": 32, "k": 32, "iterations": 2, "warm-up": "0s", "algorithms": 2},
    "burn": {"size": "128", "duration": "1s", "memory-share": 0.05, "hang-after": "20s"},
}

# Stand-in GPUs are no PCI devices. A burn of a second has too few steps to say whether its rate holds.
NO_PCI = ("health.gpus_on_pci", "health.gpus_on_pci.after")


def entries_of(profiles, name, list_name):
    """The steps or criteria of a profile and of its bases, by id."""
    profile = json.loads((profiles / f"{name}.json").read_text())
    bases = profile.get("base", [])
    entries = {}
    for base in [bases] if isinstance(bases, str) else bases:
        entries |= entries_of(profiles, base, list_name)
    for entry in profile.get(list_name, ()):
        if entry.get("remove"):
            entries.pop(entry["id"], None)
        else:
            entries[entry["id"]] = {**entries.get(entry["id"], {}), **entry}
    return entries


def faults_of(profiles, product):
    """The faults that the product's profile has a criterion for: an A100 tells nothing of its fabric."""
    criteria = entries_of(Path(profiles), product, "criteria")
    return [name for name, fault in FAULTS.items() if fault[2] in criteria]


def batches_of(names):
    """The faults shared out: [GPU -> name], one on each of the GPUs 1 to 7. Those that take figures away or change the fleet's
    middle are spread, so that each comparison keeps enough GPUs that are sound."""
    count = -(-len(names) // (GPUS - 1))
    heavy = [name for name in names if FAULTS[name][3:]]
    light = [name for name in names if not FAULTS[name][3:]]
    batches = [{} for _ in range(count)]
    for i, name in enumerate(heavy + light):
        batch = batches[i % count]
        batch[len(batch) + 1] = name
    return batches


def planted(product, faults):
    """The words for the stand-ins of `faults`: GPU -> name."""
    words = {"nvml": "", "cuda": ""}
    for gpu, name in faults.items():
        kind, word = FAULTS[name][:2]
        less = PRODUCTS[product].get("nvlinks", 18) - 1
        words[kind] += " " + word.replace("@3", f"@{gpu}").replace("{links_less_one}", str(less))
    return words


def unexplained(report, faults):
    """What fails and is of no GPU with a fault, or is nothing that its fault does: [(criterion, part)]."""
    def explains(name, criterion):
        own, more = FAULTS[name][2], FAULTS[name][3:]
        return criterion.removesuffix(".after") == own.removesuffix(".after") or any(criterion.startswith(m) for m in more)

    return [(criterion, part) for criterion, parts in failing(report).items() for part in sorted(parts)
            if not any(of_gpu(part, gpu) and explains(name, criterion) for gpu, name in faults.items())]


def not_found(report, faults):
    """The faults whose criterion does not name their GPU."""
    bad = failing(report)
    return [name for gpu, name in faults.items() if not any(of_gpu(part, gpu) for part in bad.get(FAULTS[name][2], ()))]


def scaled(profiles, product, small, without):
    """The shipped profile with smaller steps."""
    return {
        "schema": "clusterbench.profile/1", "base": product, "name": f"{product}-scaled",
        "title": {"en": "on stand-ins", "zh": "替身"},
        "criteria": [{"id": criterion, "remove": True} for criterion in without],
        "steps": [{"id": step, "params": small[entry["case"]]} for step, entry in entries_of(profiles, product, "steps").items()
                  if entry["case"] in small],
    }


def run_node(build, source, place, product, nvml="", cuda="", small=SMALL, without=(*NO_PCI, "burn.sustained")):
    """(exit code of run, the judgement as report gives it)."""
    place = Path(place)
    place.mkdir(parents=True, exist_ok=True)
    build = Path(build).resolve()
    program, fake = build / "bin/clusterbench_fake_gpu", build / "fake"
    (place / "p").mkdir(exist_ok=True)
    (place / "p" / f"{product}-scaled.json").write_text(json.dumps(scaled(Path(source) / "profiles", product, small, without)))
    figures = PRODUCTS[product]
    env = dict(
        os.environ, CLUSTERBENCH_CUBLASLT_LIBRARY=str(fake / "fake_cublaslt.so"),
        CLUSTERBENCH_NVML_LIBRARY=str(fake / "fake_nvml.so"),
        CLUSTERBENCH_FAKE_NVML=f"gpus={GPUS} {HEALTHY_NVML} nvlinks_active={figures.get('nvlinks', 18)} {figures['nvml']} {nvml}",
        CLUSTERBENCH_FAKE_CUDA=f"devices={GPUS} {HEALTHY_CUDA} {figures['cuda']} {cuda}")
    out = place / "out"
    done = subprocess.run([program, "run", f"{product}-scaled", "--profile-dir", place / "p", "--out", out, "--launcher", "none"], env=env,
                          capture_output=True, text=True, timeout=600, check=False)
    if not (out / "campaign.json").exists():
        raise AssertionError(done.stdout + done.stderr)
    subprocess.run([program, "report", out, "--json", place / "report.json"], env=env, capture_output=True, timeout=60, check=True)
    return done.returncode, json.loads((place / "report.json").read_text()), done.stdout + done.stderr


def failing(report):
    """Criterion -> names of what fails it."""
    return {c["id"]: {f["name"] for f in c.get("failing", ())} for c in report["criteria"] if c["state"] in ("fail", "warn")}


def open_points(report):
    """Criteria that decide nothing."""
    return {c["id"]: c.get("reason") or c.get("gaps") for c in report["criteria"] if c["state"] not in ("fail", "warn", "pass", "not-applicable")}


def of_gpu(name, gpu):
    """Whether that is the GPU, or a pair with it."""
    return any(end.strip().split(":")[1:] == [str(gpu)] for end in name.split("→"))
