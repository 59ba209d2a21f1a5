"""Hosts of eight stand-in GPUs each, measured together by `clusterbench run` with a shipped profile of several nodes. A host is a
network namespace with a name of its own (tests/labs/netns); its GPUs, NVML and NCCL are stand-ins, its NICs files. A collective takes as
long as its bytes take at a bus bandwidth that is a millionth of a real fleet's: the profile's limits of bus bandwidth are scaled by the
same factor, all others are as shipped. Training and inference are of a decoder of a few thousand parameters; their speed is told by the
wall's clock, so there what is asked relative to other hosts is less, and shares of the memory's rate are left out. ci/gpu_fleet.py runs
profiles and faults."""
import json
import os
import re
import shutil
import socket
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "labs/netns"))
from fleet_faults import EVERYWHERE, FAULTS, OF_A_JOB, meets, tells  # noqa: E402
from gpu_node import GPUS, HEALTHY_CUDA, HEALTHY_NVML, NO_PCI, PRODUCTS, SMALL, entries_of, failing, of_gpu  # noqa: E402

SCALE = 1e-6
SEPARATOR = {"nccl": ","}  # of a stand-in's words, where it is no space
SIZE = "16K"  # of what a collective moves
BUSY = "burn.sustained"  # a burn of a second has too few steps to say whether its rate holds

# GB/s of bus bandwidth of a healthy fleet (tests/unit/profiles/fleet.h): all_reduce and the others in the node, then the same and
# alltoall over several nodes.
BUS = {
    "h20": (480, 361, 460, 360, 100), "h100-sxm": (476, 361, 460, 360, 100), "h200-sxm": (473, 361, 460, 360, 100),
    "h800-sxm": (215, 160, 160, 158, 100), "a100-sxm-80g": (231.6, 228, 192, 186, 100), "a800-sxm": (154, 152, 150, 148, 100),
    "b200": (839, 671, 460, 375, 100),
}
FEW = [1, 2]  # sequences that are generated together
# A decoder of a few thousand parameters: the stand-ins compute every kernel and product.
DECODER = {"hidden": 32, "heads": 8, "kv-heads": 8, "head-dim": 4, "feed-forward": 32, "vocabulary": 64, "layers": 2, "hang-after": "40s"}
SMALL_FLEET = SMALL | {
    "train": DECODER | {"sequence": 8, "micro-batches": 1, "steps": 5, "warm-up-steps": 1, "hash-every": 2, "twin-every": 3},
    "infer": DECODER | {"batch": FEW, "prompt": 6, "new-tokens": 4, "repetitions": 1},
    "moe": {"batch": [4, 16], "hidden": 128, "experts": 32, "top-k": 3, "iterations": 3, "duration": None, "hang-after": "40s"},
    "kv-transfer": {"model": "tiny", "layers": 4, "page-tokens": 4, "prompt": 62, "iterations": 5, "hang-after": "40s"},
    "gds": {"size": "4M", "queue-depth": 4, "duration": "400ms"}, "nccl": {"size": SIZE, "iterations": 3, "duration": None, "checks": 2, "init-deadline": "30s",
                                                                                        "wait-deadline": "20s"},
    "locate": {"size": "32K", "duration": "150ms", "tolerance": 0.25},
}

NO_IMEX = "nvlink_domain.imex_nodes"  # is read below /etc, which the hosts of the lab share with this machine
# Of a port of 400 Gb/s, which bounds a rail: GB/s of bus bandwidth over several hosts.
RAIL = 45
SIZES = {"matrix-rail": "4K", "matrix-grid": "4K"}  # by step; else SIZE
# Of a training: products and kernels last so long by the wall's clock that what the shared processors need beside them is little.
PACE, END_TO_END = "wall=1 flops_bf16=7e5 memory_rate=2e7 nap=4e-3", "end-to-end-gpu"
STALL = "1m"
# Times by the wall's clock, which the processors' other work lengthens: GPUs and hosts may be this share of each other.
SHARED_CLOCK, SHARE = ("train.node.fleet", "infer.gpu.fleet", "infer.node.fleet"), 0.4
# No kernel of the stand-in takes the time of the bytes that a token reads, or of a prompt's operations.
NO_BYTES = ("infer.gpu.memory", "infer.gpu.memory.full", "infer.gpu.prefill")


