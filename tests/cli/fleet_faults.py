"""What can be wrong with one of several hosts of stand-in GPUs, and what must be named for it (gpu_fleet.py)."""
from gpu_node import FAULTS as OF_A_NODE
from gpu_node import GPUS

# Fault: what is changed on its host ("across" and "without": on all hosts), the criterion that must fail, what it must name, and what
# else may fail: criteria that begin with one of these words. GPU is that of the fault's own GPU in a run.
OF_A_FLEET = {
    "a node's collectives are a fifth slower": ({"node": 0.8}, "nccl.node.all_reduce", "host", "nccl.node."),
    "another NCCL": ({"library": "2.27.5"}, "nccl.uniform", "host"),
    "an NVLink is down": ({"nvml": "nvlinks_active@GPU={links_less_one}"}, "health.nvlinks_active", "gpu", "health.", "uniform"),
    "half the PCIe lanes": ({"nvml": "pcie_lanes@GPU=8"}, "health.pcie_lanes_share", "gpu", "health."),
    "a GPU a tenth slower": ({"cuda": "slow@GPU=0.9"}, "gemm.bf16.fleet", "gpu", "gemm.", "burn.", "memory.", "copy", "peer."),
    "wrong products": ({"cuda": "flip@GPU=gemm"}, "gemm-bf16.product", "gpu", "gemm", "burn.", "step:"),
    "the network carries a third less": ({"across": 0.67}, "nccl.all.all_reduce", "cluster", "nccl.all."),
    "a rank of a node receives wrong data": ({"nccl": "wrong=3:2"}, "nccl.node.correct", "host", "nccl.", "step:"),
    "wrong data between nodes": ({"nccl": "wrong=11:2"}, "nccl.all.correct", "host", "step:"),
    "a node behind its fellows": ({"node": 0.94}, "nccl.node.fleet", "host", "nccl.node."),
    "a slow link": ({"link": "20mbit"}, "locate.suspects", "host"),
    "a rank falls back to TCP": ({"nccl": "socket=1:1"}, "matrix.net.sockets", "host", "matrix.net.", "matrix.rail.", "matrix.grid."),
    "host memory between GPU and NIC": ({"nccl": "no_gdr=2:1"}, "matrix.net.gpu-direct", "host", "matrix.rail.gpu-direct",
                                        "matrix.grid.gpu-direct"),
    "a rail is slower": ({"nccl": "slow_rail=2:60"}, "matrix.rail.fleet", "rail 2", "matrix.rail.", "matrix.grid.dp"),
    "no NVLS on a node": ({"nccl": ",".join(f"no_nvls={rank}:1" for rank in range(GPUS))}, "matrix.p2p.nvls", "host"),
    "cuFile copies through the host": ({"cufile": "compat"}, "gds-read.path", "host", "gds-", "step:"),
    "wrong data from storage": ({"cufile": "wrong"}, "gds-read.data", "host", "gds-", "step:"),
    "nvidia-fs counts no request": ({"cufile": "silent"}, "gds-read.path", "host", "gds-", "step:"),
    "a host's storage is slower": ({"cufile_time": 12000}, "gds-read.fleet", "host", "gds-write.fleet"),
    "another NCCL in the matrix": ({"library": "2.27.5"}, "matrix.uniform", "host"),
    # NCCL takes SHARP in all ranks or in none.
    "a tray is of another NVLink domain": ({"nvml": "fabric_uuid=9"}, "matrix.domain.gpus", "host", "matrix.domain.", "uniform"),
    "no NVLink between trays": ({"without": "nvl72"}, "matrix.domain.nvlink", "all hosts", "matrix.grid.", "matrix.rail."),
    "SHARP does not start": ({"without": "sharp"}, "matrix.sharp.taken", "cluster"),
    "a node of the matrix is slower": ({"node": 0.9}, "matrix.p2p.fleet", "host", "matrix.net.fleet", "matrix.grid.tp"),
    "wrong data in a node of the matrix": ({"nccl": "wrong=3:2"}, "matrix.p2p.correct", "host", "matrix.", "step:"),
    "a GPU trains at half its rate": ({"cuda": "slow@GPU=0.5"}, "train.node.straggler", "gpu", "train.", "infer."),
    "wrong products in a training": ({"cuda": "flip@GPU=gemm"}, "train.node.twin", "gpu", "train.", "infer.", "step:"),
    # In the twin step before the first one it differs from the other replicas; alone, generating, it is what it is.
    "a number that is none in a training": ({"cuda": "flip@GPU=nan"}, "infer.gpu.finite", "gpu", "train.", "infer.", "step:"),
    "a fatal Xid in a training": ({"nvml": "xid@GPU=79"}, "train.node.gpu", "gpu", "train.", "infer.", "step:"),
    "gradients that NCCL brings wrong": ({"nccl": "wrong=3:2"}, "train.node.weights", "host", "train.", "infer.", "moe.", "step:"),
    "gradients that come wrong from other nodes": ({"nccl": "wrong=11:2"}, "train.all.weights", "host", "train.all.", "moe.pair.", "step:"),
    "pages that come wrong": ({"nccl": "wrong=1:2"}, "kv.pages", "host", "train.", "infer.", "moe.", "kv.", "step:"),
    "wrong attention beside a cache": ({"cuda": "flip@GPU=attention"}, "infer.gpu.cache", "gpu", "infer.", "step:"),
    "attention that changes": ({"cuda": "flip@GPU=unsteady"}, "infer.gpu.repeat", "gpu", "infer.", "step:"),
    "a wrong sum of experts": ({"cuda": "flip@GPU=sum"}, "moe.node.combine", "gpu", "moe.", "step:"),
    "another NCCL in the training": ({"library": "2.27.5"}, "train.uniform", "host"),
    # Alone the exchange takes 0.3 s of a step of 2.9 s, and products hide half of it. Ten times as long leaves the node half of the others' rate, which
    # passes: hosts that share processors are asked for 0.4.
    "a node's gradients take thirty times as long": ({"node": 0.033}, "train.node.fleet", "host", "train.", "infer.node."),
    # The stand-in paces the rank that sends. The second host sends at the places 1, 4 and 7; at place 3, where it receives, nothing was slower.
    "a slow rail for caches": ({"nccl": "slow_rail=4:40"}, "kv.fleet", "host", "train.all."),
}
EVERYWHERE = ("across", "without")
# Those that spoil the figures by which others are found have a run of their own.
ALONE = {"the network carries a third less", "a rank of a node receives wrong data", "a node behind its fellows", "a slow link",
         "wrong data between nodes", "nvidia-fs counts no request",
         "a node of the matrix is slower", "wrong data in a node of the matrix", "cuFile copies through the host",
         "a tray is of another NVLink domain", "no NVLink between trays", "wrong data from storage", "a host's storage is slower",
         "a GPU trains at half its rate", "wrong products in a training", "a number that is none in a training", "gradients that NCCL brings wrong",
         "gradients that come wrong from other nodes", "pages that come wrong", "a node's gradients take thirty times as long", "a slow rail for caches"}

# Besides what a node's fault does to its node: what the hosts have to have alike.
ALSO = {"ECC is off": ("uniform",), "a lower power limit": ("uniform",)}


def of_a_node(name):
    """A node's fault as one of a fleet's."""
    kind, word, criterion, *more = OF_A_NODE[name]
    return ({kind: word.replace("@3", "@GPU")}, criterion, "gpu", *more, *ALSO.get(name, ()))


# What keeps a host from being measured: what is changed on it, what the report must say of it, the profiles that meet it, and what may fail. A criterion
# is left open, and the text that says why names the host and no other. A bar stands between the words of profiles: nccl sees that nothing moves,
# a training which GPU hangs.
NCCL, GDS = ("nccl-", "end-to-end-gpu"), ("gds",)
OF_A_JOB = {
    "the NVSwitch fabric is not ready": ({"cuda": "count_error=802"}, "nvidia-fabricmanager", NCCL + GDS),
    "a GPU is missing": ({"cuda": "devices={gpus_less_one}"}, "has no GPU left", NCCL),
    "no kernels for these GPUs": ({"cuda": "no_kernels=209"}, "CUDA error 209", NCCL),
    "a GPU fails at work": ({"cuda": "die@GPU=4"}, "unspecified launch failure", NCCL, "infer."),
    "a kernel never ends": ({"cuda": "hang@GPU=4"}, "nothing has moved|it hangs", NCCL, "infer."),
    "somebody has a GPU's memory": ({"cuda": "memory@GPU=1000"}, "1000 B free", NCCL),
    "the host does not answer": ({"cut": True}, "it wrote no record file", NCCL + GDS),
    "NCCL finds a GPU twice": ({"nccl": "duplicate"}, "two ranks on one GPU", NCCL),
    "NCCL loses a rank": ({"nccl": "error=3:2"}, "remote process exited", NCCL),
    "NCCL is damaged": ({"library": "damaged"}, "libnccl", NCCL, "nccl.uniform", "matrix.uniform", "train.uniform"),
    "a rank of NCCL stands still": ({"nccl": "hang=3:2"}, "nothing has moved", NCCL),
    "a rank does not reach the others": ({"nccl": "init_hang=3"}, "nothing has moved", NCCL),
    "no GPU": ({"cuda": "devices=0"}, "no GPU", GDS),
    "a copy fails": ({"cuda": "die_copy@GPU=2"}, "unspecified launch failure", GDS),
    "a copy never ends": ({"cuda": "hang_copy@GPU=2"}, "it hangs", GDS),
    "a GPU without memory for a buffer": ({"cuda": "memory@GPU=1000"}, "memory", GDS),
    "no cuFile": ({"cufile_library": "/nonexistent"}, "cuFile", GDS),
    "the driver of cuFile does not open": ({"cufile": "nodriver"}, "cuFile", GDS),
    "cuFile refuses a file": ({"cufile": "refuse"}, "5008", GDS),
    "a drive fails": ({"cufile": "error"}, "Input/output error", GDS),
    "no room on a host": ({"room": "2m"}, "free", GDS),
}