def product_of(profile):
    if profile.startswith(("nccl-", "gds")):
        return "h200-sxm"
    if profile == END_TO_END:
        return "h20"
    return next(name for name in sorted(PRODUCTS, key=len, reverse=True) if profile.startswith(name))


def hosts_of(profile):
    if profile.endswith("pair"):
        return 2
    return 6 if "nvl72" in profile else 3  # three groups of eight GPUs can be compared


def gpus_of(profile):
    """Of a host: a tray of an NVL72 has four."""
    return 4 if "nvl72" in profile else GPUS


def faults_of(profiles, profile):
    criteria = entries_of(Path(profiles), profile, "criteria")
    return [name for name, fault in FAULTS.items() if (meets(name, profile) if name in OF_A_JOB else fault[1] in criteria)]


def changes_of(faults, host, links, gpus=GPUS):
    """What the faults change on the host, as FAULTS has it, each on its own GPU."""
    out = {}
    for (where, gpu), name in faults.items():
        for key, change in FAULTS[name][0].items():
            if where != host and key not in EVERYWHERE:
                continue
            if isinstance(change, str):
                change = change.replace("GPU", str(gpu)).replace("{links_less_one}", str(links - 1)).replace("{gpus_less_one}", str(gpus - 1))
                change = SEPARATOR.get(key, " ").join(filter(None, [out.get(key), change]))
            out[key] = change
    return out


def own_machine(place, host, ports):
    """A shell's lines that give the host a name of its product and RDMA ports of a millionth of 400 Gb/s: a copy of /sys/class, whose
    links lead where they did, with these files besides. Processors on which nobody else works: the hosts share this machine's,
    and each would see the others' ranks; what a stand-in takes is a time it sleeps. And nvidia-fs, which counts requests."""
    own = place / f"class-{host}"
    lines = [f"mkdir -p {own}", f"cp -a /sys/class/. {own}/ 2>/dev/null", f"rm -rf {own}/dmi", f"mkdir -p {own}/dmi/id"]
    lines += [f"echo '{content}' >{own}/dmi/id/{name}" for name, content in {"product_name": "Stand-in", "bios_version": "1.0"}.items()]
    for i in range(ports):
        device = f"{own}/infiniband/mlx5_{i}"
        lines += [f"mkdir -p {device}/ports/1"]
        for name, content in {"fw_ver": "28.43.1014", "board_id": "MT_0000000838", "hca_type": "MT4129", "ports/1/state": "4: ACTIVE",
                              "ports/1/phys_state": "5: LinkUp", "ports/1/rate": "0.0004 Gb/sec (4X NDR)", "ports/1/link_layer": "InfiniBand"}.items():
            lines.append(f"echo '{content}' >{device}/{name}")
    still, module = place / f"stat-{host}", place / f"module-{host}"
    return [f"if [ ! -d {own} ]; then", *lines, f"cp /proc/stat {still}", f"mkdir -p {module}/nvidia_fs/parameters",
            f"echo 1 >{module}/nvidia_fs/parameters/rw_stats_enabled", "fi", f"mount --bind {own} /sys/class", f"mount --bind {still} /proc/stat",
            f"mount --bind {module} /sys/module", "mount -t tmpfs none /proc/driver", "mkdir /proc/driver/nvidia-fs"]


def library_folder(build, place, version):
    """Where the linker finds the stand-in as that version of NCCL, or a file that is no library."""
    folder = place / f"nccl-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    if version == "damaged":
        (folder / f"libnccl.so.{version}").write_text("no library")
    else:
        shutil.copy(Path(build) / "fake/fake_nccl.so", folder / f"libnccl.so.{version}")
    link = folder / "libnccl.so.2"
    if not link.exists():
        link.symlink_to(f"libnccl.so.{version}")
    return folder


def nccl_words(product, node=1.0, across=1.0, rails=False):
    all_reduce, ring, far_reduce, far_ring, alltoall = BUS[product]
    if rails:
        far_reduce = far_ring = alltoall = RAIL
    words = ["hosts=named", "nvls", "sharp"]
    for key, share, first, others, sends in (("bus", node, all_reduce, ring, ring), ("across", across, far_reduce, far_ring, alltoall)):
        words += [f"{key}=AllReduce:{share * first}", f"{key}=AllGather:{share * others}", f"{key}=ReduceScatter:{share * others}",
                  f"{key}=SendRecv:{share * sends}"]
    return words


def write_setup(build, place, lab, profile, faults, ports):
    """A file for each host, which the shell reads that becomes the host: what its stand-ins are told."""
    setup = place / "setup"
    setup.mkdir(parents=True, exist_ok=True)
    product, gpus, tray = product_of(profile), gpus_of(profile), "nvl72" in profile
    figures = PRODUCTS[product]
    links = figures.get("nvlinks", 18)
    fake = Path(build).resolve() / "fake"
    for i, host in enumerate(lab.hosts):
        mine = changes_of(faults, i, links, gpus)
        nccl = nccl_words(product, mine.get("node", 1.0), mine.get("across", 1.0), ports > 0) + mine.get("nccl", "").split(",")
        nccl += ["nvl72"] * tray + ["streams", "abort=local", "pause=5"] * (profile == END_TO_END)
        domain = "fabric_uuid=7 fabric_clique=1" if tray else ""
        nccl = [word for word in nccl if word and word != mine.get("without")]
        folder = library_folder(build, place, mine.get("library", "2.28.9"))
        variables = {
            "CLUSTERBENCH_CUBLASLT_LIBRARY": fake / "fake_cublaslt.so", "CLUSTERBENCH_NVML_LIBRARY": fake / "fake_nvml.so",
            "CLUSTERBENCH_FAKE_NVML": f"gpus={gpus} host={i + 1} {HEALTHY_NVML} nvlinks_active={links} {figures['nvml']} {domain} {mine.get('nvml', '')}",
            "CLUSTERBENCH_FAKE_CUDA": f"devices={gpus} host={i + 1} {HEALTHY_CUDA} {figures['cuda']} {PACE * (profile == END_TO_END)} {mine.get('cuda', '')}",
            "CLUSTERBENCH_CUFILE_LIBRARY": mine.get("cufile_library", fake / "fake_cufile.so"), "FAKE_CUFILE": mine.get("cufile", "direct"),
            "FAKE_CUFILE_MICROSECONDS": mine.get("cufile_time", 8000), "FAKE_NVFS_STATS": "/proc/driver/nvidia-fs/stats",
            "FAKE_NCCL": ",".join(nccl), "LD_LIBRARY_PATH": f"{folder}:$LD_LIBRARY_PATH"}
        lines = [f'export {name}="{value}"' for name, value in variables.items()]
        if room := mine.get("room"):
            lines.append(f"mkdir -p {place}/out/scratch && mount -t tmpfs -o size={room} none {place}/out/scratch")
        (setup / host).write_text("\n".join([*lines, *own_machine(place, host, ports)]) + "\n")
    return setup