def tells(name, said):
    """Whether the message has the words for the fault."""
    return any(words in said for words in OF_A_JOB[name][1].split("|"))


def meets(name, profile):
    """Whether the profile of several hosts uses what the fault keeps from working."""
    return profile.startswith(OF_A_JOB[name][2])


FAULTS = OF_A_FLEET | {name: (changes, said, "job", *may) for name, (changes, said, _, *may) in OF_A_JOB.items()} | {name: of_a_node(name) for name in OF_A_NODE if name not in OF_A_FLEET and name != "a tenth slower"}
SECOND = 1  # index of the host that has a fleet's own faults


def ordered(names):
    """A fleet's own first, then those of which a GPU goes on as before, then the others: they take figures away."""
    def weight(name):
        return (name not in OF_A_FLEET) + (name not in OF_A_FLEET and len(OF_A_NODE[name]) > 3)

    return sorted(names, key=weight)


def batches_of(names, hosts, gpus=GPUS):
    """The faults of each run: [(index of the host, GPU) -> name], on the second host first, never on a host's first GPU; those of jobs
    one on a host."""
    jobs = [name for name in names if name in OF_A_JOB]
    together = ordered(name for name in names if name not in ALONE and name not in OF_A_JOB)
    places = [(host, gpu) for host in (SECOND, *(i for i in range(hosts) if i != SECOND)) for gpu in range(1, gpus)]
    shared = [dict(zip(places, together[at:at + len(places)])) for at in range(0, len(together), len(places))]
    shared += [{(host, 0): name for host, name in zip(one_sound(hosts), jobs[at:at + hosts - 1])} for at in range(0, len(jobs), hosts - 1)]
    return shared + [{(SECOND, 3): name} for name in names if name in ALONE]


def one_sound(hosts):
    """The hosts that can have a fault of a job each: all but the last."""
    return [SECOND, *(i for i in range(hosts - 1) if i != SECOND)]