def scaled_criterion(entry):
    """The criterion with its limit of bus bandwidth and its size scaled down; none if it stays as it is."""
    if entry.get("metric") == "domain_gpus":
        return {"id": entry["id"], "min": 24, "source": {**entry["source"], "ref": "six trays of four GPUs"}}
    if NO_IMEX in entry.get("uniform", []):
        return {"id": entry["id"], "uniform": [name for name in entry["uniform"] if name != NO_IMEX]}
    if entry["id"] in SHARED_CLOCK:
        out = {"id": entry["id"], "min_of_fleet": SHARE, "source": {**entry["source"], "ref": "stand-ins on shared processors"}}
        return out | ({"at": {"batch": FEW}} if "at" in entry else {})
    if not str(entry.get("metric", "")).endswith("bus_bytes_per_second"):
        return None
    out = {"id": entry["id"]}
    if "min" in entry:
        out["min"] = entry["min"] * SCALE
        out["source"] = {**entry["source"], "ref": "a millionth of the profile's limit, as the stand-in's bus bandwidth is of a fleet's"}
    if "size" in entry.get("at", {}):
        out["at"] = {**entry["at"], "size": SIZES.get(entry["step"], SIZE)}
    return out


def small_step(profile, step, case):
    """What changes of a step. The ranks of a training wait two minutes for one that does not come, in each step and each repetition."""
    out = {"id": step, "params": small_params(step, case)}
    return out | ({"stall": STALL} if profile == END_TO_END else {})


def small_params(step, case):
    return SMALL_FLEET[case] | ({"size": SIZES[step]} if step in SIZES else {})


def scaled_fleet(profiles, profile):
    """The shipped profile with smaller steps."""
    steps, criteria = (entries_of(profiles, profile, name) for name in ("steps", "criteria"))
    changed = [scaled_criterion(entry) for entry in criteria.values()]
    return {
        "schema": "clusterbench.profile/1", "base": profile, "name": f"{profile}-scaled", "title": {"en": "on stand-ins", "zh": "替身"},
        "criteria": [c for c in changed if c] + [{"id": name, "remove": True} for name in (*NO_PCI, BUSY, *NO_BYTES) if name in criteria],
        "steps": [small_step(profile, step, entry["case"]) for step, entry in steps.items() if entry["case"] in SMALL_FLEET],
    }


@contextmanager
def kept_session_folder():
    """Open MPI 4.1 makes /tmp/ompi.HOST.UID where it is not there and removes it where it is empty: of two jobs that begin at once one ends with
    "File exists", which would be told of a sound host. Here it is never empty."""
    mine = Path(tempfile.gettempdir()) / f"ompi.{socket.gethostname()}.{os.getuid()}" / f"lab-{os.getpid()}"
    mine.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):
            mine.rmdir()


def run_fleet(build, source, place, lab, profile, faults=None, ports=0, timeout=900):
    """With `faults`, (index of the host, GPU) -> name: (exit code of run, the judgement as report gives it, what was printed)."""
    place = Path(place)
    setup = write_setup(build, place, lab, profile, faults or {}, ports)
    (place / "p").mkdir(exist_ok=True)
    (place / "p" / f"{profile}-scaled.json").write_text(json.dumps(scaled_fleet(Path(source) / "profiles", profile)))
    program, out = Path(build).resolve() / "bin/clusterbench_fake_gpu", place / "out"
    for i, host in enumerate(lab.hosts):  # to one rate, far below what the machine's processors carry
        lab.mend_link(host)
        changes = changes_of(faults or {}, i, 0)
        lab.slow_link(host, rate=changes.get("link", "100mbit"))
        if changes.get("cut"):
            lab.cut_link(host)
    with kept_session_folder():
        done = lab.run([program, "run", f"{profile}-scaled", "--profile-dir", place / "p", "--out", out, "--launcher", "mpirun", "--hostfile",
                        lab.write_hostfile(place / "hosts", gpus_of(profile))], env={"CLUSTERBENCH_LAB_SETUP": str(setup)}, timeout=timeout)
    text = done.stdout + done.stderr
    if not (out / "campaign.json").exists():
        raise AssertionError(text)
    report = place / "report.json"
    lab.run([program, "report", out, "--json", report], timeout=60)
    return done.returncode, json.loads(report.read_text()), text


def named(part, kind, host, gpu):
    """Whether the name of a part is that of the GPU of the host, of the host as one or as one of all, of all hosts together or of a rail."""
    if kind == "gpu":
        return host in part and of_gpu(part, gpu)
    return part == kind if kind == "cluster" or kind.startswith("rail") else host in part


def explains(fault, criterion, part, hosts, host):
    """Whether a part may fail by a criterion because of the fault. Of two hosts that differ both are named."""
    _, own, kind, *more = FAULTS[fault]
    if criterion.removesuffix(".after") != own and not any(criterion.startswith(m) for m in more):
        return False
    wide = ("nccl.all.", "matrix.domain.")  # what all hosts have together, the rest of a domain too
    if criterion.endswith("uniform") and len(hosts) == 2 and kind != "job":
        return True
    return kind in ("cluster", "all hosts") or kind.startswith("rail") or criterion.startswith(wide) or hosts[host] in part or part == "cluster"


# Hosts that a message names besides the one to blame: who is without a figure for a reason that is not said, the members of a group, and the
# rank that saw that another one is gone.
WITHOUT = re.compile(r"\S+ contributed nothing to step \S+")
MEMBERS = re.compile(r"\b(?:pair|group|rail)-[\w-]+ \([^)]*\)")
WITNESS = re.compile(r"\S+ rank \d+: (?=rank \d+ on )")


def reasons_of(report):
    """Why criteria decide nothing, or not for all: each message once."""
    said = []
    for c in report["criteria"]:
        if c["state"] not in ("pass", "not-applicable"):
            said += [gap["what"] for gap in c.get("gaps", ())] or ([c["reason"]] if c["state"] == "incomplete" else [])
    return list(dict.fromkeys(said))


def accused(said, hosts, sick=()):
    """The hosts to blame by the message: "n2 rank 3: …", "n1 rank 1: rank 0 on n2 is gone", "step info on n2 failed". Nobody is where a
    group failed for a reason that names none of its members. Of a pair of which one end is sick, "n2 rank 3 → n3:rank 3", only that is."""
    one = "|".join(rf"(?<![\w-]){re.escape(host)}(?![\w-])" for host in hosts)

    def sick_end(pair):
        return " ".join(host for host in pair.groups() if host in sick) or pair.group()

    for besides in (WITHOUT, MEMBERS, WITNESS):
        said = besides.sub("", said)
    said = re.sub(rf"({one})(?:[ :](?:rank )?\d+)? → ({one})", sick_end, said)
    return frozenset(re.findall(one, said))


def told_apart(told):
    """Of fault -> what tells of it: the faults that have something of their own, as many as can."""
    of_fault = {}

    def give(name, tried):
        for one in told[name]:
            if one in tried:
                continue
            tried.add(one)
            if one not in of_fault or give(of_fault[one], tried):
                of_fault[one] = name
                return True
        return False

    return {name for name in told if give(name, set())}


def wrong_of(report, faults, hosts):
    """(faults whose criterion does not name them, what fails and is nothing that they do). Of what keeps hosts from being measured each needs
    a message of its own: one that accuses two hosts stands for one fault."""
    bad = failing(report)
    out = {host for (host, _), name in faults.items() if name in OF_A_JOB}
    left = {what: accused(what, hosts, [hosts[host] for host in out]) for what in reasons_of(report)}
    told = {name: {blamed for what, blamed in left.items() if hosts[host] in blamed and tells(name, what)}
            for (host, _), name in faults.items() if name in OF_A_JOB}
    apart = told_apart(told)
    missing = [name for name in told if name not in apart]
    missing += [name for (host, gpu), name in faults.items()
                if name not in OF_A_JOB and not any(named(part, FAULTS[name][2], hosts[host], gpu) for part in bad.get(FAULTS[name][1], ()))]
    others = [(criterion, part) for criterion, parts in bad.items() for part in sorted(parts)
              if not any(explains(name, criterion, part, hosts, host) for (host, _), name in faults.items())]
    sick = {host for host, _ in faults} if OF_A_JOB.keys() & faults.values() else range(len(hosts))
    others += [("open", host) for i, host in enumerate(hosts) if i not in sick and any(host in blamed for blamed in left.values())]
    return missing, others
